//! What is served at the front door: each API compiled, and brought up to date by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use homeroom_access::ApiClient;
use homeroom_gateway::{FrontDoor, LiveRoutes};

use crate::definition::Api;
use crate::index::{Hash, Index};
use crate::limit::ApiLimit;
use crate::live_api::LiveApi;
use crate::live_api::routes::unserved;
use crate::operations::Operations;
use crate::quota_use::Counts;
use crate::secret::{Seen, files_of, seen};
use crate::secret_files::States;
use crate::shared::{Local, Shared};

/// The APIs that are served at a front door.
pub(crate) struct Serving {
    door: Weak<FrontDoor>,
    shared: Arc<Shared>,
    live: HashMap<String, Served>,
    /// APIs of which something may have changed since they were served.
    due: BTreeSet<String>,
    /// Files of secrets that have just been read on a thread of their own. Only these are read here.
    answering: BTreeSet<String>,
    /// APIs that cannot be served, which are tried again: until then their callers get 503.
    failed: BTreeMap<String, Failed>,
    /// The operations of documents that are being published: APIs with the same share them.
    compiled: HashMap<Compiled, Arc<Operations>>,
}

/// What operations come from: the document, the scopes that are usual for the API, and whether requests are checked.
type Compiled = (Hash, Vec<String>, bool);

/// An API as it is served.
struct Served {
    api: Arc<Api>,
    hash: Option<Hash>,
    operations: Option<Arc<Operations>>,
    /// Its limits with their counters, which go on when it changes.
    limits: Arc<[ApiLimit]>,
    /// The states of the files of its secrets when they were read.
    files: Vec<Seen>,
    /// Why a change of these files cannot be followed, as the log has it.
    behind: Option<String>,
}

/// An API that cannot be served.
struct Failed {
    api: Arc<Api>,
    reason: String,
    /// Its limits from when it was served.
    limits: Arc<[ApiLimit]>,
}

impl Serving {
    pub(crate) fn new(door: Weak<FrontDoor>, shared: Arc<Shared>) -> Self {
        let (live, compiled) = (HashMap::new(), HashMap::new());
        let (due, answering, failed) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        Self { door, shared, live, due, answering, failed, compiled }
    }

    /// Notes that an API has changed, or is no longer there.
    pub(crate) fn note(&mut self, api: &str) {
        self.due.insert(api.to_owned());
    }

    /// Returns the files of secrets, with the states in which they were read. Those of APIs that are not served, or not
    /// as they are now, have none.
    pub(crate) fn files(&self, index: &Index) -> Vec<(String, Option<Seen>)> {
        let live = self.live.values().flat_map(|served| files_of(&served.api).zip(&served.files));
        let live = live.map(|(file, seen)| (file.to_owned(), Some(*seen)));
        let failed = self.failed.values().map(|failed| &failed.api);
        let due = self.due.iter().filter_map(|name| Some(&index.api(name)?.item));
        let others = failed.chain(due).flat_map(|api| files_of(api));
        live.chain(others.map(|file| (file.to_owned(), None))).collect()
    }

    /// Notes the files of secrets that answer, and that no others do.
    pub(crate) fn only_answering(&mut self, states: &States) {
        self.answering = states.keys().cloned().collect();
    }

    /// Notes files of secrets that answer, too.
    pub(crate) fn also_answering(&mut self, files: BTreeSet<String>) {
        self.answering.extend(files);
    }

