//! The edges of a store, to compare one store with another.

use std::collections::HashMap;

use homeroom_store::{DocumentId, Edge, NaturalKey, Snapshot, SnapshotOptions, Store, StoreError};

/// Returns all edges in order: by target, kind and source.
///
/// # Errors
///
/// Those of a snapshot.
pub fn edges_by_number(store: &Store) -> Result<Vec<Edge>, StoreError> {
    all(&store.snapshot_blocking(&SnapshotOptions::default())?)
}

fn all(snapshot: &Snapshot) -> Result<Vec<Edge>, StoreError> {
    let mut all: Vec<Edge> = vec![];
    loop {
        let page = snapshot.edges(all.last().copied())?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Returns the identities of the two documents of each edge, target first, in order.
///
/// # Errors
///
/// Those of a snapshot.
pub fn edges(store: &Store) -> Result<Vec<[NaturalKey; 2]>, StoreError> {
    let snapshot = store.snapshot_blocking(&SnapshotOptions::default())?;
    let all = all(&snapshot)?;
    let mut ids: Vec<DocumentId> = all.iter().flat_map(|edge| [edge.target, edge.source]).collect();
    ids.sort_unstable();
    ids.dedup();
    let identities = snapshot.identities(&ids)?;
    let keys: HashMap<DocumentId, NaturalKey> =
        identities.into_iter().map(|one| (one.id, one.key)).collect();
    let mut edges: Vec<_> =
        all.iter().map(|edge| [keys[&edge.target], keys[&edge.source]]).collect();
    edges.sort_unstable_by_key(|[target, source]| (target.0, source.0));
    Ok(edges)
}
