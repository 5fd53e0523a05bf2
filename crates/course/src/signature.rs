//! Signatures of what is posted, so that a receiver knows who has sent it.
//!
//! Source: Standard Webhooks 1.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`), RFC 2104.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// What begins a secret that is written in Base64.
pub(crate) const SECRET_PREFIX: &str = "whsec_";

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Returns the HMAC of a message.
///
/// Source: RFC 2104 with SHA-256, as RFC 4231 tests it.
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let with = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(with(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(with(0x5c)).chain_update(inner).finalize().into()
}

/// Returns the bytes of a secret: those behind its prefix in Base64, or the text itself.
fn bytes_of(secret: &str) -> Vec<u8> {
    let decoded = secret.strip_prefix(SECRET_PREFIX).and_then(|rest| STANDARD.decode(rest).ok());
    decoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

/// Returns the value of `webhook-signature` for a message with this id, sent at this second.
pub(crate) fn signature(secret: &str, id: &str, second: i64, body: &str) -> String {
    let signed = format!("{id}.{second}.{body}");
    let digest = hmac(&bytes_of(secret), signed.as_bytes());
    format!("v1,{}", STANDARD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::hex;

    #[test]
    fn the_code_is_that_of_the_standards_examples() {
        for (key, message, code) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                &b"Test Using Larger Than Block-Size Key - Hash Key First"[..],
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(&key, message)), code);
        }
    }

    #[test]
    fn a_secret_in_base64_is_decoded() {
        assert_eq!(bytes_of("whsec_aGVsbG8="), b"hello");
        assert_eq!(bytes_of("hello"), b"hello");
        let one = signature("whsec_aGVsbG8=", "m", 1, "{}");
        assert_eq!(one, signature("hello", "m", 1, "{}"));
        assert_ne!(one, signature("hello", "m", 2, "{}"));
    }
}
