//! Writes for minutes and tells, second by second, what it costs: rate, times, log, file, bytes and
//! syncs: `cargo run --release -p homeroom-store --example sustained -- URL [options]`.
//!
//! Each of the clients looks up an identity and three targets (a random student, the student's
//! school, one of its sessions), then creates a document, and waits until it is durable. `URL` names
//! a file that does not exist yet and is removed at the end, or a PostgreSQL database, where a schema
//! is made and dropped. With `--mix`, they read, update and delete, too. Beside them, commits of courses can
//! come at a fixed rate from a thread of their own, each of them in the lane of courses: they ask for two rows and
//! write them. With `--alternate`, the clients are compared with and without these, and the run fails if they lose
//! too much or the commits take too long. `--help` lists the options.
//!
//! It does less than the product: documents have no ties, nobody's rights are asked for, bodies are not
//! validated, there is no HTTP, and all clients are tasks of one thread. What it costs the whole server is measured
//! by `cargo xtask bench --held` and `--mix`.
//!
//! Bytes written are this process's, or those that PostgreSQL's server counts; they are missing where neither is
//! known. PostgreSQL's log is what was written to it since the start.
#![expect(clippy::disallowed_methods, reason = "an example measures")]

mod chart;
mod compared;
mod figures;
mod mix;
mod options;
mod parts;
mod sample;
mod work;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use homeroom_store::{Store, StoreUrl};

use compared::Periods;
use figures::Figures;
use mix::Client;
use options::{HELP, Options};
use parts::Parts;
use work::Work;

/// What is printed with the figures.
const LESS: &str = "\
The store alone: no HTTP, no validation, no rights, no ties; all clients on one thread, commits of courses on another.";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::read(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let file = match &options.store.url {
        StoreUrl::Sqlite(path) if path.exists() => {
            return Err(format!("{} exists; name a new file", path.display()).into());
        }
        StoreUrl::Sqlite(path) => Some(path.clone()),
        StoreUrl::Postgres(_) => None,
    };
    let done = measure(&options).await;
    if let Some(file) = file.filter(|_| !options.keeps) {
        for ending in ["", "-wal", "-shm", ".lock"] {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            _ = std::fs::remove_file(PathBuf::from(name));
        }
    }
    done
}

async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let store = Store::temporary_on(&options.store, &[])?;
    let work = Arc::new(Work::prepare(&store, options.documents_before, options.body_bytes)?);
    println!("{} documents at the start", work.seed(&store, options.documents_before)?);
    println!("{LESS}\n");
    let mut parts = Parts::prepare(&store, options.part_commits)?;

    let begun = Instant::now();
    let end = begun + Duration::from_secs(options.seconds);
    let figures = Arc::new(Figures::new(begun, options.seconds, options.is_mix));
    let next = Arc::new(AtomicU64::new(options.documents_before));
    let mut tasks = vec![];
    for number in 0..options.clients {
        let (store, work) = (store.clone(), Arc::clone(&work));
        let (next, figures) = (Arc::clone(&next), Arc::clone(&figures));
        if options.is_mix {
            let client = Client::new(number);
            tasks.push(tokio::spawn(async move {
                client.run(&store, &work, &next, end, &figures).await
            }));
            continue;
        }
        tasks.push(tokio::spawn(async move {
            while Instant::now() < end {
                let asked = Instant::now();
                work.create(&store, &next).await?;
                figures.kinds[0].1.note(asked);
            }
            Ok::<(), String>(())
        }));
    }
    if options.part_commits > 0 {
        let (store, figures) = (store.clone(), Arc::clone(&figures));
        let rate = options.part_commits;
        let periods = match options.periods {
            Some(periods) => periods.with_commits().collect(),
            None => vec![(0, options.seconds)],
        };
        let own = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        tasks.push(tokio::task::spawn_blocking(move || {
            own.block_on(async {
                for (from, upto) in periods {
                    let [from, upto] =
                        [from, upto].map(|second| begun + Duration::from_secs(second));
                    tokio::time::sleep(from.saturating_duration_since(Instant::now())).await;
                    parts.commit(&store, rate, upto, &figures).await?;
                }
                Ok(())
            })
        }));
    }
    let samples = tokio::spawn(sample::sample(store.clone(), begun, options.seconds));
    for task in tasks {
        task.await??;
    }
    let seconds = figures.seconds(&samples.await?);
    figures::print(&seconds, figures.what());
    for (path, text) in [
        (&options.json, figures::json as fn(&[figures::Second]) -> String),
        (&options.csv, figures::csv),
        (&options.svg, chart::svg),
    ] {
        if let Some(path) = path {
            std::fs::write(path, text(&seconds))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    let has_log = matches!(options.store.url, StoreUrl::Sqlite(_));
    let judge = |periods: Periods| periods.judge(&figures, has_log.then_some(&seconds[..]));
    let missed = options.periods.map_or_else(Vec::new, judge);
    println!("{}", figures.whole(&seconds));
    let load = store.load();
    let created = next.load(Ordering::Relaxed) + work.targets();
    println!(
        "{} bytes in the file and {} in the log for {created} documents{}",
        load.file_bytes,
        load.log_bytes,
        if options.is_mix { ", of which some were deleted" } else { "" },
    );
    if missed.is_empty() { Ok(()) } else { Err(format!("missed: {}", missed.join("; ")).into()) }
}
