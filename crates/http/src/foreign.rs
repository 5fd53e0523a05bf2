//! A caller for whom somebody else vouches.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::time::Timestamp;

/// A caller whose token another issuer than this server has signed. It has no key here.
#[derive(Debug)]
pub struct Foreign {
    /// The name by which its shares and limits are counted: subject and issuer.
    pub name: String,
    /// What the token allows: the values of its `scope` and `scp`.
    pub scopes: Vec<String>,
    /// All that the token says.
    pub claims: Map<String, Value>,
}

/// What a route's issuers say of a token.
pub enum Vouched {
    /// None of them has issued it, as far as it says so.
    No,
    /// The token is known from an earlier request.
    Known(Arc<Foreign>),
    /// It is being checked.
    Asking(Pin<Box<dyn Future<Output = Result<Arc<Foreign>, Problem>> + Send>>),
}

/// The function that asks a route's issuers about a bearer token.
pub type Voucher = Arc<dyn Fn(&str, Timestamp) -> Vouched + Send + Sync>;
