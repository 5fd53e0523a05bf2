//! Tests of the crate's public names, on both stores.

mod import;
mod in_force;
mod introspect;
mod laws;
mod manage;
mod revoke;
mod rights;
mod shipped;
mod strategies;
mod support;
mod token_info;
mod tokens;
mod vendor_sets;

#[test]
fn all_of_this_holds_on_postgresql() {
    homeroom_testkit::trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
