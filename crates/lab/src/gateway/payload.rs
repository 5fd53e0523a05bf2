//! Messages of an exact size.

/// The least size of a message in bytes: two members, the second of them empty.
pub const PAYLOAD_BYTES_MIN: usize = BEFORE.len() + BETWEEN.len() + AFTER.len() + 10;

const BEFORE: &str = "{\"size\":\"";
const BETWEEN: &str = "\",\"payload\":\"";
const AFTER: &str = "\"}";

/// Returns a JSON message of this many bytes with the two top-level members of the published test:
/// `size`, and `payload`, which fills it up.
///
/// Sizes below [`PAYLOAD_BYTES_MIN`] give the least message, which may be larger.
pub fn payload(bytes: usize) -> Vec<u8> {
    let mut message = format!("{BEFORE}{bytes}B{BETWEEN}").into_bytes();
    let filled = bytes.saturating_sub(AFTER.len()).max(message.len());
    // Letters that compress about as well as text, the same in each run.
    while message.len() < filled {
        message.push(b'a' + u8::try_from(message.len() * 7 % 26).unwrap_or(0));
    }
    message.extend_from_slice(AFTER.as_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_size_and_two_members() {
        for bytes in [PAYLOAD_BYTES_MIN, 50, 1024, 10_240, 102_400] {
            let message = payload(bytes);

            assert_eq!(message.len(), bytes);
            let read: serde_json::Value = serde_json::from_slice(&message).unwrap();
            assert_eq!(read["size"], format!("{bytes}B"));
            assert_eq!(read.as_object().unwrap().len(), 2);
        }
    }
}
