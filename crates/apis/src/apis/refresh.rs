//! What is published as this process knows and serves it, brought up to date.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::MutexGuard;

use super::Apis;
use crate::edit::{Edit, Wish};
use crate::error::ApisError;
use crate::index::{Index, Kept};
use crate::known::Known;
use crate::limit::PlanLimit;
use crate::rows::{Kind, Reading, Row};
use crate::secret_files::States;

impl Apis {
    /// Serves what has changed since the last time: what another process has published, what could not be served, and
    /// APIs whose secrets have changed.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; what is served then stays.
    pub async fn follow(&self) -> Result<(), ApisError> {
        if !self.look_and_serve().await? {
            return Ok(());
        }
        // The files of what another process has published are known only now.
        if self.look_and_serve().await? {
            let mut known = self.known.lock().await;
            let Known { index, serving, .. } = &mut *known;
            if let Some(serving) = serving {
                serving.fail_waiting(index);
            }
        }
        Ok(())
    }

    /// Looks at the files of secrets, and serves what has changed and needs no others. Returns whether something does.
    async fn look_and_serve(&self) -> Result<bool, ApisError> {
        let files = {
            let known = self.known.lock().await;
            known.serving.as_ref().map(|serving| serving.files(&known.index))
        };
        let states = self.secret_files.states(files.unwrap_or_default()).await;
        let mut known = self.known.lock().await;
        if let Some(serving) = &mut known.serving {
            serving.only_answering(&states);
        }
        self.refresh(&mut known).await?;
        let Known { index, serving, .. } = &mut *known;
        let Some(serving) = serving.as_mut() else { return Ok(false) };
        if serving.note_due(&states) {
            let texts = self.rows.documents(&serving.wanted(index)).await?;
            serving.serve_rest(index, &texts);
        }
        Ok(serving.is_waiting())
    }

    /// Reads and serves a change that is stored. It is made even if that fails: it is served with the next one that
    /// can be read.
    pub(super) async fn catch_up(&self, known: &mut Known) {
        if let Err(error) = self.refresh(known).await {
            tracing::warn!(%error, "what was published is stored, and is served as soon as it can be read");
        }
    }

    /// Returns what is known, after what others have changed has been read.
    pub(super) async fn current(&self) -> Result<MutexGuard<'_, Known>, ApisError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        Ok(known)
    }

    /// Reads what has changed since the last time, and serves it.
    pub(super) async fn refresh(&self, known: &mut Known) -> Result<(), ApisError> {
        let mut state = self.rows.state().await?;
        if state.is_whole {
            self.divide(state.version).await?;
            state = self.rows.state().await?;
        }
        if state.version == known.version {
            return Ok(());
        }
        let since = known.version;
        // An empty index has no rows to drop.
        if since >= 0 && state.removed > known.removed {
            known.keep_only(&self.rows.names().await?);
        }
        let subscriptions = self.rows.subscriptions(since).await?;
        if !subscriptions.is_empty() {
            let mut all = HashMap::clone(&self.shared.subscriptions.load());
            all.extend(subscriptions.into_iter().map(|(key, to)| (key, Arc::new(to))));
            self.shared.subscriptions.store(Arc::new(all));
        }
        let mut plans = Reading::after(since, Kind::Plan);
        while let Some(rows) = some(self.rows.next(&mut plans).await?) {
            for row in rows {
                known.index.put_plan(row.place, row.item()?, row.text.len());
            }
        }
        // Until all APIs have changed, some of their calls are limited by plans that are about to go.
        let plans = self.plans_of(&known.index);
        let mut all = HashMap::clone(&self.shared.plans.load());
        all.extend(plans.iter().map(|(name, plan)| (name.clone(), Arc::clone(plan))));
        self.shared.plans.store(Arc::new(all));
        self.read_apis(known, since).await?;
        self.shared.plans.store(Arc::new(plans));
        (known.version, known.removed) = (state.version, state.removed);
        Ok(())
    }

    /// Reads APIs and documents that have changed, and serves them as they come, so that the texts of few documents
    /// are in memory at a time.
    async fn read_apis(&self, known: &mut Known, since: i64) -> Result<(), ApisError> {
        let Known { index, serving, .. } = known;
        if let Some(serving) = serving {
            serving.note_due(&States::new());
        }
        let mut apis = Reading::after(since, Kind::Api);
        while let Some(rows) = some(self.rows.next(&mut apis).await?) {
            for row in rows {
                index.put_api(row.place, row.item()?, row.text.len());
                if let Some(serving) = serving {
                    serving.note(&row.name);
                }
            }
        }
        let mut documents = Reading::after(since, Kind::Document);
        while let Some(rows) = some(self.rows.next(&mut documents).await?) {
            let mut users = vec![];
            let mut texts = BTreeMap::new();
            for Row { name, text, .. } in rows {
                index.put_document(name.clone(), &text);
                users.extend_from_slice(index.users(&name));
                texts.insert(name, text);
            }
            if let Some(serving) = serving {
                for user in &users {
                    serving.note(user);
                }
                serving.serve(&users, index, &texts);
            }
        }
        if let Some(serving) = serving {
            let texts = self.rows.documents(&serving.wanted(index)).await?;
            serving.serve_rest(index, &texts);
        }
        Ok(())
    }

    /// Divides what an earlier version of the program has published as one text into rows.
    async fn divide(&self, version: i64) -> Result<(), ApisError> {
        let whole = self.rows.whole().await?;
        let edit = Edit::of(Wish::of(&whole, true), &Index::default())?;
        match self.rows.write(version, &edit, true).await {
            // Another node has divided it already.
            Ok(_) | Err(ApisError::Meanwhile) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the plans as they are now; those that have not changed keep their counters.
    fn plans_of(&self, index: &Index) -> HashMap<String, Arc<PlanLimit>> {
        let before = self.shared.plans.load();
        let plans = index.plans().map(|Kept { item: plan, .. }| {
            let before = before.get(&plan.name);
            let kept = before.filter(|kept| kept.plan == *plan).cloned();
            let after = || Arc::new(PlanLimit::new(plan, before.map(|before| &**before)));
            (plan.name.clone(), kept.unwrap_or_else(after))
        });
        plans.collect()
    }
}

fn some<T>(rows: Vec<T>) -> Option<Vec<T>> {
    (!rows.is_empty()).then_some(rows)
}
