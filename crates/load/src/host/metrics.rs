//! Converts an exporter's text in Prometheus' format into the series that reports know.
//!
//! Source: the text format 0.0.4 of Prometheus.

use std::collections::BTreeMap;

/// How a metric becomes a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// The metric's value is taken as it is.
    Gauge,
    /// The metric's growth per second is taken.
    Rate,
}

/// A known series: its name, how it is computed, the metrics it is the sum of with their factors,
/// label values whose samples do not count, and a metric in whose presence the series has another
/// meaning.
struct KnownMetric {
    series: &'static str,
    how: How,
    metrics: &'static [(&'static str, f64)],
    except: &'static [(&'static str, &'static str)],
    unless: Option<&'static str>,
}

const MB: f64 = 1.0 / (1024.0 * 1024.0);

/// Beside this metric of PostgreSQL's exporter, `process_…` describes the exporter itself.
const POSTGRES: Option<&str> = Some("pg_up");

const KNOWN: &[KnownMetric] = &[
    KnownMetric {
        series: "cpu_percent",
        how: How::Rate,
        metrics: &[("node_cpu_seconds_total", 100.0)],
        except: &[("mode", "idle"), ("mode", "iowait"), ("mode", "steal")],
        unless: None,
    },
    KnownMetric {
        series: "cpu_percent",
        how: How::Rate,
        metrics: &[("process_cpu_seconds_total", 100.0)],
        except: &[],
        unless: POSTGRES,
    },
    KnownMetric {
        series: "memory_mb",
        how: How::Gauge,
        metrics: &[("node_memory_MemTotal_bytes", MB), ("node_memory_MemAvailable_bytes", -MB)],
        except: &[],
        unless: None,
    },
    KnownMetric {
        series: "memory_mb",
        how: How::Gauge,
        metrics: &[("process_resident_memory_bytes", MB)],
        except: &[],
        unless: POSTGRES,
    },
    KnownMetric {
        series: "disk_read_mb_s",
        how: How::Rate,
        metrics: &[("node_disk_read_bytes_total", MB)],
        except: &[],
        unless: None,
    },
    KnownMetric {
        series: "disk_write_mb_s",
        how: How::Rate,
        metrics: &[("node_disk_written_bytes_total", MB)],
        except: &[],
        unless: None,
    },
    KnownMetric {
        series: "net_in_mb_s",
        how: How::Rate,
        metrics: &[("node_network_receive_bytes_total", MB)],
        except: &[("device", "lo")],
        unless: None,
    },
    KnownMetric {
        series: "net_out_mb_s",
        how: How::Rate,
        metrics: &[("node_network_transmit_bytes_total", MB)],
        except: &[("device", "lo")],
        unless: None,
    },
    KnownMetric {
        series: "connections",
        how: How::Gauge,
        metrics: &[("pg_stat_activity_count", 1.0)],
        except: &[],
        unless: None,
    },
    KnownMetric {
        series: "commits_per_s",
        how: How::Rate,
        metrics: &[("pg_stat_database_xact_commit", 1.0)],
        except: &[],
        unless: None,
    },
];

/// One line of an exporter's text.
#[derive(Debug, Clone, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

/// The sums of the series at one moment; for rates, the counters' values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading(BTreeMap<String, (bool, f64)>);

/// Reads an exporter's text: the known series, and the metrics asked for by name, with or without
/// labels: `name{label="value"}`.
pub fn read(text: &str, wanted: &[String]) -> Reading {
    let samples: Vec<Sample<'_>> = text.lines().filter_map(sample).collect();
    let has = |name: &str| samples.iter().any(|sample| sample.name == name);
    let mut reading = Reading::default();
    for known in KNOWN {
        // A sum with a missing part is dropped; the first way to compute a series is preferred.
        let is_whole = known.metrics.iter().all(|(name, _)| has(name));
        if !is_whole || known.unless.is_some_and(has) || reading.0.contains_key(known.series) {
            continue;
        }
        let counts = |sample: &&Sample<'_>| {
            let is = |(name, value): &(&str, &str)| sample.label(name) == Some(value);
            !known.except.iter().any(is)
        };
        let sum = known.metrics.iter().map(|(name, factor)| {
            let of = samples.iter().filter(|sample| sample.name == *name).filter(counts);
            of.map(|sample| sample.value).sum::<f64>() * factor
        });
        reading.0.insert(known.series.into(), (known.how == How::Rate, sum.sum()));
    }
    for wanted in wanted {
        // A name with labels is a sample without its value.
        let line = format!("{wanted} 0");
        let Some(matcher) = sample(&line) else { continue };
        let fits = |sample: &&Sample<'_>| {
            sample.name == matcher.name
                && matcher.labels.iter().all(|(name, value)| sample.label(name) == Some(value))
        };
        let found: Vec<f64> = samples.iter().filter(fits).map(|sample| sample.value).collect();
        if !found.is_empty() {
            let is_rate = matcher.name.ends_with("_total");
            let name = if is_rate {
                format!("{}_per_s", wanted.replacen("_total", "", 1))
            } else {
                wanted.clone()
            };
            reading.0.insert(name, (is_rate, found.iter().sum()));
        }
    }
    reading
}

