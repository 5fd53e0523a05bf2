//! What metrics tell of published APIs and their upstreams: labels are names of APIs and URLs of upstreams,
//! of so many as an operator can look at.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::gate::GateFigures;

/// Bucket bounds of the times of upstreams' answers, in seconds.
pub const UPSTREAM_BUCKETS: [f64; 8] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Most APIs and most upstreams with figures of their own. What all others have is added up.
const OWN_MAX: usize = 500;
/// The API and the upstream of what was added up.
const OTHERS: &str = "(others)";

/// The figures of an upstream of an API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpstreamFigures {
    /// The name of the API.
    pub api: String,
    /// Its URL.
    pub upstream: String,
    /// Whether its last probe was answered well.
    pub healthy: u64,
    /// Whether it is left alone because of calls that failed.
    pub left_alone: u64,
    /// How often it was.
    pub opened: u64,
    /// Calls that are open.
    pub open: u64,
    /// Calls by how they ended.
    pub calls: [(&'static str, u64); 4],
    /// How often a call was sent again after it had failed there.
    pub repeats: u64,
    /// The number of answers by their time: up to each bound, and beyond the last.
    pub times: [u64; UPSTREAM_BUCKETS.len() + 1],
    /// The sum of the times of all answers, in seconds.
    pub seconds: f64,
}

/// The connections to an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionFigures {
    /// Scheme, host and port.
    pub upstream: String,
    /// Those that are open.
    pub open: u64,
    /// Those that were opened so far.
    pub opened: u64,
}

/// The figures of published APIs at a moment.
#[derive(Debug, Default)]
pub struct ApiFigures {
    /// The figures of each API's gate.
    pub gates: Vec<GateFigures>,
    /// The figures of each upstream.
    pub upstreams: Vec<UpstreamFigures>,
    /// The connections by origin.
    pub connections: Vec<ConnectionFigures>,
    /// How many APIs cannot be served.
    pub unserved: u64,
}

type Source = Box<dyn Fn() -> ApiFigures + Send + Sync>;

/// Shows the figures of published APIs; clones show the same.
#[derive(Clone, Default)]
pub(crate) struct ApiCollector(Arc<Mutex<Option<Source>>>);

impl fmt::Debug for ApiCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiCollector")
    }
}

impl ApiCollector {
    /// Shows these figures from now on.
    pub(crate) fn watch(&self, source: impl Fn() -> ApiFigures + Send + Sync + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(source));
    }
}

impl Collector for ApiCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let figures = match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(source) => source(),
            None => return Ok(()),
        };
        let about = "Published APIs that cannot be served now, for lack of a secret for example";
        let unserved =
            encoder.encode_descriptor("homeroom_apis_unserved", about, None, MetricType::Gauge)?;
        ConstGauge::new(figures.unserved).encode(unserved)?;
        encode_gates(&mut encoder, bounded_gates(figures.gates))?;
        encode_upstreams(&mut encoder, &bounded_upstreams(figures.upstreams))?;
        encode_connections(&mut encoder, &bounded_connections(figures.connections))
    }
}

/// Encodes one metric with a value for each row.
fn encode<T>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, kind): (&str, &str, MetricType),
    rows: &[T],
    value: impl Fn(&T) -> Vec<(Vec<(&'static str, String)>, u64)>,
) -> Result<(), fmt::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in rows.iter().flat_map(value) {
        let own = metric.encode_family(&labels)?;
        match kind {
            MetricType::Counter => ConstCounter::new(value).encode(own)?,
            _ => ConstGauge::new(value).encode(own)?,
        }
    }
    Ok(())
}

fn encode_gates(
    encoder: &mut DescriptorEncoder<'_>,
    gates: Vec<GateFigures>,
) -> Result<(), fmt::Error> {
    let gauge = MetricType::Gauge;
    let of = |of: &GateFigures, figure: fn(&homeroom_http::BudgetFigures) -> u64| {
        let labels = |budget: &homeroom_http::BudgetFigures| {
            vec![("api", of.of.clone()), ("budget", budget.name.to_owned())]
        };
        of.budgets.iter().map(|budget| (labels(budget), figure(budget))).collect::<Vec<_>>()
    };
    let about = ("homeroom_api_budget_size", "Size of the budget of a published API", gauge);
    encode(encoder, about, &gates, |gate| of(gate, |budget| budget.size))?;
    let about =
        ("homeroom_api_budget_used", "How much of the budget of a published API is in use", gauge);
    encode(encoder, about, &gates, |gate| of(gate, |budget| budget.used))?;
    let about = (
        "homeroom_api_budget_refused",
        "Calls refused because the budget of their API, or the client's share of it, was used up",
        MetricType::Counter,
    );
    encode(encoder, about, &gates, |gate| of(gate, |budget| budget.refused))
}

