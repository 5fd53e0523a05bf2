//! HTTP/2 frames for the adversary, which well-made client libraries would not send.
//!
//! Source: RFC 9113 §4.1 (frames), §6; RFC 7541 §6.2.2 (literal header fields without indexing).

/// The first bytes of a connection.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The setting for the initial window of each stream.
const INITIAL_WINDOW: u16 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// Returns the first bytes of a connection, with this window for each stream.
pub fn begin(window: u32) -> Vec<u8> {
    let mut setting = INITIAL_WINDOW.to_be_bytes().to_vec();
    setting.extend(window.to_be_bytes());
    [PREFACE, &frame(SETTINGS, 0, 0, &setting)].concat()
}

/// Returns the header of a request; with `is_whole` it has no body.
pub fn request(
    stream: u32,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    is_whole: bool,
) -> Vec<u8> {
    let mut block = vec![];
    let usual =
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "adversary")];
    for (name, value) in usual.iter().chain(more) {
        block.push(0);
        text(&mut block, name);
        text(&mut block, value);
    }
    let flags = END_HEADERS | if is_whole { END_STREAM } else { 0 };
    frame(HEADERS, flags, stream, &block)
}

/// Returns a part of a body that does not end.
pub fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, bytes)
}

/// Returns the reset of a stream.
pub fn reset(stream: u32) -> Vec<u8> {
    const CANCEL: u32 = 8;
    frame(RESET, 0, stream, &CANCEL.to_be_bytes())
}

/// Appends an uncompressed string: its length with a prefix of seven bits, then its bytes.
fn text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.len();
    if rest < 127 {
        out.push(rest.to_le_bytes()[0]);
    } else {
        out.push(127);
        rest -= 127;
        while rest >= 128 {
            out.push(rest.to_le_bytes()[0] | 128);
            rest /= 128;
        }
        out.push(rest.to_le_bytes()[0]);
    }
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_length_kind_flags_and_stream_before_it() {
        assert_eq!(reset(5), [0, 0, 4, 3, 0, 0, 0, 0, 5, 0, 0, 0, 8]);
        assert_eq!(data(1, b"a"), [0, 0, 1, 0, 0, 0, 0, 0, 1, b'a']);
    }

    #[test]
    fn a_long_text_has_a_long_length() {
        let mut out = vec![];

        text(&mut out, &"a".repeat(300));

        assert_eq!(out[..3], [127, 128 + 45, 1]);
        assert_eq!(out.len(), 303);
    }
}
