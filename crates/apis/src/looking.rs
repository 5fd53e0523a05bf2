//! Looks at the files of secrets on a thread of its own: one that does not answer, such as that of a file system that
//! is gone, keeps nobody else waiting.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use crate::secret::{Seen, secret, seen};

/// The longest wait for all files; what comes later is told when somebody asks again.
const LOOK_TIME: Duration = Duration::from_millis(250);
/// The longest wait for the files of a change.
const CHANGE_TIME: Duration = Duration::from_secs(10);

/// The states of files, by the values that name them. One that is not there has not answered.
pub(crate) type States = HashMap<String, Seen>;

/// Looks at files, once at a time.
#[derive(Debug, Default)]
pub(crate) struct Looking(Mutex<Option<Look>>);

/// A look that may not have ended.
#[derive(Debug)]
struct Look {
    states: oneshot::Receiver<States>,
    is_late: bool,
}

impl Looking {
    /// Returns the states of files, after those have been read whose state is not the one that is known. It
    /// returns none as long as one does not answer.
    pub(crate) async fn states(&self, known: Vec<(String, Option<Seen>)>) -> States {
        let mut current = self.0.lock().await;
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
}

/// Reads files, and returns whether all have answered in time.
pub(crate) async fn answer_in_time(files: Vec<String>) -> bool {
    if files.is_empty() {
        return true;
    }
    let all = files.into_iter().map(|file| (file, None)).collect();
    timeout(CHANGE_TIME, look(all)).await.is_ok()
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
    // A thread of the runtime would keep a server from stopping.
    if let Err(error) = std::thread::Builder::new().name("secrets".into()).spawn(look) {
        tracing::warn!(%error, "there is no thread to look at the files of secrets");
    }
    states
}
