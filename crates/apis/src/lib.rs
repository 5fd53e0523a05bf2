//! Published APIs.
mod transform;
pub use transform::{NotJson, Operation, OperationError, Transform, OPERATIONS_MAX};
