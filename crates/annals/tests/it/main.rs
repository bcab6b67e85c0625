//! The integration tests of `annals`.

mod store;
