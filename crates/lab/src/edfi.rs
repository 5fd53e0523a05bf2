//! Steps over every resource of an Ed-Fi API, made from its own description.
//!
//! [`prepare`] reads the target (discovery, `OpenAPI`, dependencies, what the key is bound to),
//! makes or finds a document of each resource for others to refer to, tries out what the key can do
//! with each, and gives steps for just that; what it cannot do is told with the target's reason. It
//! works against any ODS/API with an address, a key and a secret, and knows no resource by name but
//! those that tie a person to an organization.
//!
//! All documents of a set-up refer to the same few, so references of one document that share a part
//! of their keys agree (the standard's key unification), whatever they are.

mod api;
mod blank;
mod document;
mod fresh;
mod http;
mod links;
mod openapi;
mod probe;
mod report;
mod settings;
mod setup;
mod shape;
mod steps;
mod target;
#[cfg(test)]
mod tests;
mod values;
mod variants;
mod world;

use std::collections::BTreeMap;

use thiserror::Error;

pub use api::{Access, Api, ApiError, Ask, Reply};
pub use http::Client;
pub use report::{LeftOut, OPERATIONS, Operation, Report};
pub use settings::SettingError;

use crate::scenario::{EdfiFile, StepFile};
use api::Session;
use setup::SetUp;
use shape::{Form, Property, Shapes};

/// What a run over an Ed-Fi API needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The steps, each with a weight.
    pub steps: Vec<StepFile>,
    /// What stands in the pools beforehand.
    pub pools: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    /// The path of tokens, below that of the target's address, as all paths of the steps are.
    pub token_path: String,
    /// What was reached, and what is left out.
    pub report: Report,
}

/// Why there are no steps.
#[derive(Debug, Error)]
pub enum EdfiError {
    /// The target cannot be worked with.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A name is none of the target's.
    #[error("the target has no resource {name}; `only` takes names such as students")]
    NoSuchResource {
        /// The name.
        name: String,
    },
    /// Nothing is left to do.
    #[error("this key can do nothing of the scenario here:\n{0}")]
    Nothing(Box<Report>),
}

/// Makes the steps of a scenario for a target; what is random follows from the seed.
///
/// It creates documents: one of each resource, a few more to be read, and up to some hundreds of
/// those by whose combination others are new. They stay.
///
/// # Errors
///
/// If the target cannot be asked, does not take the key, lacks a resource that the scenario names,
/// or lets the key do nothing.
pub fn prepare(api: &mut dyn Api, file: &EdfiFile, seed: u64) -> Result<Prepared, EdfiError> {
    let root = api.access().root.clone();
    let mut session = Session::new(api);
    let target = target::read(&mut session)?;
    let token_path = below(&root, &target.token_path)?.to_owned();
    below(&root, &target.path("/"))?;
    let selected = selected(&target.shapes, file)?;
    let wanted = with_targets(&target.shapes, &selected);
    let mut setup = SetUp::new(session, &target, &wanted, seed);
    setup.anchors()?;
    let mut prepared = Prepared {
        steps: vec![],
        pools: BTreeMap::new(),
        token_path,
        report: Report {
            resources: selected.iter().filter(|is| **is).count(),
            otherwise: otherwise(file),
            ..Report::default()
        },
    };
    for at in (0..selected.len()).filter(|at| selected[*at]) {
        let kind = &target.shapes.kinds[at];
        let known = setup.probe(at, settings::weight(file, &kind.name))?;
        count(&mut prepared.report, file, &known);
        let path = target.path(&kind.path);
        prepared.steps.extend(steps::of(file, kind, below(&root, &path)?, &known));
        prepared.pools.extend(steps::pools(kind, &known));
        prepared.report.left_out.extend(known.left_out);
    }
    prepared.report.requests = setup.session.requests;
    if prepared.steps.is_empty() {
        return Err(EdfiError::Nothing(Box::new(prepared.report)));
    }
    Ok(prepared)
}

/// A path without that of the target's address before it.
///
/// # Errors
///
/// The path is not below that of the address, with which the run writes every path.
fn below<'p>(root: &str, path: &'p str) -> Result<&'p str, ApiError> {
    let rest = path.strip_prefix(root).filter(|rest| rest.starts_with('/'));
    rest.ok_or_else(|| ApiError::Strange {
        path: root.into(),
        why: format!(
            "leads to {path}, which is not below it: give --target as the API calls itself"
        ),
    })
}

/// What a scenario asks for that cannot be.
fn otherwise(file: &EdfiFile) -> Vec<String> {
    let (asked, done) = (file.delete, steps::doomed(file));
    let sentence = || {
        let create = file.create;
        format!(
            "deleted is what the run has created: delete={done} for create={create}, not {asked}"
        )
    };
    if asked > done { vec![sentence()] } else { vec![] }
}

fn count(report: &mut Report, file: &EdfiFile, known: &probe::Known) {
    let done = [
        (Operation::Create, known.draft.is_some()),
        (Operation::Read, known.reads_created || !known.readable.is_empty()),
        (Operation::Update, known.update.is_some()),
        (Operation::Delete, known.deletes && steps::doomed(file) > 0.0),
        (Operation::List, known.lists),
    ];
    for (operation, is_done) in done {
        *report.done.entry(operation.name()).or_default() += usize::from(is_done);
    }
}

/// Which resources a scenario names.
fn selected(shapes: &Shapes, file: &EdfiFile) -> Result<Vec<bool>, EdfiError> {
    for name in &file.only {
        if !shapes.kinds.iter().any(|kind| settings::fits(name, &kind.name)) {
            return Err(EdfiError::NoSuchResource { name: name.clone() });
        }
    }
    Ok(shapes.kinds.iter().map(|kind| settings::selects(file, &kind.name)).collect())
}

/// Those, and all that their documents refer to, however far.
fn with_targets(shapes: &Shapes, selected: &[bool]) -> Vec<bool> {
    let mut wanted = selected.to_vec();
    let mut open: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at]).collect();
    while let Some(at) = open.pop() {
        let mut found = vec![];
        targets(&shapes.kinds[at].properties, &mut found);
        found.extend(variants::ties(shapes, at));
        for target in found {
            if !std::mem::replace(&mut wanted[target], true) {
                open.push(target);
            }
        }
    }
    wanted
}

fn targets(properties: &[Property], found: &mut Vec<usize>) {
    for property in
        properties.iter().filter(|property| property.is_required || property.is_identity)
    {
        match &property.form {
            Form::Reference(reference) => found.extend(&reference.targets),
            Form::Descriptor(target) => found.extend(target),
            Form::Object(inner) | Form::List(inner) => targets(inner, found),
            Form::Scalar(_) => {}
        }
    }
}
