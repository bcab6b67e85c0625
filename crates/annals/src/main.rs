//! Annals.
fn main() {}
