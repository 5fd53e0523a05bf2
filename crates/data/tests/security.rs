//! Authentication and authorization, as clients see them.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

use homeroom_testkit as app;

#[path = "security/between.rs"]
mod between;
#[path = "security/claim_sets.rs"]
mod claim_sets;
#[path = "security/disguises.rs"]
mod disguises;
#[path = "security/ended.rs"]
mod ended;
#[path = "security/namespaces.rs"]
mod namespaces;
#[path = "security/order.rs"]
mod order;
#[path = "security/profiles.rs"]
mod profiles;
#[path = "security/slips.rs"]
mod slips;
#[path = "security/strangers.rs"]
mod strangers;
