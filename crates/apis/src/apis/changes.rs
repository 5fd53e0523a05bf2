//! Changes of what is published: worked out, checked, stored and served.

use std::collections::{BTreeMap, BTreeSet};

use homeroom_store::{Sql, Value};

use super::{Apis, TRIES_MAX};
use crate::check::{Finding, Others, check_beside, hints};
use crate::definition::{Api, Published};
use crate::diff::{Difference, differences};
use crate::edit::{Edit, Wish};
use crate::error::{ApisError, DEFINITION_BYTES_MAX};
use crate::index::Index;
use crate::known::Known;
use crate::missing::missing_secrets;
use crate::secret::files_of;
use crate::sql;
use crate::subscription::Subscription;

/// What can be told of a definition before it is published.
pub(crate) struct Told {
    /// What keeps it from being published.
    pub(crate) findings: Vec<Finding>,
    /// What its author should know, and may be meant.
    pub(crate) hints: Vec<Finding>,
}

impl Apis {
    /// Publishes exactly this: APIs and plans that it does not have are withdrawn. Subscriptions stay.
    /// Returns what has changed.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub async fn apply(&self, new: Published) -> Result<Vec<Difference>, ApisError> {
        self.change(Wish::of(&new, true)).await
    }

    /// Publishes plans and APIs beside those that are published; of one name, what is published stays.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub async fn add(&self, more: &Published) -> Result<Vec<Difference>, ApisError> {
        let mut more = more.clone();
        {
            let known = self.current().await?;
            more.definition.plans.retain(|plan| known.index.plan(&plan.name).is_none());
            more.definition.apis.retain(|api| known.index.api(&api.name).is_none());
        }
        self.change(Wish::of(&more, false)).await
    }

    /// Does what somebody wishes. It reads, checks, compiles and stores what changes, and nothing else. Returns what
    /// has changed.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it; paths are those of what is new.
    pub(crate) async fn change(&self, wish: Wish<'_>) -> Result<Vec<Difference>, ApisError> {
        self.change_if(wish, &|_| Ok(())).await
    }

    /// Does the same, if `may` allows it by what is published.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change), and what `may` refuses.
    pub(crate) async fn change_if(
        &self,
        wish: Wish<'_>,
        may: &(dyn Fn(&Index) -> Result<(), ApisError> + Sync),
    ) -> Result<Vec<Difference>, ApisError> {
        let files = self.look_ahead(wish, may).await?;
        let mut known = self.known.lock().await;
        if let Some(serving) = &mut known.serving {
            serving.also_answering(files);
        }
        let mut tries = 1;
        loop {
            self.refresh(&mut known).await?;
            match self.try_change(wish, may, &mut known).await {
                Err(ApisError::Meanwhile) if tries < TRIES_MAX => tries += 1,
                ended => return ended,
            }
        }
    }

    /// Reads the files of new secrets that may be named, so that one that does not answer keeps only this change
    /// waiting. Returns these.
    async fn look_ahead(
        &self,
        wish: Wish<'_>,
        may: &(dyn Fn(&Index) -> Result<(), ApisError> + Sync),
    ) -> Result<BTreeSet<String>, ApisError> {
        let apis = wish.sent().map(|new| &new.definition.apis[..]).unwrap_or_default();
        if apis.iter().all(|api| files_of(api).next().is_none()) {
            return Ok(BTreeSet::new());
        }
        let files: BTreeSet<String> = {
            let known = self.current().await?;
            may(&known.index)?;
            let is_new = |api: &&Api| {
                let kept = known.index.api(&api.name);
                kept.is_none_or(|kept| *kept.item != **api)
            };
            let new = apis.iter().filter(is_new);
            new.flat_map(|api| files_of(api).map(str::to_owned)).collect()
        };
        if !self.secret_files.answer_in_time(files.clone()).await {
            let message = "a file of a secret does not answer; nothing has changed";
            return Err(ApisError::Invalid(vec![Finding::at("", message)]));
        }
        Ok(files)
    }

    async fn try_change(
        &self,
        wish: Wish<'_>,
        may: &(dyn Fn(&Index) -> Result<(), ApisError> + Sync),
        known: &mut Known,
    ) -> Result<Vec<Difference>, ApisError> {
        may(&known.index)?;
        let (edit, changed) = self.planned(wish, known).await?;
        if changed.is_empty() {
            return Ok(changed);
        }
        self.check_plans_in_use(&edit).await?;
        let is_new = |api: &Api| edit.apis.contains_key(&api.name);
        let new = wish.sent();
        let missing = new.map(|new| missing_secrets(&new.definition, &is_new)).unwrap_or_default();
        if !missing.is_empty() {
            return Err(ApisError::Invalid(missing));
        }
        if edit.bytes(&known.index)? > DEFINITION_BYTES_MAX {
            return Err(ApisError::TooLarge);
        }
        let version = self.rows.write(known.version, &edit, false).await?;
        known.forget(&edit, version);
        self.catch_up(known).await;
        Ok(changed)
    }

    /// Returns what a wish would change.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(crate) async fn diff(&self, wish: Wish<'_>) -> Result<Vec<Difference>, ApisError> {
        let known = self.current().await?;
        Ok(self.planned(wish, &known).await?.1)
    }

    /// Returns the edit that a wish needs, with what it changes.
    async fn planned(
        &self,
        wish: Wish<'_>,
        known: &Known,
    ) -> Result<(Edit, Vec<Difference>), ApisError> {
        let edit = Edit::of(wish, &known.index)?;
        let stored = self.rows.documents(&edit.wanted(&known.index, wish.sent())).await?;
        let is_new = |api: &Api| edit.apis.contains_key(&api.name);
        let found = faults(wish, &known.index, &is_new, &stored);
        if !found.is_empty() {
            return Err(ApisError::Invalid(found));
        }
        let (before, after) = edit.before_and_after(&known.index, &stored);
        let changed = differences(&before, &after);
        Ok((edit, changed))
    }

    /// Returns what is wrong with a definition that is to be published beside what is published, and what its author
    /// should know.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn lint(&self, new: &Published) -> Result<Told, ApisError> {
        let known = self.current().await?;
        let named = new.definition.apis.iter().filter_map(|api| api.openapi.clone());
        let stored = named.filter(|name| known.index.hash(name).is_some()).collect();
        let stored = self.rows.documents(&stored).await?;
        let findings = faults(Wish::of(new, false), &known.index, &|_| true, &stored);
        let text = text_of(new, &stored);
        let hints = hints(&new.definition, Others::Published(&known.index), &text);
        Ok(Told { findings, hints })
    }

    /// Refuses a change that removes the plan of a key: the key would lose its calls.
    async fn check_plans_in_use(&self, edit: &Edit) -> Result<(), ApisError> {
        let is_removed = |name: &str| matches!(edit.plans.get(name), Some(None));
        if edit.plans.values().all(Option::is_some) {
            return Ok(());
        }
        let (mut plan, mut keys) = (String::new(), vec![]);
        for row in self.rows.0.query(Sql::new(sql::PLANS_IN_USE, vec![])).await? {
            let [Some(name), Some(key)] = [0, 1].map(|at| row.get(at).and_then(Value::as_text))
            else {
                continue;
            };
            if is_removed(name) && (keys.is_empty() || plan == name) {
                name.clone_into(&mut plan);
                keys.push(key.to_owned());
            }
        }
        if keys.is_empty() { Ok(()) } else { Err(ApisError::InUse { plan, apis: vec![], keys }) }
    }

    /// Says what a key may call.
    ///
    /// # Errors
    ///
    /// What is wrong with the subscription.
    pub async fn subscribe(&self, key: &str, to: &Subscription) -> Result<(), ApisError> {
        let mut known = self.known.lock().await;
        let mut tries = 1;
        loop {
            self.refresh(&mut known).await?;
            to.check(&known.index)?;
            match self.rows.subscribe(known.version, key, to).await {
                Err(ApisError::Meanwhile) if tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(error),
                Ok(()) => {
                    self.catch_up(&mut known).await;
                    return Ok(());
                }
            }
        }
    }
}

/// Returns all that is wrong with what is sent. `is_new` tells the APIs that have not been checked before, and
/// `stored` has the documents that are named and not sent.
fn faults(
    wish: Wish<'_>,
    index: &Index,
    is_new: &dyn Fn(&Api) -> bool,
    stored: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let (new, others) = match wish {
        Wish::Exactly(new) => (new, Others::None),
        Wish::Beside(new) => (new, Others::Published(index)),
        Wish::WithoutApi(_) | Wish::WithoutPlan(_) => return vec![],
    };
    check_beside(&new.definition, others, is_new, &text_of(new, stored))
}

/// Returns what finds the text of a document: of one that is sent, or of one that is stored.
fn text_of<'a>(
    new: &'a Published,
    stored: &'a BTreeMap<String, String>,
) -> impl Fn(&str) -> Option<&'a str> {
    move |document| {
        let sent = new.documents.get(document);
        sent.or_else(|| stored.get(document)).map(String::as_str)
    }
}
