//! The table of routes that a part offers to the front door.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use crate::body::BodyLimits;
use crate::call::{Call, Params};
use crate::cors::Cors;
use crate::credential::Credential;
use crate::foreign::Voucher;
use crate::problem::Problem;
use crate::refusals::{PROBLEMS, Refusals};
use crate::response::Response;
use crate::site::Served;
use crate::time::Timestamp;

/// Most bytes of a body on a route that anyone may call.
pub const PUBLIC_BODY_BYTES_MAX: usize = 16 << 10;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Every client, known or not.
    Public,
    /// A client with a token of this scope.
    Token {
        /// The scope's name, such as `data` or `admin`.
        scope: &'static str,
    },
    /// A client with a key of this scope, which shows one of these credentials.
    Key {
        /// The scope's name.
        scope: &'static str,
        /// What is accepted; the first is named to callers that send nothing.
        by: &'static [Credential],
    },
    /// A caller whom the part itself recognizes, by a secret in the path ([`Route::by_secret`]).
    Secret,
}

/// A caller whom a part has recognized.
#[derive(Debug)]
pub struct Known<C> {
    /// The name by which the caller's shares of budgets are counted, such as a launch's id. It is not
    /// the secret.
    pub name: String,
    /// The client on whose behalf it calls, if there is one.
    pub client: Option<Arc<C>>,
}

/// The function by which a part recognizes a caller, from the placeholders of its path.
pub type Recognizer<C> = Arc<
    dyn Fn(Params, Timestamp) -> Pin<Box<dyn Future<Output = Result<Known<C>, Problem>> + Send>>
        + Send
        + Sync,
>;

/// The function that names the methods of a catch-all route at a path.
pub type MethodsAt = Arc<dyn Fn(&str) -> Vec<Method> + Send + Sync>;

/// Returns the method of a catch-all route: it matches every method for which the template has no
/// other route. Without such a route, the front door refuses those methods itself.
///
/// # Panics
///
/// Never: an asterisk is a token.
pub fn other_methods() -> Method {
    Method::from_bytes(b"*").expect("an asterisk is a token")
}

/// The function that answers a call.
pub type Handler<C> = Arc<
    dyn Fn(Call<C>) -> Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>
        + Send
        + Sync,
>;

/// A route: what it matches, who may call it, and what answers.
pub struct Route<C> {
    /// The methods that are matched.
    pub methods: Vec<Method>,
    /// The path that is matched, with placeholders: `/data/v3/{schema}/{endpoint}`. A last segment
    /// `{*name}` matches the whole rest of a path, one segment or more, which is handed on as it
    /// was sent.
    pub template: Cow<'static, str>,
    /// The sites on which it is served.
    pub served: Served,
    /// Who may call it.
    pub guard: Guard,
    /// Limits of a body; its bytes are at most [`PUBLIC_BODY_BYTES_MAX`] on a public route.
    pub body: BodyLimits,
    /// How callers are recognized where [`Guard::Secret`] says so.
    pub recognizer: Option<Recognizer<C>>,
    /// Who vouches for callers without a key of this server, on a route with [`Guard::Token`].
    pub voucher: Option<Voucher>,
    /// The placeholders whose values may be logged, because they name kinds of things and no person.
    pub logged: &'static [&'static str],
    /// Which pages of other origins may call it; by default those that the configuration names.
    pub cors: Option<Arc<Cors>>,
    /// Whether its requests count towards no rate of their client: whoever watches the server may always
    /// ask.
    pub is_probe: bool,
    /// The methods that a page may use at a path, where the route is a catch-all.
    pub methods_at: Option<MethodsAt>,
    /// The form in which the front door refuses requests of this route.
    pub refusals: &'static Refusals,
    /// The function that answers.
    pub handler: Handler<C>,
}

impl Guard {
    /// Returns what a client may show, where a client must.
    pub fn accepts(self) -> &'static [Credential] {
        match self {
            Self::Public | Self::Secret => &[],
            Self::Token { .. } => &[Credential::Bearer],
            Self::Key { by, .. } => by,
        }
    }
}

impl<C> Route<C> {
    /// Creates a route of the API whose requests have no body and are refused with problems.
    pub fn new(
        method: Method,
        template: impl Into<Cow<'static, str>>,
        guard: Guard,
        handler: Handler<C>,
    ) -> Self {
        Self {
            methods: vec![method],
            template: template.into(),
            served: Served::Api,
            guard,
            body: BodyLimits::NONE,
            recognizer: None,
            voucher: None,
            logged: &[],
            cors: None,
            is_probe: false,
            methods_at: None,
            refusals: &PROBLEMS,
            handler,
        }
    }

    /// Returns the same route, which also matches another method.
    #[must_use]
    pub fn or(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    /// Returns the same route on other sites.
    #[must_use]
    pub fn served(self, served: Served) -> Self {
        Self { served, ..self }
    }

    /// Returns the same route, which accepts bodies within these limits.
    #[must_use]
    pub fn with_body(self, body: BodyLimits) -> Self {
        Self { body, ..self }
    }

    /// Returns the same route, whose callers the part recognizes by a secret in the path.
    #[must_use]
    pub fn by_secret<F, R>(self, recognize: F) -> Self
    where
        F: Fn(Params, Timestamp) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Known<C>, Problem>> + Send + 'static,
    {
        let recognizer: Recognizer<C> =
            Arc::new(move |params, now| Box::pin(recognize(params, now)));
        Self { guard: Guard::Secret, recognizer: Some(recognizer), ..self }
    }

    /// Returns the same route, which also admits callers for whom somebody else vouches.
    #[must_use]
    pub fn vouched_by(self, voucher: Voucher) -> Self {
        Self { voucher: Some(voucher), ..self }
    }

    /// Returns the same route, of which the values of these placeholders may be logged.
    #[must_use]
    pub fn logging(self, logged: &'static [&'static str]) -> Self {
        Self { logged, ..self }
    }

    /// Returns the same route, which pages of these origins may call, whatever the configuration says.
    #[must_use]
    pub fn with_cors(self, cors: Arc<Cors>) -> Self {
        Self { cors: Some(cors), ..self }
    }

    /// Returns the same catch-all route, which has these methods at a path.
    #[must_use]
    pub fn with_methods_at(self, methods_at: MethodsAt) -> Self {
        Self { methods_at: Some(methods_at), ..self }
    }

    /// Returns the same route, which is refused in another form.
    #[must_use]
    pub fn refused_as(self, refusals: &'static Refusals) -> Self {
        Self { refusals, ..self }
    }
}

impl<C> Clone for Route<C> {
    fn clone(&self) -> Self {
        Self {
            methods: self.methods.clone(),
            template: self.template.clone(),
            recognizer: self.recognizer.clone(),
            voucher: self.voucher.clone(),
            cors: self.cors.clone(),
            methods_at: self.methods_at.clone(),
            handler: Arc::clone(&self.handler),
            ..*self
        }
    }
}

impl<C> std::fmt::Debug for Route<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} ({:?})", self.methods, self.template, self.guard)
    }
}

/// Makes a handler from a part's state and an async function.
pub fn handler<S, C, F, R>(state: &S, answer: F) -> Handler<C>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(S, Call<C>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let state = state.clone();
    Arc::new(move |call| Box::pin(answer(state.clone(), call)))
}
