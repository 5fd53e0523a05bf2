//! Measures a small district: reads by id beside nginx, durable creates, the mix; for two builds,
//! if they are compared.

use std::path::Path;

use super::figures::{Figures, Measured, measure, ratios};
use super::files::text;
use super::load::{LabLoad, Scenario};
use super::options::Options;
use super::server::{Build, Client, Nginx, Server};
use super::work::{ASSESSMENT, ATTENDANCE, Every, by_namespace, by_relationship};
use crate::house::Done;

/// The first number of a run, each standing for a thousand serial numbers, so that the documents of two runs
/// never collide; the district's own documents are below it.
const FIRST: u32 = 100;
/// The first number that a run must not use: the lab has dates for three million serial numbers.
const END: u32 = 3_000;

/// Runs every measurement in each round, one after the other; the first round is a rehearsal.
///
/// Works that are compared with each other run by turns, a second at a time, and so does each work on both builds
/// if another build is compared; who is first alternates. So a change in the machine's speed, and what the store
/// still has in memory from the creates before, affects all of them equally.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = &options.folder;
    let used: u32 = WORKS.iter().flat_map(|works| works.iter().map(|work| work.numbers)).sum();
    // With the rehearsal.
    let rounds = u32::try_from(options.rounds).unwrap_or(u32::MAX).saturating_add(1);
    if used.saturating_mul(rounds).saturating_mul(options.seconds) > END - FIRST {
        let left = (END - FIRST) / used;
        return Err(format!(
            "creates have dates for {left} s of each work, in all rounds and the rehearsal: ask for fewer --rounds \
             or --seconds"
        ));
    }
    let every = Every::make(folder)?;
    let mut subjects = vec![Subject::start(options, district, &every, &Build::present())?];
    if let Some(binary) = &options.against {
        subjects.push(Subject::start(options, district, &every, &Build::other(binary))?);
    }
    let page = subjects[0].everybody.get(&format!("{}?limit=1", ATTENDANCE.path))?;
    let page = page.strip_prefix('[').and_then(|page| page.strip_suffix(']')).unwrap_or(&page);
    let nginx = Nginx::start(folder, page)?;

    let load = LabLoad { users: 64, threads: 2, seconds: options.seconds, folder };
    let mut number = FIRST;
    for round in 0..=options.rounds {
        let peer = measure(&nginx.pids(), || load.get(&Nginx::url("/doc.json")))?;
        if round > 0 {
            subjects[0].figures.peer(&peer);
        }
        for works in WORKS {
            let peer = (round > 0).then_some(&peer);
            number = by_turns(options, &mut subjects, works, number, peer)?;
        }
    }
    let [all, anew, updated] = every.counts();
    println!("Every resource: {all} read, {anew} of them created, {updated} updated.\n");
    if let [present, other] = &subjects[..] {
        println!("{}", ratios(&present.figures, &other.figures));
    }
    subjects[0].figures.write(table);
    Ok(())
}

/// Runs works that are compared with each other on all subjects by turns, and notes their figures beside a peer's, if
/// this is no rehearsal. Returns the first number that is not used up.
fn by_turns(
    options: &Options,
    subjects: &mut [Subject],
    works: &[Work],
    first: u32,
    peer: Option<&Measured>,
) -> Result<u32, String> {
    let each = (0..subjects.len()).flat_map(|at| (0..works.len()).map(move |work| (at, work)));
    let turns: Vec<(usize, usize)> = each.collect();
    let (seconds, slices) =
        if turns.len() > 1 { (1, options.seconds) } else { (options.seconds, 1) };
    let load = LabLoad { users: 64, threads: 2, seconds, folder: &options.folder };
    let used_up = |works: &[Work]| works.iter().map(|work| work.numbers * seconds).sum::<u32>();
    let mut number = first;
    for slice in 0..slices as usize {
        let mut rates = vec![vec![0.0; works.len()]; subjects.len()];
        for turn in 0..turns.len() {
            let (at, which) = turns[(turn + slice) % turns.len()];
            let (subject, work) = (&mut subjects[at], &works[which]);
            let measured = subject.measure(&load, work, number + used_up(&works[..which]))?;
            rates[at][which] = measured.run.rate;
            if let Some(peer) = peer {
                subject.figures.work(work, &measured, peer);
            }
        }
        for (subject, rates) in subjects.iter_mut().zip(rates).filter(|_| peer.is_some()) {
            for (work, rate) in works.iter().zip(&rates) {
                if let Some(what) = work.beside_first {
                    subject.figures.push(what, 1, rate / rates[0] * 1e2);
                }
            }
        }
        number += used_up(works);
    }
    Ok(number)
}

/// A measurement.
struct Work {
    /// The name of its rows.
    name: &'static str,
    /// Returns the scenario and the client of a subject that it uses.
    send: fn(&Subject) -> (&Scenario, &Client),
    cpu: Cpu,
    /// The numbers that each second of it uses up: thousands of documents, if others create the same ones.
    numbers: u32,
    /// The name of the row that compares its rate with that of the first work beside which it runs.
    beside_first: Option<&'static str>,
}

