//! The SQL of this crate, in the dialect that both databases understand.

pub(crate) const SERVER_KEYS: &str =
    "SELECT name, bytes FROM server_key ORDER BY created DESC, name";

pub(crate) const ADD_SERVER_KEY: &str = "INSERT INTO server_key (name, bytes, created) \
     VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING";

pub(crate) const VERSION: &str = "SELECT version FROM access_version WHERE id = 1";

pub(crate) const SET_VERSION: &str = "UPDATE access_version SET version = ?1 WHERE id = 1";

pub(crate) const CLIENTS: &str = "SELECT c.api_key, c.application, c.claim_set, c.scopes, \
     c.education_organizations, c.namespace_prefixes, c.created, c.revoked, \
     c.ownership_tokens, c.creator_token, c.suspended, \
     l.id, l.application, l.name, l.approved FROM api_client AS c \
     LEFT JOIN application_client AS l ON l.api_key = c.api_key ORDER BY c.api_key";

pub(crate) const ADD_CLIENT: &str = "INSERT INTO api_client (api_key, application, claim_set, \
     scopes, education_organizations, namespace_prefixes, created, revoked, ownership_tokens, \
     creator_token) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, ?9)";

pub(crate) const GRANT_CLIENT: &str = "UPDATE api_client SET application = ?2, claim_set = ?3, \
     education_organizations = ?4, namespace_prefixes = ?5 WHERE api_key = ?1";

pub(crate) const OWN_AS: &str =
    "UPDATE api_client SET ownership_tokens = ?2, creator_token = ?3 WHERE api_key = ?1";

/// Of a client that belongs to no application; the link of any other says whether it may call.
pub(crate) const SUSPEND_CLIENT: &str = "UPDATE api_client SET suspended = ?2 WHERE api_key = ?1";

pub(crate) const REMOVE_CLIENT: &str = "DELETE FROM api_client WHERE api_key = ?1";

pub(crate) const PUT_LINK: &str = "INSERT INTO application_client (api_key, id, application, name, \
     approved) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (api_key) DO UPDATE SET \
     application = excluded.application, name = excluded.name, approved = excluded.approved";

pub(crate) const REMOVE_LINK: &str = "DELETE FROM application_client WHERE api_key = ?1";

pub(crate) const MANAGED: &str = "SELECT kind, id, definition FROM managed ORDER BY kind, id";

pub(crate) const PUT_MANAGED: &str = "INSERT INTO managed (kind, id, definition) \
     VALUES (?1, ?2, ?3) ON CONFLICT (kind, id) DO UPDATE SET definition = excluded.definition";

pub(crate) const REMOVE_MANAGED: &str = "DELETE FROM managed WHERE kind = ?1 AND id = ?2";

pub(crate) const MANAGED_LAST: &str = "SELECT kind, id FROM managed_last ORDER BY kind";

pub(crate) const PUT_LAST: &str = "INSERT INTO managed_last (kind, id) VALUES (?1, ?2) \
     ON CONFLICT (kind) DO UPDATE SET id = excluded.id";

pub(crate) const REMOVE_CLAIM_SET: &str = "DELETE FROM claim_set WHERE folded = ?1";

pub(crate) const REVOKE_CLIENT: &str =
    "UPDATE api_client SET revoked = ?2 WHERE api_key = ?1 AND revoked IS NULL";

pub(crate) const SECRETS: &str = "SELECT api_key, id, hash, created, valid_until \
     FROM api_client_secret ORDER BY api_key, created, id";

pub(crate) const ADD_SECRET: &str = "INSERT INTO api_client_secret (id, api_key, hash, created, \
     valid_until) VALUES (?1, ?2, ?3, ?4, NULL)";

pub(crate) const END_SECRET: &str = "UPDATE api_client_secret SET valid_until = ?2 WHERE id = ?1";

pub(crate) const REMOVE_SECRET: &str = "DELETE FROM api_client_secret WHERE id = ?1";

pub(crate) const REMOVE_SECRETS_OF: &str = "DELETE FROM api_client_secret WHERE api_key = ?1";

pub(crate) const REVOCATIONS: &str = "SELECT number FROM revocation WHERE id = 1";

/// Others who count up wait for this one.
pub(crate) const COUNT_REVOKED: &str = "UPDATE revocation SET number = number + 1 WHERE id = 1";

pub(crate) const REVOKED: &str = "SELECT hash, api_key, ends FROM revoked_token ORDER BY hash";

pub(crate) const END_REVOKED: &str = "DELETE FROM revoked_token WHERE ends <= ?1";

pub(crate) const ADD_REVOKED: &str = "INSERT INTO revoked_token (hash, api_key, ends) \
     VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING";

pub(crate) const CLAIM_SETS: &str =
    "SELECT folded, name, definition, changed FROM claim_set ORDER BY folded";

pub(crate) const PUT_CLAIM_SET: &str = "INSERT INTO claim_set (folded, name, definition, changed) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (folded) DO UPDATE SET name = excluded.name, \
     definition = excluded.definition, changed = excluded.changed";
