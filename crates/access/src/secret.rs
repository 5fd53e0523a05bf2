//! Keys and secrets: how they are generated, stored and compared.

use std::fmt;

/// Bytes of a key: 80 bits, enough to rule out collisions.
const KEY_BYTES: usize = 10;

/// Bytes of a secret: 256 bits, so that a fast keyed hash is enough to store it.
const SECRET_BYTES: usize = 32;

/// Text that logs and debug output hide.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps what a client sent.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, only for the client that owns the secret and for comparing it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The system has no random bytes.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the system provides no random bytes: {0}")]
pub struct RandomError(String);

/// Returns random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| RandomError(error.to_string()))?;
    Ok(bytes)
}

/// Generates a key of 16 letters and digits.
pub(crate) fn new_key() -> Result<String, RandomError> {
    Ok(base32(&random::<KEY_BYTES>()?))
}

/// Generates a secret of 256 bits, 52 letters and digits.
pub(crate) fn new_secret() -> Result<Secret, RandomError> {
    Ok(Secret(base32(&random::<SECRET_BYTES>()?)))
}

/// Generates the id of a secret.
pub(crate) fn new_secret_id() -> Result<String, RandomError> {
    Ok(base32(&random::<KEY_BYTES>()?))
}

/// Hashes secrets with a key that only the store has.
#[derive(Clone)]
pub(crate) struct SecretHasher {
    server_key: [u8; 32],
    /// How many hashes were made; tests count work with it.
    #[cfg(test)]
    hashed: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl SecretHasher {
    pub(crate) fn new(server_key: [u8; 32]) -> Self {
        Self {
            server_key,
            #[cfg(test)]
            hashed: std::sync::Arc::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn hashed(&self) -> usize {
        self.hashed.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns the hash under which a key's secret is stored. Hashes compare in constant time.
    pub(crate) fn hash(&self, key: &str, secret: &Secret) -> blake3::Hash {
        #[cfg(test)]
        self.hashed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut hasher = blake3::Hasher::new_keyed(&self.server_key);
        hasher.update(&(key.len() as u64).to_le_bytes());
        hasher.update(key.as_bytes());
        hasher.update(secret.0.as_bytes());
        hasher.finalize()
    }
}

/// Encodes in base32 (RFC 4648 §6), lower case and without padding: safe in a shell, a URL and a
/// header, and it never begins like an option.
fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(DIGITS[(held >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(DIGITS[(held << (5 - bits)) as usize & 31]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_agrees_with_the_vectors_of_its_standard() {
        for (text, encoded) in
            [("", ""), ("f", "my"), ("fo", "mzxq"), ("foob", "mzxw6yq"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(base32(text.as_bytes()), encoded, "RFC 4648 §10");
        }
    }

    #[test]
    fn secrets_are_long_and_unique_and_hidden_from_debug_output() {
        let (one, other) = (new_secret().unwrap(), new_secret().unwrap());

        assert_eq!(one.expose().len(), 52);
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Secret(…)");
        assert_eq!(new_key().unwrap().len(), 16);
    }

    #[test]
    fn a_hash_depends_on_server_key_and_secret() {
        let hasher = SecretHasher::new([1; 32]);
        let hash = hasher.hash("key", &Secret::new("secret"));

        assert_eq!(hash, hasher.hash("key", &Secret::new("secret")));
        assert_ne!(hash, hasher.hash("key", &Secret::new("Secret")));
        assert_ne!(hash, hasher.hash("keys", &Secret::new("ecret")));
        assert_ne!(hash, SecretHasher::new([2; 32]).hash("key", &Secret::new("secret")));
    }
}
