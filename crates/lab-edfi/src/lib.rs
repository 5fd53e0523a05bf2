//! Steps over every resource of an Ed-Fi API, derived from the API's own description.
//!
//! [`prepare`] reads the target (discovery, `OpenAPI`, dependencies, the key's organizations),
//! creates or finds one document of each resource for others to refer to, tries out what the key
//! can do with each resource, and returns steps for exactly that. What the key cannot do is
//! reported with the target's reason. This works against any ODS/API given an address, a key and a
//! secret. The only resources known by name are those that tie a person to an organization.
//!
//! All documents of a set-up refer to the same few documents, so references of one document that
//! share parts of their keys always agree (the standard's key unification).
//!
//! ```
//! use homeroom_lab_edfi::{SHIPPED, set};
//! use homeroom_load::scenario::ScenarioFile;
//!
//! let day = SHIPPED.iter().find(|shipped| shipped.name == "edfi-day-to-day").ok_or("not shipped")?;
//! let mut edfi = ScenarioFile::read(day.text)?.edfi.ok_or("not an Ed-Fi scenario")?;
//! set(&mut edfi, "only", "students, schools")?;
//!
//! assert_eq!(edfi.only, ["students", "schools"]);
//! assert!(edfi.read > edfi.delete);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abilities;
mod api;
mod coverage;
mod document;
mod fresh;
mod http;
mod identity;
mod links;
mod openapi;
mod placeholders;
mod settings;
mod setup;
mod shape;
mod shipped;
mod steps;
mod target;
#[cfg(test)]
mod tests;
mod values;
mod variants;
mod world;

use std::collections::BTreeMap;

use thiserror::Error;

pub use api::{Access, Api, ApiError, ApiRequest, Reply};
pub use coverage::{Coverage, LeftOut, OPERATIONS, Operation};
pub use http::HttpApi;
pub use settings::{SettingError, set};
pub use shipped::SHIPPED;

use api::Session;
use homeroom_load::scenario::{EdfiFile, StepFile};
use setup::SetUp;
use shape::{Form, Property, Shapes};

/// What a run over an Ed-Fi API needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The steps, each with a weight.
    pub steps: Vec<StepFile>,
    /// The rows that each pool holds before the run.
    pub pools: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    /// The path of the token endpoint, relative to the target's address like all paths of the
    /// steps.
    pub token_path: String,
    /// What was reached, and what is left out.
    pub coverage: Coverage,
}

/// Why no steps could be prepared.
#[derive(Debug, Error)]
pub enum EdfiError {
    /// The target cannot be worked with.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The target has no resource of this name.
    #[error("the target has no resource {name}; `only` takes names such as students")]
    NoSuchResource {
        /// The name.
        name: String,
    },
    /// No step is left.
    #[error("this key can do nothing that the scenario asks for:\n{0}")]
    Nothing(Box<Coverage>),
}

/// Prepares the steps of a scenario for a target; random choices follow from the seed.
///
/// Creates documents that stay on the target: one of each resource, a few more for reading, and up
/// to some hundreds of those whose combinations make other documents new.
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
        coverage: Coverage {
            resources: selected.iter().filter(|is| **is).count(),
            otherwise: otherwise(file),
            ..Coverage::default()
        },
    };
    for at in (0..selected.len()).filter(|at| selected[*at]) {
        let resource = &target.shapes.resources[at];
        let abilities = setup.find_abilities(at, settings::weight(file, &resource.name))?;
        count(&mut prepared.coverage, file, &abilities);
        let path = target.path(&resource.path);
        prepared.steps.extend(steps::of(file, resource, below(&root, &path)?, &abilities));
        prepared.pools.extend(steps::pools(resource, &abilities));
        prepared.coverage.left_out.extend(abilities.left_out);
    }
    prepared.coverage.requests = setup.session.requests;
    if prepared.steps.is_empty() {
        return Err(EdfiError::Nothing(Box::new(prepared.coverage)));
    }
    Ok(prepared)
}

/// Removes the path of the target's address from the beginning of a path.
///
/// # Errors
///
/// If the path does not begin with that of the address, which the run puts before every path.
fn below<'p>(root: &str, path: &'p str) -> Result<&'p str, ApiError> {
    let rest = path.strip_prefix(root).filter(|rest| rest.starts_with('/'));
    rest.ok_or_else(|| ApiError::Strange {
        path: root.into(),
        why: format!(
            "leads to {path}, which is not below it: give --target the address that the API \
                itself uses"
        ),
    })
}

/// Describes the parts of a scenario that cannot be done as asked.
fn otherwise(file: &EdfiFile) -> Vec<String> {
    let (asked, done) = (file.delete, steps::doomed(file));
    let sentence = || {
        let create = file.create;
        format!(
            "the run deletes only what it has created: delete={done} for create={create}, not \
                {asked}"
        )
    };
    if asked > done { vec![sentence()] } else { vec![] }
}

fn count(coverage: &mut Coverage, file: &EdfiFile, abilities: &abilities::Abilities) {
    let done = [
        (Operation::Create, abilities.draft.is_some()),
        (Operation::Read, abilities.reads_created || !abilities.readable.is_empty()),
        (Operation::Update, abilities.update.is_some()),
        (Operation::Delete, abilities.deletes && steps::doomed(file) > 0.0),
        (Operation::List, abilities.lists),
    ];
    for (operation, is_done) in done {
        *coverage.done.entry(operation.name()).or_default() += usize::from(is_done);
    }
}

/// Returns, for each resource, whether the scenario names it.
fn selected(shapes: &Shapes, file: &EdfiFile) -> Result<Vec<bool>, EdfiError> {
    for name in &file.only {
        if !shapes.resources.iter().any(|resource| settings::fits(name, &resource.name)) {
            return Err(EdfiError::NoSuchResource { name: name.clone() });
        }
    }
    Ok(shapes.resources.iter().map(|resource| settings::selects(file, &resource.name)).collect())
}

/// Adds to the selected resources everything that their documents refer to, directly or indirectly.
fn with_targets(shapes: &Shapes, selected: &[bool]) -> Vec<bool> {
    let mut wanted = selected.to_vec();
    let mut open: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at]).collect();
    while let Some(at) = open.pop() {
        let mut found = vec![];
        targets(&shapes.resources[at].properties, &mut found);
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
