//! The documents of a store.

use std::sync::Arc;

use homeroom_store::Store;

use crate::catalog::Catalog;

/// A store with the model that is bound to it.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The model, bound to the store.
    pub catalog: Arc<Catalog>,
    /// The store.
    pub store: Store,
}
