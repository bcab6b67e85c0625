use crate::registry::{DataShape, Registry, RegistryError, TopicShape};

fn refused(toml: &str) -> RegistryError {
    Registry::builtin().extended(toml).unwrap_err()
}

/// A file with one event `e` of schema `mine`, with these lines in it.
fn event(lines: &str) -> String {
    format!("[[schema.mine.event]]\nname = \"e\"\n{lines}\n")
}

#[test]
fn what_is_wrong_with_a_file_is_said_in_one_line() {
    let cases = [
        ("[schema", "line 1: "),
        ("[[schema.mine.event]]\nname = \"e\"\ndata = [\"any\"]\nowner = \"from\"", "line 4: unknown field `owner`"),
        ("[schema.mine]\nreplaces = true", "line 2: unknown field `replaces`"),
        ("[shemas]", "line 1: unknown field `shemas`"),
        ("schema.mine.\"ev\\nent\" = 1", "line 1: unknown field `ev?ent`"),
        ("\"\\u2028\u{2028}\" = 1", "line 1: unknown field `??`"),
        ("[[schema.mine.event]]\ndata = [\"any\"]", "line 1: missing field `name`"),
        (&event(""), "line 1: missing field `data`"),
        (&event("data = [\"any\"]\nname = \"f\""), "line 4: duplicate key"),
        (&event("data = [\"u31\"]"), "line 3: data is \"any\", a type, { vec = [TYPE, TYPE] } or { map = [KEY, KEY] }"),
        (&event("data = [{ set = [] }]"), "line 3: data is \"any\""),
        (&event("data = [\"any\"]\ntopics = [3]"), "line 4: a topic is a role, or { value = TYPE }"),
        (&event("data = [\"any\"]\ntopics = [{ value = \"adress\" }]"), "line 4: a topic is a role"),
        (&event("data = [\"any\"]\npayload = { function = \"f\" }"), "line 4: missing field `roles`"),
    ];
    for (toml, expected) in cases {
        let error = refused(toml);
        assert!(matches!(error, RegistryError::Unreadable { .. }), "{toml}: {error}");
        let text = error.to_string();
        let said = text.strip_prefix("the file of schemas cannot be read: ").unwrap();
        assert!(said.starts_with(expected), "{toml}: {said}");
        assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.len() < 400, "{text}");
    }
}

#[test]
fn an_error_repeats_no_more_of_a_file_than_a_line_holds() {
    let text = refused(&format!("[\"{}\"]", "x".repeat(100_000))).to_string();
    assert!(text.chars().count() < 400, "{}", text.len());
}

