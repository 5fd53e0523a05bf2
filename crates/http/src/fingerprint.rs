//! The fingerprint of a certificate, by which a key's certificates are registered.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

/// The SHA-256 hash of a certificate in DER, as `openssl x509 -fingerprint -sha256` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Reads 64 hex digits, in any case, which may have colons between their pairs; [`None`] for
    /// anything else.
    pub fn read(text: &str) -> Option<Self> {
        let digits: String = text.trim().chars().filter(|c| *c != ':').collect();
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    /// Writes 64 hex digits in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            write!(text, "{byte:02x}")?;
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_tools_show_it() {
        // Source: FIPS 180-4, the hash of `abc`.
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let own = Fingerprint::of(b"abc");
        assert_eq!(own.to_string(), hex);
        let pairs: Vec<String> = hex
            .to_uppercase()
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).into_owned())
            .collect();

        for text in [hex, &pairs.join(":"), &format!(" {hex}\n")] {
            assert_eq!(Fingerprint::read(text), Some(own), "{text}");
        }
        for text in ["", &hex[1..], &format!("{hex}00"), &hex.replace('b', "g"), &"é".repeat(32)] {
            assert_eq!(Fingerprint::read(text), None, "{text}");
        }
    }
}
