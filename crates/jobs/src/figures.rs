//! Figures about jobs, for metrics.

use std::sync::atomic::Ordering;

use homeroom_store::{ChangedAt, Sql, StoreError};

use crate::job::State;
use crate::jobs::Jobs;
use crate::{row, sql};

/// Figures about the jobs of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// The jobs that are kept, by kind and state.
    pub groups: Vec<Group>,
    /// What this process has refused since its start.
    pub refusals: Refusals,
}

/// Jobs of one kind in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name of the kind.
    pub kind: String,
    /// The state.
    pub state: State,
    /// The number of jobs.
    pub count: u64,
    /// When the oldest of them was queued.
    pub oldest: ChangedAt,
}

/// Numbers of jobs that were refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Too many were waiting.
    pub full: u64,
    /// A value was too large.
    pub large: u64,
}

impl Jobs {
    /// Counts jobs by kind and state.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn figures(&self) -> Result<Figures, StoreError> {
        let rows = self.store.query(Sql::new(sql::FIGURES, vec![])).await?;
        let group = |row: &Vec<homeroom_store::Value>| {
            let [kind, state, count, oldest] = row.as_slice() else { return None };
            Some(Group {
                kind: kind.as_text()?.to_owned(),
                state: State::read(state.as_text()?)?,
                count: u64::try_from(count.as_integer()?).ok()?,
                oldest: ChangedAt(oldest.as_integer()?),
            })
        };
        let groups: Option<Vec<Group>> = rows.iter().map(group).collect();
        let refusals = Refusals {
            full: self.signals.refused_full.load(Ordering::Relaxed),
            large: self.signals.refused_large.load(Ordering::Relaxed),
        };
        Ok(Figures { groups: groups.ok_or_else(row::damaged)?, refusals })
    }
}
