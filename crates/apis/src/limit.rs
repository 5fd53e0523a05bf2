//! Limits of calls: of a plan, for each key over all its APIs, and of an API, for all keys together.

use std::sync::Arc;

use homeroom_gateway::{Rate, RateLimit};
use homeroom_http::{Kind, Problem, Timestamp};
use http::HeaderValue;
use http::header::{HeaderName, RETRY_AFTER};

use crate::definition::{ApiLimits, Plan};
use crate::quota::Counts;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// A plan with its counters.
#[derive(Debug)]
pub(crate) struct PlanLimit {
    pub(crate) plan: Plan,
    rate: Option<RateLimit>,
    quota: Option<Counts>,
}

impl PlanLimit {
    pub(crate) fn new(plan: &Plan) -> Self {
        let rate = plan.requests_per_second.map(|per_second| rate(per_second, plan.burst));
        Self { plan: plan.clone(), rate, quota: plan.quota.map(Counts::new) }
    }

    /// Counts a call of a key.
    fn admit(&self, key: &str, now: Timestamp) -> Result<(), Problem> {
        if let Some(rate) = &self.rate {
            rate.admit(key, now).map_err(|refused| {
                refused.detail(format!(
                    "The plan {} allows this key no more calls now.",
                    self.plan.name
                ))
            })?;
        }
        let Some(quota) = &self.quota else { return Ok(()) };
        quota.admit(key, now).map_err(|seconds| {
            if let Some(rate) = &self.rate {
                rate.give_back(key);
            }
            let state = HeaderValue::from_str(&format!("\"quota\";r=0;t={seconds}"));
            Problem::of(Kind::TooManyRequests)
                .detail(format!("The quota of the plan {} is used up.", self.plan.name))
                .header(RETRY_AFTER, HeaderValue::from(seconds))
                .header(RATE_LIMIT, state.unwrap_or(HeaderValue::from_static("")))
        })
    }

    fn give_back(&self, key: &str) {
        if let Some(rate) = &self.rate {
            rate.give_back(key);
        }
        if let Some(quota) = &self.quota {
            quota.give_back(key);
        }
    }
}

/// The limit of all calls of an API together.
pub(crate) fn of_api(limits: &ApiLimits) -> RateLimit {
    rate(limits.requests_per_second, limits.burst)
}

fn rate(per_second: f64, burst: Option<u32>) -> RateLimit {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let burst = burst.unwrap_or(per_second.ceil().clamp(1.0, 1e6) as u32);
    RateLimit::new(Rate { per_second, burst })
}

/// Counts a call; one that any limit refuses counts with none.
///
/// # Errors
///
/// 429 with `Retry-After` and `RateLimit`.
pub(crate) fn admit(
    plan: Option<(&Arc<PlanLimit>, &str)>,
    api: Option<&RateLimit>,
    now: Timestamp,
) -> Result<(), Problem> {
    if let Some((plan, key)) = plan {
        plan.admit(key, now)?;
    }
    let Some(api) = api else { return Ok(()) };
    api.admit("", now).map_err(|refused| {
        if let Some((plan, key)) = plan {
            plan.give_back(key);
        }
        refused.detail("This API allows no more calls now.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_795_608_000_000_000);

    fn plan(rate: Option<f64>, burst: Option<u32>, quota: Option<&str>) -> Arc<PlanLimit> {
        let quota = quota.map(|quota| serde_json::from_value(quota.into()).unwrap());
        let plan = Plan { name: "p".into(), requests_per_second: rate, burst, quota };
        Arc::new(PlanLimit::new(&plan))
    }

    #[test]
    fn a_call_that_one_limit_refuses_counts_with_no_other() {
        let gold = plan(Some(1.0), Some(3), Some("100/day"));
        let api = rate(1.0, Some(1));

        let first = admit(Some((&gold, "k")), Some(&api), NOW);
        let refused =
            (0..10).filter(|_| admit(Some((&gold, "k")), Some(&api), NOW).is_err()).count();
        let elsewhere = (0..10).filter(|_| admit(Some((&gold, "k")), None, NOW).is_ok()).count();

        assert!(first.is_ok());
        assert_eq!(refused, 10, "the API's own limit");
        assert_eq!(elsewhere, 2, "of a burst of three, one was admitted");
    }

    #[test]
    fn a_quota_refuses_with_the_time_to_wait() {
        let daily = plan(None, None, Some("1/day"));

        assert!(admit(Some((&daily, "k")), None, NOW).is_ok());
        let refused = admit(Some((&daily, "k")), None, NOW).unwrap_err();

        assert_eq!(refused.kind, Kind::TooManyRequests);
        assert_eq!(refused.headers[0], (RETRY_AFTER, HeaderValue::from_static("43200")));
        assert!(admit(Some((&daily, "other")), None, NOW).is_ok());
    }
}
