//! Groups of upstreams with weights, so that a new version gets a share of the calls.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_access::Call;

use crate::definition::{Api, Sticky};
use crate::repeats::Repeats;
use crate::upstream::{Candidate, Chosen, Clients, NoClient, Trials, Upstreams};

/// The upstreams of an API, in groups.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Weight and upstreams of each.
    all: Vec<(u64, Upstreams)>,
    /// All weights together.
    total: u64,
    sticky: Option<Sticky>,
    next: AtomicU64,
    /// The turn of the calls whose own group is down.
    next_other: AtomicU64,
    pub(crate) repeats: Repeats,
}

impl Groups {
    /// Makes the groups of an API; without any, its upstreams are one.
    ///
    /// # Errors
    ///
    /// If the certificates of the API, or those that the system trusts, cannot be read.
    pub(crate) fn new(api: &Api, clients: &Clients) -> Result<Self, NoClient> {
        let mut groups = vec![];
        if api.groups.is_empty() {
            groups.push((1, Upstreams::new(api, &api.upstream, clients)?));
        }
        for group in &api.groups {
            groups.push((u64::from(group.weight), Upstreams::new(api, &group.upstream, clients)?));
        }
        let total = groups.iter().map(|(weight, _)| weight).sum();
        Ok(Self {
            all: groups,
            total,
            sticky: api.sticky.clone(),
            next: AtomicU64::new(0),
            next_other: AtomicU64::new(0),
            repeats: Repeats::new(&api.retries),
        })
    }

    /// Returns the upstreams to which a call may be sent, one after the other: those of the group whose turn
    /// it is, and then those of the others. A group of which no upstream is well thereby loses its share.
    pub(crate) fn choose(&self, call: &Call, can_be_repeated: bool) -> Vec<Candidate<'_>> {
        let mut chosen = Chosen::default();
        let mut trials = if can_be_repeated { Trials::Repeatable } else { Trials::Late };
        for group in self.turn(call) {
            group.choose(call, trials, &mut chosen);
            // Those of the other groups are tried by calls whose turn it is there.
            trials = Trials::None;
        }
        let Chosen { mut well, last } = chosen;
        well.extend(last);
        well
    }

    /// Returns in how many seconds calls may be answered again, where none can be now.
    pub(crate) fn retry_after(&self) -> u64 {
        let rests = self.all.iter().filter(|(weight, _)| *weight > 0 || self.all.len() == 1);
        let ms = rests.filter_map(|(_, group)| group.rests_for()).min().unwrap_or(0);
        ms.div_ceil(1_000).max(1)
    }

    /// Returns the group for a call, and then the others, for when all of it is down.
    fn turn(&self, call: &Call) -> impl Iterator<Item = &Upstreams> {
        let first = if self.all.len() == 1 { 0 } else { self.first(call) };
        let others = self.others(first, call);
        std::iter::once(first).chain(others).map(|at| &self.all[at].1)
    }

    /// Returns the groups besides one, each in front as often as its weight says. A group without a weight
    /// gets no calls at all.
    fn others(&self, first: usize, call: &Call) -> Vec<usize> {
        let mut left: Vec<usize> =
            (0..self.all.len()).filter(|at| *at != first && self.all[*at].0 > 0).collect();
        if left.len() < 2 {
            return left;
        }
        let total: u64 = left.iter().map(|at| self.all[*at].0).sum();
        let place = match self.sticky.as_ref().and_then(|sticky| value_of(sticky, call)) {
            Some(value) => hash_of(&(value, first)) % total,
            None => spread(self.next_other.fetch_add(1, Ordering::Relaxed), total),
        };
        let mut before = 0;
        let front = left.iter().position(|at| {
            before += self.all[*at].0;
            place < before
        });
        left.rotate_left(front.unwrap_or(0));
        left
    }

    fn first(&self, call: &Call) -> usize {
        let sticky = self.sticky.as_ref().and_then(|sticky| value_of(sticky, call));
        let place = match sticky {
            Some(value) => hash_of(&value) % self.total,
            None => spread(self.next.fetch_add(1, Ordering::Relaxed), self.total),
        };
        let mut before = 0;
        let found = self.all.iter().position(|(weight, _)| {
            before += weight;
            place < before
        });
        found.unwrap_or(0)
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the place of a call among `total`: each once in `total` calls, neighbours far apart.
fn spread(number: u64, total: u64) -> u64 {
    const GOLDEN: f64 = 0.618_033_988_75;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "weights are small"
    )]
    let near = (total as f64 * GOLDEN) as u64;
    let is_coprime = |step: &u64| {
        let (mut a, mut b) = (*step, total);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    let step = (near.max(1)..=near.max(1) + total).find(is_coprime).unwrap_or(1);
    (number % total) * step % total
}