impl Reading {
    /// Returns the values at this moment, some seconds after another reading. Rates need that
    /// reading, and have no value if their counter was reset.
    pub fn values(&self, before: Option<(&Self, f64)>) -> Vec<(String, f64)> {
        let value = |(name, (is_rate, now)): (&String, &(bool, f64))| {
            if !is_rate {
                return Some((name.clone(), *now));
            }
            let (before, seconds) = before?;
            let (_, then) = before.0.get(name)?;
            (seconds > 0.0 && now >= then).then(|| (name.clone(), (now - then) / seconds))
        };
        self.0.iter().filter_map(value).filter(|(_, value)| value.is_finite()).collect()
    }

    /// Returns whether the reading has no series.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Sample<'_> {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_str())
    }
}

/// Parses `name{label="value",…} value`. Returns `None` for comments and anything else.
fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let name = &line[..end];
    if name.is_empty() || name.starts_with('#') {
        return None;
    }
    let mut rest = line[end..].trim_start();
    let mut labels = vec![];
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside.trim_start();
        while !rest.starts_with('}') {
            let (label, quoted) = rest.split_once('=')?;
            let (value, after) = quoted_text(quoted.trim_start())?;
            labels.push((label.trim(), value));
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        rest = &rest[1..];
    }
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// Parses a quoted text. Returns it unescaped, with what follows it.
fn quoted_text(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 2..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NODE: &str = "# HELP node_cpu_seconds_total Seconds.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1000
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.5
node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 2.5
node_memory_MemTotal_bytes 1.073741824e+09
node_memory_MemAvailable_bytes 5.36870912e+08
node_network_receive_bytes_total{device=\"lo\"} 9e9
node_network_receive_bytes_total{device=\"eth0\"} 1048576
process_cpu_seconds_total 1
process_resident_memory_bytes 1e9
";

    fn values(text: &str, wanted: &[&str]) -> Vec<(String, f64)> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let nothing = read(&text.replace(|c: char| c.is_ascii_digit(), "0"), &wanted);
        read(text, &wanted).values(Some((&nothing, 2.0)))
    }

    fn named(values: &[(String, f64)], name: &str) -> Option<f64> {
        values.iter().find(|(of, _)| of == name).map(|(_, value)| *value)
    }

    #[test]
    fn a_machine_exporter_gives_processor_memory_and_network_figures() {
        let before = NODE.replace("10.5", "9.5").replace("1048576", "0");

        let now = read(NODE, &[]);
        let found = now.values(Some((&read(&before, &[]), 2.0)));

        assert_eq!(named(&found, "cpu_percent"), Some(50.0));
        assert_eq!(named(&found, "memory_mb"), Some(512.0));
        assert_eq!(named(&found, "net_in_mb_s"), Some(0.5));
        assert_eq!(named(&now.values(None), "cpu_percent"), None);
    }

    #[test]
    fn process_figures_of_an_exporter_for_another_process_are_ignored() {
        let own = "process_cpu_seconds_total 5\nprocess_resident_memory_bytes 1048576\n";
        let postgres = format!(
            "{own}pg_up 1\npg_stat_activity_count{{datname=\"x\"}} 3\n\
                                pg_stat_activity_count{{datname=\"y\"}} 4\n"
        );

        assert_eq!(named(&values(own, &[]), "memory_mb"), Some(1.0));
        assert_eq!(named(&values(&postgres, &[]), "memory_mb"), None);
        assert_eq!(named(&values(&postgres, &[]), "connections"), Some(7.0));
    }

    #[test]
    fn any_metric_can_be_selected_by_name_and_labels() {
        let text = "a{x=\"1\",y=\"q\\\"}\\n\"} 3 1700000000000\na{x=\"2\"} 4\nb_total 8\n";
        let found = values(text, &["a", "a{x=\"2\"}", "b_total", "c"]);

        assert_eq!(named(&found, "a"), Some(7.0));
        assert_eq!(named(&found, "a{x=\"2\"}"), Some(4.0));
        assert_eq!(named(&found, "b_per_s"), Some(4.0));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_counter_that_was_reset_has_no_rate() {
        let reading = |count: u32| read(&format!("x_total {count}"), &["x_total".into()]);

        assert_eq!(reading(3).values(Some((&reading(5), 1.0))), []);
        assert_eq!(reading(5).values(Some((&reading(3), 1.0))), [("x_per_s".into(), 2.0)]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read_as_metrics(text in "([a-z_]{0,8}[{}\"=\\\\,# 0-9\\n]{0,6}){0,12}|\\PC{0,60}") {
            let reading = read(&text, &["a".into(), "a{".into(), text.clone()]);

            prop_assert!(reading.values(None).iter().all(|(_, value)| value.is_finite()));
        }
    }
}
