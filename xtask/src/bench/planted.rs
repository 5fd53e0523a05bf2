//! Measures how well the lab finds a planted capacity: seven searches against `homeroom lab echo`.
//!
//! They run on a quiet host or, with `--noisy`, beside bursts of other work. A last search has a
//! generator that is starved of processor time.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::echo::Echo;
use super::figures::row;
use super::files::text;
use super::machine::spread;
use super::options::Options;
use super::server::BINARY;
use crate::house::Done;
use crate::random::Random;

/// The planted capacity in requests per second.
const CAPACITY: f64 = 400.0;
const SEARCHES: u64 = 7;
/// The number of disturbing threads: twice as many as a machine of two cores has.
const DISTURBING: usize = 4;
/// The number of threads beside a starved generator.
const STARVING: usize = 16;

/// Runs the searches one after the other.
pub fn run(options: &Options, table: &mut String) -> Done {
    let is_noisy = options.is_noisy;
    let (mut stable, mut seconds, mut verdicts) = (vec![], vec![], vec![]);
    for seed in 1..=SEARCHES {
        let noise = is_noisy.then(|| Noise::bursts(seed));
        let found = search(options, seed, &[])?;
        drop(noise);
        let rate = found["stable"]["rate"].as_f64().ok_or("there is no stable level")?;
        stable.push(rate / CAPACITY * 100.0 - 100.0);
        seconds.push(found["seconds"].as_f64().unwrap_or(f64::NAN));
        verdicts.push(format!("{rate:.0}/s {}", found["verdict"].as_str().unwrap_or("?")));
        println!("seed {seed}: {}", verdicts.last().map_or("", String::as_str));
    }
    let missed = missed(&stable, &seconds, &verdicts);
    let host = if is_noisy { "a noisy host" } else { "a quiet host" };
    row(table, &format!("stable of {CAPACITY:.0}/s on {host}, % beside it"), &stable, 1);
    row(table, &format!("time of a search on {host}, s"), &seconds, 0);
    println!("\nOn {host}: {}.", verdicts.join(", "));

    let noise = Noise::without_end(STARVING);
    let starved = search(options, 1, &["nice", "-n", "19"])?;
    drop(noise);
    println!(
        "At the lowest priority beside {STARVING} threads that never rest: {:.0}/s {}; {}.\n",
        starved["stable"]["rate"].as_f64().unwrap_or(f64::NAN),
        starved["verdict"].as_str().unwrap_or("?"),
        starved["reasons"],
    );
    let beside = starved["stable"]["rate"].as_f64().unwrap_or(0.0) / CAPACITY - 1.0;
    if starved["verdict"] == "CLEAN" && beside.abs() > 0.1 {
        return Err("a search that was starved is wrong and is called clean".into());
    }
    missed.map_or(Ok(()), Err)
}

/// Returns what is not as expected, if anything.
fn missed(stable: &[f64], seconds: &[f64], verdicts: &[String]) -> Option<String> {
    let (beside, longest) = (spread(stable).0, spread(seconds).0);
    if beside.abs() > 5.0 || longest > 600.0 {
        return Some(format!("the median is {beside:.1} % beside, after {longest:.0} s"));
    }
    let is_silent =
        |(beside, verdict): &(&f64, &String)| beside.abs() > 10.0 && verdict.ends_with("CLEAN");
    let silent = stable.iter().zip(verdicts).find(is_silent);
    silent.map(|(beside, verdict)| format!("{verdict}, and {beside:.1} % beside"))
}

/// Runs one search, under another program if one is given.
fn search(options: &Options, seed: u64, by: &[&str]) -> Result<Value, String> {
    let seed = seed.to_string();
    let capacity = CAPACITY.to_string();
    let trouble = ["--capacity", &capacity, "--workers", "2", "--spread", "0.5", "--seed", &seed];
    let _echo = Echo::start(&trouble)?;
    let file = options.folder.join("capacity.json");
    let target = Echo::url();
    let arguments = ["lab", "capacity", "--target", &target, "--seed", &seed, "--json"];
    let words = [by, &[BINARY], &arguments, &[text(&file)]].concat();
    let done = Command::new(words[0]).args(&words[1..]).output().map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(format!("the search failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let found = std::fs::read(&file).map_err(|e| e.to_string())?;
    serde_json::from_slice(&found).map_err(|e| e.to_string())
}

/// Other work on this machine, which ends when the value is dropped.
struct Noise {
    is_over: &'static AtomicBool,
}

impl Noise {
    /// Returns bursts of half a second to four seconds of work, four times a minute on average.
    fn bursts(seed: u64) -> Self {
        let noise = Self::new();
        let is_over = noise.is_over;
        thread::spawn(move || {
            let mut random = Random::of(seed);
            while !is_over.load(Ordering::Relaxed) {
                let pause = -15.0 * (1.0 - random.share()).ln();
                sleep(Duration::from_secs_f64(pause), is_over);
                let length = Duration::from_secs_f64(0.5 + 3.5 * random.share());
                let until = Instant::now() + length;
                let work = || thread::spawn(move || while Instant::now() < until {});
                let all: Vec<_> = (0..DISTURBING).map(|_| work()).collect();
                for one in all {
                    _ = one.join();
                }
            }
        });
        noise
    }

    fn without_end(threads: usize) -> Self {
        let noise = Self::new();
        let is_over = noise.is_over;
        for _ in 0..threads {
            thread::spawn(|| while !is_over.load(Ordering::Relaxed) {});
        }
        noise
    }

    fn new() -> Self {
        Self { is_over: Box::leak(Box::new(AtomicBool::new(false))) }
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn sleep(time: Duration, is_over: &AtomicBool) {
    let until = Instant::now() + time;
    while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(50));
    }
}
