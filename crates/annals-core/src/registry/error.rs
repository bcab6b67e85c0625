//! Why a file holds no schemas, or a name names none.

/// Why a file holds no schemas, or a name names none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A text that can name no schema.
    #[error("a schema is named by letters, digits, -, _ and . (64 at most), a version of it by @ and the same")]
    BadName,
    /// A schema with the name that stands for none.
    #[error("a schema cannot be named none: that takes a declaration back")]
    NamedNone,
    /// A file that is no TOML, or holds what no file of schemas has.
    #[error("the file of schemas cannot be read: {message}")]
    Unreadable {
        /// Where, and what is wrong.
        message: String,
    },
    /// A name that no event can have.
    #[error("an event of schema {schema} is named by a symbol: letters, digits and _ (32 at most)")]
    BadEventName {
        /// The schema.
        schema: String,
    },
    /// A shape that contradicts itself.
    #[error("event {event} of schema {schema}: {message}")]
    BadShape {
        /// The schema.
        schema: String,
        /// The event's name.
        event: String,
        /// What is wrong with it.
        message: &'static str,
    },
    /// Two shapes that one event could fit.
    #[error("schema {schema} gives two shapes of event {event} that one event could fit")]
    Ambiguous {
        /// The schema.
        schema: String,
        /// The event's name.
        event: String,
    },
    /// No schema has this name.
    #[error("there is no schema {schema}")]
    UnknownSchema {
        /// The name asked for.
        schema: String,
    },
    /// The schema knows no such version.
    #[error("schema {schema} has no version {version}")]
    UnknownVersion {
        /// The schema.
        schema: String,
        /// The version asked for.
        version: String,
    },
}
