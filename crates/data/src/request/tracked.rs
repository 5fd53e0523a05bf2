//! Resources whose changes are tracked.

use homeroom_http::{Kind, Problem};
use homeroom_model::{Resource, ResourceKind};

/// Returns the resource if its changes are tracked; those of the standard's enumerations are not.
///
/// # Errors
///
/// 404 where they are not.
pub(super) fn tracked(resource: &Resource) -> Result<&Resource, Problem> {
    if resource.kind == ResourceKind::Enumeration {
        return Err(Problem::of(Kind::NotFound).detail("Changes of this resource are not tracked."));
    }
    Ok(resource)
}
