//! The schema's version and its migrations.

use rusqlite::Connection;

use crate::store::StoreError;

mod embedded {
    refinery::embed_migrations!("migrations/sqlite");
}

/// The newest schema that this program knows.
pub(super) fn known() -> u32 {
    let versions = embedded::migrations::runner().get_migrations().iter().map(|step| step.version()).max();
    versions.and_then(|version| u32::try_from(version).ok()).expect("migrations are embedded and count from 1")
}

/// The schema's version; 0 where no migration was applied.
pub(super) fn version(connection: &Connection) -> Result<u32, StoreError> {
    let history = "/* schema::version */ SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    if !connection.prepare(history)?.exists([])? {
        return Ok(0);
    }
    let newest = "/* schema::version */ SELECT coalesce(max(version), 0) FROM refinery_schema_history";
    Ok(connection.query_row(newest, [], |row| row.get(0))?)
}

/// Refuses a schema that a newer program made.
pub(super) fn refuse_newer(found: u32) -> Result<(), StoreError> {
    let known = known();
    if found > known { Err(StoreError::NewerSchema { found, known }) } else { Ok(()) }
}

/// Refuses a schema that waits for a migration.
pub(super) fn refuse_older(found: u32) -> Result<(), StoreError> {
    let known = known();
    if found < known { Err(StoreError::OlderSchema { found, known }) } else { Ok(()) }
}

/// Applies what is missing, in one transaction: one at a time the migrator would apply a step and record it in
/// two, and a process killed between them could never go on. Says so where there is an archive already, which `found`
/// is the version of: a large one takes its time.
pub(super) fn migrate(connection: &mut Connection, found: u32) -> Result<(), StoreError> {
    let known = known();
    let is_older = (1..known).contains(&found);
    if is_older {
        tracing::info!("bringing the archive from schema {found} to {known}: whoever stops that loses nothing");
    }
    let runner = embedded::migrations::runner().set_grouped(true);
    runner.run(connection).map_err(|error| StoreError::Database(Box::new(error)))?;
    if is_older {
        tracing::info!("the archive has schema {known} now");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_file_is_applied_and_their_numbers_are_dense() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
        let mut names: Vec<String> =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        for (name, number) in names.iter().zip(1..) {
            assert!(name.starts_with(&format!("V{number:04}__")) && name.ends_with(".sql"), "{name}");
        }
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 0).unwrap();
        let applied: u32 =
            connection.query_row("SELECT count(*) FROM refinery_schema_history", [], |row| row.get(0)).unwrap();
        assert_eq!(applied as usize, names.len());
        assert_eq!(version(&connection).unwrap(), applied);
        assert_eq!(known(), applied);
    }
}
