//! Channel binding: a hash of the server's certificate, which the password's proof includes.
//!
//! Source: RFC 5929 §4 (`tls-server-end-point`), RFC 5280 §4.1.

use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// Algorithms of a certificate's signature, as DER, with the hash of each. One that uses MD5 or
/// SHA-1 is hashed with SHA-256.
///
/// Source: RFC 3279 §2.2, RFC 4055 §5, RFC 5758 §3.2.
const ALGORITHMS: [(&[u8], Hash); 9] = [
    // md5, sha1, sha256, sha384, sha512WithRSAEncryption: 1.2.840.113549.1.1.N
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], Hash::Sha512),
    // ecdsa-with-SHA1, SHA256, SHA384, SHA512: 1.2.840.10045.4
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], Hash::Sha512),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// Types of DER values.
const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Returns the hash that binds a password's proof to a certificate; [`None`] for an algorithm that
/// has no hash of its own, with which servers offer no binding either.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (body, _) = value(SEQUENCE, certificate)?;
    let (_, after) = value(SEQUENCE, body)?;
    let (algorithm, _) = value(SEQUENCE, after)?;
    let (identifier, _) = value(OBJECT_IDENTIFIER, algorithm)?;
    let (_, hash) = ALGORITHMS.iter().find(|(known, _)| *known == identifier)?;
    Some(match hash {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// Splits DER after its first value, which is of the given type.
fn value(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let digits = usize::from(first & 0x7f);
        if digits == 0 || digits > 4 {
            return None;
        }
        let (length, after) = rest.split_at_checked(digits)?;
        rest = after;
        length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
    };
    (found == tag).then_some(())?;
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(parts: &[&[u8]]) -> Vec<u8> {
        let body = parts.concat();
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[SEQUENCE, 0x82][..], &length, &body].concat()
    }

    fn certificate(identifier: &[u8]) -> Vec<u8> {
        let length = u8::try_from(identifier.len()).unwrap();
        let identifier = [&[OBJECT_IDENTIFIER, length], identifier].concat();
        sequence(&[&sequence(&[&[0x02, 0x01, 0x07]]), &sequence(&[&identifier]), &[0x03, 0x00]])
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (identifier, hash) in ALGORITHMS {
            let der = certificate(identifier);

            let length = match hash {
                Hash::Sha256 => 32,
                Hash::Sha384 => 48,
                Hash::Sha512 => 64,
            };
            assert_eq!(end_point(&der).map(|hash| hash.len()), Some(length), "{identifier:x?}");
        }
    }

    #[test]
    fn what_is_cut_off_or_has_no_hash_binds_nothing() {
        // Ed25519: 1.3.101.112.
        assert_eq!(end_point(&certificate(&[0x2b, 0x65, 0x70])), None);
        let whole = certificate(ALGORITHMS[2].0);
        for length in 0..20 {
            assert_eq!(end_point(&whole[..length]), None, "{length}");
        }
    }
}
