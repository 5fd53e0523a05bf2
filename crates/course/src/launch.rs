//! Launch links: who may play what, and for how long.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use homeroom_store::Uuid;
use sha2::{Digest as _, Sha256};

use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::{Launch, LaunchOptions};
use crate::registration::Registration;
use crate::row::write;
use crate::sql;

/// Bytes of the secret in a launch's path.
const SECRET_BYTES: usize = 32;
/// Seconds for which a launch's page can be opened, where nothing is said.
pub(crate) const EXPIRY_SECONDS: i64 = 120;
/// Most seconds for which a launch's page can be opened: 30 days.
pub(crate) const EXPIRY_SECONDS_MAX: i64 = 30 * 86_400;
/// Most launches of a registration that its history lists.
const HISTORY_MAX: i64 = 1_000;

/// Returns the hash under which a secret is kept.
pub(crate) fn hash(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    URL_SAFE_NO_PAD.encode(digest)
}

impl Courses {
    /// Creates a launch and returns the secret for its path.
    pub(crate) async fn add_launch(
        &self,
        registration: Option<&Registration>,
        (course, version): (&str, i64),
        options: &LaunchOptions,
        expiry_seconds: i64,
        now: i64,
    ) -> Result<String, Error> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::Store(homeroom_store::StoreError::Failed(format!("no random bytes: {error}")))
        })?;
        let secret = URL_SAFE_NO_PAD.encode(bytes);
        let options = serde_json::to_string(options).unwrap_or_else(|_| "{}".into());
        let arguments = vec![
            hash(&secret).into(),
            Uuid::new().to_string().into(),
            registration.map(|of| of.id.clone()).into(),
            registration.map_or(0, |of| of.instance).into(),
            course.into(),
            version.into(),
            options.into(),
            now.into(),
            now.saturating_add(expiry_seconds.saturating_mul(1_000_000)).into(),
            registration.map_or("", |of| &of.incarnation).into(),
        ];
        self.write(vec![write(sql::LAUNCH_ADD, arguments)]).await?;
        Ok(secret)
    }

    /// Finds a launch by its secret. What is in memory may be a little old: that a launch belongs to its
    /// registration is checked with the rows of that.
    pub(crate) async fn launch(&self, secret: &str, now: i64) -> Result<Arc<Launch>, Error> {
        let unknown = || {
            Error::Unknown(
                "launch at this address: it has ended, or never was; ask for a new link".into(),
            )
        };
        if secret.len() > 100 {
            return Err(unknown());
        }
        let hash = hash(secret);
        let found = match self.known_launch(&hash, now) {
            Some(found) => found,
            None => {
                let row = self.row(sql::LAUNCH, vec![hash.as_str().into()]).await?;
                let found = Arc::new(Launch::of(&row.ok_or_else(unknown)?)?);
                self.keep_launch(hash, &found, now);
                found
            }
        };
        if found.is_good(now) { Ok(found) } else { Err(unknown()) }
    }

    /// Returns the launches of a registration, the oldest first.
    pub(crate) async fn launches(&self, registration: &str) -> Result<Vec<Launch>, Error> {
        let arguments = vec![registration.into(), HISTORY_MAX.into()];
        let rows = self.list(sql::LAUNCHES, arguments).await?;
        rows.iter().map(Launch::of).collect()
    }
}
