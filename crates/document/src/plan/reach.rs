//! Whether a grant covers a stored document.

use homeroom_access::{Denial, Grant, Phase};
use homeroom_model::Resource;
use homeroom_store::{Ask, Row};

use crate::catalog::Catalog;
use crate::rights::{self, Asked, AskedViews};

/// Checks the parts of a grant that come before relationships: namespace and views, then the owner.
///
/// # Errors
///
/// A [`Denial`] if the grant does not cover the document.
pub fn check_stored(
    catalog: &Catalog,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
    views: &AskedViews,
) -> Result<(), Denial> {
    views.check(catalog, grant, resource, (&row.body, row.key), Phase::Stored)?;
    if grant.ownership_tokens.is_some() {
        grant.check_owner(rights::owner(catalog, resource, row))?;
    }
    Ok(())
}

/// Returns the questions about relationships as questions of a plan.
pub(super) fn ways(asked: &Asked) -> impl Iterator<Item = Ask> + '_ {
    asked.questions.iter().copied().map(|(start, way)| Ask::Reach(start, way))
}
