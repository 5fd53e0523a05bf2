//! Changes JSON bodies: members are renamed, added, dropped and moved, and every other byte stays.
//!
//! A list of operations is compiled once, when an API is published. A body is scanned and not read
//! into a tree: only the members that an operation names are looked at, and operations that follow
//! each other are done in one walk where they can be.

mod alone;
mod compiled;
mod edit;
mod object;
mod plan;
mod pointer;
pub(crate) mod scan;
mod unfit;
mod walk;

use std::borrow::Cow;

use compiled::{Change, Compiled, Name};
use edit::applied;
use plan::Group;
use pointer::Step;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use scan::NotJson;
pub use unfit::Unfit;

/// Most operations of a transform.
pub const OPERATIONS_MAX: usize = 100;

/// An operation as a file states it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// Gives a member another name; it keeps its place and the bytes of its value.
    Rename {
        /// The member, as a JSON pointer in which `*` is every element of an array.
        path: String,
        /// Its new name.
        to: String,
    },
    /// Adds a member, or replaces its value where it exists.
    Add {
        /// The member.
        path: String,
        /// Its value.
        value: Value,
    },
    /// Removes a member or an element.
    Drop {
        /// What is removed.
        path: String,
    },
    /// Takes a value from one place to another within the same element.
    Move {
        /// Where it is.
        path: String,
        /// Where it shall be; what comes up to the last `*` is the same as in `path`.
        to: String,
    },
}

/// An operation cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {reason}")]
pub struct OperationError {
    /// The member of the operation that is wrong.
    pub member: &'static str,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A compiled list of operations, which are done one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    operations: Vec<Compiled>,
    groups: Vec<Group>,
}

impl Transform {
    /// Compiles operations.
    ///
    /// # Errors
    ///
    /// The number of the first that cannot be compiled, and why.
    pub fn new(operations: &[Operation]) -> Result<Self, (usize, OperationError)> {
        let compile = |(number, operation)| compiled(operation).map_err(|error| (number, error));
        let operations: Vec<Compiled> =
            operations.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        let groups = plan::groups(&operations);
        Ok(Self { operations, groups })
    }

    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Changes a body. Places that it does not have are passed over.
    ///
    /// # Errors
    ///
    /// [`Unfit`] for a body that is not JSON, whatever the operations are, and for one in which a member
    /// that they name is there twice: readers differ on which of them counts.
    ///
    /// Source: RFC 8259 §4.
    pub fn apply<'a>(&self, body: &'a [u8]) -> Result<Cow<'a, [u8]>, Unfit> {
        let mut changed = Cow::Borrowed(body);
        let mut is_json = false;
        for group in &self.groups {
            let next = group.together.as_ref().and_then(|root| {
                let is_text = is_json || std::str::from_utf8(&changed).is_ok();
                let edits = is_text.then(|| walk::walk(root, &changed).ok()).flatten()?;
                Some((!edits.is_empty()).then(|| applied(&changed, &edits)))
            });
            match next {
                Some(next) => changed = next.map_or(changed, Cow::Owned),
                None => {
                    if !is_json {
                        scan::check(body)?;
                    }
                    changed = self.one_by_one(group, changed)?;
                }
            }
            is_json = true;
        }
        if !is_json {
            scan::check(body)?;
        }
        Ok(changed)
    }

    /// Does the operations of a group one after the other, as if each were all that is to be done.
    fn one_by_one<'a>(
        &self,
        group: &Group,
        mut changed: Cow<'a, [u8]>,
    ) -> Result<Cow<'a, [u8]>, Unfit> {
        for operation in &self.operations[group.operations.clone()] {
            let edits = operation.edits(&changed)?;
            if !edits.is_empty() {
                changed = Cow::Owned(applied(&changed, &edits));
            }
        }
        Ok(changed)
    }

    /// Returns about how often a body is read: one that does not fit is read for each operation.
    pub(crate) fn passes(&self) -> usize {
        let is_checked_by_walking =
            self.groups.first().is_some_and(|first| first.together.is_some());
        let in_groups = self.groups.len() + usize::from(!is_checked_by_walking);
        in_groups.max(self.operations.len() / 8)
    }
}

fn compiled(operation: &Operation) -> Result<Compiled, OperationError> {
    let read = |member, text: &str| {
        pointer::read(text).map_err(|reason| OperationError { member, reason })
    };
    let split = |steps: Vec<Step>| {
        let places = steps.iter().rposition(|step| *step == Step::Each).map_or(0, |last| last + 1);
        let within = steps[places..].iter().filter_map(|step| match step {
            Step::Named(name) => Some(name.clone()),
            Step::Each => None,
        });
        (steps[..places].to_vec(), within.collect::<Vec<_>>())
    };
    let wrong = |member, reason| Err(OperationError { member, reason });
    let (path, change) = match operation {
        Operation::Rename { path, to } => {
            // A pointer to the same parent means its last step.
            let own = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let name = match to.strip_prefix(own).and_then(|rest| rest.strip_prefix('/')) {
                Some(name) if !name.contains('/') => name,
                _ if to.starts_with('/') => {
                    return wrong("to", "a new name has no path; use `move` for another place");
                }
                _ => to,
            };
            (path, Change::Rename(Name::new(name)))
        }
        Operation::Add { path, value } => {
            (path, Change::Add(value.to_string().into_bytes(), nesting(value)))
        }
        Operation::Drop { path } => (path, Change::Drop),
        Operation::Move { path, to } => {
            let (places, target) = split(read("to", to)?);
            let (own_places, own) = split(read("path", path)?);
            if places != own_places {
                return wrong("to", "what comes before the last * must be the same as in `path`");
            }
            if target.starts_with(&own) || own.starts_with(&target) {
                return wrong("to", "a value cannot be moved into itself or over what contains it");
            }
            (path, Change::Move(target))
        }
    };
    let (places, within) = split(read("path", path)?);
    if within.is_empty() && matches!(change, Change::Rename(_) | Change::Move(_)) {
        return wrong("path", "it must end in the name of a member");
    }
    Ok(Compiled { places, within, change })
}

/// Returns how many arrays and objects are within each other in a value.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests;
