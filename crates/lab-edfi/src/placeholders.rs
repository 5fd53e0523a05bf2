//! Documents with placeholders. The set-up fills them in itself, or turns the document into the
//! text of a scenario whose placeholders the run fills in.

use serde_json::Value;

/// The placeholder for the request's serial number.
pub const SERIAL: &str = "serial";
/// The placeholder for the serial number written as a date.
pub const SERIAL_DATE: &str = "serial:date";
/// The placeholder for the value that an update changes.
pub const CHANGED: &str = "changed";

/// The placeholder for two digits that an update changes.
pub const CHANGED_DIGITS: &str = "digits";

/// The character on either side of a placeholder's name within a string. No document contains it:
/// servers refuse it.
const MARK: char = '\u{1}';
/// The character on either side of a string that is to be written as a number.
const NUMBER: char = '\u{2}';

/// Returns a placeholder of this name, to be put into a string.
pub fn place(name: &str) -> String {
    format!("{MARK}{name}{MARK}")
}

/// Marks a string, which may contain placeholders, to be written as a number.
pub fn number(text: &str) -> String {
    format!("{NUMBER}{text}{NUMBER}")
}

/// Returns a placeholder for a value of the same type as `like`: a number or a quoted string.
pub fn place_like(like: &Value, name: &str) -> Value {
    if like.is_number() { number(&place(name)).into() } else { place(name).into() }
}

/// Returns the names of a document's placeholders, in order.
pub fn places(document: &Value) -> Vec<String> {
    let mut names = vec![];
    let written = written(document);
    names.extend(written.split(MARK_WRITTEN).skip(1).step_by(2).map(str::to_owned));
    names
}

/// Returns a document's text with its placeholders filled in. The filled-in text is not escaped.
pub fn filled(document: &Value, fill: impl Fn(&str) -> String) -> String {
    parts(document, &fill, str::to_owned)
}

/// Returns a document as a scenario's text: anything in it that looks like a scenario's placeholder
/// is escaped.
pub fn scenario_text(document: &Value, fill: impl Fn(&str) -> String) -> String {
    parts(document, &fill, |literal| literal.replace("${", "$${"))
}

/// How JSON writes [`MARK`] and [`NUMBER`] within strings.
const MARK_WRITTEN: &str = r"\u0001";
const NUMBER_WRITTEN: &str = r"\u0002";

fn written(document: &Value) -> String {
    let text = document.to_string();
    let quote = |text: String, quoted: &str| text.replace(quoted, "");
    quote(quote(text, &format!("\"{NUMBER_WRITTEN}")), &format!("{NUMBER_WRITTEN}\""))
}

fn parts(
    document: &Value,
    fill: &dyn Fn(&str) -> String,
    literal: impl Fn(&str) -> String,
) -> String {
    let written = written(document);
    let parts = written.split(MARK_WRITTEN).enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { literal(part) } else { fill(part) }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_in_texts_and_numbers_are_filled_in() {
        let document = json!({
            "id": number(&format!("1{}", place(SERIAL))),
            "name": format!("a-{}", place(SERIAL)),
            "date": place(SERIAL_DATE),
        });

        let text = filled(&document, |name| if name == SERIAL { "42".into() } else { "d".into() });

        assert_eq!(text, r#"{"id":142,"name":"a-42","date":"d"}"#);
        assert_eq!(places(&document), [SERIAL, SERIAL, SERIAL_DATE]);
    }

    #[test]
    fn text_that_looks_like_a_scenario_variable_is_escaped() {
        let document = json!({"name": format!("${{x}} {}", place(SERIAL))});

        let text = scenario_text(&document, |name| format!("${{{name}}}"));

        assert_eq!(text, r#"{"name":"$${x} ${serial}"}"#);
    }
}
