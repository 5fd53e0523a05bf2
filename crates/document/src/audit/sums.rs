//! Tables as counts and order-independent sums of their rows.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use homeroom_store::{DocumentId, Edge, KindId, NaturalKey, Snapshot, StoreError, Tie};

/// Number of rows and a sum over them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, row: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

/// Sums of the rows that documents should have, or of the stored rows.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Ties, by label.
    ties: BTreeMap<KindId, Sum>,
    /// Edges, by the kind of the referring document.
    edges: BTreeMap<KindId, Sum>,
    aliases: Sum,
}

impl Sums {
    pub(super) fn tie(&mut self, tie: &Tie, via: i64) {
        self.ties.entry(tie.label).or_default().add(&(tie, via));
    }

    pub(super) fn edge(&mut self, edge: Edge) {
        self.edges.entry(edge.kind).or_default().add(&edge);
    }

    pub(super) fn alias(&mut self, id: DocumentId, key: NaturalKey) {
        self.aliases.add(&(id.0, key));
    }
}

/// Returns the sums of the stored rows.
pub(super) fn stored(snapshot: &Snapshot) -> Result<Sums, StoreError> {
    let mut sums = Sums::default();
    let mut last = None;
    loop {
        let page = snapshot.ties(last)?;
        for (tie, via) in &page {
            sums.tie(tie, *via);
        }
        last = page.last().copied();
        if last.is_none() {
            break;
        }
    }
    let mut last = None;
    loop {
        let page = snapshot.edges(last)?;
        for edge in &page {
            sums.edge(*edge);
        }
        last = page.last().copied();
        if last.is_none() {
            break;
        }
    }
    let mut last = 0;
    loop {
        let page = snapshot.aliases(last)?;
        for (id, key) in &page {
            sums.alias(DocumentId(*id), *key);
        }
        match page.last() {
            Some((id, _)) => last = *id,
            None => return Ok(sums),
        }
    }
}

/// Describes faults in the ties and edges of a kind. Ties of a kind that the model does not have
/// belong to an extension that is no longer served; edges can be checked without the model.
pub(super) fn differences(
    name: &str,
    kind: KindId,
    is_known: bool,
    expected: &Sums,
    found: &Sums,
) -> Vec<String> {
    let of = |sums: &BTreeMap<KindId, Sum>| sums.get(&kind).copied().unwrap_or_default();
    let mut problems = vec![];
    let (expected_ties, found_ties) = (of(&expected.ties), of(&found.ties));
    if is_known && expected_ties != found_ties {
        problems.push(format!(
            "the {} ties of '{name}' do not match the {} that the documents imply",
            found_ties.count, expected_ties.count
        ));
    }
    let (expected_edges, found_edges) = (of(&expected.edges), of(&found.edges));
    if expected_edges != found_edges {
        problems.push(format!(
            "the {} edges of documents of '{name}' do not match the {} that the documents imply",
            found_edges.count, expected_edges.count
        ));
    }
    problems
}

/// Describes rows whose kind or label has no name.
pub(super) fn strangers(known: &[KindId], found: &Sums) -> Vec<String> {
    let all = [("ties", &found.ties), ("edges", &found.edges)];
    let mut problems = vec![];
    for (what, sums) in all {
        for (kind, sum) in sums.iter().filter(|(kind, _)| !known.contains(kind)) {
            problems
                .push(format!("{} {what} are of kind {}, which has no name", sum.count, kind.0));
        }
    }
    problems
}

/// Describes faults in the identities under abstract bases.
pub(super) fn wrong_aliases(expected: &Sums, found: &Sums) -> Option<String> {
    (expected.aliases != found.aliases).then(|| {
        format!(
            "the {} identities under abstract bases do not match the {} that the documents imply",
            found.aliases.count, expected.aliases.count
        )
    })
}
