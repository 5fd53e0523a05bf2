//! Parses a goal: a figure, an operator and a limit.

use super::figures::{FigureKind, find, known};

/// A goal, given as the condition that must not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The goal as written, without surrounding spaces.
    pub text: String,
    /// The figure's name.
    pub figure: &'static str,
    /// The figure's kind.
    pub kind: FigureKind,
    /// The comparison that must not hold between value and limit.
    pub operator: Operator,
    /// The limit in the unit of the kind; a share is a fraction of 1.
    pub limit: f64,
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// The operators; the longer ones first, since the shorter are prefixes of them.
const OPERATORS: &[(&str, Operator)] = &[
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
];

impl Operator {
    /// Returns whether the comparison holds between a value and a limit.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
        }
    }
}

/// What is wrong with a goal, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`, at character {place}: {what}")]
pub struct ParseError {
    /// The goal as written.
    pub text: String,
    /// The position of the error in characters, from 1.
    pub place: usize,
    /// What is wrong, and what is allowed.
    pub what: String,
}

/// Parses a goal.
///
/// # Errors
///
/// [`ParseError`] with the words or units that are allowed at that position.
pub fn parse(text: &str) -> Result<Goal, ParseError> {
    let text = text.trim();
    let wrong = |rest: &str, what: String| ParseError {
        text: text.to_owned(),
        place: text[..text.len() - rest.len()].chars().count() + 1,
        what,
    };
    let end = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some((figure, kind)) = find(name) else {
        let what = if name.is_empty() {
            "a figure is expected here".into()
        } else {
            format!("`{name}` is not a known figure")
        };
        return Err(wrong(text, format!("{what}; the known ones are: {}", known().join(", "))));
    };
    let rest = rest.trim_start();
    let found = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
    let Some((sign, operator)) = found else {
        return Err(wrong(rest, "one of > >= < <= is expected here".into()));
    };
    let rest = rest[sign.len()..].trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(end);
    let Ok(number) = number.parse::<f64>() else {
        return Err(wrong(
            rest,
            format!("a number is expected here, as in {}", example(figure, kind)),
        ));
    };
    let limit = number
        * factor(kind, number, unit.trim()).ok_or_else(|| {
            let units: Vec<&str> = kind.units().iter().map(|(unit, _)| *unit).collect();
            let words = kind.words();
            wrong(
                unit.trim_start(),
                format!(
                    "{figure} is {words}; its unit is one of {}, as in {}",
                    units.join(" "),
                    example(figure, kind)
                ),
            )
        })?;
    Ok(Goal { text: text.to_owned(), figure, kind, operator: *operator, limit })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.' || c == '_'
}

/// Returns the factor that converts a number with this unit into the kind's own unit. Only a rate
/// and zero need no unit: otherwise the unit would be a guess.
fn factor(kind: FigureKind, number: f64, unit: &str) -> Option<f64> {
    if unit.is_empty() {
        return (number == 0.0 || kind == FigureKind::Rate).then_some(1.0);
    }
    kind.units().iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor)
}

fn example(figure: &str, kind: FigureKind) -> String {
    match kind {
        FigureKind::Time => format!("`{figure} > 100ms`"),
        FigureKind::Share => format!("`{figure} > 0.1%`"),
        FigureKind::Rate => format!("`{figure} < 5000/s`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn blanks_and_units_are_free() {
        let limit = |text: &str| parse(text).unwrap().limit;

        assert!((limit(" p99>1.5s ") - 1_500.0).abs() < 1e-9);
        assert!((limit("p99  >=  250 ms") - 250.0).abs() < 1e-9);
        assert!((limit("failed > 0.1%") - 0.001).abs() < 1e-12);
        assert!((limit("stable < 8000") - 8_000.0).abs() < 1e-9);
        assert!((limit("goodput < 600/min") - 10.0).abs() < 1e-9);
        assert!(limit("outage > 0").abs() < 1e-12);
        assert_eq!(parse("mean<=1s").unwrap().operator, Operator::AtMost);
    }

    #[test]
    fn an_error_names_the_fault_its_position_and_the_known_names() {
        assert!(
            error("p97 > 1ms")
                .starts_with("`p97 > 1ms`, at character 1: `p97` is not a known figure")
        );
        assert!(error("p97 > 1ms").contains("the known ones are: mean, p50"));
        assert_eq!(
            error("p99 = 1ms"),
            "`p99 = 1ms`, at character 5: one of > >= < <= is expected here"
        );
        assert_eq!(
            error("p99 > fast"),
            "`p99 > fast`, at character 7: a number is expected here, as in `p99 > 100ms`"
        );
        assert_eq!(
            error("failed > 5ms"),
            "`failed > 5ms`, at character 11: failed is a share; its unit is one of %, as in \
             `failed > 0.1%`"
        );
        assert!(error("p99 > 100").contains("at character 10: p99 is a time"));
        assert!(error("").contains("a figure is expected here"));
        assert!(error("p99 > 1.2.3ms").contains("a number is expected here"));
        assert!(error("grün > 1").contains("at character 1"));
    }

    #[test]
    fn any_text_is_parsed_or_refused_at_one_of_its_characters() {
        let pieces = [
            "p99", "mean", " ", ">", ">=", "<", "100", "0.1", ".", "ms", "%", "/s", "µ", "é",
            "\u{a0}",
        ];
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..5_000 {
            let text: String =
                (0..rng.usize(..8)).map(|_| pieces[rng.usize(..pieces.len())]).collect();

            if let Err(error) = parse(&text) {
                assert!((1..=error.text.chars().count() + 1).contains(&error.place), "{error}");
            }
        }
    }

    #[test]
    fn every_listed_figure_can_be_used_in_a_goal() {
        for name in known() {
            assert!(parse(&format!("{name} > 0")).is_ok(), "{name}");
        }
    }
}
