//! An operation: what it takes and what it gives.

use crate::list::Filter;

/// An operation.
pub(super) struct Operation {
    /// In small letters, `get`.
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) tag: &'static str,
    pub(super) id: String,
    pub(super) summary: String,
    pub(super) query: Query,
    /// The schema of the body that it takes.
    pub(super) takes: Option<Body>,
    pub(super) gives: Gives,
    /// Whether a token is needed.
    pub(super) is_guarded: bool,
}

/// The parameters of a query.
#[derive(Clone, Copy)]
pub(super) enum Query {
    Nothing,
    /// A page of a list, with these filters.
    Page(&'static [Filter]),
    /// The id of the application, which is required.
    Application,
}

/// The body of a request.
#[derive(Clone)]
pub(super) enum Body {
    /// JSON of a schema.
    Json(String),
    /// A form of a schema.
    Form(&'static str),
}

/// What a successful request is answered with.
#[derive(Clone)]
pub(super) enum Gives {
    /// 200 without a body.
    Done,
    /// 200 with one of a schema.
    One(String),
    /// 200 with a list of a schema.
    Many(String),
    /// 201 with a location and, where there is a schema, a body.
    Created(Option<&'static str>),
    /// 201 without a location.
    Added,
    /// Nothing ever succeeds: 403.
    Never,
}

impl Operation {
    /// Creates an operation without a query and a body, for callers with a token.
    pub(super) fn new(
        method: &'static str,
        path: impl Into<String>,
        tag: &'static str,
        (id, summary): (impl Into<String>, impl Into<String>),
        gives: Gives,
    ) -> Self {
        Self {
            method,
            path: path.into(),
            tag,
            id: id.into(),
            summary: summary.into(),
            query: Query::Nothing,
            takes: None,
            gives,
            is_guarded: true,
        }
    }

    /// Returns the same operation, which takes JSON of a schema.
    pub(super) fn takes(self, schema: &str) -> Self {
        Self { takes: Some(Body::Json(schema.to_owned())), ..self }
    }

    /// Returns the same operation, which takes a form of a schema from everyone.
    pub(super) fn form(self, schema: &'static str) -> Self {
        Self { takes: Some(Body::Form(schema)), is_guarded: false, ..self }
    }

    /// Returns the same operation with parameters.
    pub(super) fn query(self, query: Query) -> Self {
        Self { query, ..self }
    }
}
