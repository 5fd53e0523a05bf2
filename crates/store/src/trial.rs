//! Stores for tests: what touches data is run on each database that there is.
//!
//! `HOMEROOM_TEST_POSTGRES` names databases of PostgreSQL, divided by blanks; `HOMEROOM_STORE_STRICT`
//! is a number: one transaction in so many fails once ([`Options::strict`]). `HOMEROOM_TEST_ON` is
//! between a test program and the one that it starts.

use crate::error::StoreError;
use crate::store::{Options, Store, StoreUrl};

/// What is printed where there is no PostgreSQL to test on.
pub const SKIPPED: &str = "skipped: HOMEROOM_TEST_POSTGRES names no PostgreSQL";

/// How the databases that the environment names are opened.
///
/// # Errors
///
/// [`StoreError::Unusable`] when a variable does not say what it should.
pub fn postgres() -> Result<Vec<Options>, StoreError> {
    let urls = std::env::var("HOMEROOM_TEST_POSTGRES").unwrap_or_default();
    let strict = std::env::var("HOMEROOM_STORE_STRICT").ok().map(|n| n.parse()).transpose();
    let strict = strict.map_err(|_| {
        StoreError::Unusable("HOMEROOM_STORE_STRICT is a whole number from 1 on".into())
    })?;
    let options = |url: &str| Ok(Options { strict, ..Options::new(url.parse()?) });
    urls.split_whitespace().map(options).collect()
}

/// A new store on one database: that which [`again_on_postgres`] names, or the embedded one.
///
/// # Errors
///
/// As [`Store::temporary`] and [`Store::temporary_on`].
pub fn on_one(kinds: &[String]) -> Result<Store, StoreError> {
    match postgres()?.into_iter().find(|options| named().is_some_and(|n| n == options.url)) {
        Some(options) => Store::temporary_on(&options, kinds),
        None => Store::temporary(kinds),
    }
}

fn named() -> Option<StoreUrl> {
    std::env::var("HOMEROOM_TEST_ON").ok()?.parse().ok()
}

/// Runs all other tests of this test's program again, once for each PostgreSQL, with [`on_one`]
/// giving stores in it. `own_name` is the name of the calling test.
///
/// # Panics
///
/// When one of them fails.
pub fn again_on_postgres(own_name: &str) {
    if named().is_some() {
        return;
    }
    let urls = std::env::var("HOMEROOM_TEST_POSTGRES").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("{SKIPPED}");
    }
    for url in urls.split_whitespace() {
        let program = std::env::current_exe().expect("a test's program has a place");
        let mut command = std::process::Command::new(program);
        command.args(["--skip", own_name, "-q"]).env("HOMEROOM_TEST_ON", url);
        let ran = command.output().expect("a test's program starts");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "on PostgreSQL: {text}");
    }
}

/// A new store on each database, with its name: the embedded one first.
///
/// # Errors
///
/// As [`Store::temporary`] and [`Store::temporary_on`].
pub fn on_each(kinds: &[String]) -> Result<Vec<(String, Store)>, StoreError> {
    let mut stores = vec![("SQLite".to_owned(), Store::temporary(kinds)?)];
    for options in postgres()? {
        stores.push((options.url.to_string(), Store::temporary_on(&options, kinds)?));
    }
    Ok(stores)
}
