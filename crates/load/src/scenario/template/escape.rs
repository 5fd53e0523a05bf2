//! Escapes values so that each stays a single value wherever it is inserted.

use std::io::Write as _;

/// How a variable's value is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// Not escaped.
    Plain,
    /// Within a JSON string.
    Json,
    /// In a path or query: percent-encoded except for unreserved characters and `/`.
    Path,
    /// At the beginning of a path: a whole path and query, possibly after an origin. Only
    /// characters that are not allowed in a request line are encoded.
    WholePath,
    /// In a header: control characters become spaces.
    Header,
}

impl Escape {
    /// Appends an escaped value.
    pub fn write(self, out: &mut Vec<u8>, value: &str) {
        match self {
            Self::Plain => out.extend_from_slice(value.as_bytes()),
            Self::Json => write_json(out, value),
            Self::Path => write_encoded(out, value, is_unreserved),
            Self::WholePath => {
                let path = without_origin(value);
                if !path.starts_with('/') {
                    out.push(b'/');
                }
                write_encoded(out, path, |byte| byte.is_ascii_graphic() && byte != b'#');
            }
            Self::Header => {
                out.extend(
                    value.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }),
                );
            }
        }
    }
}

fn without_origin(value: &str) -> &str {
    let after_scheme = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
    after_scheme.map_or(value, |rest| rest.find('/').map_or("", |at| &rest[at..]))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte)
}

fn write_encoded(out: &mut Vec<u8>, value: &str, keeps: impl Fn(u8) -> bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if keeps(byte) {
            out.push(byte);
        } else {
            out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

fn write_json(out: &mut Vec<u8>, value: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        out.extend_from_slice(value.as_bytes());
        return;
    }
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            _ if is_plain(byte) => out.push(byte),
            _ => _ = write!(out, "\\u{byte:04x}"),
        }
    }
}
