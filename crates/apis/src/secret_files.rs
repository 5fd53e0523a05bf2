//! Looks at the files of secrets on a thread of its own: one that does not answer, such as that of a file system that
//! is gone, keeps nobody else waiting.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, oneshot, watch};
use tokio::time::timeout;

use crate::secret::{Seen, secret, seen};

/// The longest wait for all files; what comes later is told when somebody asks again.
const LOOK_TIME: Duration = Duration::from_millis(250);
/// The longest wait for the files of a change.
const CHANGE_TIME: Duration = Duration::from_secs(10);

/// The states of files, by the values that name them. One that is not there has not answered.
pub(crate) type States = HashMap<String, Seen>;

/// Looks at files: at all of them once at a time, and at those of changes each once at a time.
#[derive(Debug, Default)]
pub(crate) struct SecretFiles {
    current: Mutex<Option<Look>>,
    /// The files that changes are reading.
    reading: Arc<watch::Sender<BTreeSet<String>>>,
}

/// A look that may not have ended.
#[derive(Debug)]
struct Look {
    states: oneshot::Receiver<States>,
    is_late: bool,
}

impl SecretFiles {
    /// Returns the states of files, after those have been read whose state is not the one that is known. It
    /// returns none as long as one does not answer.
    pub(crate) async fn states(&self, known: Vec<(String, Option<Seen>)>) -> States {
        let mut current = self.current.lock().await;
        if known.is_empty() && current.is_none() {
            return States::new();
        }
        let look = current.get_or_insert_with(|| Look { states: look(known), is_late: false });
        match timeout(LOOK_TIME, &mut look.states).await {
            Ok(states) => {
                *current = None;
                states.unwrap_or_default()
            }
            Err(_) => {
                if !look.is_late {
                    tracing::warn!("files of secrets do not answer; changes of any are not seen");
                }
                look.is_late = true;
                States::new()
            }
        }
    }

    /// Reads the files of a change, and returns whether all have answered in time.
    pub(crate) async fn answer_in_time(&self, files: BTreeSet<String>) -> bool {
        self.answer_within(CHANGE_TIME, files).await
    }

    async fn answer_within(&self, time: Duration, files: BTreeSet<String>) -> bool {
        if files.is_empty() {
            return true;
        }
        let read = async {
            let claim = self.claim(files).await;
            let (left, reading) = (Arc::clone(&claim.left), Arc::clone(&claim.reading));
            let (done, read) = oneshot::channel();
            let read_all = move || {
                // The lock is not held while a file is read.
                while let Some(file) = next(&left) {
                    _ = secret(&file);
                    reading.send_modify(|all| _ = all.remove(&file));
                }
                _ = done.send(());
            };
            on_a_thread("secrets-change", read_all);
            _ = read.await;
        };
        timeout(time, read).await.is_ok()
    }

    /// Waits until no other change reads any of these files: one that does not answer holds one thread, however many
    /// changes name it.
    async fn claim(&self, files: BTreeSet<String>) -> Claim {
        let mut reading = self.reading.subscribe();
        loop {
            let is_claimed = self.reading.send_if_modified(|all| {
                let is_free = all.is_disjoint(&files);
                if is_free {
                    all.extend(files.iter().cloned());
                }
                is_free
            });
            if is_claimed {
                let left = Arc::new(StdMutex::new(files));
                return Claim { left, reading: Arc::clone(&self.reading) };
            }
            _ = reading.changed().await;
        }
    }
}

/// Files that a change is reading, of which those that are left are free again when nobody waits for them any more.
struct Claim {
    left: Arc<StdMutex<BTreeSet<String>>>,
    reading: Arc<watch::Sender<BTreeSet<String>>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        self.reading.send_if_modified(|all| {
            all.retain(|file| !left.contains(file));
            !left.is_empty()
        });
    }
}

fn next(left: &StdMutex<BTreeSet<String>>) -> Option<String> {
    left.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
}

fn look(known: Vec<(String, Option<Seen>)>) -> oneshot::Receiver<States> {
    let (done, states) = oneshot::channel();
    let look = move || {
        let states = known.into_iter().filter_map(|(file, before)| {
            let now = seen(&file)?;
            if before != Some(now) {
                // Whoever needs the secret reads it again, from a file that answers.
                _ = secret(&file);
            }
            Some((file, now))
        });
        _ = done.send(states.collect());
    };
    on_a_thread("secrets", look);
    states
}

/// Does something that may never end: a thread of the runtime would keep a server from stopping.
fn on_a_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name(name.into()).spawn(work) {
        tracing::warn!(%error, "there is no thread to look at the files of secrets");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many threads read files of changes.
    fn threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "secrets-change").count()
    }

    #[tokio::test]
    async fn a_file_that_does_not_answer_holds_one_thread_and_keeps_no_other_file_waiting() {
        let folder = homeroom_testkit::Folder::new();
        let pipe = folder.path().join("a-pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let place = |path: &std::path::Path| format!("file:{}", path.display());
        let good = place(&folder.write("good", "secret"));
        let both = || BTreeSet::from([place(&pipe), format!("{good}-later"), good.clone()]);
        let looking = SecretFiles::default();

        for _ in 0..5 {
            let time = Duration::from_millis(100);
            assert!(!looking.answer_within(time, both()).await, "a pipe without a writer");
        }
        assert_eq!(threads(), 1);
        assert!(looking.answer_within(CHANGE_TIME, BTreeSet::from([good.clone()])).await);

        // Whoever waits is answered as soon as somebody writes.
        let writing = pipe.clone();
        let writer = tokio::task::spawn_blocking(move || std::fs::write(writing, "late").unwrap());
        writer.await.unwrap();
        std::fs::remove_file(&pipe).unwrap();
        std::fs::write(&pipe, "a file now").unwrap();
        assert!(looking.answer_within(CHANGE_TIME, both()).await);
        assert!(looking.reading.borrow().is_empty());
    }
}
