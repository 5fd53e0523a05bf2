//! The state that handlers share, and the manager who sends a request.

use std::ops::Deref;
use std::sync::Arc;

use homeroom_access::{Access, Author, Call, Caller, Change, Scope};

use crate::hierarchy::Hierarchy;
use crate::refusal::Refusal;

/// The state that all handlers of this part share.
pub(crate) struct Admin {
    pub(crate) access: Arc<Access>,
    pub(crate) hierarchy: Hierarchy,
}

/// The manager who sends one request.
pub(crate) struct Manager {
    admin: Arc<Admin>,
    caller: Caller,
}

impl Deref for Manager {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

impl Manager {
    /// Returns the sender of a request.
    pub(crate) fn of(call: &Call, admin: Arc<Admin>) -> Self {
        Self { caller: Caller::of(call, Scope::Admin), admin }
    }

    /// Begins a change, if the caller may still manage. The caller is recognized by the registry,
    /// which nothing else changes until this change is over.
    pub(crate) async fn begin(&self, call: &Call) -> Result<Change<'_>, Refusal> {
        let change = self.access.begin_change_by(Author::of_call(call), call.now).await?;
        self.caller.again(&self.access)?;
        Ok(change)
    }
}
