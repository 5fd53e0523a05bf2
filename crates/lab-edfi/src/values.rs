//! Generates values for members: unique ones, and ones that many documents may share.

use jiff::SignedDuration;
use jiff::civil::Date;
use serde_json::Value;

use super::placeholders;
use super::shape::Scalar;

/// The fewest characters that a string needs to be unique without end.
const TEXT_MIN: usize = 14;
/// Dates of anchors go back from this day, one per document; dates of a run go forward.
const ANCHOR_DAY: i64 = -1;
/// Numbers of anchors begin with 2 and those of a run with 1; this many digits follow.
const DIGITS: u32 = 9;
/// The same for numbers that have room for more digits.
const LONG_DIGITS: u32 = 14;
/// How many of these digits come from the count or the serial number.
const COUNT_DIGITS: u32 = 7;
/// The same for numbers that have room for more digits.
const LONG_COUNT_DIGITS: u32 = 9;
/// The most values of a small domain that are used.
const DOMAIN_MAX: i64 = 2_500;
/// The first four-digit number that is used, beyond any likely year.
const SHORT_NUMBER: i64 = 3_001;
/// The prefix of anchors' namespaces where the key has none of its own.
const NAMESPACE: &str = "uri://homeroom.lab";

/// Generates values. New values are unique within a run, and mostly between runs.
#[derive(Debug)]
pub struct Values {
    random: fastrand::Rng,
    tag: String,
    number: i64,
    count: i64,
    namespace: String,
}

/// How a member can have a new value in every document.
#[derive(Debug, Clone, PartialEq)]
pub enum Fresh {
    /// By the run's serial number: the value, with a placeholder for it.
    Serial(Value),
    /// By one of these values, each used once.
    OneOf(Vec<Value>),
}

impl Values {
    /// Returns a generator. Different seeds give different values; namespaces begin with the key's
    /// prefix, if it has one.
    pub fn new(seed: u64, prefix: Option<&str>) -> Self {
        let mut values = Self {
            random: fastrand::Rng::with_seed(seed),
            tag: String::new(),
            number: 0,
            count: 0,
            namespace: prefix.unwrap_or(NAMESPACE).trim_end_matches('/').to_owned(),
        };
        values.renew();
        values
    }

    /// Uses another mark for all values from now on, because this one is already used on the
    /// target.
    pub fn renew(&mut self) {
        self.tag = std::iter::repeat_with(|| self.random.lowercase()).take(5).collect();
        self.number = self.random.i64(0..100_000);
    }

    /// Returns a unique value, as far as the type has room for one.
    pub fn new_one(&mut self, resource: &str, name: &str, scalar: &Scalar) -> Value {
        self.count += 1;
        match scalar {
            _ if is_namespace(name) => self.any(resource, name, scalar),
            Scalar::Text { min, max, .. } if *max >= TEXT_MIN => {
                padded(format!("{}a{}", self.tag, self.count), *min, *max)
            }
            Scalar::Text { min, max, .. } => padded(short(self.count, *max), *min, *max),
            Scalar::Date => day(ANCHOR_DAY - self.count).into(),
            Scalar::Moment => format!("{}T12:00:00Z", day(ANCHOR_DAY - self.count)).into(),
            Scalar::Time => time(self.count).into(),
            Scalar::Integer { min, max } => {
                let wanted = [
                    self.anchor_number(LONG_DIGITS, LONG_COUNT_DIGITS),
                    self.anchor_number(DIGITS, COUNT_DIGITS),
                ];
                let fitting = wanted.into_iter().find(|wanted| wanted <= max);
                fitting.unwrap_or((*min).max(1) + self.count % domain(*min, *max)).into()
            }
            Scalar::Number { min, .. } => (min.max(0.0) + self.count as f64).into(),
            Scalar::Boolean => true.into(),
        }
    }

    /// Returns a value that many documents may share.
    pub fn any(&self, resource: &str, name: &str, scalar: &Scalar) -> Value {
        match scalar {
            Scalar::Text { only: Some(only), .. } => only.clone().into(),
            Scalar::Text { min, max, .. } if is_namespace(name) => {
                let mut letters = resource.chars();
                let first = letters.next().map(|first| first.to_ascii_uppercase());
                let resource: String = first.into_iter().chain(letters).collect();
                padded(format!("{}/{resource}", self.namespace), *min, *max)
            }
            Scalar::Text { min, max, .. } => padded(format!("Lab {name}"), *min, *max),
            Scalar::Date if name.starts_with("end") => "2026-06-30".into(),
            Scalar::Date if name.starts_with("birth") => "2010-05-17".into(),
            Scalar::Date => "2025-08-18".into(),
            Scalar::Moment => "2025-08-18T12:00:00Z".into(),
            Scalar::Time if name.starts_with("end") => "09:15:00".into(),
            Scalar::Time => "08:30:00".into(),
            Scalar::Integer { min, max } => (1_i64).clamp(*min, *max).into(),
            Scalar::Number { min, max } => (1.0_f64).clamp(*min, *max).into(),
            Scalar::Boolean => true.into(),
        }
    }

