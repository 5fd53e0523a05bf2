//! A client that reads, creates, updates and deletes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use homeroom_store::Store;

use crate::figures::Figures;
use crate::work::{Work, random};

/// What the requests of the mix are called, in the order of [`SHARES`].
pub const NAMES: [&str; 4] = ["reads", "creates", "updates", "deletes"];
/// How many of a hundred requests they are.
const SHARES: [u64; 4] = [60, 20, 15, 5];

/// A client of the mix. It reads and updates documents that were there at the start, any of them, and deletes
/// those that it has created; while there is none of these, it reads.
pub struct Client {
    number: u64,
    own: Vec<u64>,
}

impl Client {
    pub fn new(number: u64) -> Self {
        Self { number, own: vec![] }
    }

    /// Sends one request after the other until the end.
    pub async fn run(
        mut self,
        store: &Store,
        work: &Work,
        next: &AtomicU64,
        end: Instant,
        figures: &Arc<Figures>,
    ) -> Result<(), String> {
        let mut sent = self.number << 40;
        while Instant::now() < end {
            sent += 1;
            let (drawn, other) = (random("mix", sent), random("which", sent));
            let asked = Instant::now();
            let kind = match (kind(drawn % 100), self.own.len()) {
                (3, 0) => 0,
                (kind, _) => kind,
            };
            match kind {
                0 => work.read(store, work.any(other)).await?,
                1 => {
                    let number = work.create(store, next).await?;
                    self.own.push(number);
                }
                2 => work.update(store, work.any(other), other).await?,
                _ => {
                    let at = usize::try_from(other % self.own.len() as u64);
                    let number = self.own.swap_remove(at.map_err(|error| error.to_string())?);
                    work.delete(store, number).await?;
                }
            }
            figures.kinds[kind].1.note(asked);
        }
        Ok(())
    }
}

/// Returns which kind of request one of a hundred is.
fn kind(mut of_hundred: u64) -> usize {
    for (kind, share) in SHARES.into_iter().enumerate() {
        match of_hundred.checked_sub(share) {
            None => return kind,
            Some(rest) => of_hundred = rest,
        }
    }
    0
}
