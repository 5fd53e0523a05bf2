//! The end of a transaction, and finding out its outcome where no answer came.
#![expect(clippy::disallowed_methods, reason = "the time of a commit is measured")]

use std::time::{Duration, Instant};

use crate::copies::now_us;
use crate::error::StoreError;
use crate::lane::Lane;
use crate::postgres::connection::in_order;
use crate::postgres::error::Fault;
use crate::postgres::many;
use crate::postgres::writer::hold::HOLD_LANE;
use crate::postgres::writer::prepared::AllPrepared;
use crate::postgres::writer::statement::{Statement, texts_of_many};
use crate::postgres::writer::{Failing, PAUSE_MAX, WriterState};

/// How long to try to find out the outcome of a commit.
const DOUBT: Duration = Duration::from_mins(1);

/// Records the last transaction that each node has committed.
const COMMITTED: &str = "INSERT INTO node (id, txn, seen) VALUES (?1, ?2, ?3) \
     ON CONFLICT (id) DO UPDATE SET txn = excluded.txn, seen = excluded.seen";
/// Waits until no transaction is under way; the one in doubt holds this row until its end.
const WAIT: &str = "SELECT id FROM counter WHERE name = 'writer' FOR UPDATE";
const LAST: &str = "SELECT txn FROM node WHERE id = ?1";

impl WriterState {
    /// Writes the remaining statements, and commits.
    pub(super) async fn commit(
        &mut self,
        last: &[Statement],
        failing: Option<Failing>,
    ) -> Result<(), Fault> {
        let (node, txn, seen) = (self.node, self.txn, now_us());
        let connection = self.connection.as_ref().ok_or_else(Fault::silent)?;
        let prepare = async {
            let texts = last.iter().map(|statement| statement.text);
            let mut prepared = AllPrepared::prepare(connection, texts.chain([COMMITTED])).await?;
            prepared.add_for_many(connection, texts_of_many(last), many::write).await?;
            Ok(prepared)
        };
        let prepared = connection.answered(prepare).await?;
        last.iter().try_for_each(|last| last.rehearse(&prepared[last.text]))?;
        let write = async {
            let write = in_order(last.iter().map(|last| last.run(connection, &prepared)));
            let committed = &prepared[COMMITTED];
            let sign = async { connection.execute(committed, &[&node, &txn, &seen]).await };
            let (written, signed) = tokio::join!(biased; write, sign);
            written.into_iter().chain([signed]).collect::<Result<(), Fault>>()
        };
        if let Some(Failing::Commit) = failing {
            connection.answered(write).await?;
            return Err(Fault::Again("made to fail at the commit".into()));
        }
        let commit = connection.simple("COMMIT");
        self.is_committing = true;
        let flight = async {
            // After an error the server refuses the rest, the commit included; the first error counts.
            let (written, ended) = tokio::join!(biased; write, commit);
            written.and(ended)
        };
        let ended = match connection.answered(flight).await {
            Err(Fault::Lost(why)) => {
                tracing::warn!(why, "the connection was lost in a commit");
                let found = self.find_out().await;
                found.and_then(|is_done| if is_done { Ok(()) } else { Err(Fault::Again(why)) })
            }
            Err(Fault::Form(why)) => {
                tracing::error!(why, "a statement of a commit was not sent");
                let found = self.find_out().await;
                let partly = Fault::Everybody(StoreError::Unsure);
                found.and_then(|is_done| Err(if is_done { partly } else { Fault::Form(why) }))
            }
            ended => ended,
        };
        self.is_committing = false;
        ended
    }

    /// Finds out whether the last transaction was committed, once it has ended.
    async fn find_out(&mut self) -> Result<bool, Fault> {
        let begun = Instant::now();
        while begun.elapsed() < DOUBT {
            self.leave().await;
            match self.look_up().await {
                Ok(is_done) => return Ok(is_done),
                Err(fault) => tracing::warn!(?fault, "what became of a commit is not known yet"),
            }
            tokio::time::sleep(PAUSE_MAX).await;
        }
        Err(Fault::Everybody(StoreError::Unsure))
    }

    async fn look_up(&mut self) -> Result<bool, Fault> {
        let (node, txn, lane) = (self.node, self.txn, self.lane);
        let connection = self.connection().await?;
        let look_up = async {
            connection.simple("BEGIN").await?;
            match lane.map(Lane::name) {
                Some(name) => connection.query(HOLD_LANE, &[&name]).await?,
                None => connection.query(WAIT, &[]).await?,
            };
            let rows = connection.query(LAST, &[&node]).await?;
            let last: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose()?;
            connection.simple("ROLLBACK").await?;
            Ok(last == Some(txn))
        };
        connection.answered(look_up).await
    }
}
