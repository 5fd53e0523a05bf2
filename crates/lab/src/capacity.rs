//! Measures how much load a server holds. The search finds three levels (stable, burst and failure)
//! and how certain each is.
//!
//! | phase | what is done |
//! |---|---|
//! | bracket | doubles the rate until a trial misses the goal |
//! | narrow | brings the rate that passes and the one that fails within 4 % of each other; a trial that fails or cannot be decided is repeated, two of three decide |
//! | confirm | holds the rate that passed, two of three holds must pass; steps down where they do not, and tries higher rates again afterwards, so that one bad moment does not lower the level |
//! | above | windows from an idle server: the highest with hardly an error is burst, the first that breaks is failure. One that keeps the goal of stable sends the search back to confirm it |
//! | lift | holds the rate of such a window; two of three with the window must pass |
//! | profiles, check | a healthy and an unhealthy run for the report, and stable once more |
//!
//! A trial in which the generator or its host was the limit is void and repeated. If that does not
//! help, the verdict says so, and each level is only the least that the server holds.
//!
//! # Results of the simulation
//!
//! The search ran against simulated servers in virtual time: two workers, log-normal service times
//! and a queue of two seconds of work unless said otherwise; 60 seeds each; rates per second.
//! "Held" is the range of rates at which 80 down to 20 of 100 holds of 45 s pass, or the planted
//! capacity; "none" in a range means that no rate was kept. `tests/table.rs` produces the table and
//! describes how.
//!
//! | server | held | stable, median (range) | burst | failure | seconds, median (most) | verdicts |
//! |---|---|---|---|---|---|---|
//! | quiet | 395-404 | 392 (385-403) | 424 | 457 | 467 (568) | all clean |
//! | quiet, Poisson arrivals | 395-404 | 392 (385-402) | 424 | 457 | 468 (582) | all clean |
//! | quiet, slow | 19-20.4 | 19 (18-21) | 20 | 23 | 564 (597) | 34 clean, 24 unsteady, 2 out of time |
//! | quiet, fast (one seed) | 20,000 | 19,563 | 21,128 | 22,818 | 530 | clean |
//! | slow-downs of 10-60 % for 0.5-4 s about every 15 s | 352-396 | 377 (342-392) | 391 | 440 | 573 (596) | 36 clean, 24 unsteady |
//! | the same, faster | 1,144-1,290 | 1,227 (1,118-1,308) | 1,278 | 1,420 | 582 (596) | 36 clean, 23 unsteady, 1 out of time |
//! | queue without end, time-out 10 s | 395-406 | 392 (385-401) | 504 | 576 | 594 (596) | all clean |
//! | the same with the slow-downs | 360-396 | 377 (349-401) | 484 | 523 | 594 (599) | 38 clean, 21 unsteady, 1 out of time |
//! | queue without end, work grows while it waits | 372-383 | 361 (347-381) | 363 | 389 | 595 (606) | 48 clean, 7 out of time, 5 unsteady |
//! | at most 50 inside | 380-392 | 385 (370-391) | 385 | 449 | 450 (580) | all clean |
//! | at most 8 inside, 8 workers | 186-200 | 192 (100-200) | 192 | 208 | 580 (580) | 34 clean, 25 out of time, 1 unsteady |
//! | pauses of 1 s about every 30 s | 364-400 | 384 (264-398) | 399 | 451 | 560 (597) | 44 clean, 14 unsteady, 2 out of time |
//! | pauses of 2 s about every 20 s | 200-360 | 319 (49-376) | 341 | 363 | 582 (600) | 37 unsteady, 17 out of time, 6 clean |
//! | loses a third in ten minutes | 600 to 400 | 472 (400-526) | 474 | 547 | 584 (597) | 41 unsteady, 19 out of time |
//! | gains a third in ten minutes | 400 to 530 | 410 (408-458) | 458 | 514 | 440 (582) | 59 unsteady, 1 clean |
//! | 0.08 % errors | 395-404 | 392 (377-408) | 424 | 457 | 499 (582) | all clean |
//! | 1 % errors | none | 3 (0-18) | - | - | 580 (596) | 59 failing, 1 out of time |
//! | only errors | none | none | - | - | 35 | all failing |
//! | generator that can do 500 | 400 | 250 | - | - | 270 (271) | all generator-limited |
//! | host takes a fifth | 320 | 315 (307-336) | - | - | 582 (596) | all host-noisy |
//! | host takes a fifth after 200 s | 400, then 320 | 392 (314-408) | - | - | 544 (584) | 33 host-noisy, 21 clean, 6 out of time |
//!
//! No clean result was more than a tenth away from what was held. Where something disturbs the
//! server, whether a hold of 45 s passes is a matter of luck over a range of rates, and the printed
//! interval is as wide as that range.
//!
//! The search reads no clock and sends nothing: a [`Driver`] does that and reports how long it
//! took. So the tests can run the search against a simulated server in virtual time.

mod above;
mod conclude;
mod constants;
mod driver;
mod judge;
mod levels;
mod result;
mod search;
mod stable;
#[cfg(test)]
mod tests;

pub use constants::{Constants, Goals, StableGoal, Voiding};
pub use driver::{Driver, Event};
pub use judge::TrialVerdict;
pub use levels::{AtLeast, Level, Levels};
pub use result::{Capacity, Ceiling, FORMAT, Phase, SelfCheck, Tried, Verdict};

use search::Search;

/// Finds the three levels.
///
/// # Errors
///
/// The driver's error, if a trial could not be made.
pub fn find<D: Driver>(
    constants: &Constants,
    ceiling: Ceiling,
    driver: &mut D,
) -> Result<Capacity, D::Error> {
    let mut search = Search::new(constants, ceiling, driver);
    let stable = stable::find(&mut search)?;
    let above = above::find(&mut search, stable)?;
    Ok(conclude::conclude(search, &above))
}
