//! What the set-up could do, and what it left out.

use std::collections::BTreeMap;
use std::fmt;

/// An operation on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// POST of a new document.
    Create,
    /// GET by id.
    Read,
    /// PUT, or POST of the same document again.
    Update,
    /// DELETE.
    Delete,
    /// GET of a collection.
    List,
}

/// All operations.
pub const OPERATIONS: [Operation; 5] =
    [Operation::Create, Operation::Read, Operation::Update, Operation::Delete, Operation::List];

impl Operation {
    /// Returns the operation's name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::List => "list",
        }
    }
}

/// An operation that a run will not do, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The resource's name.
    pub resource: String,
    /// The operation.
    pub operation: Operation,
    /// The reason, usually as the target gave it.
    pub why: String,
}

/// The result of the set-up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of resources that the scenario names.
    pub resources: usize,
    /// The number of resources on which each operation is done, by the operation's name.
    pub done: BTreeMap<&'static str, usize>,
    /// Everything that is left out.
    pub left_out: Vec<LeftOut>,
    /// The number of requests that the set-up sent.
    pub requests: u64,
    /// What the run does differently from what was asked, one sentence each.
    pub otherwise: Vec<String>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of {} resources:", self.resources)?;
        for (at, operation) in OPERATIONS.iter().enumerate() {
            let count = self.done.get(operation.name()).copied().unwrap_or_default();
            write!(f, "{} {count} {}", if at == 0 { "" } else { "," }, operation.name())?;
        }
        writeln!(f, "; the set-up took {} requests", self.requests)?;
        for sentence in &self.otherwise {
            writeln!(f, "{sentence}")?;
        }
        // Each reason is shown once, with every resource that it rules out.
        let mut reasons: BTreeMap<(Operation, String), Vec<&str>> = BTreeMap::new();
        for LeftOut { resource, operation, why } in &self.left_out {
            let why = why.replace(resource.as_str(), "…");
            reasons.entry((*operation, why)).or_default().push(resource);
        }
        for ((operation, why), resources) in reasons {
            writeln!(f, "left out: {} of {}: {why}", operation.name(), resources.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_lists_everything_left_out_and_each_reason_once() {
        let out = |resource: &str| LeftOut {
            resource: resource.into(),
            operation: Operation::Create,
            why: format!("403 no {resource}"),
        };
        let coverage = Coverage {
            resources: 3,
            done: BTreeMap::from([("create", 1), ("read", 3)]),
            left_out: vec![out("schools"), out("staffs")],
            requests: 9,
            otherwise: vec!["nothing is deleted".into()],
        };

        assert_eq!(
            coverage.to_string(),
            "of 3 resources: 1 create, 3 read, 0 update, 0 delete, 0 list; the set-up took 9 \
                requests\n\
             nothing is deleted\n\
             left out: create of schools, staffs: 403 no …\n"
        );
    }
}
