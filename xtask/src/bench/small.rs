//! A small district: reads by id beside nginx, durable creates, the mix.

use std::path::Path;

use super::figures::{Figures, measure};
use super::server::{Client, Nginx, Server};
use super::work::{ASSESSMENT, ATTENDANCE, Every, Made, by_namespace, by_relationship};
use super::wrk::Wrk;
use super::{Settings, homeroom, text, write};
use crate::house::Done;

/// Values between two loads that create, so that their documents never meet.
const STEP: usize = 4_000;

/// Measures everything in each round, one after the other; the first round is a rehearsal.
pub fn run(settings: &Settings, district: &Path, table: &mut String) -> Done {
    let folder = &settings.folder;
    let data = folder.join("small");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let every = Every::load(folder, &data)?;
    let server = Server::start(&data, &settings.environment)?;
    let everybody = server.client(&["--claim-set", "FullAccess"])?;
    let confined = by_namespace(folder, &server)?;
    let related = by_relationship(folder, &server, district)?;
    every.find(&everybody)?;
    let attendance = Loads::of(&ATTENDANCE, &everybody, folder, "attendance")?;
    let assessments = Loads::of(&ASSESSMENT, &confined, folder, "assessments")?;
    let page = everybody.get(&format!("{}/{}", ATTENDANCE.path, attendance.first))?;
    let nginx = Nginx::start(folder, &page)?;

    let load = Wrk { connections: 64, threads: 2, seconds: settings.seconds };
    let pids = [server.pid()];
    let mut start = 0;
    let mut figures = Figures::default();
    for round in 0..=settings.rounds {
        let mut from = || {
            start += STEP;
            start.to_string()
        };
        let peer = measure(&nginx.pids(), || load.run(&Nginx::url("/doc.json"), "", &[]))?;
        let get = |loads: &Loads, client: &Client| {
            let arguments = [client.token.as_str(), text(&loads.ids), &loads.prefix];
            measure(&pids, || load.run(&Server::url(""), "get.lua", &arguments))
        };
        let (all, within) = (get(&attendance, &everybody)?, get(&assessments, &confined)?);
        let by_relation = get(&attendance, &related)?;
        let mut create = |loads: &Loads, client: &Client| {
            let arguments = [client.token.as_str(), text(&loads.bodies), loads.path, &from()];
            measure(&pids, || load.run(&Server::url(""), "create.lua", &arguments))
        };
        let created = create(&attendance, &everybody)?;
        let created_within = create(&assessments, &confined)?;
        let created_by_relation = create(&attendance, &related)?;
        let arguments =
            [everybody.token.as_str(), text(&every.templates), text(&every.paths), &from()];
        let whole = measure(&pids, || load.run(&Server::url(""), "every.lua", &arguments))?;
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
    let [all, anew, updated] = every.counts;
    println!("Every resource: {all} read, {anew} of them created, {updated} updated.\n");
    figures.write(table);
    Ok(())
}

/// Files that a load reads.
struct Loads {
    path: &'static str,
    prefix: String,
    ids: std::path::PathBuf,
    bodies: std::path::PathBuf,
    first: String,
}

impl Loads {
    fn of(made: &Made, client: &Client, folder: &Path, name: &str) -> Result<Self, String> {
        let (ids, bodies) =
            (folder.join(format!("{name}.ids")), folder.join(format!("{name}.bodies")));
        let found = client.ids(&format!("{}?limit=500", made.path))?;
        write(&ids, &found.join("\n"))?;
        write(&bodies, &made.templates(client)?.join("\n"))?;
        let first = found.into_iter().next().ok_or(format!("there are no {name}"))?;
        Ok(Self { path: made.path, prefix: format!("{}/", made.path), ids, bodies, first })
    }
}
