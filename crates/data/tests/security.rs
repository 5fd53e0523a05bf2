//! Who gets in, and how far.

mod app;

#[path = "security/claim_sets.rs"]
mod claim_sets;
#[path = "security/namespaces.rs"]
mod namespaces;
#[path = "security/strangers.rs"]
mod strangers;
