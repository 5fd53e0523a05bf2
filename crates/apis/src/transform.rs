//! Changes JSON bodies: members are renamed, added, dropped and moved, and every other byte stays.
//!
//! A list of operations is compiled once, when an API is published. A body is scanned and not read
//! into a tree: only the members that an operation names are looked at.

mod edit;
mod pointer;
pub(crate) mod scan;
mod unfit;

use std::borrow::Cow;

use edit::{Edit, applied, remove, set};
use pointer::{Step, is_name};
use serde::{Deserialize, Serialize};

pub use scan::NotJson;
pub use unfit::Unfit;

/// Most operations of a transform.
pub const OPERATIONS_MAX: usize = 100;
/// Most members of a body whose places are kept, so that it need not be scanned once more.
const KEPT_MAX: usize = 1_000;

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
        value: serde_json::Value,
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
pub struct Transform(Vec<Compiled>);

/// An operation: the places that `*` leads to, and what is done in each.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Compiled {
    /// The steps up to the last `*`, with it.
    places: Vec<Step>,
    /// The steps within a place.
    within: Vec<String>,
    change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// The new name, as JSON writes it.
    Rename {
        name: String,
        written: Vec<u8>,
    },
    /// The value, as JSON writes it.
    Add(Vec<u8>),
    Drop,
    /// The steps within the same place.
    Move(Vec<String>),
}

impl Transform {
    /// Compiles operations.
    ///
    /// # Errors
    ///
    /// The number of the first that cannot be compiled, and why.
    pub fn new(operations: &[Operation]) -> Result<Self, (usize, OperationError)> {
        let compile = |(number, operation)| compiled(operation).map_err(|error| (number, error));
        operations.iter().enumerate().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        let first = self.renames_at_the_top();
        let (mut members, mut count) = (vec![], 0);
        scan::check(body, |member| {
            count += 1;
            if !first.is_empty() && members.len() < KEPT_MAX {
                members.push(member);
            }
        })?;
        let at_once = if count > members.len() { None } else { renamed(first, body, &members)? };
        let (mut changed, rest) = match at_once {
            Some(edits) if edits.is_empty() => (Cow::Borrowed(body), &self.0[first.len()..]),
            Some(edits) => (Cow::Owned(applied(body, &edits)), &self.0[first.len()..]),
            None => (Cow::Borrowed(body), &self.0[..]),
        };
        for operation in rest {
            let edits = operation.edits(&changed)?;
            if !edits.is_empty() {
                changed = Cow::Owned(applied(&changed, &edits));
            }
        }
        Ok(changed)
    }

    /// Returns how often a body is read at least.
    pub(crate) fn passes(&self) -> usize {
        1 + self.0.len() - self.renames_at_the_top().len()
    }

    /// Returns the operations in front that rename a member of the body itself, which are done at once.
    fn renames_at_the_top(&self) -> &[Compiled] {
        let is_one = |operation: &&Compiled| {
            let is_at_the_top = operation.places.is_empty() && operation.within.len() == 1;
            is_at_the_top && matches!(operation.change, Change::Rename { .. })
        };
        &self.0[..self.0.iter().take_while(is_one).count()]
    }
}

/// Returns the edits of operations that rename members of the body itself, which has these; [`None`] where a member
/// has to make room for a renamed one.
fn renamed(
    operations: &[Compiled],
    text: &[u8],
    members: &[scan::Member],
) -> Result<Option<Vec<Edit>>, Unfit> {
    // The new name of each that has one, and how it is written.
    let mut names: Vec<Option<(&str, &[u8])>> = vec![None; members.len()];
    for operation in operations {
        let (Change::Rename { name, written }, [old]) = (&operation.change, &operation.within[..])
        else {
            return Ok(None);
        };
        if old == name {
            continue;
        }
        let mut found = None;
        for (number, member) in members.iter().enumerate() {
            let is = |wanted: &str| match names[number] {
                Some((new, _)) => new == wanted,
                None => is_name(&text[member.name..member.name_end], wanted),
            };
            if is(name) {
                return Ok(None);
            }
            if is(old) && found.replace(number).is_some() {
                return Err(Unfit::Twice(old.clone()));
            }
        }
        if let Some(number) = found {
            names[number] = Some((name.as_str(), written.as_slice()));
        }
    }
    let edit = |(member, new): (&scan::Member, Option<(&str, &[u8])>)| {
        let (_, written) = new?;
        Some(Edit { from: member.name, to: member.name_end, bytes: written.to_vec() })
    };
    Ok(Some(members.iter().zip(names).filter_map(edit).collect()))
}