/// The processes whose CPU time a work's rows show.
#[derive(Clone, Copy)]
enum Cpu {
    No,
    Server,
    ServerAndLab,
    Lab,
}

/// Those that are compared with each other stand together.
const WORKS: &[&[Work]] = &[
    &[
        Work {
            name: "GET by id",
            send: |s| (&s.read_all, &s.everybody),
            cpu: Cpu::ServerAndLab,
            numbers: 0,
            beside_first: None,
        },
        Work {
            name: "GET by id, RelationshipsWithEdOrgsAndPeople",
            send: |s| (&s.read_all, &s.related),
            cpu: Cpu::Server,
            numbers: 0,
            beside_first: Some("GET by id, RelationshipsWithEdOrgsAndPeople, % of the rate of all"),
        },
    ],
    &[Work {
        name: "GET by id, NamespaceBased",
        send: |s| (&s.read_own, &s.confined),
        cpu: Cpu::Server,
        numbers: 0,
        beside_first: None,
    }],
    &[Work {
        name: "list of 25",
        send: |s| (&s.list, &s.everybody),
        cpu: Cpu::Server,
        numbers: 0,
        beside_first: None,
    }],
    &[
        Work {
            name: "durable create with three references",
            send: |s| (&s.create_all, &s.everybody),
            cpu: Cpu::Server,
            numbers: 60,
            beside_first: None,
        },
        Work {
            name: "durable create with three references, RelationshipsWithEdOrgsAndPeople",
            send: |s| (&s.create_all, &s.related),
            cpu: Cpu::Server,
            numbers: 60,
            beside_first: Some(
                "durable create, RelationshipsWithEdOrgsAndPeople, % of the rate of all",
            ),
        },
    ],
    &[Work {
        name: "durable create with three references, NamespaceBased",
        send: |s| (&s.create_own, &s.confined),
        cpu: Cpu::No,
        numbers: 60,
        beside_first: None,
    }],
    &[Work {
        name: "mix 60/20/15/5 over every resource",
        send: |s| (&s.mix, &s.everybody),
        cpu: Cpu::Lab,
        numbers: 25,
        beside_first: None,
    }],
];

/// A build's server with its clients and scenarios.
struct Subject {
    server: Server,
    everybody: Client,
    confined: Client,
    related: Client,
    read_all: Scenario,
    read_own: Scenario,
    list: Scenario,
    create_all: Scenario,
    create_own: Scenario,
    mix: Scenario,
    figures: Figures,
}

impl Subject {
    fn start(
        options: &Options,
        district: &Path,
        every: &Every,
        build: &Build,
    ) -> Result<Self, String> {
        let data = options.folder.join(format!("small-{}", build.port()));
        build.run(&["load", text(district), "--data-dir", text(&data)])?;
        every.load(build, &data)?;
        let server = Server::start(build, &data, &options.environment)?;
        let everybody = server.client(&["--claim-set", "FullAccess"])?;
        let confined = by_namespace(&options.folder, &server)?;
        let related = by_relationship(&options.folder, &server, district)?;
        Ok(Self {
            read_all: ATTENDANCE.get("read", &everybody)?,
            read_own: ASSESSMENT.get("read-within", &confined)?,
            list: ATTENDANCE.list("list"),
            create_all: ATTENDANCE.create("create", &everybody)?,
            create_own: ASSESSMENT.create("create-within", &confined)?,
            mix: every.mix(&everybody)?,
            figures: Figures::default(),
            server,
            everybody,
            confined,
            related,
        })
    }

    fn measure(&self, load: &LabLoad<'_>, work: &Work, number: u32) -> Result<Measured, String> {
        let (scenario, client) = (work.send)(self);
        measure(&[self.server.pid()], || load.run(&self.server.url(""), scenario, client, number))
    }
}

impl Figures {
    fn peer(&mut self, peer: &Measured) {
        self.rate("nginx, the same bytes from a file", peer);
        self.push("nginx, CPU per request, µs", 1, peer.cpu_micros);
        self.push("nginx, requests per CPU-second of the lab", 0, peer.run.per_cpu_second);
    }

    fn work(&mut self, work: &Work, measured: &Measured, peer: &Measured) {
        let name = work.name;
        self.load(name, measured);
        if matches!(work.cpu, Cpu::Server | Cpu::ServerAndLab) {
            self.push(&format!("{name}, CPU per request, µs"), 1, measured.cpu_micros);
            let times = measured.cpu_micros / peer.cpu_micros;
            self.push(&format!("{name}, CPU per request as a multiple of nginx's"), 2, times);
        }
        if matches!(work.cpu, Cpu::Lab | Cpu::ServerAndLab) {
            let name = format!("{name}, requests per CPU-second of the lab");
            self.push(&name, 0, measured.run.per_cpu_second);
        }
    }
}
