//! The queues of a store: their names, how full they are, and how they refuse.

use std::fmt;

/// A queue of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueName {
    /// Plans that wait for the writer.
    Writes,
    /// Bounded lists, counts and short statements that wait for a thread or a connection.
    Lists,
    /// Filters without an index that wait for one.
    Scans,
    /// PostgreSQL: statements that read index entries, and reads of documents, that the database has not answered.
    Probes,
    /// PostgreSQL: connections on which lists are running.
    ListConnections,
    /// PostgreSQL: connections on which filters without an index are running.
    ScanConnections,
}

impl QueueName {
    /// Returns the name in metrics, refusals and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "store_writes",
            Self::Lists => "store_lists",
            Self::Scans => "store_scans",
            Self::Probes => "store_probes",
            Self::ListConnections => "store_list_connections",
            Self::ScanConnections => "store_scan_connections",
        }
    }

    /// Returns what is in the queue, as a refusal words it.
    fn what(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Lists => "lists and counts",
            Self::Scans => "filters without an index",
            Self::Probes => "reads of single documents",
            Self::ListConnections => "connections for lists",
            Self::ScanConnections => "connections for filters without an index",
        }
    }
}

/// How full a queue is, and how often it has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLoad {
    /// The queue.
    pub queue: QueueName,
    /// The most that it takes.
    pub size: u64,
    /// What is in it.
    pub used: u64,
    /// How many it has refused, because it was full or because their turn came too late.
    pub refused: u64,
}

/// Why a queue refused a piece of work, of which nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// It was full.
    Full(QueueName),
    /// The turn of the work came after its deadline.
    Late(QueueName),
    /// PostgreSQL: the rows that decide on rights changed again and again while they were read.
    Changing,
    /// SQLite: another process has the file locked at the moment.
    Locked,
}

impl Busy {
    /// Returns the name of the queue, if it is one.
    pub fn queue(self) -> Option<&'static str> {
        match self {
            Self::Full(queue) | Self::Late(queue) => Some(queue.name()),
            Self::Changing | Self::Locked => None,
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(queue) => write!(
                f,
                "As many {} wait for the store as may (budget {}).",
                queue.what(),
                queue.name()
            ),
            Self::Late(queue) => write!(
                f,
                "Among the {} that wait for the store, this request's turn came too late; nothing \
                 was done (budget {}).",
                queue.what(),
                queue.name()
            ),
            Self::Changing => {
                f.write_str("What this request depends on was changing all the time.")
            }
            Self::Locked => f.write_str("Another process uses the store's file at this moment."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_queue() {
        for busy in [Busy::Full(QueueName::Writes), Busy::Late(QueueName::Writes)] {
            assert!(busy.to_string().ends_with("(budget store_writes)."), "{busy}");
        }
    }
}
