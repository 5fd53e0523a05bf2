//! Reads a scenario from TOML and finds the lines of its errors.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::error::Error;
use super::file::ScenarioFile;
use super::program::{Program, Setup};

/// The longest text that is read, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

impl ScenarioFile {
    /// Reads a scenario's text; [`Program::compile`] checks whether its steps are valid.
    ///
    /// # Errors
    ///
    /// Names the line and what is wrong in it.
    pub fn read(text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_BYTES_MAX {
            let why = format!("it is longer than {TEXT_BYTES_MAX} bytes");
            return Err(Error::of_file("", why));
        }
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, &span));
            Error { line, ..Error::of_file("", error.message()) }
        })
    }
}

impl Program {
    /// Reads and compiles a scenario's text.
    ///
    /// # Errors
    ///
    /// As for [`ScenarioFile::read`] and [`Program::compile`], with the line where it is known.
    pub fn read(text: &str, setup: &Setup) -> Result<Self, Error> {
        let file = ScenarioFile::read(text)?;
        Self::compile(&file, setup)
            .map_err(|error| Error { line: find_line(text, &error), ..error })
    }
}

/// The same text parsed again for the positions of its parts.
#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    steps: Vec<Spanned<BTreeMap<String, Spanned<Value>>>>,
}

fn find_line(text: &str, error: &Error) -> Option<usize> {
    let (number, _) = error.step.as_ref()?;
    let places: Places = toml::from_str(text).ok()?;
    let step = places.steps.get(number - 1)?;
    let member = step.get_ref().get(error.part).map(Spanned::span);
    Some(line_of(text, &member.unwrap_or_else(|| step.span())))
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Program::read(text, &Setup::default()).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_syntax_error_is_reported_with_its_line() {
        for (text, told) in [
            ("name = \"x\"\nsteps = 3\n", "line 2: invalid type: integer `3`"),
            ("name = \"x\"\n\nstep = []\n", "line 3: unknown field `step`"),
            ("name = \"x\"\nname =\n", "line 2: "),
            ("name = \"x\"\n[[steps]]\nname = \"a\"\n", "missing field `path`"),
        ] {
            assert!(error(text).starts_with(told) || error(text).contains(told), "{}", error(text));
        }
    }

    #[test]
    fn an_invalid_step_is_reported_with_its_line_number_and_name() {
        let text = "name = 'x'\n\n[[steps]]\nname = 'a'\npath = '/'\n\n[[steps]]\nname = 'b'\npath = \
                    '/x'\ncheck = ['status']\n";

        assert!(error(text).starts_with("line 10: step 2 (`b`), check: `status` is not a check;"));
        let text = text.replace("'/x'", "'/${y}'");
        assert!(error(&text).starts_with("line 9: step 2 (`b`), path: unknown variable `y`"));
    }
}
