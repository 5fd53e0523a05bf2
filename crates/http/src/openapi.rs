//! What the parts' OpenAPI documents share.

mod part;

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use crate::{
    Call, Guard, JSON, Problem, Response, Route, Template, coded_answer, coding_of, handler,
};

pub use part::{TAGS_MAX, asked_tags, part, tags_of};

/// An OpenAPI document as the list of all of them names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its name, `Admin`.
    pub name: &'static str,
    /// The heading under which clients show it.
    pub prefix: &'static str,
    /// Its path, from the root.
    pub path: &'static str,
}

/// A document and its text.
struct Described {
    document: Value,
    text: Template,
}

impl Listed {
    /// Returns the route of the document, which everyone may read. In it stands
    /// [`BASE_URL`](crate::BASE_URL) where the server's address belongs.
    pub fn route<C: Send + Sync + 'static>(&self, document: Value) -> Route<C> {
        let text = Template::of(&document.to_string());
        let described = Arc::new(Described { document, text });
        let get = handler(&described, |described: Arc<Described>, call: Call<C>| async move {
            described.answer(&call)
        });
        Route::new(Method::GET, self.path, Guard::Public, get)
    }
}

impl Described {
    /// Answers with the document, or with the part that the query asks for.
    fn answer<C>(&self, call: &Call<C>) -> Result<Response, Problem> {
        let all = tags_of(&self.document);
        let coding = coding_of(call);
        let Some(asked) = asked_tags(&call.query()?, &all)? else {
            return coded_answer(call, &self.text.copy(&call.base_url, coding), JSON);
        };
        let tags: Vec<&str> = asked.into_iter().map(|at| all[at]).collect();
        let text = Template::of(&part(&self.document, &tags).to_string());
        coded_answer(call, &text.copy(&call.base_url, coding), JSON)
    }
}

/// Returns the schema of a problem.
pub fn problem_schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "What went wrong (RFC 9457).",
        "required": ["detail", "type", "title", "status", "correlationId"],
        "properties": {
            "detail": text("What happened."),
            "type": text("The kind of problem, a URN."),
            "title": text("The kind of problem, for people."),
            "status": { "type": "integer", "description": "The HTTP status." },
            "correlationId": text("The id of this request in the server's log."),
            "validationErrors": {
                "type": "object",
                "description": "Violations of the document by JSON path.",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
            "errors": {
                "type": "array",
                "description": "Violations that have no place in the document.",
                "items": { "type": "string" },
            },
            "hint": text("How to mend it."),
        },
    })
}
