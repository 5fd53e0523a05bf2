//! Limits of calls: of a plan, for each key over all its APIs, and of an API, by what files state.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use homeroom_gateway::RateLimit;
use homeroom_http::{Problem, Timestamp};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;

use crate::definition::Plan;
use crate::limits::{By, Limit};
use crate::meter::{Left, Meter};
use crate::quota::Quota;
use crate::quota_use::{CounterId, Counts};

/// What stands between the parts of a counter's key.
const BETWEEN: char = '\u{1f}';

/// A plan with its counters.
#[derive(Debug)]
pub(crate) struct PlanLimit {
    pub(crate) plan: Plan,
    meter: Meter,
}

impl PlanLimit {
    /// Makes the counters of a plan. Those of what the plan said `before` go on: of a quota of the same unit
    /// of time, and of a rate that is the same.
    pub(crate) fn new(plan: &Plan, before: Option<&Self>) -> Self {
        let is_same = |was: &Plan| {
            (was.requests_per_second, was.burst) == (plan.requests_per_second, plan.burst)
        };
        let rate = before.filter(|was| is_same(&was.plan)).and_then(|was| was.meter.rate());
        let quota = plan.quota.map(|quota| {
            let id = CounterId::of_plan(plan, quota.per);
            going_on(quota, id, before.and_then(|was| was.meter.counts()))
        });
        let meter = Meter::new("plan", plan.requests_per_second, plan.burst, rate, quota);
        Self { plan: plan.clone(), meter }
    }

    /// Returns what counts its quota, if it has one.
    pub(crate) fn counts(&self) -> Option<Arc<Counts>> {
        self.meter.counts()
    }
}

/// Returns what counts a quota: the first of those that were there before that is the same, or a new one.
fn going_on(
    quota: Quota,
    id: CounterId,
    before: impl IntoIterator<Item = Arc<Counts>>,
) -> (Quota, Arc<Counts>) {
    let same = before.into_iter().find(|counts| *counts.id() == id);
    (quota, same.unwrap_or_else(|| Arc::new(Counts::new(id))))
}

/// A limit of an API with its counters.
#[derive(Debug)]
pub(crate) struct ApiLimit {
    limit: Limit,
    meter: Meter,
}

impl ApiLimit {
    /// Makes the counters of the limits of an API of this name. Those of limits that were there `before` go on, where
    /// they tell the same calls apart by the same: of a quota of the same unit of time, and of a rate that is the same.
    pub(crate) fn all(api: &str, stated: &[Limit], before: &[Self]) -> Arc<[Self]> {
        let after = |(at, limit): (usize, &Limit)| {
            let of_same_calls = |other: &Limit| {
                (&other.by, &other.operations, &other.claim)
                    == (&limit.by, &limit.operations, &limit.claim)
            };
            // Of several that are alike, the first goes on with the first.
            let number = |is_alike: &dyn Fn(&Limit) -> bool| {
                stated[..at].iter().filter(|other| is_alike(other)).count()
            };
            let rate = |limit: &Limit| (limit.requests_per_second, limit.burst);
            let is_alike = |other: &Limit| of_same_calls(other) && rate(other) == rate(limit);
            let of_rate = before.iter().filter(|was| is_alike(&was.limit)).nth(number(&is_alike));
            let quota = limit.quota.map(|quota| {
                let unit = |limit: &Limit| limit.quota.map(|quota| quota.per);
                let number = number(&|other| of_same_calls(other) && unit(other) == unit(limit));
                let id = CounterId::of_limit(api, limit, quota.per, number);
                going_on(quota, id, before.iter().filter_map(|was| was.meter.counts()))
            });
            Self::new(limit, of_rate.and_then(|was| was.meter.rate()), quota)
        };
        stated.iter().enumerate().map(after).collect()
    }

    fn new(
        limit: &Limit,
        rate: Option<Arc<RateLimit>>,
        quota: Option<(Quota, Arc<Counts>)>,
    ) -> Self {
        let parts: Vec<&str> = limit.by.0.iter().map(|by| by.name()).collect();
        let name = if parts.is_empty() { "api".to_owned() } else { parts.join("-") };
        let meter = Meter::new(&name, limit.requests_per_second, limit.burst, rate, quota);
        Self { limit: limit.clone(), meter }
    }

