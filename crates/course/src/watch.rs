//! What settings say of commits: who is to be told of changes, when values begin again, and what stays.

use std::sync::Arc;

use crate::courses::Courses;
use crate::error::Error;
use crate::notice::{NewNotice, POST_BACK, REGISTRATION_CHANGED, bit, names, receiver};
use crate::run_time::{Outcome, Resets};
use crate::settings::{POST_BACK_URL, RESETS, STATUS_CHANGE, Settings, in_force};
use crate::subscription::Subscription;
use crate::version::Version;

/// Who is to be told of the changes of the registrations for a version, and when values begin again.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// Where results are posted if the registration does not say it.
    inherited: String,
    /// When values begin again if the registration does not say it.
    resets: Resets,
    /// Whether what is completed may change again, if the registration does not say it.
    may_change: bool,
    subscriptions: Arc<Vec<Subscription>>,
}

/// Returns what has changed, as bits.
pub(crate) fn changes(before: Outcome, after: Outcome) -> i64 {
    let of = |is_other: bool, name: &str| if is_other { bit(name) } else { 0 };
    of(before.completion != after.completion, "CompletionChanged")
        | of(before.success != after.success, "SuccessChanged")
        | of(before.score != after.score, "ScoreChanged")
}

impl Watch {
    /// Returns where results are posted; nowhere if it is empty.
    fn url<'s>(&'s self, own: &'s Settings) -> &'s str {
        own.get(POST_BACK_URL).map_or(&self.inherited, String::as_str)
    }

    /// Returns when the values of a registration with these settings begin again.
    pub(crate) fn resets(&self, own: &Settings) -> Resets {
        own.get(RESETS).map_or(self.resets, |word| Resets::of(word))
    }

    /// Returns whether what a registration with these settings has been completed with stays.
    pub(crate) fn keeps(&self, own: &Settings) -> bool {
        !own.get(STATUS_CHANGE).map_or(self.may_change, |word| word == "true")
    }

    /// Returns whether anybody may have to be told of a registration with these settings.
    pub(crate) fn is_on(&self, own: &Settings) -> bool {
        !self.url(own).is_empty()
            || self
                .subscriptions
                .iter()
                .any(|one| one.definition.enabled && one.definition.topic == REGISTRATION_CHANGED)
    }

    /// Returns the notices of what has changed, and perhaps of the end of a session.
    pub(crate) fn notices(
        &self,
        own: &Settings,
        (registration, instance): (&str, i64),
        of_result: i64,
        has_ended: bool,
    ) -> Vec<NewNotice> {
        let all_changes = of_result | if has_ended { bit("SessionEnded") } else { 0 };
        if all_changes == 0 {
            return vec![];
        }
        let to = |target: &str, url: &str| NewNotice {
            target: target.to_owned(),
            topic: REGISTRATION_CHANGED,
            subject: (registration.to_owned(), instance),
            changes: all_changes,
            receiver: receiver(url),
        };
        let url = self.url(own);
        let mut all = vec![];
        if !url.is_empty() {
            all.push(to(POST_BACK, url));
        }
        let named = names(all_changes);
        for one in self.subscriptions.iter() {
            if one.wants(REGISTRATION_CHANGED, &named) {
                all.push(to(&one.id, &one.definition.url));
            }
        }
        all
    }
}

impl Courses {
    /// Returns who is to be told of the changes of the registrations for a version.
    pub(crate) async fn watch(&self, version: &Version, now: i64) -> Result<Watch, Error> {
        let levels = self.levels_of(version, now).await?;
        let inherited = in_force(&levels, POST_BACK_URL).to_owned();
        let resets = Resets::of(in_force(&levels, RESETS));
        let may_change = in_force(&levels, STATUS_CHANGE) == "true";
        let subscriptions = self.subscriptions(now).await?;
        Ok(Watch { inherited, resets, may_change, subscriptions })
    }
}
