//! Histograms of times.

use base64::Engine as _;
use hdrhistogram::Histogram;

use crate::figures::Latency;

/// A histogram of times in microseconds, to three digits; its range grows as needed.
pub type Times = Histogram<u64>;

/// Returns an empty histogram of times.
pub fn times() -> Times {
    growing(3)
}

/// Returns an empty histogram of times with this many significant digits.
///
/// # Panics
///
/// For more digits than a histogram can have, which is five.
pub fn growing(digits: u8) -> Times {
    let mut times = Times::new(digits).expect("a histogram has two or three digits");
    times.auto(true);
    times
}

/// Adds one histogram to another.
///
/// # Panics
///
/// Never for histograms made by [`times`], which grow as needed.
pub fn merge(into: &mut Times, from: &Times) {
    into.add(from).expect("both grow as they must");
}

/// Records a time; the histogram grows, so it takes every value.
pub fn record(into: &mut Times, micros: u64) {
    _ = into.record(micros);
}

/// Converts nanoseconds into microseconds, rounded up.
pub fn micros(nanoseconds: u64) -> u64 {
    nanoseconds.div_ceil(1000)
}

/// Returns a histogram's figures in milliseconds.
pub fn latency(times: &Times) -> Latency {
    let ms = |us: u64| us as f64 / 1e3;
    let at = |percentile: f64| ms(times.value_at_quantile(percentile / 100.0));
    if times.is_empty() {
        return Latency::default();
    }
    Latency {
        mean: times.mean() / 1e3,
        sd: times.stdev() / 1e3,
        min: ms(times.min()),
        p50: at(50.0),
        p75: at(75.0),
        p90: at(90.0),
        p95: at(95.0),
        p98: at(98.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: ms(times.max()),
    }
}

/// Encodes a histogram for a file: `HdrHistogram` V2, deflated, base64.
pub fn encoded(times: &Times) -> String {
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

    let mut bytes = vec![];
    let done = V2DeflateSerializer::new().serialize(times, &mut bytes);
    done.map_or_else(
        |_| String::new(),
        |_| base64::engine::general_purpose::STANDARD.encode(&bytes),
    )
}

/// Decodes a histogram from a file.
pub fn decoded(text: &str) -> Option<Times> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_a_round_trip() {
        let mut found = times();
        for value in [1, 20, 300, 4_000, 50_000, 600_000_000] {
            found.record(value).unwrap();
        }

        let read = decoded(&encoded(&found)).unwrap();

        assert_eq!(read, found);
        assert!(decoded("no histogram").is_none());
    }
}