    /// Returns what counts its quota, if it has one.
    pub(crate) fn quota_counts(&self) -> Option<Arc<Counts>> {
        self.meter.counts()
    }

    fn counts(&self, asked: &Asked<'_>) -> bool {
        let all = &self.limit.operations;
        all.is_empty() || asked.operation.is_some_and(|own| all.iter().any(|one| one == own))
    }

    /// Returns the key of the counter of a call.
    fn key<'a>(&self, asked: &Asked<'a>) -> Cow<'a, str> {
        if let [By::Key] = self.limit.by.0[..] {
            return Cow::Borrowed(asked.key);
        }
        let mut key = String::new();
        for by in &self.limit.by.0 {
            match by {
                By::Key => key.push_str(asked.key),
                By::Address => {
                    let from = asked.from.map(|from| counted(from).to_string());
                    key.push_str(&from.unwrap_or_default());
                }
                By::Claim => {
                    let name = self.limit.claim.as_deref().unwrap_or_default();
                    key.push_str(&claim_of(asked.headers, name).unwrap_or_default());
                }
                By::Operation => key.push_str(asked.operation.unwrap_or_default()),
            }
            key.push(BETWEEN);
        }
        Cow::Owned(key)
    }
}

/// What limits know of a call.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The caller's key; empty for none.
    pub(crate) key: &'a str,
    pub(crate) from: Option<IpAddr>,
    /// The headers, with a token that has been checked.
    pub(crate) headers: &'a HeaderMap,
    /// The operation's name, `GET /items/{id}`.
    pub(crate) operation: Option<&'a str>,
    pub(crate) now: Timestamp,
}

/// A call that was admitted: what is left of the limit that leaves the fewest, and what it counts with.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    left: Option<Left<'a>>,
    counted: Vec<(&'a Meter, String)>,
}

impl Admitted<'_> {
    /// Tells the caller what is left.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        if let Some(left) = &self.left {
            left.tell(headers);
        }
    }

    /// Takes the call back: it was refused otherwise.
    pub(crate) fn give_back(&mut self) {
        for (meter, key) in self.counted.drain(..) {
            meter.give_back(&key);
        }
        self.left.iter_mut().for_each(Left::add_one);
    }
}

/// Counts a call; one that any limit refuses counts with none.
///
/// # Errors
///
/// 429 with `Retry-After` and `RateLimit`.
pub(crate) fn admit<'a>(
    plan: Option<&'a PlanLimit>,
    limits: &'a [ApiLimit],
    asked: &Asked<'_>,
) -> Result<Admitted<'a>, Problem> {
    let mut admitted = Admitted { left: None, counted: vec![] };
    if let Some(plan) = plan {
        admitted.left = plan.meter.admit(asked.key, asked.now).map_err(|refused| {
            refused
                .detail(format!("The plan {} allows this key no more calls now.", plan.plan.name))
        })?;
        admitted.counted.push((&plan.meter, asked.key.to_owned()));
    }
    for limit in limits.iter().filter(|limit| limit.counts(asked)) {
        let key = limit.key(asked);
        match limit.meter.admit(&key, asked.now) {
            Ok(own) => admitted.left = Left::fewer(admitted.left.take(), own),
            Err(refused) => {
                admitted.give_back();
                return Err(refused.detail("This API allows no more such calls now."));
            }
        }
        admitted.counted.push((&limit.meter, key.into_owned()));
    }
    Ok(admitted)
}

/// Returns the address that is counted: a household of version 6 has a network of 64 bits.
fn counted(from: IpAddr) -> IpAddr {
    match from {
        IpAddr::V4(_) => from,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => std::net::Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> 64)).into(),
        },
    }
}