impl Compiled {
    /// Returns the edits of a body, in the order of their places.
    fn edits(&self, text: &[u8]) -> Result<Vec<Edit>, Unfit> {
        let mut edits = vec![];
        let root = scan::blank(text, 0);
        if let (Change::Drop, true, [parents @ .., Step::Each]) =
            (&self.change, self.within.is_empty(), &self.places[..])
        {
            each(text, root, 0, parents, &mut |at, depth| {
                if text[at] == b'[' {
                    let end = scan::value(text, at, depth)?;
                    edits.push(Edit { from: at, to: end, bytes: b"[]".to_vec() });
                }
                Ok(())
            })?;
            return Ok(edits);
        }
        each(text, root, 0, &self.places, &mut |at, depth| {
            self.change_place(text, at, depth, &mut edits)
        })?;
        Ok(edits)
    }

    fn change_place(
        &self,
        text: &[u8],
        at: usize,
        depth: usize,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Unfit> {
        match &self.change {
            Change::Rename { name, written } => {
                let Some((last, before)) = self.within.split_last() else { return Ok(()) };
                let Some(parent) = edit::find(text, at, depth, before)? else { return Ok(()) };
                rename(text, parent, depth + before.len(), last, (name, written), edits)
            }
            Change::Add(value) => {
                edits.extend(set(text, at, depth, &self.within, value)?);
                Ok(())
            }
            Change::Drop => {
                edits.extend(remove(text, at, depth, &self.within)?);
                Ok(())
            }
            Change::Move(to) => {
                let Some(from) = edit::find(text, at, depth, &self.within)? else { return Ok(()) };
                let value = &text[from..scan::value(text, from, depth)?];
                let end = scan::value(text, at, depth)?;
                let place = &text[at..end];
                let Some(gone) = remove(place, 0, depth, &self.within)? else { return Ok(()) };
                let without = applied(place, &[gone]);
                let Some(put) = set(&without, 0, depth, to, value)? else { return Ok(()) };
                let bytes = applied(&without, &[put]);
                edits.push(Edit { from: at, to: end, bytes });
                Ok(())
            }
        }
    }
}

/// Renames a member of the object at `at`, and removes another that has the new name already.
fn rename(
    text: &[u8],
    at: usize,
    depth: usize,
    old: &str,
    (name, written): (&str, &[u8]),
    edits: &mut Vec<Edit>,
) -> Result<(), Unfit> {
    if text[at] != b'{' || old == name {
        return Ok(());
    }
    let (mut members, mut found, mut is_twice) = (vec![], None, false);
    scan::members(text, at, depth, |member| {
        if is_name(&text[member.name..member.name_end], old) {
            is_twice |= found.replace(members.len()).is_some();
        }
        members.push(member);
    })?;
    if is_twice {
        return Err(Unfit::Twice(old.to_owned()));
    }
    let Some(found) = found else { return Ok(()) };
    let renamed = members[found];
    let is_taken = |(number, member): (usize, &scan::Member)| {
        number != found && is_name(&text[member.name..member.name_end], name)
    };
    let mut own = vec![Edit { from: renamed.name, to: renamed.name_end, bytes: written.to_vec() }];
    let spans: Vec<(usize, usize)> = members.iter().map(|m| (m.name, m.value_end)).collect();
    let taken: Vec<usize> = members
        .iter()
        .enumerate()
        .filter_map(|(number, member)| is_taken((number, member)).then_some(number))
        .collect();
    own.extend(edit::without(&spans, &taken));
    own.sort_unstable_by_key(|edit| edit.from);
    edits.extend(own);
    Ok(())
}

/// Calls `found` with the place and the depth of each value that the steps lead to.
fn each(
    text: &[u8],
    at: usize,
    depth: usize,
    steps: &[Step],
    found: &mut dyn FnMut(usize, usize) -> Result<(), Unfit>,
) -> Result<(), Unfit> {
    match steps.split_first() {
        None => found(at, depth),
        Some((Step::Named(name), rest)) => {
            match edit::find(text, at, depth, std::slice::from_ref(name))? {
                Some(inner) => each(text, inner, depth + 1, rest, found),
                None => Ok(()),
            }
        }
        Some((Step::Each, _)) if text[at] != b'[' => Ok(()),
        Some((Step::Each, rest)) => {
            let mut places = vec![];
            scan::items(text, at, depth, |begin, _| places.push(begin))?;
            places.into_iter().try_for_each(|place| each(text, place, depth + 1, rest, found))
        }
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
            let written = serde_json::Value::from(name).to_string().into_bytes();
            (path, Change::Rename { name: name.to_owned(), written })
        }
        Operation::Add { path, value } => (path, Change::Add(value.to_string().into_bytes())),
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
    if within.is_empty() && matches!(change, Change::Rename { .. } | Change::Move(_)) {
        return wrong("path", "it must end in the name of a member");
    }
    Ok(Compiled { places, within, change })
}

#[cfg(test)]
mod tests;
