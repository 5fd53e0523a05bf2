//! The table of elements: which there are, who may set them, and what a value must be.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::duration;
use crate::package::Standard;

/// The table, which the browser reads too.
const TABLE: &str = include_str!("../../../../models/tables/cmi.toml");

/// Most entries of a collection such as interactions.
const ENTRIES_MAX: usize = 10_000;
/// Most bytes of a value, whatever its element allows.
const VALUE_BYTES_MAX: usize = 512 << 10;

/// The elements of both versions of SCORM.
#[derive(Debug)]
pub(crate) struct Elements {
    scorm12: HashMap<String, Element>,
    scorm2004: HashMap<String, Element>,
    json: String,
}

#[derive(Debug, Deserialize)]
struct Table {
    scorm12: Version,
    scorm2004: Version,
}

#[derive(Debug, Deserialize)]
struct Version {
    elements: Vec<Element>,
}

#[derive(Debug, Deserialize)]
struct Element {
    name: String,
    r#type: Type,
    access: Access,
    max: Option<usize>,
    range: Option<(f64, f64)>,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    Text,
    Decimal,
    Integer,
    Vocabulary,
    Timespan,
    Time,
    Duration,
    Timestamp,
    Identifier,
    Language,
    Result,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    R,
    W,
    Rw,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is left out, and nothing is said: the run-time sets this element itself.
    Silent,
    /// It is left out, with a warning.
    Out(String),
    /// It is kept, with a warning.
    Kept(String),
}

impl Elements {
    /// Returns the shipped table.
    ///
    /// # Panics
    ///
    /// Never: a test reads the table.
    pub(crate) fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Elements> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let table: Table = toml::from_str(TABLE).expect("the shipped table is well formed");
            let json: Value = toml::from_str(TABLE).expect("the shipped table is well formed");
            let by_name = |version: Version| {
                version.elements.into_iter().map(|one| (one.name.clone(), one)).collect()
            };
            Self {
                scorm12: by_name(table.scorm12),
                scorm2004: by_name(table.scorm2004),
                json: json.to_string(),
            }
        })
    }

    /// Returns the table as JSON.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// Checks a value that content has set.
    ///
    /// # Errors
    ///
    /// [`Refusal`], which says whether the value is kept.
    pub(crate) fn check(&self, standard: Standard, name: &str, value: &str) -> Result<(), Refusal> {
        let elements = if standard == Standard::Scorm12 { &self.scorm12 } else { &self.scorm2004 };
        let (general, entries) = generalized(name);
        if name.ends_with("._children") || name.ends_with("._count") {
            return Err(Refusal::Silent);
        }
        let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        let Some(element) = elements.get(&general) else {
            return Err(Refusal::Out(format!("{shown} is no element of {}", standard.name())));
        };
        if element.access == Access::R {
            return Err(Refusal::Silent);
        }
        if entries >= ENTRIES_MAX {
            let message = format!("{shown}: there are at most {ENTRIES_MAX} entries");
            return Err(Refusal::Out(message));
        }
        if value.len() > VALUE_BYTES_MAX {
            let message = format!("{shown} has more than {VALUE_BYTES_MAX} bytes");
            return Err(Refusal::Out(message));
        }
        if !element.fits(value, standard) {
            return Err(Refusal::Out(format!("{shown} has a value that its type does not allow")));
        }
        let length = value.chars().count();
        match element.max {
            Some(max) if length > max => Err(Refusal::Kept(format!(
                "{shown} has {length} characters, and the standard asks for at most {max}; it is \
                 kept whole"
            ))),
            _ => Ok(()),
        }
    }
}

impl Element {
    fn fits(&self, value: &str, standard: Standard) -> bool {
        let in_range = |number: f64| {
            number.is_finite()
                && self.range.is_none_or(|(least, most)| (least..=most).contains(&number))
        };
        let is_decimal =
            |text: &str| text.len() <= 40 && text.trim().parse::<f64>().is_ok_and(in_range);
        let is_old = standard == Standard::Scorm12;
        match self.r#type {
            Type::Text | Type::Language => true,
            Type::Identifier => !value.trim().is_empty(),
            Type::Decimal => (is_old && value.is_empty()) || is_decimal(value),
            Type::Integer => value.trim().parse::<i32>().is_ok_and(|n| in_range(n.into())),
            // What content of the field sets in other words is kept: not attempted, and nothing.
            Type::Vocabulary => {
                value.is_empty() && self.access == Access::W
                    || self.values.iter().any(|word| word == value)
                    || (is_old && value == "not attempted")
            }
            Type::Timespan => !value.starts_with('P') && duration::read(value).is_some(),
            Type::Time => duration::read(value).is_some(),
            Type::Duration => value.starts_with('P') && duration::read(value).is_some(),
            Type::Timestamp => {
                value.len() >= 4
                    && value.len() <= 40
                    && value.starts_with(|c: char| c.is_ascii_digit())
            }
            Type::Result => {
                is_decimal(value)
                    || self.values.iter().any(|word| word == value)
                    || matches!(value, "wrong" | "incorrect")
            }
        }
    }
}

/// Returns a name with letters instead of numbers, and the greatest number.
fn generalized(name: &str) -> (String, usize) {
    let (mut general, mut greatest) = (String::with_capacity(name.len()), 0);
    let mut letters = ["n", "m"].into_iter();
    for (at, part) in name.split('.').enumerate() {
        if at > 0 {
            general.push('.');
        }
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            greatest = greatest.max(part.parse().unwrap_or(usize::MAX));
            general.push_str(letters.next().unwrap_or("x"));
        } else {
            general.push_str(part);
        }
    }
    (general, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_takes_its_own_values_only() {
        let elements = Elements::shipped();
        let (old, new) = (Standard::Scorm12, Standard::Scorm2004Third);
        for (standard, name, value, is_taken) in [
            (old, "cmi.core.lesson_status", "passed", true),
            (old, "cmi.core.lesson_status", "done", false),
            (old, "cmi.core.score.raw", "87", true),
            (old, "cmi.core.score.raw", "", true),
            (old, "cmi.core.score.raw", "101", false),
            (old, "cmi.core.session_time", "00:01:00", true),
            (old, "cmi.core.session_time", "PT1M", false),
            (old, "cmi.core.student_id", "x", false),
            (old, "cmi.interactions.0.objectives.1.id", "x", true),
            (old, "cmi.location", "x", false),
            (new, "cmi.score.scaled", "-1", true),
            (new, "cmi.score.scaled", "1.01", false),
            (new, "cmi.score.scaled", "NaN", false),
            (new, "cmi.exit", "", true),
            (new, "cmi.session_time", "PT1M", true),
            (new, "cmi.session_time", "00:01:00", false),
            (new, "cmi.interactions.3.result", "0.5", true),
            (new, "cmi.interactions.99999.id", "x", false),
            (new, "cmi.learner_preference.audio_level", "0.5", true),
            (new, "cmi.core.lesson_status", "passed", false),
        ] {
            let found = elements.check(standard, name, value);
            assert_eq!(found.is_ok(), is_taken, "{name} {value}: {found:?}");
        }
    }

    #[test]
    fn long_suspend_data_is_kept_with_a_warning() {
        let long = "x".repeat(5_000);

        let found = Elements::shipped().check(Standard::Scorm12, "cmi.suspend_data", &long);

        assert!(matches!(found, Err(Refusal::Kept(_))), "{found:?}");
    }
}
