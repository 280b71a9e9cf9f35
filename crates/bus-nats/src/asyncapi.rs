//! stub
/// An event type as it is documented.
#[derive(Debug, Clone)]
pub struct Documented {
    /// Its name.
    pub type_name: String,
    /// The version.
    pub schema: u16,
    /// An example of its payload.
    pub example: serde_json::Value,
}

/// The document.
pub fn asyncapi(events: &[Documented]) -> String {
    let _ = events;
    String::new()
}
