//! The two forms in which metrics are sent: OpenMetrics, and the older text form of Prometheus.

use std::fmt::Write as _;

use http::HeaderMap;
use http::header::ACCEPT;

/// A form of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text form of Prometheus, version 0.0.4.
    Prometheus,
}

impl Form {
    /// Returns the form that a scraper accepts: OpenMetrics if it names that, otherwise the older
    /// form, which every tool reads.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
        let is_named = lines.flat_map(|line| line.split(',')).any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_it = parts.next().is_some_and(|media| media == "application/openmetrics-text");
            is_it && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        });
        if is_named { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Returns its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes a text of OpenMetrics in this form.
    ///
    /// In the older form a counter is described under the name of its sample, `_total`, there are
    /// no infos and units, and nothing marks the end.
    ///
    /// Source: OpenMetrics 1.0; Prometheus, Exposition formats.
    pub fn of(self, text: String) -> String {
        if self == Self::OpenMetrics {
            return text;
        }
        let ending = |name: &str| match kind(&text, name) {
            Some("counter") => "_total",
            Some("info") => "_info",
            _ => "",
        };
        let mut out = String::with_capacity(text.len());
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("#"), Some("EOF" | "UNIT"), ..) => continue,
                (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                    let shown = if kind == "info" { "gauge" } else { kind };
                    _ = write!(out, "# TYPE {name}{} {shown}", ending(name));
                }
                (Some("#"), Some("HELP"), Some(name), Some(help)) => {
                    _ = write!(out, "# HELP {name}{} {help}", ending(name));
                }
                _ => out += line,
            }
            out.push('\n');
        }
        out
    }
}

/// Returns the type under which a text describes a metric.
fn kind<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let described = |line: &'t str| {
        let (found, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        (found == name).then_some(kind)
    };
    text.lines().find_map(described)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "# HELP a_b What is counted.\n# TYPE a_b counter\na_b_total{c=\"d e\"} 1\n\
        # HELP time_seconds Times.\n# TYPE time_seconds histogram\n# UNIT time_seconds seconds\n\
        time_seconds_sum 0.5\ntime_seconds_count 1\ntime_seconds_bucket{le=\"+Inf\"} 1\n\
        # HELP build What runs.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n# EOF\n";

    #[test]
    fn the_older_form_describes_counters_by_the_name_of_their_sample() {
        let text = Form::Prometheus.of(OPEN.to_owned());

        assert_eq!(
            text,
            "# HELP a_b_total What is counted.\n# TYPE a_b_total counter\na_b_total{c=\"d e\"} 1\n\
             # HELP time_seconds Times.\n# TYPE time_seconds histogram\n\
             time_seconds_sum 0.5\ntime_seconds_count 1\ntime_seconds_bucket{le=\"+Inf\"} 1\n\
             # HELP build_info What runs.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n"
        );
        assert_eq!(Form::OpenMetrics.of(OPEN.to_owned()), OPEN);
    }

    #[test]
    fn a_scraper_gets_the_form_that_it_names() {
        for (accept, form) in [
            ("", Form::Prometheus),
            ("*/*", Form::Prometheus),
            ("text/plain;version=0.0.4", Form::Prometheus),
            ("application/openmetrics-text;q=0, text/plain", Form::Prometheus),
            ("application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1", Form::OpenMetrics),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());

            assert_eq!(Form::accepted(&headers), form, "{accept}");
        }
    }
}