#[test]
fn a_shape_that_contradicts_itself_is_named() {
    let cases = [
        ("data = []", "say what its data can be"),
        ("data = [\"i128\", \"i128\"]", "two forms of its data are one, or one holds the other"),
        ("data = [\"any\", \"i128\"]", "two forms of its data are one, or one holds the other"),
        ("data = [\"map\", { map = [\"a\"] }]", "two forms of its data are one, or one holds the other"),
        ("data = [{ map = [\"a\"] }, { map = [\"a\", \"b?\"] }]", "two forms of its data are one"),
        ("data = [{ map = [\"a\", \"a\"] }]", "each key of a map is a symbol, named once"),
        ("data = [{ map = [\"a\", \"a?\"] }]", "each key of a map is a symbol, named once"),
        ("data = [{ map = [\"a b\"] }]", "each key of a map is a symbol, named once"),
        ("data = [\"any\"]\ntopics = [\"from\", \"from\"]", "each role has a name of its own"),
        ("data = [\"any\"]\ntopics = [\"\"]", "each role has a name of its own"),
        ("data = [\"any\"]\ntopics = [\"fr,om\"]", "each role has a name of its own"),
        ("data = [\"any\"]\ntopics = [{ value = [] }]", "a topic that is no party has a type"),
        ("data = [\"any\"]\ntopics = [{ value = [\"u32\", \"u32\"] }]", "a topic that is no party has a type"),
        ("data = [\"any\"]\ntopics = [\"a?\", \"b?\", \"c?\", \"d?\"]", "at most three of its topics may be missing"),
        ("data = [\"any\"]\nversions = [\"v1\", \"v1\"]", "each version is named once"),
        ("data = [\"any\"]\nversions = [\"v 1\"]", "each version is named once"),
        ("data = [\"any\"]\ntopics = [\"from\"]\ncheckpoint = \"to\"", "checkpoint, fold and opening name roles"),
        ("data = [\"any\"]\ntopics = [\"from?\"]\nfold = \"from\"", "checkpoint, fold and opening name roles"),
        (
            "data = [\"any\"]\ntopics = [\"from\"]\nfold = \"from\"\nopening = \"from\"",
            "checkpoint, fold and opening name roles",
        ),
        ("data = [\"any\"]\npayload = { function = \"f\", roles = [], argument = 0 }", "a payload has a function"),
        ("data = [\"any\"]\npayload = { function = \"f\", roles = [\"a\"], argument = 1 }", "a payload has a function"),
        (
            "data = [\"any\"]\ntopics = [\"a\"]\npayload = { function = \"f g\", roles = [\"a\"], argument = 1 }",
            "a payload has a function",
        ),
        (
            "data = [\"any\"]\ntopics = [\"a\"]\npayload = { function = \"f\", roles = [\"a\"], argument = 0 }",
            "the payload's argument comes after those of its roles",
        ),
    ];
    for (lines, expected) in cases {
        let text = refused(&event(lines)).to_string();
        let said = text.strip_prefix("event e of schema mine: ").unwrap_or_else(|| panic!("{lines}: {text}"));
        assert!(said.starts_with(expected), "{lines}: {said}");
        assert!(!text.contains('\n'));
    }
}

#[test]
fn names_are_checked_before_they_are_repeated() {
    let error = refused("[[schema.\"my\\ntoken\".event]]\nname = \"e\"\ndata = [\"any\"]");
    assert_eq!(error, RegistryError::BadName);
    let error = refused("[[schema.mine.event]]\nname = \"trans\\nfer\"\ndata = [\"any\"]");
    assert_eq!(error, RegistryError::BadEventName { schema: "mine".to_owned() });
    let none = refused("[[schema.none.event]]\nname = \"e\"\ndata = [\"any\"]");
    assert_eq!(none.to_string(), "a schema cannot be named none: that takes a declaration back");
    let long = event("data = [\"any\"]").replace("\"e\"", &format!("\"{}\"", "e".repeat(33)));
    assert_eq!(refused(&long), RegistryError::BadEventName { schema: "mine".to_owned() });
}

