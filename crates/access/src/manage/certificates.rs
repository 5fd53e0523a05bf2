//! Registers certificates with keys, and removes them.

use homeroom_http::Fingerprint;
use serde_json::{Value, json};

use crate::access::Access;
use crate::change::Change;
use crate::error::ManageError;
use crate::records::SecretRecord;

/// Most certificates of a key: those in use and those that will replace them.
const CERTIFICATES_MAX: usize = 4;

impl Access {
    /// Registers a certificate with a key, or removes it. A certificate has one key; one that has it
    /// already, or no longer, stays as it is.
    pub(super) fn set_certificate(
        &self,
        change: &mut Change<'_>,
        key: &str,
        sha256: &str,
        remove: bool,
    ) -> Result<Value, ManageError> {
        let certificate = Fingerprint::read(sha256).ok_or_else(|| {
            ManageError::Invalid(
                "a SHA-256 fingerprint has 64 hex digits, as `openssl x509 -fingerprint -sha256 \
                 -noout` shows them"
                    .into(),
            )
        })?;
        self.secrets_of_active(key)?;
        let (holder, mut all) = self.look_up(|registry| {
            let registered = registry.clients.get(key);
            let all = registered.into_iter().flat_map(|registered| &registered.certificates);
            let all = all.filter_map(SecretRecord::certificate).collect::<Vec<_>>();
            (registry.key_of(&certificate).map(String::from), all)
        });
        match (remove, holder) {
            (_, Some(holder)) if holder != key => {
                return Err(ManageError::Refused(format!(
                    "the certificate {certificate} is registered with the key {holder}"
                )));
            }
            (false, None) if all.len() >= CERTIFICATES_MAX => {
                return Err(ManageError::Refused(format!(
                    "the key {key} already has {CERTIFICATES_MAX} certificates; remove one first \
                     (homeroom keys remove-certificate {key} SHA256)"
                )));
            }
            (false, None) => {
                change.add_certificate(key, &certificate);
                all.push(certificate);
            }
            (true, Some(_)) => {
                change.remove_secret(key, &SecretRecord::id_of(&certificate));
                all.retain(|other| *other != certificate);
            }
            (false, Some(_)) | (true, None) => {}
        }
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        Ok(json!({ "key": key, "certificates": all }))
    }
}
