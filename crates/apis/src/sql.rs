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
