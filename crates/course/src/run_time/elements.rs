//! The table of elements: which there are, who may set them, and what a value must be.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::duration;
use crate::package::Standard;
use crate::shown::shown;

/// The table, which the browser reads too.
const TABLE: &str = include_str!("../../../../models/tables/cmi.toml");

/// Most entries of a collection such as interactions.
const ENTRIES_MAX: usize = 10_000;
/// Most bytes of a number.
const NUMBER_BYTES_MAX: usize = 40;
/// Most bytes of a value, whatever its element allows.
const VALUE_BYTES_MAX: usize = 512 << 10;

/// The elements of both versions of SCORM.
#[derive(Debug)]
pub(crate) struct Elements {
    scorm12: Words,
    scorm2004: Words,
}

/// The elements of one version, by name, and the numbers of its errors.
#[derive(Debug)]
struct Words {
    elements: HashMap<String, Element>,
    errors: Errors,
}

#[derive(Debug, Deserialize)]
struct Table {
    scorm12: Version,
    scorm2004: Version,
}

#[derive(Debug, Deserialize)]
struct Version {
    elements: Vec<Element>,
    errors: Errors,
}

/// What content is told of a value that is refused.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Errors {
    unknown: u16,
    keyword: u16,
    read_only: u16,
    r#type: u16,
    range: u16,
}

/// Why a value is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// There is no such element.
    Unknown,
    /// It is set by the run-time, such as `_count`.
    Keyword,
    ReadOnly,
    Type,
    Range,
}

impl Errors {
    fn of(self, fault: Fault) -> u16 {
        match fault {
            Fault::Unknown => self.unknown,
            Fault::Keyword => self.keyword,
            Fault::ReadOnly => self.read_only,
            Fault::Type => self.r#type,
            Fault::Range => self.range,
        }
    }
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
            let by_name = |Version { elements, errors }: Version| {
                let elements = elements.into_iter().map(|one| (one.name.clone(), one)).collect();
                Words { elements, errors }
            };
            Self { scorm12: by_name(table.scorm12), scorm2004: by_name(table.scorm2004) }
        })
    }

    fn words(&self, standard: Standard) -> &Words {
        if standard == Standard::Scorm12 { &self.scorm12 } else { &self.scorm2004 }
    }

    /// Checks a value that content has set.
    ///
    /// # Errors
    ///
    /// [`Refusal`], which says whether the value is kept.
    pub(crate) fn check(&self, standard: Standard, name: &str, value: &str) -> Result<(), Refusal> {
        let words = self.words(standard);
        let shown = shown(name);
        let (element, entries) = match words.fault(standard, name, value) {
            Ok(found) => found,
            Err(Fault::Keyword | Fault::ReadOnly) => return Err(Refusal::Silent),
            Err(Fault::Unknown) => {
                return Err(Refusal::Out(format!("{shown} is no element of {}", standard.name())));
            }
            Err(fault @ (Fault::Type | Fault::Range)) => {
                let error = words.errors.of(fault);
                return Err(Refusal::Out(format!(
                    "{shown} has a value that its type does not allow (error {error})"
                )));
            }
        };
        if entries >= ENTRIES_MAX {
            let message = format!("{shown}: there are at most {ENTRIES_MAX} entries");
            return Err(Refusal::Out(message));
        }
        if value.len() > VALUE_BYTES_MAX {
            let message = format!("{shown} has more than {VALUE_BYTES_MAX} bytes");
            return Err(Refusal::Out(message));
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

impl Words {
    /// Returns the element of a name with the greatest number of its entries, if it takes a value.
    fn fault(
        &self,
        standard: Standard,
        name: &str,
        value: &str,
    ) -> Result<(&Element, usize), Fault> {
        if name.ends_with("._children") || name.ends_with("._count") {
            return Err(Fault::Keyword);
        }
        let (general, entries) = generalized(name);
        let element = self.elements.get(&general).ok_or(Fault::Unknown)?;
        if element.access == Access::R {
            return Err(Fault::ReadOnly);
        }
        element.fits(value, standard)?;
        Ok((element, entries))
    }
}

impl Element {
    fn fits(&self, value: &str, standard: Standard) -> Result<(), Fault> {
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.filter(|_| text.len() <= NUMBER_BYTES_MAX)
        };
        let is_old = standard == Standard::Scorm12;
        let in_range = |number: Option<f64>| match (number, self.range) {
            (None, _) => Err(Fault::Type),
            (Some(number), Some((least, most))) if !(least..=most).contains(&number) => {
                Err(Fault::Range)
            }
            _ => Ok(()),
        };
        match self.r#type {
            Type::Decimal if is_old && value.is_empty() => return Ok(()),
            Type::Decimal => return in_range(number(value)),
            Type::Integer => return in_range(value.trim().parse::<i32>().ok().map(f64::from)),
            _ => {}
        }
        let is_fit = match self.r#type {
            Type::Text | Type::Language | Type::Decimal | Type::Integer => true,
            Type::Identifier => !value.trim().is_empty(),
            // Real courses also set `not attempted` (SCORM 1.2) and an empty text (write-only elements); both are
            // kept.
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
                number(value).is_some()
                    || self.values.iter().any(|word| word == value)
                    || matches!(value, "wrong" | "incorrect")
            }
        };
        if is_fit { Ok(()) } else { Err(Fault::Type) }
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

    /// Verdicts on values of each element: what the browser's tests read, too.
    #[derive(Deserialize)]
    struct Verdicts {
        values: Vec<String>,
        #[serde(rename = "1.2")]
        old: std::collections::BTreeMap<String, Vec<u16>>,
        #[serde(rename = "2004")]
        new: std::collections::BTreeMap<String, Vec<u16>>,
    }

    #[test]
    fn the_verdicts_on_every_element_are_those_of_the_browser() {
        let text = include_str!("../../../../models/tables/cmi_verdicts.json");
        let Verdicts { values, old, new } = serde_json::from_str(text).unwrap();
        let elements = Elements::shipped();
        for (standard, verdicts) in [(Standard::Scorm12, old), (Standard::Scorm2004Fourth, new)] {
            let words = elements.words(standard);
            let found: std::collections::BTreeSet<String> =
                verdicts.keys().map(|name| generalized(name).0).collect();
            assert!(words.elements.keys().all(|name| found.contains(name)), "all elements");
            for (name, errors) in verdicts {
                assert_eq!(errors.len(), values.len(), "{name}");
                for (value, error) in values.iter().zip(errors) {
                    let found = words.fault(standard, &name, value);
                    let found = found.map_or_else(|fault| words.errors.of(fault), |_| 0);
                    assert_eq!(found, error, "{} {name} {value:?}", standard.name());
                }
            }
        }
    }

    #[test]
    fn long_suspend_data_is_kept_with_a_warning() {
        let long = "x".repeat(5_000);

        let found = Elements::shipped().check(Standard::Scorm12, "cmi.suspend_data", &long);

        assert!(matches!(found, Err(Refusal::Kept(_))), "{found:?}");
    }
}
