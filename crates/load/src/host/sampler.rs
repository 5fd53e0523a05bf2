//! The threads that take samples once a second.
#![expect(clippy::disallowed_methods, reason = "it samples once a second")]

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::metrics;
use super::process::{Processes, Usage};
use super::system::MachineCounters;
use super::watch::{GENERATOR, MACHINE, Watch, What};
use crate::client::{Caller, words};
use crate::engine::Target;
use crate::run::{RunFile, Series, Watched};

/// The time between samples.
const EVERY: Duration = Duration::from_secs(1);

/// The longest wait for an exporter.
const EXPORTER_TIME_MAX: Duration = Duration::from_secs(2);

/// Takes samples once a second until it is stopped. One thread samples everything on this machine,
/// and each exporter has its own, so a slow exporter delays nothing else.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    own: JoinHandle<Readings>,
    exporters: Vec<JoinHandle<Watched>>,
    within: Vec<Watched>,
}

/// The results of sampling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    /// What was asked for, followed by [`MACHINE`] and [`GENERATOR`].
    pub watched: Vec<Watched>,
    /// The share of processor time that the host took from this machine.
    pub steal_share: f64,
    /// The greatest resident memory of the generator, in megabytes.
    pub generator_memory_mb: f64,
}

impl Sampler {
    /// Starts sampling; moments count from `begun`.
    ///
    /// # Errors
    ///
    /// If the system cannot start a thread.
    pub fn start(watches: &[Watch], begun: Instant) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut exporters = vec![];
        let mut local = vec![];
        let mut within = vec![];
        for watch in watches {
            let (target, path, metrics) = match watch.what.clone() {
                What::Exporter { target, path, metrics } => (target, path, metrics),
                What::Within(other) => {
                    within.push(Watched { within: other, ..Watched::called(&watch.name) });
                    continue;
                }
                What::Process(_) | What::Named(_) => {
                    local.push(watch.clone());
                    continue;
                }
            };
            let mut looking = Exporter::new(&watch.name, target, path, metrics);
            let stop = stop.clone();
            exporters.push(thread::Builder::new().name("lab-exporter".into()).spawn(
                move || {
                    each_second(begun, &stop, |at_s| looking.look(at_s));
                    looking.gathered.into_watched()
                },
            )?);
        }
        let mut looking = Local::new(local);
        let flag = stop.clone();
        let own = thread::Builder::new().name("lab-host".into()).spawn(move || {
            each_second(begun, &flag, |at_s| looking.look(at_s));
            looking.into_seen()
        })?;
        Ok(Self { stop, own, exporters, within })
    }

    /// Stops sampling and returns the results.
    pub fn stop(self) -> Readings {
        self.stop.store(true, Ordering::Relaxed);
        self.own.thread().unpark();
        self.exporters.iter().for_each(|thread| thread.thread().unpark());
        let mut seen = self.own.join().unwrap_or_default();
        let exporters = self.exporters.into_iter().filter_map(|thread| thread.join().ok());
        seen.watched.splice(0..0, exporters.chain(self.within));
        // The names that tables know come first.
        let place = |of: &Watched| match of.name.as_str() {
            "web" => 0,
            "database" => 1,
            MACHINE => 3,
            GENERATOR => 4,
            _ => 2,
        };
        seen.watched.sort_by_key(place);
        seen
    }
}

impl Readings {
    /// Adds the results to a run's file, with means by stage under `NAME.SERIES`.
    pub fn put_into(self, run: &mut RunFile) {
        run.generator.steal_share = self.steal_share;
        run.generator.memory_mb = self.generator_memory_mb;
        for stage in &mut run.stages {
            let end = stage.start_s + stage.seconds;
            for watched in &self.watched {
                for series in &watched.series {
                    if let Some(mean) = mean(&series.points, stage.start_s, end) {
                        stage.server.insert(format!("{}.{}", watched.name, series.name), mean);
                    }
                }
            }
        }
        run.server = self.watched;
    }
}