#[test]
fn two_shapes_that_one_event_could_fit_are_refused() {
    let shape = |topics: &str, data: &str| event(&format!("topics = [{topics}]\ndata = [{data}]"));
    let ambiguous = |one: String, other: String| match Registry::builtin().extended(&format!("{one}{other}")) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.to_string(), "schema mine gives two shapes of event e that one event could fit");
            true
        }
    };
    let overlapping = [
        ("\"a\"", "\"any\"", "\"b\"", "\"i128\""),
        ("\"a\"", "\"i128\"", "{ value = \"address\" }", "\"i128\""),
        ("{ value = [\"u32\", \"symbol\"] }", "\"any\"", "{ value = [\"symbol\", \"vec\"] }", "\"any\""),
        ("", "{ map = [\"a\", \"b?\"] }", "", "{ map = [\"a\"] }"),
        ("", "{ map = [\"a\", \"b?\"] }", "", "{ map = [\"a\", \"c?\"] }"),
        ("", "{ map = [\"a?\"] }", "", "{ map = [] }"),
        ("", "{ map = [\"a\"] }", "", "\"map\""),
        ("", "{ vec = [\"u32\"] }", "", "\"vec\""),
        ("\"a?\", \"b\"", "\"any\"", "\"c\"", "\"any\""),
        ("\"a?\", \"b?\"", "\"any\"", "", "\"void\""),
    ];
    for (topics, data, other_topics, other_data) in overlapping {
        assert!(ambiguous(shape(topics, data), shape(other_topics, other_data)), "{topics} {data}");
        assert!(ambiguous(shape(other_topics, other_data), shape(topics, data)), "{topics} {data}");
    }
    let apart = [
        ("\"a\"", "\"any\"", "\"a\", \"b\"", "\"any\""),
        ("\"a\"", "\"any\"", "{ value = \"string\" }", "\"any\""),
        ("", "{ map = [\"a\", \"b?\"] }", "", "{ map = [\"b\"] }"),
        ("", "{ map = [\"a\"] }", "", "\"vec\""),
        ("", "{ vec = [\"u32\"] }", "", "{ vec = [\"u32\", \"u32\"] }"),
        ("", "{ vec = [\"u32\"] }", "", "{ vec = [\"i32\"] }"),
        ("", "\"i128\"", "", "\"u128\""),
    ];
    for (topics, data, other_topics, other_data) in apart {
        assert!(!ambiguous(shape(topics, data), shape(other_topics, other_data)), "{topics} {data}");
    }
    // Two topics that may be missing and are alike: nobody can tell which of them is.
    let alike = event("topics = [\"a?\", \"b?\"]\ndata = [\"any\"]");
    assert!(matches!(refused(&alike), RegistryError::Ambiguous { .. }));
}

#[test]
fn an_operators_shapes_stand_beside_those_that_are_shipped_or_in_their_place() {
    let names = |registry: Registry| -> Vec<String> {
        let schema = registry.schema(&"token".parse().unwrap()).unwrap();
        schema.shapes().map(|shape| shape.name.clone()).collect()
    };
    let lock = "[[schema.token.event]]\nname = \"lock\"\ntopics = [\"from\"]\ndata = [\"i128\"]\n";
    let beside = names(Registry::builtin().extended(lock).unwrap());
    assert!(beside.len() > 5 && beside.contains(&"lock".to_owned()) && beside.contains(&"mint".to_owned()));
    let instead = names(Registry::builtin().extended(&format!("{lock}[schema.token]\nreplace = true\n")).unwrap());
    assert_eq!(instead, ["lock"]);
    let again = "[[schema.token.event]]\nname = \"burn\"\ntopics = [\"owner\"]\ndata = [\"i128\"]\n";
    assert_eq!(refused(again).to_string(), "schema token gives two shapes of event burn that one event could fit");
    assert_eq!(Registry::builtin().extended("").unwrap(), Registry::builtin());
}

#[test]
fn every_form_can_be_written() {
    let toml = event(
        "topics = [\"from\", \"to?\", { value = [\"u32\", \"symbol\"] }, { value = \"string\" }]\n\
         data = [\"i128\", { vec = [\"i128\", \"u32\"] }, { map = [\"b\", \"a?\"] }]\n\
         versions = [\"v1\", \"v2\"]\ncheckpoint = \"from\"\n\
         payload = { function = \"send\", roles = [\"from\"], argument = 2 }",
    );
    let schema = Registry::builtin().extended(&toml).unwrap().schema(&"mine@v2".parse().unwrap()).unwrap();
    let shapes: Vec<_> = schema.shapes().collect();
    assert_eq!(shapes.len(), 2);
    let with = "e(from,to,=U32|Symbol,=String) I128|[I128, U32]|{a?,b} checkpoint=from";
    assert_eq!(shapes[0].to_string(), with);
    assert_eq!(shapes[1].to_string(), with.replace("to,", ""));
    assert!(matches!(shapes[0].topics[0], TopicShape::Role(_)));
    assert!(matches!(shapes[0].data[2], DataShape::Map(_)));
    assert!(schema.has_payloads());
}
