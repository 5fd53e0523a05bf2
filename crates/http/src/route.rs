//! The table of routes that a part offers to the front door.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use crate::call::Call;
use crate::problem::Problem;
use crate::response::Response;

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
}

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
    /// The method that is matched.
    pub method: Method,
    /// The path that is matched, with placeholders: `/data/v3/{schema}/{endpoint}`.
    pub template: &'static str,
    /// Who may call it.
    pub guard: Guard,
    /// Most bytes of a body; at most [`PUBLIC_BODY_BYTES_MAX`] on a public route.
    pub body_limit: usize,
    /// The function that answers.
    pub handler: Handler<C>,
}

impl<C> Clone for Route<C> {
    fn clone(&self) -> Self {
        Self {
            method: self.method.clone(),
            template: self.template,
            guard: self.guard,
            body_limit: self.body_limit,
            handler: Arc::clone(&self.handler),
        }
    }
}

impl<C> std::fmt::Debug for Route<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({:?})", self.method, self.template, self.guard)
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
