//! Values that stay one value wherever they are put.

use std::io::Write as _;

/// How a variable's value is written so that it stays one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    Plain,
    /// Within a string of JSON.
    Json,
    /// In a path or query: all but unreserved characters and `/` percent-encoded.
    Path,
    /// At the beginning of a path: a path and query of its own, maybe after an origin. Only what
    /// may not stand in a request line is encoded.
    WholePath,
    /// In a header: control characters become blanks.
    Header,
}

impl Escape {
    /// Appends a value.
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
