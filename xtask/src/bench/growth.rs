//! What a store costs to read when it has grown: the same reads on stores of several sizes, side by side.
//!
//! Each store has students in proportion to its size, a school for each hundred of them, an enrolment and thirty
//! attendance events for each. A few per cent more are then written through the server: events of random students,
//! changes and deletes of random events, so pages are no longer as full, and rows no longer as ordered, as a load
//! leaves them. All servers run at the same time and are measured in turn, so the machine's mood meets all of them.
//! What is read lies over the whole resource, in proportion to its size, and the servers have not read it before;
//! what is read over and over has figures of its own. Whose lists are authorized may see as many documents at each
//! size, which lie among ever more others. A run in which the last size costs too many times what the first one
//! does, in which a request failed, or where a size lacks what is compared, fails after it has printed all figures.

mod compared;
mod grown;
mod served;
mod sized;

use std::path::Path;

use compared::{Figures, Kind, turn_of};
use served::Served;
use sized::Sized;

use super::options::Options;
use super::server::{STORE, Server};
use crate::house::Done;

/// How often a server is killed while it writes; afterwards there must be at least as many documents as it
/// acknowledged.
const KILLS: u32 = 3;

/// Measures each size in each round, and compares the last with the first.
pub fn run(options: &Options, district: &Path) -> Done {
    if std::env::var_os(STORE).is_some() {
        return Err("--growth measures stores in files: only these are loaded directly".into());
    }
    let mut figures = Figures::new(&options.sizes);
    let mut stores = vec![];
    for (at, size) in options.sizes.iter().enumerate() {
        let mut store = Sized::load(&options.folder, district, *size, at)?;
        let mut told = |what: &str, value| figures.push(at, what, 0, Kind::Told, value);
        told("load --direct, documents/s", store.documents_per_second);
        told("schools", store.population.schools as f64);
        store.grow(options, district, at, &mut figures)?;
        stores.push(store);
    }
    for round in 0..=options.rounds {
        for (at, store) in stores.iter().enumerate() {
            let ms = Server::start(&store.build, &store.data, &[])?.seconds_to_ready * 1e3;
            // The first start does not count.
            if round > 0 {
                figures.push(at, "start, ms to ready", 1, Kind::Slower, ms);
            }
        }
    }
    for number in 0..KILLS {
        for (at, store) in stores.iter().enumerate() {
            let ms = store.start_after_kill(options, district, number)?;
            figures.push(at, "start after kill -9 while it writes, ms", 1, Kind::Slower, ms);
        }
    }
    let served: Result<Vec<Served>, String> =
        stores.iter().map(|store| Served::start(options, store)).collect();
    let mut served = served?;
    for round in 0..options.rounds {
        for turn in 0..served.len() {
            let at = turn_of(turn, served.len(), round);
            served[at].by_id(options, round, at, &mut figures)?;
        }
        Served::pages(&mut served, round, &mut figures)?;
    }
    for (at, served) in served.iter_mut().enumerate() {
        served.tails(at, &mut figures);
    }
    figures.judge()
}