/// Returns what calls of one kind have in common; [`None`] where this one lacks it.
fn value_of(sticky: &Sticky, call: &Call) -> Option<String> {
    match sticky {
        Sticky::Key => {
            let own = call.client.as_ref().map(|client| client.key.clone());
            own.or_else(|| call.foreign.as_ref().map(|foreign| foreign.name.clone()))
        }
        Sticky::Address => call.from.map(|from| from.to_string()),
        Sticky::Header(name) => {
            let value = call.headers.get(name.as_str())?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::call;
    use http::Method;

    use super::*;

    fn groups(weights: &[u64], sticky: Option<Sticky>) -> Groups {
        let api: Api = serde_json::from_str(
            r#"{"name": "a", "context": "a", "version": "v", "upstream": ["http://127.0.0.1:1"]}"#,
        )
        .unwrap();
        let clients = Clients::default();
        let group =
            |weight: &u64| (*weight, Upstreams::new(&api, &api.upstream, &clients).unwrap());
        let total = weights.iter().sum();
        Groups {
            all: weights.iter().map(group).collect(),
            total,
            sticky,
            next: AtomicU64::new(0),
            next_other: AtomicU64::new(0),
            repeats: Repeats::new(&api.retries),
        }
    }

    fn counts(groups: &Groups, calls: &[Call]) -> Vec<usize> {
        let mut counts = vec![0; groups.all.len()];
        for call in calls {
            counts[groups.first(call)] += 1;
        }
        counts
    }

    fn calls(count: usize, user: impl Fn(usize) -> usize) -> Vec<Call> {
        let one = |number: usize| {
            let mut call = call(Method::GET, "/", homeroom_http::Timestamp(0));
            call.headers.insert("x-user", user(number).into());
            call
        };
        (0..count).map(one).collect()
    }

    #[tokio::test]
    async fn groups_get_calls_by_their_weights_and_well_mixed() {
        for weights in [&[90, 10][..], &[1, 1], &[95, 5], &[5, 0, 3], &[1]] {
            let groups = groups(weights, None);
            let total: u64 = weights.iter().sum();

            for _ in 0..3 {
                let found = counts(&groups, &calls(usize::try_from(total).unwrap(), |_| 0));
                assert_eq!(found.iter().map(|n| *n as u64).collect::<Vec<_>>(), weights);
            }
        }
        let halves = groups(&[50, 50], None);
        let ten = counts(&halves, &calls(10, |_| 0));
        assert!(ten[0].abs_diff(ten[1]) <= 2, "{ten:?}");
    }

    #[tokio::test]
    async fn a_caller_stays_in_its_group() {
        let groups = groups(&[50, 50], Some(Sticky::Header("x-user".into())));

        for user in 0..20 {
            let found = counts(&groups, &calls(10, |_| user));
            assert!(found.contains(&10), "{user}: {found:?}");
        }
        let all = counts(&groups, &calls(1_000, |number| number));
        assert!(all.iter().all(|count| (300..700).contains(count)), "{all:?}");
    }

    #[tokio::test]
    async fn a_group_without_weight_is_no_way_out() {
        let groups = groups(&[1, 0], None);

        assert_eq!(groups.turn(&calls(1, |_| 0)[0]).count(), 1);
    }

    #[tokio::test]
    async fn the_calls_of_a_group_that_is_down_go_to_the_others_by_their_weights() {
        let groups = groups(&[2, 3, 1, 0], None);
        let call = &calls(1, |_| 0)[0];

        let mut fronts = [0_usize; 4];
        for _ in 0..30 {
            let others = groups.others(0, call);
            assert_eq!(others.len(), 2, "{others:?}");
            fronts[others[0]] += 1;
        }

        assert_eq!(groups.others(1, call).len(), 2);
        assert!(fronts[1].abs_diff(3 * fronts[2]) <= 4, "{fronts:?}");
    }
}
