//! The tokens of HTTP.

/// Returns whether a text is an HTTP token, as header names and methods are (RFC 9110 §5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}
