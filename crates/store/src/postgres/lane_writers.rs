//! The writers of the lanes: one of each lane that is used, with a connection of its own.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::StoreError;
use crate::lane::Lane;
use crate::postgres::writer::{Setup, Writer};
use crate::queue::Queue;
use crate::waiting::QueueLoad;

/// The queues of the lanes, each with its writer.
pub(super) struct LaneWriters {
    setup: Setup,
    /// Most jobs that may wait in each.
    length: usize,
    /// Number of jobs of all queues that are not answered yet.
    waiting: Arc<AtomicUsize>,
    /// [`None`] once they are closed.
    open: Mutex<Option<HashMap<Lane, Arc<Queue>>>>,
}

impl LaneWriters {
    pub(super) fn new(setup: Setup, length: usize, waiting: Arc<AtomicUsize>) -> Self {
        Self { setup, length, waiting, open: Mutex::new(Some(HashMap::new())) }
    }

    /// Returns the queue of a lane. Its writer starts with the first use.
    pub(super) fn queue(&self, lane: Lane) -> Result<Arc<Queue>, StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_mut().ok_or(StoreError::Closed)?;
        if let Some(queue) = open.get(&lane) {
            return Ok(Arc::clone(queue));
        }
        let writer = Writer::new(self.setup.clone(), Some(lane), None)?;
        let (waiting, answered) = (Arc::clone(&self.waiting), Arc::clone(&self.waiting));
        let work = move |arrivals| writer.work(&arrivals, &answered);
        let queue = Arc::new(Queue::start(self.length, waiting, work)?);
        open.insert(lane, Arc::clone(&queue));
        Ok(queue)
    }

    /// Returns a queue's figures with those of the lanes added.
    pub(super) fn added_to(&self, own: QueueLoad) -> QueueLoad {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().flat_map(HashMap::values).fold(own, |sum, queue| {
            let QueueLoad { size, used, refused, .. } = queue.load();
            let (size, used) = (sum.size + size, sum.used + used);
            QueueLoad { size, used, refused: sum.refused + refused, ..sum }
        })
    }

    /// Finishes the accepted jobs, then accepts no more.
    pub(super) fn close(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        open.into_iter().flatten().for_each(|(_, queue)| queue.close());
    }
}
