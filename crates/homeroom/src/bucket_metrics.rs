//! Metrics of the bucket of the blobs, where they are in one.

use std::fmt::Write as _;

use homeroom_blobs::{BlobPlace, BucketFigures};

/// Returns their lines.
pub fn lines(place: &BlobPlace) -> String {
    place.figures().map(|figures| written(&figures)).unwrap_or_default()
}

/// Source: OpenMetrics 1.0, text format.
fn written(figures: &BucketFigures) -> String {
    let mut out = String::from(
        "# HELP homeroom_bucket_requests Requests to the bucket of the blobs, by method and outcome; \
         one that is sent again counts again.\n# TYPE homeroom_bucket_requests counter\n",
    );
    for (method, outcome, count) in &figures.requests {
        let labels = format!("method=\"{method}\",outcome=\"{outcome}\"");
        _ = writeln!(out, "homeroom_bucket_requests_total{{{labels}}} {count}");
    }
    out.push_str(
        "# HELP homeroom_bucket_answer_seconds Time until the bucket's answers began, in all.\n\
         # TYPE homeroom_bucket_answer_seconds counter\n",
    );
    for (method, time_us) in &figures.time_us {
        let (seconds, rest) = (time_us / 1_000_000, time_us % 1_000_000);
        let labels = format!("method=\"{method}\"");
        _ = writeln!(out, "homeroom_bucket_answer_seconds_total{{{labels}}} {seconds}.{rest:06}");
    }
    out.push_str(
        "# HELP homeroom_bucket_bytes Bytes of bodies to and from the bucket.\n\
         # TYPE homeroom_bucket_bytes counter\n",
    );
    for (direction, bytes) in [("sent", figures.bytes_sent), ("received", figures.bytes_received)] {
        _ = writeln!(out, "homeroom_bucket_bytes_total{{direction=\"{direction}\"}} {bytes}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_times_and_bytes_are_shown() {
        let figures = BucketFigures {
            requests: vec![("GET", "ok", 4), ("GET", "failed", 1)],
            time_us: vec![("GET", 2_000_350)],
            bytes_sent: 7,
            bytes_received: 9,
        };

        let text = written(&figures);

        for line in [
            "homeroom_bucket_requests_total{method=\"GET\",outcome=\"failed\"} 1\n",
            "homeroom_bucket_answer_seconds_total{method=\"GET\"} 2.000350\n",
            "homeroom_bucket_bytes_total{direction=\"received\"} 9\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
