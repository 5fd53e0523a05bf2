//! What the activities of an instance share: where the next launch begins, the player's own text, global objectives
//! and buckets of data.

use super::acknowledged::Acknowledged;
use super::sent::{Checked, Suspended, WARNINGS_MAX};
use super::traced::Noted;
use crate::run_time::{Limit, Own, Progress};
use crate::shown::shown;
use crate::version::Version;

/// Most global objectives of an instance, and most buckets of shared data.
const SHARED_MAX: usize = 1_000;
/// Most bytes of each of these, with their names.
const SHARED_BYTES_MAX: usize = 1 << 20;

/// Takes what a commit says about what the activities share. What a later session has told stays; of
/// objectives and shared data, what is not there yet is added.
pub(super) fn share(
    progress: &mut Progress,
    commit: &Checked,
    version: &Version,
    own: Own<'_>,
    (done, noted): (&mut Acknowledged, &mut Noted),
) {
    let whole = &version.tree.id;
    let is_before = own.is_before(progress.told_by);
    let mut superseded = vec![];
    let says = commit.suspended != Suspended::Stays
        || commit.sequencing.is_some()
        || !commit.global_objectives.is_empty()
        || !commit.shared_data.is_empty();
    if let Suspended::Is(suspended) = &commit.suspended {
        if is_before {
            superseded.push("suspended".to_owned());
        } else {
            progress.suspended = suspended.clone().filter(|id| version.tree.find(id).is_some());
        }
    }
    if let Some(sequencing) = &commit.sequencing {
        if is_before {
            superseded.push("sequencing".to_owned());
        } else {
            progress.sequencing = Some(sequencing.clone());
        }
    }
    let all = &mut progress.global_objectives;
    let bytes = |value: &serde_json::Value| value.to_string().len();
    let mut room = Room::of(all.iter().map(|(id, value)| id.len() + bytes(value)));
    for (id, value) in &commit.global_objectives {
        let old = all.get(id).map(|old| id.len() + bytes(old));
        if is_before && old.is_some() {
            superseded.push(format!("globalObjectives.{id}"));
        } else if room.take(old, id.len() + bytes(value)) {
            all.insert(id.clone(), value.clone());
        } else {
            done.warnings.push(Room::warning("objectives", id));
            noted.not_saved(whole, &format!("globalObjectives.{id}"));
        }
    }
    let all = &mut progress.shared_data;
    let mut room = Room::of(all.iter().map(|(id, value)| id.len() + value.len()));
    for (id, value) in &commit.shared_data {
        let old = all.get(id).map(|old| id.len() + old.len());
        if is_before && old.is_some() {
            superseded.push(format!("sharedData.{id}"));
        } else if room.take(old, id.len() + value.len()) {
            // The player says all buckets each time.
            if all.insert(id.clone(), value.clone()).as_ref() != Some(value) {
                noted.saved(whole, &format!("sharedData.{id}"), value);
            }
        } else {
            done.warnings.push(Room::warning("buckets of shared data", id));
            noted.not_saved(whole, &format!("sharedData.{id}"));
        }
    }
    done.warnings.truncate(WARNINGS_MAX);
    if says && !is_before {
        progress.told_by = own.number;
    }
    if !superseded.is_empty() {
        for name in &superseded {
            noted.not_saved(whole, name);
        }
        done.supersede(whole, superseded);
    }
}

/// The room for what the activities of an instance share.
struct Room(crate::run_time::Room);

impl Room {
    fn of(sizes: impl Iterator<Item = usize>) -> Self {
        Self(crate::run_time::Room::of(sizes))
    }

    /// Returns whether there is room for a value of a size in place of another one, and takes it.
    fn take(&mut self, old: Option<usize>, new: usize) -> bool {
        let limit = Limit { values: SHARED_MAX, bytes: SHARED_BYTES_MAX };
        let Some(room) = self.0.with(old, new, limit) else { return false };
        self.0 = room;
        true
    }

    fn warning(what: &str, id: &str) -> String {
        let shown = shown(id);
        format!(
            "there is no room for {shown}; it is left out: a registration has at most {SHARED_MAX} \
             {what} and {SHARED_BYTES_MAX} bytes of them"
        )
    }
}
