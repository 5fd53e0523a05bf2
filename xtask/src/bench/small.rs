//! A small district: reads by id beside nginx, durable creates, the mix.

use std::path::Path;

use super::figures::{Figures, measure};
use super::load::{Load, Scenario};
use super::server::{Client, Nginx, Server};
use super::work::{ASSESSMENT, ATTENDANCE, Every, by_namespace, by_relationship};
use super::{Settings, homeroom, text};
use crate::house::Done;

/// Numbers between two runs that create, so that their documents never meet: each is a thousand
/// serial numbers.
const STEP: u32 = 100;
/// The first such number. What stands in the district is below.
const FIRST: u32 = 100;
/// Four runs a round create, and there is a rehearsal; the lab has dates for three million.
const ROUNDS_MAX: usize = 6;

/// Measures everything in each round, one after the other; the first round is a rehearsal.
pub fn run(settings: &Settings, district: &Path, table: &mut String) -> Done {
    let folder = &settings.folder;
    if settings.rounds > ROUNDS_MAX {
        return Err(format!("there are dates for {ROUNDS_MAX} rounds of creates, no more"));
    }
    let data = folder.join("small");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let every = Every::load(folder, &data)?;
    let server = Server::start(&data, &settings.environment)?;
    let everybody = server.client(&["--claim-set", "FullAccess"])?;
    let confined = by_namespace(folder, &server)?;
    let related = by_relationship(folder, &server, district)?;
    let page = everybody.get(&format!("{}?limit=1", ATTENDANCE.path))?;
    let page = page.strip_prefix('[').and_then(|page| page.strip_suffix(']')).unwrap_or(&page);
    let nginx = Nginx::start(folder, page)?;
    let read_all = ATTENDANCE.get("read", &everybody)?;
    let read_own = ASSESSMENT.get("read-within", &confined)?;
    let create_all = ATTENDANCE.create("create", &everybody)?;
    let create_own = ASSESSMENT.create("create-within", &confined)?;
    let mix = every.mix(&everybody)?;

    let load = Load { users: 64, threads: 2, seconds: settings.seconds, folder };
    let pids = [server.pid()];
    let mut number = FIRST;
    let mut figures = Figures::default();
    for round in 0..=settings.rounds {
        let run = |scenario: &Scenario, client: &Client, number: u32| {
            measure(&pids, || load.run(&Server::url(""), scenario, client, number))
        };
        let read = |scenario: &Scenario, client: &Client| run(scenario, client, FIRST);
        let mut write = |scenario: &Scenario, client: &Client| {
            number += STEP;
            run(scenario, client, number)
        };
        let peer = measure(&nginx.pids(), || load.get(&Nginx::url("/doc.json")))?;
        let all = read(&read_all, &everybody)?;
        let within = read(&read_own, &confined)?;
        let by_relation = read(&read_all, &related)?;
        let created = write(&create_all, &everybody)?;
        let created_within = write(&create_own, &confined)?;
        let created_by_relation = write(&create_all, &related)?;
        let whole = write(&mix, &everybody)?;
        if round == 0 {
            continue;
        }
        figures.rate("nginx, the same bytes from a file", &peer);
        figures.push("nginx, CPU per request, µs", 1, peer.cpu_micros);
        for (name, get) in [
            ("GET by id", &all),
            ("GET by id, NamespaceBased", &within),
            ("GET by id, RelationshipsWithEdOrgsAndPeople", &by_relation),
        ] {
            figures.load(name, get);
            figures.push(&format!("{name}, CPU per request, µs"), 1, get.cpu_micros);
        }
        for (name, load) in [("nginx", &peer), ("GET by id", &all), ("the mix", &whole)] {
            let name = format!("{name}, requests per CPU-second of the lab");
            figures.push(&name, 0, load.run.per_cpu_second);
        }
        let ratio = all.cpu_micros / peer.cpu_micros;
        figures.push("GET by id, CPU per request as a multiple of nginx's", 2, ratio);
        figures.load("durable create with three references", &created);
        figures.load("durable create with three references, NamespaceBased", &created_within);
        figures.load(
            "durable create with three references, RelationshipsWithEdOrgsAndPeople",
            &created_by_relation,
        );
        figures.load("mix 60/20/15/5 over every resource", &whole);
    }
    let [all, anew, updated] = every.counts();
    println!("Every resource: {all} read, {anew} of them created, {updated} updated.\n");
    figures.write(table);
    Ok(())
}
