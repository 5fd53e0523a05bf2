//! The server's own keys, which are in its store.

use homeroom_http::Timestamp;
use homeroom_store::{Answer, Decision, Plan, Refused, Sql, Store, StoreError, Write};

use crate::error::AccessError;
use crate::secret::random;
use crate::sql;

pub(crate) type Seed = [u8; 32];

/// Returns the key that hashes secrets, and those that sign tokens, newest first. Creates them
/// where the store has none; keys that another process created first stay.
pub(crate) async fn server_keys(
    store: &Store,
    now: Timestamp,
) -> Result<(Seed, Vec<Seed>), AccessError> {
    const HASHING: &str = "secret-hashing";
    const SIGNING: &str = "token-signing";
    let rows = store.query(Sql::new(sql::SERVER_KEYS, vec![])).await?;
    let has = |name: &str| {
        rows.iter().any(|row| row[0].as_text().is_some_and(|found| found.starts_with(name)))
    };
    let mut writes = vec![];
    for name in [HASHING, SIGNING] {
        if !has(name) {
            let bytes = blake3::Hash::from_bytes(random::<32>()?).to_hex().to_string();
            let arguments = vec![name.into(), bytes.into(), now.0.into()];
            writes.push(Write::Sql(Sql::new(sql::ADD_SERVER_KEY, arguments)));
        }
    }
    let rows = if writes.is_empty() {
        rows
    } else {
        let mut writes = Some(writes);
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<Answer>| -> Decision<(), StoreError> {
                Decision::Write(writes.take().unwrap_or_default(), ())
            },
        };
        store.run(plan).await.map_err(|refused| match refused {
            Refused::Decision(error) | Refused::Store(error) => error,
        })?;
        store.query(Sql::new(sql::SERVER_KEYS, vec![])).await?
    };
    let mut hashing = None;
    let mut signing = vec![];
    for row in rows {
        let seed = row[1].as_text().and_then(|hex| blake3::Hash::from_hex(hex).ok());
        let seed = *seed.ok_or(AccessError::Damaged("server key"))?.as_bytes();
        match row[0].as_text() {
            Some(HASHING) => hashing = Some(seed),
            Some(name) if name.starts_with(SIGNING) => signing.push(seed),
            _ => {}
        }
    }
    Ok((hashing.ok_or(AccessError::Damaged("server key"))?, signing))
}
