//! Known differences and their reasons, as rows of a data file.

use serde::Deserialize;

use super::difference::Difference;

/// The rows of a data file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exceptions {
    /// Rows, in the file's order.
    pub exception: Vec<Exception>,
}

/// A pattern of differences that share one reason. `*` in a pattern stands for any text; a pattern
/// that is not given matches everything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The artefact, as in [`Difference::against`].
    pub against: String,
    /// Pattern of places.
    pub place: Option<String>,
    /// Pattern of [`Difference::what`].
    pub what: Option<String>,
    /// Pattern of what the model says.
    pub ours: Option<String>,
    /// Pattern of what the artefact says.
    pub theirs: Option<String>,
    /// Why they differ.
    pub reason: String,
}

impl Exceptions {
    /// Reads a data file.
    ///
    /// # Errors
    ///
    /// Returns a message if the file is not valid TOML or a row has an unknown or missing field.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Returns the differences that no row explains, and the rows that explain none.
    pub(super) fn explain(&self, differences: &[Difference]) -> (Vec<Difference>, Vec<String>) {
        let mut used = vec![false; self.exception.len()];
        let mut unexplained = vec![];
        for difference in differences {
            let mut explained = false;
            for (row, used) in self.exception.iter().zip(&mut used) {
                if row.fits(difference) {
                    *used = true;
                    explained = true;
                }
            }
            if !explained {
                unexplained.push(difference.clone());
            }
        }
        let idle = self.exception.iter().zip(used).filter(|(_, used)| !used);
        (unexplained, idle.map(|(row, _)| row.title()).collect())
    }
}

impl Exception {
    fn fits(&self, difference: &Difference) -> bool {
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_deref().is_none_or(|pattern| matches(pattern, text))
        };
        self.against == difference.against
            && fits(&self.what, difference.what)
            && fits(&self.place, &difference.place)
            && fits(&self.ours, &difference.ours)
            && fits(&self.theirs, &difference.theirs)
    }

    fn title(&self) -> String {
        let pattern = |text: &Option<String>| text.clone().unwrap_or_else(|| "*".to_owned());
        format!("{} {} {}", self.against, pattern(&self.place), pattern(&self.what))
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("Student*Event.*Date", "StudentSchoolAttendanceEvent.eventDate", true),
            ("Student*Event.*Date", "StudentSchoolAttendanceEvent.eventDates", false),
            ("*.a.*", "X.a", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