/// Returns the mean of the values after `from` and up to `to`: each value covers the time since the
/// one before.
fn mean(points: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let inside = points.iter().filter(|(at, _)| from < *at && *at <= to);
    let (count, sum) =
        inside.fold((0.0, 0.0), |(count, sum), (_, value)| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

/// Takes a sample at once, every second, and at the end unless the last one was just taken.
fn each_second(begun: Instant, stop: &AtomicBool, mut look: impl FnMut(f64)) {
    let mut next = Instant::now();
    let mut last = next;
    loop {
        let is_over = stop.load(Ordering::Relaxed);
        let now = Instant::now();
        if now >= next || (is_over && now - last > EVERY / 2) {
            look(now.saturating_duration_since(begun).as_secs_f64());
            last = now;
            // Moments that were missed during a slow sample are not made up for.
            while next <= Instant::now() {
                next += EVERY;
            }
        }
        if is_over {
            return;
        }
        thread::park_timeout(next.saturating_duration_since(Instant::now()));
    }
}

/// The samples of one watched item so far.
#[derive(Debug, Default)]
struct Gathered {
    name: String,
    series: BTreeMap<String, Vec<(f64, f64)>>,
    looks: u32,
    missed: u32,
    why: String,
    hint: &'static str,
}

impl Gathered {
    fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn add<N: Into<String>>(&mut self, at_s: f64, values: impl IntoIterator<Item = (N, f64)>) {
        for (name, value) in values {
            self.series.entry(name.into()).or_default().push((at_s, value));
        }
    }

    fn miss(&mut self, why: impl Into<String>) {
        self.missed += 1;
        self.why = why.into();
    }

    fn into_watched(self) -> Watched {
        let mut trouble = vec![];
        if self.missed > 0 {
            trouble.push(format!("{}, {} of {} times", self.why, self.missed, self.looks));
        }
        if !self.hint.is_empty() {
            trouble.push(self.hint.into());
        }
        let series = self.series.into_iter().map(|(name, points)| Series { name, points });
        Watched {
            series: series.collect(),
            trouble: trouble.join("; "),
            ..Watched::called(&self.name)
        }
    }
}

/// Everything that is sampled on this machine.
struct Local {
    table: Processes,
    processes: Vec<(Watch, Gathered, Option<Usage>)>,
    generator: (Gathered, Option<Usage>, f64),
    machine: (Gathered, Option<MachineCounters>, Option<MachineCounters>),
    last_s: f64,
}

impl Local {
    fn new(watches: Vec<Watch>) -> Self {
        let processes =
            watches.into_iter().map(|watch| (watch.clone(), Gathered::new(&watch.name), None));
        Self {
            table: Processes::default(),
            processes: processes.collect(),
            generator: (Gathered::new(GENERATOR), None, 0.0),
            machine: (Gathered::new(MACHINE), None, None),
            last_s: 0.0,
        }
    }

    fn look(&mut self, at_s: f64) {
        let seconds = at_s - self.last_s;
        self.last_s = at_s;
        let has_names = |(watch, ..): &(Watch, _, _)| matches!(watch.what, What::Named(_));
        self.table.read(self.processes.iter().any(has_names));
        for (watch, gathered, before) in &mut self.processes {
            gathered.looks += 1;
            let usage = self.table.usage(&self.table.find(&watch.what));
            if usage.is_empty() {
                gathered.miss("there was no such process");
                *before = None;
                continue;
            }
            if usage.hides_disk {
                gathered.hint = "only its own user may see what it reads and writes";
            }
            if let Some(before) = before {
                gathered.add(at_s, usage.values(before, seconds));
            }
            *before = Some(usage);
        }
        let (gathered, before, memory_mb) = &mut self.generator;
        gathered.looks += 1;
        let usage = self.table.usage(&[std::process::id()].into());
        *memory_mb = memory_mb.max(usage.memory_mb());
        if let Some(before) = before {
            gathered.add(at_s, usage.values(before, seconds));
        }
        *before = Some(usage);
        let (gathered, first, before) = &mut self.machine;
        gathered.looks += 1;
        match MachineCounters::read() {
            None => gathered.miss("this system has no /proc"),
            Some(counts) => {
                if let Some(before) = before {
                    gathered.add(at_s, counts.values(before, seconds));
                }
                first.get_or_insert(counts);
                *before = Some(counts);
            }
        }
    }

    fn into_seen(self) -> Readings {
        let (machine, first, last) = self.machine;
        let (generator, _, generator_memory_mb) = self.generator;
        let watched = self.processes.into_iter().map(|(_, gathered, _)| gathered);
        Readings {
            steal_share: first.zip(last).map_or(0.0, |(first, last)| last.steal_share(&first)),
            watched: watched.chain([machine, generator]).map(Gathered::into_watched).collect(),
            generator_memory_mb,
        }
    }
}

/// One exporter.
struct Exporter {
    caller: Caller,
    path: String,
    metrics: Vec<String>,
    gathered: Gathered,
    before: Option<(metrics::Reading, f64)>,
}

impl Exporter {
    fn new(name: &str, target: Target, path: String, metrics: Vec<String>) -> Self {
        let caller = Caller { target, tls: None, timeout: EXPORTER_TIME_MAX };
        Self { caller, path, metrics, gathered: Gathered::new(name), before: None }
    }

    fn look(&mut self, at_s: f64) {
        self.gathered.looks += 1;
        let why = match self.caller.send("GET", &self.path, &[("Accept", "text/plain")], b"") {
            Ok(reply) if reply.status == 200 => {
                return self.read(at_s, &String::from_utf8_lossy(&reply.body));
            }
            Ok(reply) => format!("it answers {}", reply.status),
            Err(error) => words(&error),
        };
        self.before = None;
        self.gathered.miss(why);
    }

    fn read(&mut self, at_s: f64, text: &str) {
        let reading = metrics::read(text, &self.metrics);
        if reading.is_empty() {
            return self.gathered.miss("it exports none of the known or requested metrics");
        }
        let before = self.before.as_ref().map(|(before, then)| (before, at_s - then));
        self.gathered.add(at_s, reading.values(before));
        self.before = Some((reading, at_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_the_mean_of_the_samples_within_it() {
        let points = [(0.0, 9.0), (1.0, 2.0), (2.0, 4.0), (3.0, 90.0)];

        assert_eq!(mean(&points, 0.0, 2.0), Some(3.0));
        assert_eq!(mean(&points, 5.0, 6.0), None);
    }

    #[test]
    fn a_watch_on_something_missing_does_not_fail_the_run() {
        let watches = [
            "nobody=no such program anywhere",
            "own=1",
            "deaf=http://127.0.0.1:1/",
            "database=web",
        ]
        .map(|text| Watch::parse(text).unwrap());
        let sampler = Sampler::start(&watches, Instant::now()).unwrap();
        thread::sleep(Duration::from_millis(1_200));

        let seen = sampler.stop();

        let of = |name: &str| seen.watched.iter().find(|watched| watched.name == name).unwrap();
        assert!(of("nobody").trouble.starts_with("there was no such process"), "{seen:?}");
        assert!(!of("deaf").trouble.is_empty());
        assert_eq!((of("database").within.as_str(), of("database").trouble.as_str()), ("web", ""));
        let memory = of(GENERATOR).series.iter().find(|series| series.name == "memory_mb").unwrap();
        assert!(!memory.points.is_empty() && memory.points.iter().all(|(_, mb)| *mb > 0.0));
        assert!(of(MACHINE).series.iter().any(|series| series.name == "cpu_percent"));
        assert!(seen.generator_memory_mb > 0.0 && (0.0..=1.0).contains(&seen.steal_share));
        assert_eq!(seen.watched.last().unwrap().name, GENERATOR);
    }
}