    /// Returns whether APIs have changed whose files nobody has looked at yet.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.due.is_empty()
    }

    /// Lets the callers of APIs know that have never been served, since the files of their secrets do not answer. Those
    /// that have go on as they were.
    pub(crate) fn fail_waiting(&mut self, index: &Index) {
        let Some(door) = self.door.upgrade() else { return };
        let new = self.due.iter().filter(|name| !self.live.contains_key(*name));
        for name in new.cloned().collect::<Vec<_>>() {
            if let Some(kept) = index.api(&name) {
                let reason = "a file of its secrets does not answer".to_owned();
                self.fail(&kept.item, reason, index, door.live());
            }
        }
        self.count_failed();
    }

    fn count_failed(&self) {
        self.shared.unserved.store(self.failed.len() as u64, Ordering::Relaxed);
    }

    /// Returns what counts the quotas of APIs.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Arc<Counts>> {
        let live = self.live.values().map(|served| &served.limits);
        let failed = self.failed.values().map(|failed| &failed.limits);
        live.chain(failed).flat_map(|limits| limits.iter().filter_map(ApiLimit::quota_counts))
    }

    /// Notes those that could not be served, and those whose secrets have changed, if their files answer. Returns
    /// whether anything is due.
    pub(crate) fn note_due(&mut self, states: &States) -> bool {
        let answer = |api: &Api| files_of(api).all(|file| states.contains_key(file));
        let failed = self.failed.iter().filter(|(_, failed)| answer(&failed.api));
        self.due.extend(failed.map(|(name, _)| name.clone()));
        let live = self.live.iter_mut().filter(|(_, served)| !served.files.is_empty());
        for (name, served) in live.filter(|(_, served)| answer(&served.api)) {
            let mut files = files_of(&served.api).zip(&served.files);
            if files.any(|(file, seen)| states.get(file) != Some(seen)) {
                self.due.insert(name.clone());
            } else {
                // They are there again as they were.
                served.behind = None;
            }
        }
        !self.due.is_empty()
    }

    /// Returns the documents that are needed to serve the APIs that have changed.
    pub(crate) fn wanted(&self, index: &Index) -> BTreeSet<String> {
        let changed = self.due.iter().filter_map(|name| index.api(name));
        let wanted = changed.filter(|kept| {
            let served = self.live.get(&kept.item.name);
            served.is_none_or(|served| !served.has_operations_of(&kept.item, index))
        });
        wanted.filter_map(|kept| kept.item.openapi.clone()).collect()
    }

    /// Serves APIs that have changed, of those whose documents are in `texts`. One that has not changed stays as it
    /// is, with its connections and counters; so does one with a file that may not answer.
    pub(crate) fn serve(
        &mut self,
        names: &[String],
        index: &Index,
        texts: &BTreeMap<String, String>,
    ) {
        let Some(door) = self.door.upgrade() else { return };
        let local = local(&door);
        for name in names {
            let Some(kept) = index.api(name).filter(|_| self.due.contains(name)) else { continue };
            if files_of(&kept.item).any(|file| !self.answering.contains(file)) {
                continue;
            }
            self.due.remove(name);
            let (api, hash) = (&kept.item, index.hash_of(&kept.item));
            let before = self.live.get(name);
            let is_same = before.is_some_and(|served| *served.api == **api && served.hash == hash);
            // The states are taken before the secrets are read, so a file that changes meanwhile is read again.
            let files: Vec<Seen> = files_of(api).filter_map(seen).collect();
            if is_same && before.is_some_and(|served| served.files == files) {
                continue;
            }
            let reason = match self.serve_one((api, hash, files), texts, door.live(), &local) {
                Ok(served) => {
                    let failed = self.failed.remove(name).map(|failed| failed.api);
                    let before = self.live.insert(name.clone(), served).map(|served| served.api);
                    for before in failed.into_iter().chain(before) {
                        withdraw(&before, index, door.live());
                    }
                    continue;
                }
                Err(reason) => reason,
            };
            if let Some(served) = self.live.get_mut(name).filter(|_| is_same) {
                if served.behind.as_ref() != Some(&reason) {
                    tracing::warn!(
                        api = api.name,
                        reason,
                        "an API goes on with the secrets that it had"
                    );
                    served.behind = Some(reason);
                }
                continue;
            }
            self.fail(api, reason, index, door.live());
        }
        self.count_failed();
    }

    /// Lets the callers of an API that cannot be served know so, until it can.
    fn fail(
        &mut self,
        api: &Arc<Api>,
        reason: String,
        index: &Index,
        live: &LiveRoutes<ApiClient>,
    ) {
        let before = self.live.remove(&api.name);
        let known = self.failed.get(&api.name);
        let limits = before.as_ref().map(|served| Arc::clone(&served.limits));
        let limits = limits.or_else(|| known.map(|known| Arc::clone(&known.limits)));
        if known.is_none_or(|known| known.reason != reason || known.api != *api) {
            tracing::error!(api = api.name, reason, "an API cannot be served; its callers get 503");
            if let Err(error) = live.publish(unserved(api)) {
                tracing::error!(api = api.name, %error, "an API has no place");
            }
            let failed =
                Failed { api: Arc::clone(api), reason, limits: limits.unwrap_or_default() };
            let failed = self.failed.insert(api.name.clone(), failed).map(|failed| failed.api);
            for before in failed.into_iter().chain(before.map(|served| served.api)) {
                withdraw(&before, index, live);
            }
        }
    }

    /// Serves all others that have changed, and withdraws those that are gone. What is left waits for files.
    pub(crate) fn serve_rest(&mut self, index: &Index, texts: &BTreeMap<String, String>) {
        let due: Vec<String> = self.due.iter().cloned().collect();
        self.serve(&due, index, texts);
        let Some(door) = self.door.upgrade() else { return };
        let due = std::mem::take(&mut self.due);
        let (waiting, gone): (_, BTreeSet<String>) =
            due.into_iter().partition(|name| index.api(name).is_some());
        self.due = waiting;
        for gone in gone {
            let failed = self.failed.remove(&gone).map(|failed| failed.api);
            let before = self.live.remove(&gone).map(|served| served.api);
            for before in failed.into_iter().chain(before) {
                withdraw(&before, index, door.live());
            }
        }
        self.count_failed();
        self.compiled = HashMap::new();
    }

    fn serve_one(
        &mut self,
        (api, hash, files): (&Arc<Api>, Option<Hash>, Vec<Seen>),
        texts: &BTreeMap<String, String>,
        live: &LiveRoutes<ApiClient>,
        local: &Local,
    ) -> Result<Served, String> {
        let operations = match hash.zip(api.openapi.as_ref()) {
            None => None,
            Some((hash, document)) => Some(self.operations(api, hash, texts.get(document))?),
        };
        let served = self.live.get(&api.name).map(|served| &served.limits);
        let before = served.or_else(|| self.failed.get(&api.name).map(|failed| &failed.limits));
        let before = before.map_or(&[][..], |limits| &**limits);
        let prepared = LiveApi::new(api, operations.clone(), before, &self.shared, local)?;
        let limits = Arc::clone(prepared.limits());
        live.publish(Arc::new(prepared).routes()).map_err(|error| error.to_string())?;
        Ok(Served { api: Arc::clone(api), hash, operations, limits, files, behind: None })
    }

    /// Returns the operations of an API's document: those that it has, if they stay; those of another API that was
    /// just compiled; or new ones.
    fn operations(
        &mut self,
        api: &Api,
        hash: Hash,
        text: Option<&String>,
    ) -> Result<Arc<Operations>, String> {
        let own = self.live.get(&api.name).filter(|served| served.reads_as(api, Some(hash)));
        if let Some(operations) = own.and_then(|served| served.operations.as_ref()) {
            return Ok(Arc::clone(operations));
        }
        let key = (hash, api.scopes.clone(), api.validate);
        if let Some(known) = self.compiled.get(&key) {
            return Ok(Arc::clone(known));
        }
        let text = text.ok_or("its document is being changed")?;
        let read = Operations::read(text, &api.scopes, api.validate);
        let read = Arc::new(read.map_err(|error| error.to_string())?);
        self.compiled.insert(key, Arc::clone(&read));
        Ok(read)
    }
}

impl Served {
    fn has_operations_of(&self, api: &Api, index: &Index) -> bool {
        self.reads_as(api, index.hash_of(api))
    }

    /// Returns whether the operations of its document are those of another definition, too.
    fn reads_as(&self, api: &Api, hash: Option<Hash>) -> bool {
        self.hash == hash && self.api.scopes == api.scopes && self.api.validate == api.validate
    }
}

/// Withdraws an API from where it was, unless it or another one is there now.
fn withdraw(before: &Api, index: &Index, live: &LiveRoutes<ApiClient>) {
    if index.at(&before.base()).is_none() {
        live.withdraw(&before.base());
    }
}

/// Returns what answers requests to parts of this server.
fn local(door: &Arc<FrontDoor>) -> Local {
    let door = Arc::downgrade(door);
    Arc::new(move |head, body| {
        let door = door.clone();
        Box::pin(async move {
            match door.upgrade() {
                Some(door) => door.answer(head, body).await,
                None => homeroom_http::empty_response(http::StatusCode::SERVICE_UNAVAILABLE),
            }
        })
    })
}
