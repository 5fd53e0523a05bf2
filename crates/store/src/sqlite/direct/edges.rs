//! Edges between documents, in the order of the table that they are written to.
//!
//! Documents are created in the order of their levels, but edges are kept by their targets. Each of
//! them would be written to another page. So they are sorted first: in memory, and if there are too
//! many for that, in runs on disk that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::id::Uuid;
use crate::sqlite::recent::{Edge, pack, unpack};

/// Most edges in memory: 64 megabytes.
const EDGES_MAX: usize = 4 << 20;
/// Fewest edges that are worth a second thread.
const THREADS_FROM: usize = 100_000;
/// Edges that are being collected.
pub(super) struct Edges {
    /// Where runs are written.
    folder: PathBuf,
    /// Packed edges, in any order.
    unsorted: Vec<u128>,
    unsorted_max: usize,
    /// Sorted edges on disk.
    runs: Vec<File>,
}

impl Edges {
    /// Collects edges; runs are written to files without names on the folder's disk.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), unsorted: vec![], unsorted_max: EDGES_MAX, runs: vec![] }
    }

    /// Adds an edge.
    pub(super) fn add(&mut self, edge: Edge) -> io::Result<()> {
        if self.unsorted.len() >= self.unsorted_max {
            self.write_run()?;
        }
        self.unsorted.push(pack(edge));
        Ok(())
    }

    /// Calls `take` with every edge, in order.
    pub(super) fn each_sorted<E: From<io::Error>>(
        mut self,
        mut take: impl FnMut(Edge) -> Result<(), E>,
    ) -> Result<(), E> {
        sort(&mut self.unsorted);
        let mut sources: Vec<Source> = self.runs.into_iter().map(Source::file).collect();
        sources.push(Source::Memory(self.unsorted.into_iter()));
        if let [Source::Memory(edges)] = sources.as_mut_slice() {
            return edges.map(unpack).try_for_each(take);
        }
        let mut heads = BinaryHeap::with_capacity(sources.len());
        for (at, source) in sources.iter_mut().enumerate() {
            heads.extend(source.next()?.map(|edge| Reverse((edge, at))));
        }
        while let Some(Reverse((edge, at))) = heads.pop() {
            take(unpack(edge))?;
            heads.extend(sources[at].next()?.map(|edge| Reverse((edge, at))));
        }
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        sort(&mut self.unsorted);
        let mut out = BufWriter::with_capacity(1 << 20, nameless(&self.folder)?);
        for edge in self.unsorted.drain(..) {
            out.write_all(&edge.to_le_bytes())?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }
}

/// Sorted edges, from the first on.
enum Source {
    Memory(std::vec::IntoIter<u128>),
    File(BufReader<File>),
}

impl Source {
    fn file(run: File) -> Self {
        Self::File(BufReader::with_capacity(1 << 18, run))
    }

    fn next(&mut self) -> io::Result<Option<u128>> {
        let run = match self {
            Self::Memory(edges) => return Ok(edges.next()),
            Self::File(run) => run,
        };
        let mut bytes = [0; 16];
        match run.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(u128::from_le_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Makes a file that is gone when it is closed, even by a crash.
fn nameless(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!(".homeroom-edges-{}", Uuid::new()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn sort(edges: &mut [u128]) {
    if edges.len() < THREADS_FROM {
        return edges.sort_unstable();
    }
    let (left, right) = edges.split_at_mut(edges.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| left.sort_unstable());
        right.sort_unstable();
    });
    merge(edges);
}

/// Merges two sorted halves.
#[expect(clippy::stable_sort_primitive, reason = "only the stable sort merges what is sorted")]
fn merge(edges: &mut [u128]) {
    edges.sort();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::recent::NUMBER_MAX;

    #[test]
    fn edges_are_sorted_in_memory_and_on_disk() {
        let last = NUMBER_MAX;
        let mut expected: Vec<Edge> = (0..150_000_i64)
            .zip((0..3).cycle())
            .map(|(at, kind)| ((at * 7_919) % 101, kind, at))
            .chain([(last, u16::MAX, last)])
            .collect();
        for unsorted_max in [EDGES_MAX, 40_000, 150_001] {
            let mut edges = Edges { unsorted_max, ..Edges::new(&std::env::temp_dir()) };
            for edge in &expected {
                edges.add(*edge).unwrap();
            }
            let mut found = vec![];

            let done = edges.each_sorted(|edge| {
                found.push(edge);
                Ok::<_, io::Error>(())
            });

            done.unwrap();
            expected.sort_unstable();
            assert!(found == expected, "{unsorted_max}");
        }
    }
}
