//! Stores for tests: tests that touch data run on each available database.
//!
//! `HOMEROOM_TEST_POSTGRES` names PostgreSQL databases, separated by spaces.
//! `HOMEROOM_STORE_STRICT` is a number: one transaction in this many fails once
//! ([`Options::strict`]). `HOMEROOM_TEST_ON` is passed from a test program to the one that it
//! starts.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use homeroom_store::{
    Answer, Ask, Decision, Lane, Options, Plan, Sql, Store, StoreError, StoreUrl, Uuid,
};

/// Printed where there is no PostgreSQL to test on.
pub const SKIPPED: &str = "skipped: HOMEROOM_TEST_POSTGRES names no PostgreSQL";

/// Returns the options to open the databases that the environment names, for a test that runs on
/// nothing else. If there are none, the test is reported as skipped.
///
/// # Errors
///
/// [`StoreError::Unusable`] when a variable has an invalid value.
pub fn postgres() -> Result<Vec<Options>, StoreError> {
    let all = databases()?;
    if all.is_empty() {
        println!("{SKIPPED}");
    }
    Ok(all)
}

/// Returns the options to open the databases that the environment names, for a test that also runs
/// on the embedded store.
///
/// # Errors
///
/// [`StoreError::Unusable`] when a variable has an invalid value.
pub fn databases() -> Result<Vec<Options>, StoreError> {
    let urls = std::env::var("HOMEROOM_TEST_POSTGRES").unwrap_or_default();
    let strict = std::env::var("HOMEROOM_STORE_STRICT").ok().map(|n| n.parse()).transpose();
    let strict = strict.map_err(|_| {
        StoreError::Unusable("HOMEROOM_STORE_STRICT is a whole number from 1 on".into())
    })?;
    let options = |url: &str| Ok(Options { strict, ..Options::new(url.parse()?) });
    urls.split_whitespace().map(options).collect()
}

/// Creates a store on one database: the one that [`again_on_postgres`] names, or the embedded one.
///
/// # Errors
///
/// The errors of [`Store::temporary`] and [`Store::temporary_on`].
pub fn on_one(kinds: &[String]) -> Result<Store, StoreError> {
    match databases()?.into_iter().find(|options| named().is_some_and(|n| n == options.url)) {
        Some(options) => Store::temporary_on(&options, kinds),
        None => Store::temporary(kinds),
    }
}

fn named() -> Option<StoreUrl> {
    std::env::var("HOMEROOM_TEST_ON").ok()?.parse().ok()
}

/// Runs all other tests of this test program again, once for each PostgreSQL; [`on_one`] then
/// creates its stores there. `own_name` is the name of the calling test.
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

/// Creates a store on each database and returns them with their names, the embedded one first.
///
/// # Errors
///
/// The errors of [`Store::temporary`] and [`Store::temporary_on`].
pub fn on_each(kinds: &[String]) -> Result<Vec<(String, Store)>, StoreError> {
    let mut stores = vec![("SQLite".to_owned(), Store::temporary(kinds)?)];
    for options in databases()? {
        stores.push((options.url.to_string(), Store::temporary_on(&options, kinds)?));
    }
    Ok(stores)
}

/// Returns the URL under which another process opens a store of [`Store::temporary_on`], given the
/// URL of its database, which needs no password.
///
/// # Panics
///
/// When the store cannot be read.
pub fn url_of(store: &Store, database: &str) -> String {
    let text = "SELECT CAST(current_schema() AS text)";
    let rows = store.query_blocking(Sql::new(text, vec![])).expect("the store can be read");
    let schema = rows[0][0].as_text().expect("a schema has a name");
    let divider = if database.contains('?') { '&' } else { '?' };
    format!("{database}{divider}options=-csearch_path%3D{schema}")
}

/// Keeps lanes of a store in PostgreSQL from others, and its documents if no lane is named, by a plan each that
/// does not decide; for at most five seconds, after which the database ends an idle transaction. They are free
/// when what is returned is dropped. In a store in a file nothing is held: its one writer runs all plans.
///
/// # Panics
///
/// When such a plan is not begun.
pub fn hold(store: &Store, lanes: &[Option<Lane>]) -> Vec<Sender<()>> {
    if matches!(store.url(), StoreUrl::Sqlite(_)) {
        return vec![];
    }
    lanes.iter().map(|lane| hold_one(store.clone(), *lane)).collect()
}

fn hold_one(store: Store, lane: Option<Lane>) -> Sender<()> {
    let (begun, has_begun) = channel();
    let (end, may_end) = channel::<()>();
    let may_end = Arc::new(Mutex::new(may_end));
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        _ = begun.send(());
        _ = may_end.lock().map(|may_end| may_end.recv());
        Decision::Write(vec![], ())
    };
    std::thread::spawn(move || match lane {
        Some(lane) => {
            let ask = vec![Ask::Rows(lane.all(), Sql::new("SELECT 1", vec![]))];
            drop(store.submit_in(lane, vec![Plan { ask, decide }]).wait());
        }
        None => {
            let ask = vec![Ask::DocumentByUuid(Uuid::new())];
            drop(store.submit(vec![Plan { ask, decide }]).wait());
        }
    });
    has_begun.recv().expect("the plan is begun");
    end
}