    /// Returns the ways in which a member can be new in every document of a run, the best first.
    /// The list is empty if its type has no room.
    pub fn fresh(&self, name: &str, scalar: &Scalar) -> Vec<Fresh> {
        let serial = placeholders::place(placeholders::SERIAL);
        let date = placeholders::place(placeholders::SERIAL_DATE);
        let numbers = |from: i64, to: i64| Fresh::OneOf((from..=to).map(Value::from).collect());
        match scalar {
            _ if is_namespace(name) => vec![],
            Scalar::Text { only: Some(_), .. } | Scalar::Boolean | Scalar::Number { .. } => vec![],
            Scalar::Text { min, max, .. } if *max >= TEXT_MIN && *min <= TEXT_MIN => {
                vec![Fresh::Serial(format!("{}-{serial}", self.tag).into())]
            }
            Scalar::Text { min, max, .. } => {
                let last = [0, 9, 99, 999].get(*max).copied().unwrap_or(DOMAIN_MAX);
                let values = (1..=last).rev().map(|at| padded(at.to_string(), *min, *max));
                vec![Fresh::OneOf(values.collect())]
            }
            Scalar::Date => vec![Fresh::Serial(date.into())],
            Scalar::Moment => vec![Fresh::Serial(format!("{date}T12:00:00Z").into())],
            Scalar::Time => {
                vec![Fresh::OneOf((1..=DOMAIN_MAX).map(|at| time(-at).into()).collect())]
            }
            Scalar::Integer { max, .. } if *max >= i64::from(i32::MAX) => {
                let has_room = *max >= 2 * 10_i64.pow(LONG_DIGITS);
                let mark = if has_room {
                    format!("{:05}", self.number)
                } else {
                    format!("{:02}", self.number % 100)
                };
                let long = placeholders::number(&format!("1{mark}{serial}"));
                // Some numbers have a narrower range than their description says.
                vec![Fresh::Serial(long.into()), numbers(SHORT_NUMBER, SHORT_NUMBER + DOMAIN_MAX)]
            }
            Scalar::Integer { min, max } => {
                let first = (*min).max(1);
                vec![numbers(first, (*max).min(first + DOMAIN_MAX))]
            }
        }
    }

    /// Returns a number with `digits` digits after the first, `of_count` of which come from the
    /// count.
    fn anchor_number(&self, digits: u32, of_count: u32) -> i64 {
        let mark = self.number % 10_i64.pow(digits - of_count);
        2 * 10_i64.pow(digits) + mark * 10_i64.pow(of_count) + self.count
    }

    /// Returns what replaces a serial number in documents that are created before the run. The
    /// run's own serial numbers stay below it for some millions of requests, and have no more
    /// digits than it up to ten million.
    pub fn serial(&mut self) -> String {
        self.count += 1;
        (9_000_000 + self.count).to_string()
    }

    /// Returns what replaces a serial date in documents that are created before the run.
    pub fn serial_date(&mut self) -> String {
        self.count += 1;
        day(ANCHOR_DAY - self.count)
    }
}

/// Returns whether a member's name says that it holds a namespace, which decides who may write it.
pub fn is_namespace(name: &str) -> bool {
    name == "namespace" || name.ends_with("Namespace")
}

fn domain(min: i64, max: i64) -> i64 {
    (max - min.max(1)).max(1)
}

fn short(count: i64, max: usize) -> String {
    let digits = count.to_string();
    digits[digits.len().saturating_sub(max)..].to_owned()
}

/// Pads or cuts a text to a length between `min` and `max` characters.
fn padded(mut text: String, min: usize, max: usize) -> Value {
    while text.len() < min {
        text.push('0');
    }
    text.truncate(max);
    text.trim_end().into()
}

/// Returns a time of day: one second later for each count from midnight on, or backwards from it.
fn time(count: i64) -> String {
    let second = count.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// Returns the date that is this many days after 1900-01-01, at the latest 9999-12-31.
fn day(since_1900: i64) -> String {
    let days = SignedDuration::from_secs(since_1900.saturating_mul(86_400));
    Date::constant(1900, 1, 1).saturating_add(days).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Scalar = Scalar::Text { min: 0, max: 32, only: None };
    const NUMBER: Scalar = Scalar::Integer { min: 0, max: i32::MAX as i64 };
    const LONG: Scalar = Scalar::Integer { min: 0, max: (1 << 53) - 1 };

    #[test]
    fn generated_dates_are_valid() {
        let found = [-1, 0, 58, 59, 36_524, 46_256].map(day);

        let wanted =
            ["1899-12-31", "1900-01-01", "1900-02-28", "1900-03-01", "2000-01-01", "2026-08-24"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn new_values_are_all_different() {
        let mut values = Values::new(7, None);

        for scalar in [TEXT, NUMBER, LONG, Scalar::Date, Scalar::Moment, Scalar::Time] {
            let one = values.new_one("school", "key", &scalar);
            let other = values.new_one("school", "key", &scalar);

            assert_ne!(one, other, "{scalar:?}");
        }
    }

    #[test]
    fn a_value_keeps_to_its_bounds() {
        let mut values = Values::new(7, None);
        let narrow = Scalar::Text { min: 3, max: 4, only: None };
        let year = Scalar::Integer { min: 1900, max: 2100 };

        let text = values.new_one("school", "code", &narrow);
        let number = values.new_one("school", "year", &year).as_i64().unwrap();
        let fresh = values.fresh("year", &year);

        assert!((3..=4).contains(&text.as_str().unwrap().len()), "{text}");
        assert!((1900..=2100).contains(&number), "{number}");
        let [Fresh::OneOf(years)] = &fresh[..] else { panic!("{fresh:?}") };
        assert_eq!(years.len(), 201);
    }

    #[test]
    fn a_namespace_starts_with_a_prefix_of_the_key() {
        let values = Values::new(7, Some("uri://acme.org/"));

        let namespace = values.any("termDescriptor", "namespace", &TEXT);

        assert_eq!(namespace, "uri://acme.org/TermDescriptor");
    }
}
