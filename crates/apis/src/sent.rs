//! Reads definitions from texts: of files, and of requests, which contain their documents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::Finding;
use crate::definition::{Api, Definition, Plan, Published};
use crate::places::{Form, Places};
use crate::structure::faults;

/// A definition as a request states it: as in a file, with the documents that its APIs name.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent {
    #[serde(default)]
    pub(crate) plans: Vec<Plan>,
    #[serde(default)]
    pub(crate) apis: Vec<Api>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    documents: BTreeMap<String, Document>,
}

/// What `homeroom gateway export --json` prints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped {
    definition: Definition,
    #[serde(default)]
    documents: BTreeMap<String, Document>,
}

/// An OpenAPI document: its text, or itself.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Document {
    Text(String),
    Json(Value),
}

impl Document {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Json(value) => value.to_string(),
        }
    }
}

impl From<Published> for Sent {
    fn from(published: Published) -> Self {
        let documents = published.documents.into_iter();
        let documents = documents.map(|(name, text)| (name, Document::Text(text))).collect();
        Self { plans: published.definition.plans, apis: published.definition.apis, documents }
    }
}

impl From<Sent> for Published {
    fn from(Sent { plans, apis, documents }: Sent) -> Self {
        let documents = documents.into_iter().map(|(name, document)| (name, document.text()));
        Self { definition: Definition { plans, apis }, documents: documents.collect() }
    }
}

/// Returns in what form a text is: JSON begins with a brace, and TOML never does.
pub(crate) fn form_of(text: &str) -> Form {
    if text.trim_start().starts_with('{') { Form::Json } else { Form::Toml }
}

/// Reads what a file or a request states, with the documents that are within it. Whether it can be published
/// is another question.
///
/// # Errors
///
/// All that cannot be read, with lines and paths.
pub(crate) fn read(text: &str, form: Form) -> Result<Published, Vec<Finding>> {
    let read = match form {
        Form::Toml => toml::from_str::<Sent>(text)
            .map(Published::from)
            .map_err(|error| (broken_toml(text, &error), toml::from_str::<Value>(text).ok())),
        Form::Json => of_json(text)
            .map_err(|error| (broken_json(text, &error), serde_json::from_str::<Value>(text).ok())),
    };
    read.map_err(|(first, value)| {
        let stated = value.as_ref().and_then(|value| {
            let wrapped = value.get("definition").filter(|_| form == Form::Json);
            wrapped.unwrap_or(value).as_object()
        });
        let all = stated.map(faults).unwrap_or_default().into_iter();
        let mut all: Vec<Finding> = all.map(|(path, message)| Finding::at(path, message)).collect();
        if all.is_empty() {
            return vec![first];
        }
        add_lines(&mut all, text, form);
        // What is beside plans and APIs is told by the reader alone.
        let is_known = |one: &Finding| one.line == first.line || one.path == first.path;
        if !all.iter().any(is_known) {
            all.insert(0, first);
        }
        all
    })
}

/// Adds the lines at which findings stand in the text that was checked.
pub(crate) fn add_lines(findings: &mut [Finding], text: &str, form: Form) {
    let places = Places::of(text, form);
    for finding in findings {
        finding.line = places.line(&finding.path);
    }
}

fn of_json(text: &str) -> serde_json::Result<Published> {
    if !is_wrapped(text) {
        return serde_json::from_str::<Sent>(text).map(Published::from);
    }
    let Wrapped { definition, documents } = serde_json::from_str(text)?;
    let documents = documents.into_iter().map(|(name, document)| (name, document.text()));
    Ok(Published { definition, documents: documents.collect() })
}

/// Returns whether the first member is what only a command writes.
fn is_wrapped(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix('{').map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with("\"definition\""))
}

fn broken_toml(text: &str, error: &toml::de::Error) -> Finding {
    let places = Places::of(text, Form::Toml);
    let at = error.span().map(|span| span.start);
    let line = at.map_or(0, |at| places.line_at(at));
    Finding { line, ..Finding::at(at.map_or("", |at| places.path_at(at)), error.message()) }
}

fn broken_json(text: &str, error: &serde_json::Error) -> Finding {
    let places = Places::of(text, Form::Json);
    let at = places.begin_of(error.line()) + error.column().saturating_sub(2);
    let message = error.to_string();
    // The line has a member of its own.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    Finding { line: error.line(), ..Finding::at(places.path_at(at), message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    /// Reads a text and checks it.
    fn of_request(text: &str, form: Form) -> Result<Published, Vec<Finding>> {
        let published = read(text, form)?;
        let mut findings = check(&published);
        add_lines(&mut findings, text, form);
        if findings.is_empty() { Ok(published) } else { Err(findings) }
    }

    const API: &str = "{\"name\": \"a\", \"context\": \"a\", \"version\": \"v1\",\n\
                       \"upstream\": [\"http://a\"], \"openapi\": \"a.json\"}";

    #[test]
    fn a_document_is_sent_as_a_text_or_as_itself() {
        let document = r#"{"openapi":"3.0.0","paths":{}}"#;
        let escaped = serde_json::Value::from(document).to_string();
        let sent = |document: &str| {
            let text = format!("{{\"apis\": [{API}], \"documents\": {{\"a.json\": {document}}}}}");
            of_request(&text, Form::Json).unwrap()
        };
        let wrapped = serde_json::to_string(&sent(document)).unwrap();

        assert_eq!(sent(document), sent(&escaped));
        assert_eq!(sent(document).documents["a.json"], document);
        assert_eq!(of_request(&wrapped, Form::Json).unwrap(), sent(document));
        let again = serde_json::to_string(&Sent::from(sent(document))).unwrap();
        assert_eq!(of_request(&again, Form::Json).unwrap(), sent(document));
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_path_in_both_forms() {
        for (form, text, line, path) in [
            (Form::Json, "{\"apis\": [\n{\"name\": 7}]}".to_owned(), 2, "apis[0].name"),
            (Form::Json, "{\"apis\": [\n{\"nmae\": \"a\"}]}".to_owned(), 2, "apis[0].nmae"),
            (Form::Json, format!("{{\"apis\":\n[{API}]}}"), 3, "apis[0].openapi"),
            (Form::Json, "{\n\"apis\"\n".to_owned(), 3, ""),
            (Form::Json, "{\"a\": 1}".to_owned(), 1, "a"),
            (Form::Toml, "\n[[apis]]\nname = 7\n".to_owned(), 3, "apis[0].name"),
            (Form::Toml, "[[apis]]\nname = 'a'\ncontext =".to_owned(), 3, ""),
            (Form::Toml, "\n[[plans]]\nname = 'a'\nburst = 0".to_owned(), 4, "plans[0].burst"),
        ] {
            let found = of_request(&text, form).unwrap_err();

            let is_told = found.iter().any(|found| (found.line, &*found.path) == (line, path));
            assert!(is_told, "{text}: {found:?}");
        }
    }
}
