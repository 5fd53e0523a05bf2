//! Public keys of an issuer, as it publishes them.
//!
//! A key belongs to one algorithm, which the key says and never a token: a token that names another one is
//! not checked by it at all.
//!
//! Source: RFC 7517 (key sets), RFC 7518 §3.3, §3.4, §6 (RS256, ES256, their keys), RFC 8037 (EdDSA), RFC
//! 8725 §3.1 (one algorithm a key).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// Most keys of a set that are used.
pub(super) const KEYS_MAX: usize = 64;

/// An algorithm of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA with SHA-256, from 2048 bits on.
    Rs256,
    /// ECDSA over P-256.
    Es256,
    /// `EdDSA` over Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Returns the algorithm of a name; [`None`] for all that are not accepted, `none` among them.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    public: Public,
}

#[derive(Debug, PartialEq, Eq)]
enum Public {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point, as the algorithm writes it.
    Point(Vec<u8>),
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// The members of a key that count.
#[derive(Deserialize)]
struct Stated {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Key {
    /// Returns whether the owner of the key has signed something.
    pub(super) fn has_signed(&self, signed: &str, signature: &[u8]) -> bool {
        let signed = signed.as_bytes();
        match (&self.public, self.algorithm) {
            (Public::Rsa { n, e }, Algorithm::Rs256) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
            (Public::Point(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                    .verify(signed, signature)
                    .is_ok()
            }
            (Public::Point(point), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Reads a set of keys. Those of other kinds or for other uses are passed over.
///
/// # Errors
///
/// If it is no set of keys.
pub(super) fn read_set(text: &[u8]) -> Result<Vec<Key>, String> {
    let set: Set = serde_json::from_slice(text).map_err(|_| "it is no JSON Web Key Set")?;
    Ok(set.keys.into_iter().filter_map(read_key).take(KEYS_MAX).collect())
}

fn read_key(value: Value) -> Option<Key> {
    let stated: Stated = serde_json::from_value(value).ok()?;
    let is_for_signatures = stated.r#use.as_ref().is_none_or(|r#use| r#use == "sig")
        && stated.key_ops.as_ref().is_none_or(|all| all.iter().any(|one| one == "verify"));
    if !is_for_signatures {
        return None;
    }
    let bytes = |text: &Option<String>| BASE64.decode(text.as_deref()?).ok();
    let whole = |text: &Option<String>, length: usize| bytes(text).filter(|b| b.len() == length);
    let number = |text: &Option<String>| {
        let bytes = bytes(text)?;
        let begin = bytes.iter().position(|byte| *byte != 0)?;
        Some(bytes[begin..].to_vec())
    };
    let (algorithm, public) = match (&*stated.kty, stated.crv.as_deref()) {
        ("RSA", _) => {
            (Algorithm::Rs256, Public::Rsa { n: number(&stated.n)?, e: number(&stated.e)? })
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (whole(&stated.x, 32)?, whole(&stated.y, 32)?);
            (Algorithm::Es256, Public::Point([vec![4], x, y].concat()))
        }
        ("OKP", Some("Ed25519")) => (Algorithm::EdDsa, Public::Point(whole(&stated.x, 32)?)),
        _ => return None,
    };
    let is_of_algorithm = stated.alg.is_none_or(|name| Algorithm::named(&name) == Some(algorithm));
    is_of_algorithm.then_some(Key { id: stated.kid, algorithm, public })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(keys: Value) -> Vec<Key> {
        read_set(json!({"keys": keys}).to_string().as_bytes()).unwrap()
    }

    /// The key and the signature of RFC 8037, appendix A.
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const SIGNED: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    const SIGNATURE: &str =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

    #[test]
    fn the_example_of_the_standard_verifies_and_what_is_changed_does_not() {
        let keys = read(json!([{"kty": "OKP", "crv": "Ed25519", "x": X}]));
        let signature = BASE64.decode(SIGNATURE).unwrap();

        assert!(keys[0].has_signed(SIGNED, &signature));
        assert!(!keys[0].has_signed(&SIGNED.replace('R', "S"), &signature));
        assert!(!keys[0].has_signed(SIGNED, &signature[1..]));
        assert!(!keys[0].has_signed(SIGNED, &[]));
    }

    /// The example of RFC 7515, appendix A.3.
    #[test]
    fn the_example_of_es256_verifies_too() {
        let keys = read(json!([{"kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]));
        let signed = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = BASE64.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q").unwrap();

        assert!(keys[0].has_signed(signed, &signature));
        assert!(!keys[0].has_signed(signed, &[0; 64]), "the signature of zeros");
    }

    /// The example of RFC 7515, appendix A.2.
    #[test]
    fn the_example_of_rs256_verifies_too() {
        let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
        let keys = read(json!([{"kty": "RSA", "n": n, "e": "AQAB"}]));
        let signed = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = BASE64.decode("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw").unwrap();

        assert!(keys[0].has_signed(signed, &signature));
        assert!(!keys[0].has_signed(&signed[1..], &signature));
    }

    #[test]
    fn keys_for_other_uses_and_algorithms_are_passed_over() {
        let with = |more: Value| {
            let mut key = json!({"kty": "OKP", "crv": "Ed25519", "x": X});
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(json!([key])).len()
        };

        for more in
            [json!({}), json!({"use": "sig"}), json!({"alg": "EdDSA", "key_ops": ["verify"]})]
        {
            assert_eq!(with(more.clone()), 1, "{more}");
        }
        for more in [
            json!({"use": "enc"}),
            json!({"key_ops": ["sign"]}),
            json!({"alg": "HS256"}),
            json!({"alg": "none"}),
            json!({"crv": "X25519"}),
            json!({"x": "AAAA"}),
            json!({"kty": "oct", "k": X}),
            json!({"kty": "RSA"}),
        ] {
            assert_eq!(with(more.clone()), 0, "{more}");
        }
        assert!(read_set(b"[]").is_err() && read_set(b"<html>").is_err());
    }
}
