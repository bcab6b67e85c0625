//! Stub.
/// E
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct DecodeError {
    /// o
    pub offset: usize,
    /// r
    pub reason: &'static str,
}
/// V
pub struct EventView<'a> {
    /// t
    pub topics: Vec<&'a [u8]>,
    /// d
    pub data: &'a [u8],
}
impl<'a> EventView<'a> {
    /// p
    /// # Errors
    /// e
    pub fn parse(_xdr: &'a [u8]) -> Result<Self, DecodeError> {
        Err(DecodeError { offset: 0, reason: "stub" })
    }
    /// t
    pub fn event_type(&self) -> Option<String> {
        None
    }
}
