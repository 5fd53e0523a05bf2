//! Laws that hold for any input.

use homeroom_testkit as app;

#[path = "laws/canonical.rs"]
mod canonical;
#[path = "laws/history.rs"]
mod history;
#[path = "laws/spelling.rs"]
mod spelling;
#[path = "laws/texts.rs"]
mod texts;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// Runs a law over the given number of cases; work shared by all cases stays outside.
fn holds<S: Strategy>(
    cases: u32,
    strategy: &S,
    law: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    if let Err(error) = TestRunner::new(config).run(strategy, law) {
        panic!("{error}");
    }
}