/// Returns a claim of the token of a call, which was checked before; [`None`] where it has none.
pub(crate) fn claim_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let bearer = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let token = bearer.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer "))?;
    let payload = bearer[token.len()..].trim().split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let found = if name.starts_with('/') { claims.pointer(name) } else { claims.get(name) };
    match found? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use homeroom_http::Kind;
    use http::HeaderValue;
    use http::header::RETRY_AFTER;

    use super::*;

    const NOW: Timestamp = Timestamp(1_795_608_000_000_000);

    fn plan(rate: Option<f64>, burst: Option<u32>, quota: Option<&str>) -> PlanLimit {
        let quota = quota.map(|quota| serde_json::from_value(quota.into()).unwrap());
        let plan = Plan { name: "p".into(), requests_per_second: rate, burst, quota };
        PlanLimit::new(&plan, None)
    }

    fn limits(text: &str) -> Arc<[ApiLimit]> {
        limits_after(text, &[])
    }

    fn limits_after(text: &str, before: &[ApiLimit]) -> Arc<[ApiLimit]> {
        let limits: crate::limits::Limits = serde_json::from_str(text).unwrap();
        ApiLimit::all("a", &limits.0, before)
    }

    /// How many of ten calls are admitted.
    fn admitted(limits: &[ApiLimit], asked: &Asked<'_>) -> usize {
        (0..10).filter(|_| admit(None, limits, asked).is_ok()).count()
    }

    fn asked(headers: &HeaderMap) -> Asked<'_> {
        Asked { key: "k", from: None, headers, operation: None, now: NOW }
    }

    #[test]
    fn a_call_that_one_limit_refuses_counts_with_no_other() {
        let none = HeaderMap::new();
        let gold = plan(Some(1.0), Some(3), Some("100/day"));
        let own =
            limits(r#"[{"by": "key", "quota": "5/hour"}, {"requests_per_second": 1, "burst": 1}]"#);

        let first = admit(Some(&gold), &own, &asked(&none)).is_ok();
        let refused = (0..10).filter(|_| admit(Some(&gold), &own, &asked(&none)).is_err()).count();
        let elsewhere = (0..10).filter(|_| admit(Some(&gold), &[], &asked(&none)).is_ok()).count();

        assert!(first);
        assert_eq!(refused, 10, "the API's own limit");
        assert_eq!(elsewhere, 2, "of a burst of three, one was admitted");
        assert_eq!(admitted(&own[..1], &asked(&none)), 4, "of a quota of five, one was admitted");
    }

    #[test]
    fn a_limit_goes_on_counting_when_its_numbers_or_its_neighbours_change() {
        let none = HeaderMap::new();
        let keyed = |quota: &str| format!(r#"{{"by": "key", "quota": "{quota}"}}"#);
        let first = limits(&format!("[{}, {}]", keyed("3/day"), keyed("5/month")));
        assert_eq!(admitted(&first, &asked(&none)), 3);

        let more = format!(
            r#"[{{"by": "address", "burst": 1, "quota": "9/day"}}, {}, {}]"#,
            keyed("5/month"),
            keyed("4/day")
        );
        let second = limits_after(&more, &first);
        assert_eq!(admitted(&second, &asked(&none)), 1, "four a day, of which three were used");
        let hourly = limits_after(&keyed("4/hour"), &second);
        assert_eq!(admitted(&hourly, &asked(&none)), 4, "another unit of time");

        let rate = r#"{"requests_per_second": 0.001, "burst": 3}"#;
        let slow = limits(rate);
        assert_eq!(admitted(&slow, &asked(&none)), 3);
        assert_eq!(admitted(&limits_after(rate, &slow), &asked(&none)), 0);
    }

    #[test]
    fn a_plan_goes_on_counting_when_its_numbers_change() {
        let none = HeaderMap::new();
        let count = |plan: &PlanLimit| {
            (0..10).filter(|_| admit(Some(plan), &[], &asked(&none)).is_ok()).count()
        };
        let first = plan(None, None, Some("2/month"));
        let stated = |quota: &str| Plan {
            quota: serde_json::from_value(quota.into()).unwrap(),
            ..first.plan.clone()
        };

        assert_eq!(count(&first), 2);
        assert_eq!(count(&PlanLimit::new(&stated("3/month"), Some(&first))), 1);
        assert_eq!(count(&PlanLimit::new(&stated("1/month"), Some(&first))), 0);
        assert_eq!(count(&PlanLimit::new(&stated("3/day"), Some(&first))), 3);
    }

    #[test]
    fn a_quota_refuses_with_the_time_to_wait() {
        let none = HeaderMap::new();
        let daily = plan(None, None, Some("1/day"));

        let first = admit(Some(&daily), &[], &asked(&none)).unwrap();
        let mut told = HeaderMap::new();
        first.tell(&mut told);
        let refused = admit(Some(&daily), &[], &asked(&none)).unwrap_err();

        assert_eq!(told["ratelimit"], "\"plan-quota\";r=0;t=43200");
        assert_eq!(told["ratelimit-policy"], "\"plan-quota\";q=1;w=86400");
        assert_eq!(refused.kind, Kind::TooManyRequests);
        assert_eq!(refused.headers[0], (RETRY_AFTER, HeaderValue::from_static("43200")));
        assert_eq!(refused.headers[1].1, "\"plan-quota\";r=0;t=43200");
        let other = Asked { key: "other", ..asked(&none) };
        assert!(admit(Some(&daily), &[], &other).is_ok());
    }

    #[test]
    fn a_call_that_is_taken_back_counts_with_nothing() {
        let none = HeaderMap::new();
        let gold = plan(Some(0.001), Some(2), Some("2/day"));
        let own = limits(r#"{"by": "key", "quota": "2/hour"}"#);

        for _ in 0..5 {
            let mut admitted = admit(Some(&gold), &own, &asked(&none)).unwrap();
            admitted.give_back();
            let mut told = HeaderMap::new();
            admitted.tell(&mut told);
            assert!(told["ratelimit"].to_str().unwrap().contains(";r=2;"), "{told:?}");
        }
        let left = (0..5).filter(|_| admit(Some(&gold), &own, &asked(&none)).is_ok()).count();
        assert_eq!(left, 2);
    }

    #[test]
    fn calls_are_told_apart_by_what_a_limit_says() {
        let none = HeaderMap::new();
        let token = |tenant: &str| {
            let payload = format!("{{\"tenant\": \"{tenant}\", \"a\": {{\"b\": 7}}}}");
            let token = format!("Bearer h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(payload));
            HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::try_from(token).unwrap())])
        };
        let (one, two) = (token("one"), token("two"));
        let address = |text: &str| Asked { from: text.parse().ok(), ..asked(&none) };
        let operation = |name| Asked { operation: Some(name), ..asked(&none) };

        let by_address = limits(r#"{"by": "address", "quota": "3/hour"}"#);
        assert_eq!(admitted(&by_address, &address("192.0.2.1")), 3);
        assert_eq!(admitted(&by_address, &address("::ffff:192.0.2.1")), 0);
        assert_eq!(admitted(&by_address, &address("2001:db8::1")), 3);
        assert_eq!(admitted(&by_address, &address("2001:db8::2")), 0, "the same network");

        let by_claim = limits(r#"{"by": "claim", "claim": "tenant", "quota": "2/hour"}"#);
        assert_eq!(admitted(&by_claim, &asked(&one)), 2);
        assert_eq!(admitted(&by_claim, &asked(&two)), 2);
        assert_eq!(admitted(&by_claim, &asked(&none)), 2, "without the claim");
        assert_eq!(claim_of(&one, "/a/b").as_deref(), Some("7"));

        let of_one = limits(r#"{"operations": ["GET /a"], "quota": "1/hour"}"#);
        assert_eq!(admitted(&of_one, &operation("GET /a")), 1);
        assert_eq!(admitted(&of_one, &operation("POST /a")), 10);

        let both = limits(r#"{"by": ["key", "operation"], "quota": "1/hour"}"#);
        assert_eq!(admitted(&both, &operation("GET /a")), 1);
        assert_eq!(admitted(&both, &operation("GET /b")), 1);
        assert_eq!(admitted(&both, &Asked { key: "other", ..operation("GET /a") }), 1);
    }

    #[test]
    fn the_limit_that_leaves_the_fewest_calls_is_told() {
        let none = HeaderMap::new();
        let gold = plan(Some(10.0), Some(50), None);
        let own = limits(r#"{"requests_per_second": 2, "burst": 4}"#);

        let left = admit(Some(&gold), &own, &asked(&none)).unwrap();
        let mut told = HeaderMap::new();
        left.tell(&mut told);

        assert_eq!(told["ratelimit"], "\"api\";r=3;t=1");
        assert_eq!(told["ratelimit-policy"], "\"api\";q=4;w=2");
    }
}
