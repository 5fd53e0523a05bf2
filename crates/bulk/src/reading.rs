//! Reads and checks the records of a load on several threads, and hands them on in their order.
//!
//! The order is that of levels, then files, then places within a file. Each run of a file is read
//! by one thread; a few runs are read ahead. A run is handed on in pieces, so that memory does not
//! grow with its length.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;

use homeroom_document::Catalog;

use crate::checked::{Checked, check};
use crate::checkpoint::Position;
use crate::error::LoadError;
use crate::place::Malformed;
use crate::sources::Sources;
use crate::survey::{Run, Survey};
use crate::xml::ReadError;

/// Most threads that read.
const THREADS_MAX: usize = 8;
/// Number of records that are handed on together.
const PIECE: usize = 256;
/// Most pieces of a run that wait to be taken.
const PIECES_MAX: usize = 4;

/// In which order runs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// What is referred to comes first. Runs that end before the position are left out.
    Forward(Option<Position>),
    /// What is referred to comes last.
    Backward,
}

/// What is read, one after the other.
#[derive(Debug)]
pub(crate) enum Read {
    /// Records, in their order.
    Records(Vec<Checked>),
    /// The file does not match its survey; nothing more of this level is read from it.
    Changed(u32, Malformed),
    /// All records of a level have been read.
    EndOfLevel,
}

/// A run to be read, and where its records go.
struct Task {
    file: u32,
    run: Run,
    out: SyncSender<Result<Vec<Checked>, Malformed>>,
}

/// Records of a run that arrive from a thread.
struct Arriving {
    file: u32,
    level: u16,
    records: Receiver<Result<Vec<Checked>, Malformed>>,
}

/// Reads all records, and calls `take` in their order.
///
/// # Errors
///
/// The error of `take`.
pub(crate) fn read_all(
    sources: &Sources<'_>,
    catalog: &Catalog,
    is_strict: bool,
    direction: Direction,
    take: &mut dyn FnMut(Read) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let threads = threads();
    let (tasks, to_do) = sync_channel::<Task>(2 * threads);
    let to_do = Mutex::new(to_do);
    std::thread::scope(|scope| {
        // Dropped before the threads are joined, so that they end.
        let tasks = tasks;
        for _ in 0..threads {
            start(scope, || read_runs(sources, catalog, is_strict, &to_do))?;
        }
        let order: Box<dyn Iterator<Item = (u32, Run)>> = match direction {
            Direction::Forward(from) => Box::new(sources.order().filter(move |(file, run)| {
                from.is_none_or(|from| {
                    Position { level: run.level, file: *file, offset: run.end } > from
                })
            })),
            Direction::Backward => {
                let order: Vec<_> = sources.order().collect();
                Box::new(order.into_iter().rev())
            }
        };
        hand_on(order, &tasks, 2 * threads, take)
    })
}

/// Surveys all files on several threads, and calls `take` with each survey in the order of the
/// files.
///
/// # Errors
///
/// The error of `take`.
pub(crate) fn survey_all(
    sources: &Sources<'_>,
    take: &mut dyn FnMut(u32, Result<Survey, Malformed>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let count = u32::try_from(sources.files.len()).unwrap_or(u32::MAX);
    let (next, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let (out, surveys) = sync_channel(threads());
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            let out = out.clone();
            start(scope, || {
                let out = out;
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || out.send((index, sources.survey(index))).is_err() {
                        return;
                    }
                }
            })?;
        }
        drop(out);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, survey) in surveys {
            early.insert(index, survey);
            while let Some(survey) = early.remove(&expected) {
                take(expected, survey).inspect_err(|_| is_over.store(true, Ordering::Relaxed))?;
                expected += 1;
            }
        }
        Ok(())
    })
}

/// Starts a thread that reads.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> Result<(), LoadError> {
    let worker = std::thread::Builder::new().name("load-reader".into());
    let spawned = worker.spawn_scoped(scope, work);
    spawned.map(drop).map_err(|error| LoadError::Thread(error.to_string()))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Gives the threads their runs and takes the records, in order.
fn hand_on(
    mut order: impl Iterator<Item = (u32, Run)>,
    tasks: &SyncSender<Task>,
    ahead: usize,
    take: &mut dyn FnMut(Read) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut arriving: VecDeque<Arriving> = VecDeque::new();
    let mut changed: Option<(u32, u16)> = None;
    let mut level = None;
    loop {
        while arriving.len() < ahead
            && let Some((file, run)) = order.next()
        {
            let (out, records) = sync_channel(PIECES_MAX);
            let task = Task { file, run, out };
            tasks.send(task).map_err(|_| LoadError::Thread("a reader ended early".into()))?;
            arriving.push_back(Arriving { file, level: run.level, records });
        }
        let Some(next) = arriving.pop_front() else { break };
        if level.replace(next.level).is_some_and(|level| level != next.level) {
            take(Read::EndOfLevel)?;
        }
        let is_changed = changed == Some((next.file, next.level));
        for read in next.records {
            match read {
                Ok(_) if is_changed => {}
                Ok(records) => take(Read::Records(records))?,
                Err(malformed) => {
                    changed = Some((next.file, next.level));
                    if !is_changed {
                        take(Read::Changed(next.file, malformed))?;
                    }
                }
            }
        }
    }
    if level.is_some() { take(Read::EndOfLevel) } else { Ok(()) }
}

/// Reads runs until there are no more.
fn read_runs(
    sources: &Sources<'_>,
    catalog: &Catalog,
    is_strict: bool,
    to_do: &Mutex<Receiver<Task>>,
) {
    loop {
        let task = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { file, run, out }) = task else { return };
        let mut piece = Vec::with_capacity(PIECE);
        let read = sources.each(file, run, &mut |record| {
            piece.push(check(catalog, record, is_strict));
            if piece.len() == PIECE {
                let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE));
                // Nobody takes them once the load has ended.
                out.send(Ok(full)).map_err(|_| LoadError::Stopped)?;
            }
            Ok(())
        });
        if !piece.is_empty() && out.send(Ok(piece)).is_err() {
            return;
        }
        match read {
            Ok(()) => {}
            Err(ReadError::Malformed(malformed)) => _ = out.send(Err(malformed)),
            Err(ReadError::Load(_)) => return,
        }
    }
}
