//! The SQL of this crate, in the dialect that both databases understand.

pub(crate) const VERSION: &str = "SELECT version FROM published WHERE id = 1";

pub(crate) const READ: &str = "SELECT version, definition FROM published WHERE id = 1";

pub(crate) const WRITE: &str = "UPDATE published SET version = ?1, definition = ?2 WHERE id = 1";

pub(crate) const SET_VERSION: &str = "UPDATE published SET version = ?1 WHERE id = 1";

pub(crate) const SUBSCRIPTIONS: &str =
    "SELECT api_key, plan, apis, scopes FROM subscription ORDER BY api_key";

pub(crate) const SUBSCRIBE: &str = "INSERT INTO subscription (api_key, plan, apis, scopes) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (api_key) DO UPDATE SET plan = excluded.plan, \
     apis = excluded.apis, scopes = excluded.scopes";

/// The plans that keys in force have. Who the keys are is the access part's to say; what is asked of its
/// table is only which of them are revoked or gone.
pub(crate) const PLANS_IN_USE: &str = "SELECT s.plan, s.api_key FROM subscription AS s \
     JOIN api_client AS c ON c.api_key = s.api_key \
     WHERE s.plan IS NOT NULL AND c.revoked IS NULL ORDER BY s.plan, s.api_key";

pub(crate) const KEY: &str =
    "SELECT api_key FROM api_client WHERE api_key = ?1 AND revoked IS NULL";
