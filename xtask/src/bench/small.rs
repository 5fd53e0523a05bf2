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

/// The numbers that each second of a creating run uses up, each standing for a thousand serial
/// numbers, so that the documents of two runs never collide.
const STEP: u32 = 25;
/// The first such number; the district's own documents are below it.
const FIRST: u32 = 100;
/// The most rounds: four runs of each round and of the rehearsal create documents, and the lab has
/// dates for three million.
const ROUNDS_MAX: usize = 6;

/// Runs every measurement in each round, one after the other; the first round is a rehearsal.
///
/// If another build is compared, each work runs for a second at a time on one build and then the
/// other, and the first of the two alternates. So a change in the machine's speed affects both
/// equally.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = &options.folder;
    if options.rounds > ROUNDS_MAX {
        return Err(format!("there are dates for {ROUNDS_MAX} rounds of creates, no more"));
    }
    let every = Every::make(folder)?;
    let mut subjects = vec![Subject::start(options, district, &every, &Build::present())?];
    if let Some(binary) = &options.against {
        subjects.push(Subject::start(options, district, &every, &Build::other(binary))?);
    }
    let page = subjects[0].everybody.get(&format!("{}?limit=1", ATTENDANCE.path))?;
    let page = page.strip_prefix('[').and_then(|page| page.strip_suffix(']')).unwrap_or(&page);
    let nginx = Nginx::start(folder, page)?;

    let (seconds, slices) = match options.against {
        Some(_) => (1, options.seconds),
        None => (options.seconds, 1),
    };
    let load = LabLoad { users: 64, threads: 2, seconds, folder };
    let mut number = FIRST;
    for round in 0..=options.rounds {
        let peer = measure(&nginx.pids(), || load.get(&Nginx::url("/doc.json")))?;
        if round > 0 {
            subjects[0].figures.peer(&peer);
        }
        for work in WORKS {
            for slice in 0..slices {
                number += if work.creates { STEP * seconds } else { 0 };
                for turn in 0..subjects.len() {
                    let at = (turn + slice as usize) % subjects.len();
                    let measured = subjects[at].measure(&load, work, number)?;
                    if round > 0 {
                        subjects[at].figures.work(work, &measured, &peer);
                    }
                }
            }
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

/// A measurement.
struct Work {
    /// The name of its rows.
    name: &'static str,
    /// Returns the scenario and the client of a subject that it uses.
    send: fn(&Subject) -> (&Scenario, &Client),
    cpu: Cpu,
    /// Whether it creates documents, which need serial numbers of their own.
    creates: bool,
}

/// The processes whose CPU time a work's rows show.
#[derive(Clone, Copy)]
enum Cpu {
    No,
    Server,
    ServerAndLab,
    Lab,
}

const WORKS: &[Work] = &[
    Work {
        name: "GET by id",
        send: |s| (&s.read_all, &s.everybody),
        cpu: Cpu::ServerAndLab,
        creates: false,
    },
    Work {
        name: "GET by id, NamespaceBased",
        send: |s| (&s.read_own, &s.confined),
        cpu: Cpu::Server,
        creates: false,
    },
    Work {
        name: "GET by id, RelationshipsWithEdOrgsAndPeople",
        send: |s| (&s.read_all, &s.related),
        cpu: Cpu::Server,
        creates: false,
    },
    Work {
        name: "list of 25",
        send: |s| (&s.list, &s.everybody),
        cpu: Cpu::Server,
        creates: false,
    },
    Work {
        name: "durable create with three references",
        send: |s| (&s.create_all, &s.everybody),
        cpu: Cpu::No,
        creates: true,
    },
    Work {
        name: "durable create with three references, NamespaceBased",
        send: |s| (&s.create_own, &s.confined),
        cpu: Cpu::No,
        creates: true,
    },
    Work {
        name: "durable create with three references, RelationshipsWithEdOrgsAndPeople",
        send: |s| (&s.create_all, &s.related),
        cpu: Cpu::No,
        creates: true,
    },
    Work {
        name: "mix 60/20/15/5 over every resource",
        send: |s| (&s.mix, &s.everybody),
        cpu: Cpu::Lab,
        creates: true,
    },
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
