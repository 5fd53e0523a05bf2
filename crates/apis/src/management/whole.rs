//! Everything that is published, at once: apply, lint, diff and export.

use homeroom_access::Call;
use homeroom_http::{
    Copy, JSON, Kind, Problem, Query, Response, json_answer, json_response, prefers, text_answer,
};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::base::Answered;
use super::problem::{of, of_findings};
use super::reserved::check_places;
use crate::apis::Apis;
use crate::apis::changes::Told;
use crate::definition::Published;
use crate::edit::Wish;
use crate::error::ApisError;
use crate::index::Index;
use crate::places::Form;
use crate::sent::{Sent, add_lines, form_of, read as read_definition};

/// Media type of definitions as files state them.
const TOML: &str = "application/toml";
/// Media types of definitions. Where none says the form, the first letter does.
const MEDIA: [(&str, Option<Form>); 5] = [
    ("application/json", Some(Form::Json)),
    (TOML, Some(Form::Toml)),
    ("text/toml", Some(Form::Toml)),
    ("text/plain", None),
    ("", None),
];

/// Publishes what is sent beside what is published already; with `prune=true`, instead of it.
pub(super) async fn apply(apis: &Apis, call: &mut Call) -> Answered {
    let prunes = flag(&call.query()?, "prune")?.unwrap_or(false);
    let (new, text, form) = read(call).await?;
    let may = |old: &Index| check_places(old, &new);
    let changed = apis.change_if(Wish::of(&new, prunes), &may).await;
    let changed = changed.map_err(|error| told(error, &text, form))?;
    Ok(answer(&json!({ "changed": changed })))
}

/// Returns the problem for what is not done; what is wrong with a text is told with its lines.
fn told(error: ApisError, text: &str, form: Form) -> Problem {
    match error {
        ApisError::Invalid(mut findings) => {
            add_lines(&mut findings, text, form);
            of_findings(&findings)
        }
        error => of(error),
    }
}

/// Says what is wrong with a definition, and what its author should know.
pub(super) async fn lint(apis: &Apis, call: &mut Call) -> Answered {
    let (text, form) = read_text(call).await?;
    let Told { findings, hints } = match read_definition(&text, form) {
        Ok(new) => {
            let mut told = apis.lint(&new).await.map_err(of)?;
            add_lines(&mut told.findings, &text, form);
            add_lines(&mut told.hints, &text, form);
            told
        }
        Err(findings) => Told { findings, hints: vec![] },
    };
    Ok(answer(&json!({ "findings": findings, "hints": hints })))
}

/// Says what applying would change.
pub(super) async fn diff(apis: &Apis, call: &mut Call) -> Answered {
    let prunes = flag(&call.query()?, "prune")?.unwrap_or(false);
    let (new, text, form) = read(call).await?;
    let found = apis.diff(Wish::of(&new, prunes)).await;
    let found = found.map_err(|error| told(error, &text, form))?;
    let found = serde_json::to_value(found).map_err(Problem::internal)?;
    Ok(answer(&found))
}

/// Shows what is published, with its documents, as JSON or TOML.
pub(super) async fn export(apis: &Apis, call: &mut Call) -> Answered {
    let sent = Sent::from(apis.published().await.map_err(of)?);
    let accept = call.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if prefers(accept, TOML, "application/json") {
        let text = toml::to_string(&sent).map_err(|_| {
            Problem::of(Kind::BadRequest)
                .detail("TOML cannot state what is published: a transform adds null.")
                .hint("Ask for application/json.")
        })?;
        return text_answer(call, &Copy::of(text), TOML);
    }
    json_answer(call, &serde_json::to_value(sent).map_err(Problem::internal)?)
}

/// Answers with JSON.
pub(super) fn answer(value: &Value) -> Response {
    let mut response = json_response(StatusCode::OK, value.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Reads a parameter that is `true` or `false`.
fn flag(query: &Query, name: &str) -> Result<Option<bool>, Problem> {
    match query.get(name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => {
            Err(Problem::of(Kind::ParameterValidationFailed)
                .error(format!("{name} is true or false.")))
        }
    }
}

async fn read(call: &mut Call) -> Result<(Published, String, Form), Problem> {
    let (text, form) = read_text(call).await?;
    let published = read_definition(&text, form).map_err(|findings| of_findings(&findings))?;
    Ok((published, text, form))
}

/// Reads a text and in what form it is.
pub(super) async fn read_text(call: &mut Call) -> Result<(String, Form), Problem> {
    let media = call.header("content-type").unwrap_or("");
    let media = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let Some((_, form)) = MEDIA.iter().find(|(name, _)| *name == media) else {
        return Err(Problem::of(Kind::UnsupportedMediaType)
            .detail("This address accepts application/json and application/toml."));
    };
    let form = *form;
    let body = call.read_body().await?;
    let text = String::from_utf8(body.to_vec())
        .map_err(|_| Problem::of(Kind::BadRequest).error("The body is not UTF-8."))?;
    if text.trim().is_empty() {
        return Err(Problem::of(Kind::BadRequest).error(
            "The body is empty. To withdraw everything, send {\"apis\": []} with prune=true.",
        ));
    }
    let guessed = form_of(&text);
    Ok((text, form.unwrap_or(guessed)))
}
