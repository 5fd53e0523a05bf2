//! Values of a type: new, different or shared ones.

use homeroom_model::{Model, Resource, Scalar};
use serde_json::{Number, Value, json};

/// Code values of each descriptor's two documents.
pub const DESCRIPTOR_CODES: [&str; 2] = ["Shared", "Other"];

/// Returns the namespace of a descriptor's documents.
pub fn descriptor_namespace(descriptor: &Resource) -> String {
    format!("uri://homeroom.test/{}", descriptor.name)
}

/// Returns the URI of the descriptor document that samples use.
pub fn descriptor_uri(descriptor: &Resource) -> String {
    format!("{}#{}", descriptor_namespace(descriptor), DESCRIPTOR_CODES[0])
}

/// Returns another valid value of the same type; for a descriptor, the URI of its other document.
pub fn other(scalar: Scalar, value: &Value) -> Value {
    match (scalar, value) {
        (Scalar::Boolean, Value::Bool(value)) => json!(!value),
        (Scalar::Descriptor(_), Value::String(uri)) => {
            json!(uri.replace(DESCRIPTOR_CODES[0], DESCRIPTOR_CODES[1]))
        }
        (scalar, value) => (1..1_000)
            .map(|seed| Values::from(seed).fresh(scalar))
            .find(|other| other != value)
            .expect("a type has more values than one"),
    }
}

/// Makes values, all of them new as long as the type has any left.
pub struct Values {
    next: u64,
}

impl From<u64> for Values {
    /// Spaces the seeds so far apart that their values never overlap.
    fn from(seed: u64) -> Self {
        Self { next: seed * 1_000_000 + 1 }
    }
}

impl Values {
    /// Makes a valid value of a type.
    pub fn fresh(&mut self, scalar: Scalar) -> Value {
        self.next += 1;
        let n = self.next;
        match scalar {
            Scalar::Text { min, max } => json!(text(n, min as usize, max as usize)),
            Scalar::Integer { bits, min, max } => {
                let least = if bits == 64 { 5_000_000_000 } else { 1_000 };
                let least = if (min..=max).contains(&least) { least } else { min.max(0) };
                let span = (max - least).unsigned_abs().saturating_add(1);
                json!(least + i64::try_from(n % span).unwrap())
            }
            Scalar::Decimal { precision, scale, min, max } => {
                decimal(n, precision - scale, min.unwrap_or(0.0), max)
            }
            Scalar::Boolean => json!(n.is_multiple_of(2)),
            Scalar::Date => json!(day(n)),
            Scalar::DateTime => json!(format!("{}T{}Z", day(n), clock(n))),
            Scalar::Time => json!(clock(n)),
            Scalar::Descriptor(_) => panic!("the values of a descriptor are its documents"),
        }
    }

    /// Returns one of the school years that a new store has.
    pub fn school_year(&mut self, model: &Model) -> Value {
        self.next += 1;
        let at = self.next % model.school_years.len() as u64;
        json!(model.school_years[usize::try_from(at).unwrap()])
    }
}

/// Makes a text, with characters that have a special meaning elsewhere if there is room for them;
/// never `#`, which the namespace of a descriptor may not contain.
fn text(n: u64, min: usize, max: usize) -> String {
    // Texts this short are not identities, so they may repeat.
    let number = base_36(if max < 8 { n % 36u64.pow(u32::try_from(max).unwrap()) } else { n });
    let odd = format!("Ñ'\"\\ &+%2F{{}}/{number}");
    if odd.chars().count() <= max {
        return odd;
    }
    format!("{number:z>min$}")
}

fn base_36(mut n: u64) -> String {
    let mut digits = vec![];
    while n > 0 {
        digits.push(char::from_digit(u32::try_from(n % 36).unwrap(), 36).unwrap());
        n /= 36;
    }
    digits.into_iter().rev().collect()
}

fn decimal(n: u64, whole_digits: u8, min: f64, max: Option<f64>) -> Value {
    let whole = n % 10u64.pow(whole_digits.min(4).into());
    let text = format!("{whole}.{}", 1 + n / 10_000 % 8);
    let number: Number = text.parse().unwrap();
    let fits = number.as_f64().is_some_and(|n| n >= min && max.is_none_or(|max| n <= max));
    if fits {
        Value::Number(number)
    } else {
        json!(f64::from(1 + u32::try_from(n % 98).unwrap()) / 100.0)
    }
}

fn day(n: u64) -> String {
    format!("{}-{:02}-{:02}", 1950 + n / 336 % 70, 1 + n / 28 % 12, 1 + n % 28)
}

fn clock(n: u64) -> String {
    format!("{:02}:{:02}:{:02}", n / 3_600 % 24, n / 60 % 60, n % 60)
}
