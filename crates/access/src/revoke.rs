//! A client takes back a token of its own before it ends.
//!
//! Tokens are signed, so what is taken back is kept until it would have ended: in the store, and in the memory
//! of each node. Only the first look at a token in a generation of the registry asks for it; afterwards a token
//! is known by its hash, and forgotten when it is taken back.
//!
//! Source: RFC 7009 §2.1 (request), §2.2 (answers).

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use homeroom_http::{Problem, Response, Timestamp};
use homeroom_store::{Answer, Decision, Lane, Plan, Refused, Sql, StoreError, Write};
use http::StatusCode;
use serde_json::json;

use crate::access::Access;
use crate::client::{ApiClient, Call};
use crate::error::AccessError;
use crate::introspect::asker;
use crate::oauth::{OAuthError, uncached};
use crate::revocations::Revoked;
use crate::sql;

/// The path of revocation.
pub(crate) const REVOKE: &str = "/oauth/revoke";

/// The lane of what is taken back: it needs no order with documents, nor with keys and their rights.
const LANE: Lane = Lane::new("revocation");

/// Seconds after which a client may try again when there are too many: some have ended by then.
const RETRY_SECONDS: u32 = 60;

/// Why a token is not taken back.
#[derive(Debug, thiserror::Error)]
enum NotRevoked {
    #[error("it was issued to another client")]
    Foreign,
    #[error("too many are taken back already")]
    TooMany,
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Takes back the token that a client names.
///
/// # Errors
///
/// 503 while it cannot be stored, and those of introspection.
pub(crate) async fn post_revoke(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let asker = match asker(&access, &mut call, REVOKE).await {
        Ok(asker) => asker,
        Err(answer) => return answer,
    };
    let (here, client, token) = (Arc::clone(&access), Arc::clone(&asker.client), asker.token);
    // What is stored is known here, too, even if the client has left.
    let working =
        tokio::spawn(async move { here.take_back(&client, token.trim(), call.now).await });
    let answer = match working.await.map_err(Problem::internal)? {
        Ok(()) => Ok(uncached(StatusCode::OK, &json!({}))),
        Err(NotRevoked::Foreign) => Ok(OAuthError::new(
            StatusCode::BAD_REQUEST,
            "invalid_grant",
            "The token was issued to another client, which alone can revoke it.",
        )
        .into_response()),
        Err(NotRevoked::TooMany) => Err(Problem::busy(RETRY_SECONDS)
            .detail("As many live tokens are revoked as may be.")
            .hint("Revoke the key's secret: all its tokens end with it.")),
        Err(NotRevoked::Access(error)) => {
            tracing::warn!(%error, "a token cannot be revoked");
            Err(Problem::busy(1).detail("The token is not revoked: that cannot be stored now."))
        }
    };
    access.naming(&asker.client.key, answer)
}

impl Access {
    /// Takes back a token of a client. One that nobody has issued, or that has ended, is no error.
    async fn take_back(
        &self,
        client: &ApiClient,
        token: &str,
        now: Timestamp,
    ) -> Result<(), NotRevoked> {
        let Some(claims) = self.tokens.read(token) else { return Ok(()) };
        if claims.sub != client.key {
            return Err(NotRevoked::Foreign);
        }
        let hash = blake3::hash(token.as_bytes());
        let mut number = self.revocations.number.lock().await;
        self.read_revoked(&mut number).await?;
        if now >= claims.expires() || self.revocations.has(&hash) {
            return Ok(());
        }
        if !self.revocations.has_room_for(&client.key) {
            return Err(NotRevoked::TooMany);
        }
        let row = vec![hash.to_hex().as_str().into(), claims.sub.into(), claims.exp.into()];
        let writes = [
            Sql::new(sql::COUNT_REVOKED, vec![]),
            Sql::new(sql::END_REVOKED, vec![now.seconds().into()]),
            Sql::new(sql::ADD_REVOKED, row),
        ];
        let mut writes = Some(writes.map(|sql| Write::Rows(LANE.all(), sql)).into());
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<Answer>| -> Decision<(), StoreError> {
                Decision::Write(writes.take().unwrap_or_default(), ())
            },
        };
        let written = self.store.run_in(LANE, plan).await.map_err(|refused| match refused {
            Refused::Decision(error) | Refused::Store(error) => error,
        });
        if matches!(written, Ok(_) | Err(StoreError::Unsure)) {
            let revoked = Revoked { key: client.key.as_str().into(), ends: claims.exp };
            let mut known = self.revocations.known.write().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, revoked| now.seconds() < revoked.ends);
            known.insert(hash, revoked);
            drop(known);
            self.cache.remove(&hash);
            self.no_longer_live(&client.key, claims.exp);
        }
        written.map_err(AccessError::from)?;
        *number += 1;
        Ok(())
    }

    /// Reads which tokens were taken back, by whatever node, if there are more than before.
    pub(crate) async fn refresh_revoked(&self) -> Result<(), AccessError> {
        let mut number = self.revocations.number.lock().await;
        self.read_revoked(&mut number).await
    }

    async fn read_revoked(&self, number: &mut i64) -> Result<(), AccessError> {
        let rows = self.store.look_up(Sql::new(sql::REVOCATIONS, vec![])).await?;
        let stored = rows.first().and_then(|row| row.first()?.as_integer());
        let stored = stored.ok_or(AccessError::Damaged("count of revoked tokens"))?;
        if stored == *number {
            return Ok(());
        }
        let mut known = HashMap::new();
        for row in self.store.query(Sql::new(sql::REVOKED, vec![])).await? {
            let read = || {
                let hash = blake3::Hash::from_hex(row.first()?.as_text()?).ok()?;
                let (key, ends) = (row.get(1)?.as_text()?.into(), row.get(2)?.as_integer()?);
                Some((hash, Revoked { key, ends }))
            };
            let (hash, revoked) = read().ok_or(AccessError::Damaged("revoked token"))?;
            known.insert(hash, revoked);
        }
        let hashes: Vec<blake3::Hash> = known.keys().copied().collect();
        *self.revocations.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        for hash in hashes {
            self.cache.remove(&hash);
        }
        *number = stored;
        Ok(())
    }
}
