//! Launch links: who may play what, and for how long.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use homeroom_store::Uuid;
use sha2::{Digest as _, Sha256};

use crate::commit::Traced;
use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::{Launch, LaunchOptions};
use crate::registration::Registration;
use crate::row::{Columns, write};
use crate::sql;

/// Bytes of the secret in a launch's path.
const SECRET_BYTES: usize = 32;
/// Seconds for which a launch's page can be opened, where nothing is said.
pub(crate) const EXPIRY_SECONDS: i64 = 120;
/// Most seconds for which a launch's page can be opened: 30 days.
pub(crate) const EXPIRY_SECONDS_MAX: i64 = 30 * 86_400;
/// Most launches of a page of a registration's history.
const HISTORY_MAX: usize = 1_000;
/// Most commits of a page of a launch's trace.
const TRACE_PAGE: usize = 100;

/// Returns the limit of rows for a page: one more than it shows, which tells whether there are others.
fn limit(page: usize) -> homeroom_store::Value {
    i64::try_from(page + 1).unwrap_or(i64::MAX).into()
}

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

    /// Finds a launch by its secret. What is in memory may be a little old, where another node has ended it: that a
    /// launch belongs to its registration is checked with the rows of that, before anything of it is told or saved.
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
        let found = match self.launch_cache.get(&hash, now) {
            Ok(found) => found,
            Err(to_be_read) => {
                let row = self.row(sql::LAUNCH, vec![hash.as_str().into()]).await?;
                let found = Arc::new(Launch::of(&row.ok_or_else(unknown)?)?);
                self.launch_cache.put(to_be_read, hash, &found, now);
                found
            }
        };
        if found.is_good(now) { Ok(found) } else { Err(unknown()) }
    }

    /// Returns the newest launches of a registration, or of one of its instances, that are before one, and whether
    /// there are others before these. The oldest come first.
    pub(crate) async fn launches(
        &self,
        registration: &str,
        instance: Option<i64>,
        before: Option<(i64, String)>,
    ) -> Result<(Vec<Launch>, bool), Error> {
        let (created, id) = before.unwrap_or((i64::MAX, String::new()));
        let arguments = vec![
            registration.into(),
            instance.unwrap_or(-1).into(),
            created.into(),
            id.into(),
            limit(HISTORY_MAX),
        ];
        let rows = self.list(sql::LAUNCHES, arguments).await?;
        let launches = rows.iter().map(Launch::of).collect::<Result<Vec<_>, _>>()?;
        let is_more = launches.len() > HISTORY_MAX;
        let mut launches: Vec<_> = launches.into_iter().take(HISTORY_MAX).collect();
        launches.reverse();
        Ok((launches, is_more))
    }

    /// Returns the commits of a launch after a number, each with its calls, and the number of the last one if there
    /// are more.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if the registration has no such launch.
    pub(crate) async fn calls(
        &self,
        registration: &str,
        launch: &str,
        after: i64,
    ) -> Result<(Vec<serde_json::Value>, Option<i64>), Error> {
        let key = vec![registration.into(), launch.into()];
        if self.row(sql::LAUNCH_OF, key).await?.is_none() {
            return Err(Error::Unknown("such launch of this registration".into()));
        }
        let arguments = vec![launch.into(), after.into(), limit(TRACE_PAGE)];
        let rows = self.list(sql::TRACE, arguments).await?;
        let (mut commits, mut last) = (vec![], after);
        for row in rows.iter().take(TRACE_PAGE) {
            let mut row = Columns::of(row, "a trace");
            last = row.number()?;
            let at = row.number()?;
            commits.push(Traced::of(last).shown(at, row.json()?));
        }
        Ok((commits, (rows.len() > TRACE_PAGE).then_some(last)))
    }
}
