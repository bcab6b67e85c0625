use super::*;

#[test]
fn the_schemas_that_are_shipped_can_be_read() {
    let names: Vec<String> = Registry::builtin().schemas().map(|(name, _)| name.to_owned()).collect();
    assert!(names.contains(&"confidential-token".to_owned()), "{names:?}");
}