fn encode_upstreams(
    encoder: &mut DescriptorEncoder<'_>,
    all: &[UpstreamFigures],
) -> Result<(), fmt::Error> {
    let labels =
        |of: &UpstreamFigures| vec![("api", of.api.clone()), ("upstream", of.upstream.clone())];
    let one = |figure: fn(&UpstreamFigures) -> u64| {
        move |of: &UpstreamFigures| vec![(labels(of), figure(of))]
    };
    let (gauge, counter) = (MetricType::Gauge, MetricType::Counter);
    let about = (
        "homeroom_upstream_healthy",
        "Whether the last probe of the upstream was answered well; 1 without probes",
        gauge,
    );
    encode(encoder, about, all, one(|of| of.healthy))?;
    let about = (
        "homeroom_upstream_left_alone",
        "Whether the upstream is left alone because calls to it have failed",
        gauge,
    );
    encode(encoder, about, all, one(|of| of.left_alone))?;
    let about = (
        "homeroom_upstream_ejections",
        "How often the upstream was left alone because calls to it have failed",
        counter,
    );
    encode(encoder, about, all, one(|of| of.opened))?;
    let about = ("homeroom_upstream_open_calls", "Calls at the upstream", gauge);
    encode(encoder, about, all, one(|of| of.open))?;
    let about = ("homeroom_upstream_calls", "Calls of the upstream by how they ended", counter);
    encode(encoder, about, all, |of| {
        let ended = |(name, count): &(&str, u64)| {
            let mut labels = labels(of);
            labels.push(("ended", (*name).to_owned()));
            (labels, *count)
        };
        of.calls.iter().map(ended).collect()
    })?;
    let about = (
        "homeroom_upstream_retries",
        "Calls that were sent again after the upstream had failed them",
        counter,
    );
    encode(encoder, about, all, one(|of| of.repeats))?;
    if all.is_empty() {
        return Ok(());
    }
    let help = "Time from the request to the head of the upstream's answer";
    let name = "homeroom_upstream_answer_duration_seconds";
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for of in all {
        let bounds = UPSTREAM_BUCKETS.iter().copied().chain([f64::MAX]);
        let buckets: Vec<(f64, u64)> = bounds.zip(of.times).collect();
        let count = of.times.iter().sum();
        metric
            .encode_family(&labels(of))?
            .encode_histogram::<[(&str, &str); 0]>(of.seconds, count, &buckets, None)?;
    }
    Ok(())
}

fn encode_connections(
    encoder: &mut DescriptorEncoder<'_>,
    all: &[ConnectionFigures],
) -> Result<(), fmt::Error> {
    let one = |figure: fn(&ConnectionFigures) -> u64| {
        move |of: &ConnectionFigures| vec![(vec![("upstream", of.upstream.clone())], figure(of))]
    };
    let (gauge, counter) = (MetricType::Gauge, MetricType::Counter);
    let about = ("homeroom_upstream_connections", "Open connections to the upstream", gauge);
    encode(encoder, about, all, one(|of| of.open))?;
    let about = (
        "homeroom_upstream_connections_opened",
        "Connections that were opened to the upstream",
        counter,
    );
    encode(encoder, about, all, one(|of| of.opened))
}

/// Adds up the figures of one name, and of all that are beyond the limit.
fn bounded<T>(
    all: Vec<T>,
    name: impl Fn(&T) -> String,
    others: impl Fn(&mut T),
    add: impl Fn(&mut T, T),
) -> Vec<T> {
    let mut by_name: BTreeMap<String, T> = BTreeMap::new();
    let mut insert = |name: String, one: T| match by_name.get_mut(&name) {
        Some(sum) => add(sum, one),
        None => _ = by_name.insert(name, one),
    };
    for one in all {
        insert(name(&one), one);
    }
    let beyond = by_name.keys().nth(OWN_MAX).cloned();
    let mut rest = beyond.map(|first| by_name.split_off(&first)).unwrap_or_default().into_values();
    let mut own: Vec<T> = by_name.into_values().collect();
    if let Some(mut sum) = rest.next() {
        others(&mut sum);
        for one in rest {
            add(&mut sum, one);
        }
        own.push(sum);
    }
    own
}

fn bounded_gates(all: Vec<GateFigures>) -> Vec<GateFigures> {
    let others = |of: &mut GateFigures| OTHERS.clone_into(&mut of.of);
    bounded(
        all,
        |of| of.of.clone(),
        others,
        |sum, one| {
            for (sum, one) in sum.budgets.iter_mut().zip(one.budgets) {
                sum.size += one.size;
                sum.used += one.used;
                sum.refused += one.refused;
            }
        },
    )
}

fn bounded_upstreams(all: Vec<UpstreamFigures>) -> Vec<UpstreamFigures> {
    let others = |of: &mut UpstreamFigures| {
        OTHERS.clone_into(&mut of.api);
        OTHERS.clone_into(&mut of.upstream);
    };
    bounded(
        all,
        |of| format!("{}\n{}", of.api, of.upstream),
        others,
        |sum, one| {
            sum.healthy = sum.healthy.min(one.healthy);
            sum.left_alone = sum.left_alone.max(one.left_alone);
            sum.opened += one.opened;
            sum.open += one.open;
            sum.repeats += one.repeats;
            sum.seconds += one.seconds;
            for (sum, one) in sum.calls.iter_mut().zip(one.calls) {
                sum.1 += one.1;
            }
            for (sum, one) in sum.times.iter_mut().zip(one.times) {
                *sum += one;
            }
        },
    )
}

fn bounded_connections(all: Vec<ConnectionFigures>) -> Vec<ConnectionFigures> {
    let others = |of: &mut ConnectionFigures| OTHERS.clone_into(&mut of.upstream);
    bounded(
        all,
        |of| of.upstream.clone(),
        others,
        |sum, one| {
            sum.open += one.open;
            sum.opened += one.opened;
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_added_up() {
        let one = |number: usize| ConnectionFigures {
            upstream: format!("http://u{number:05}"),
            open: 1,
            opened: 2,
        };
        let mut all: Vec<_> = (0..OWN_MAX + 20).map(one).collect();
        all.push(one(0));

        let shown = bounded_connections(all);

        assert_eq!(shown.len(), OWN_MAX + 1);
        assert_eq!((shown[0].open, shown[0].opened), (2, 4), "of one name");
        let others = &shown[OWN_MAX];
        assert_eq!((&*others.upstream, others.open, others.opened), (OTHERS, 20, 40));
    }
}
