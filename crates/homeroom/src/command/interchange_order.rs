//! Orders interchanges and resources so that what is referred to comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use homeroom_model::{
    Model, Presence, Property, PropertyKind, ResourceId, ResourceKind, Scalar, Target,
};

use crate::exit::Failure;

/// The files of an interchange.
#[derive(Debug)]
pub struct Group {
    /// Name of the interchange, or of the resource for JSON lines.
    pub name: String,
    /// Whether it is that of the descriptors, which are left out of comparisons of speed.
    pub is_descriptors: bool,
    /// Its files.
    pub files: Vec<PathBuf>,
}

/// Groups the files of a folder by what they are named after: `Student.xml`, `Student-001.xml`.
///
/// # Errors
///
/// Says why the folder cannot be read.
pub fn groups(model: &Model, path: &Path) -> Result<Vec<Group>, Failure> {
    let reading = |error| Failure::because(&format!("reading {}", path.display()), error);
    let mut by_name: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(reading)? {
            let file = entry.map_err(reading)?.path();
            if file.is_file()
                && let Some(name) = name_of(&file)
            {
                by_name.entry(name).or_default().push(file);
            }
        }
    } else if let Some(name) = name_of(path) {
        by_name.insert(name, vec![path.to_owned()]);
    }
    if by_name.is_empty() {
        return Err(Failure::Usage(format!("{}: there is no file to load", path.display())));
    }
    let ordered = ordered(model, by_name.keys().cloned().collect()).into_iter();
    let group = |name: String| {
        let mut files = by_name.remove(&name).unwrap_or_default();
        files.sort();
        Group { is_descriptors: name == DESCRIPTORS, name, files }
    };
    Ok(ordered.map(group).collect())
}

/// Puts names of interchanges and endpoints in an order in which their files can be loaded one after the
/// other.
pub fn ordered(model: &Model, mut left: BTreeSet<String>) -> Vec<String> {
    let (always, sometimes) = (needs(model, true), needs(model, false));
    let mut ordered = vec![];
    while !left.is_empty() {
        // In a circle, the one that lacks the fewest others comes first; what only some of its records
        // refer to counts less.
        let lacking = |name: &String| {
            let count = |needs: &Needs| {
                let needed = needs.get(name).into_iter().flatten();
                needed.filter(|needed| *needed != name && left.contains(*needed)).count()
            };
            (count(&always), count(&sometimes))
        };
        let Some(next) = left.iter().min_by_key(|name| lacking(name)).cloned() else { break };
        left.remove(&next);
        ordered.push(next);
    }
    ordered
}

/// Name of the interchange of descriptors.
const DESCRIPTORS: &str = "Descriptors";

fn name_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.split(['.', '-']).next()?;
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// For each interchange and each endpoint, those that its records refer to.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Returns what all records refer to, or else what any may refer to.
fn needs(model: &Model, only_always: bool) -> Needs {
    let mut needs = Needs::new();
    for resource in &model.resources {
        let mut targets = BTreeSet::new();
        collect(model, &resource.properties, only_always, &mut targets);
        for name in names(model, resource.id) {
            let of = needs.entry(name).or_default();
            for target in &targets {
                of.extend(names(model, *target));
            }
        }
    }
    needs
}

/// Returns what files with records of a resource are named after.
fn names(model: &Model, id: ResourceId) -> Vec<String> {
    let resource = model.resource(id);
    let interchange = match resource.kind {
        ResourceKind::Descriptor => Some(DESCRIPTORS.to_owned()),
        _ => resource.interchanges.first().cloned(),
    };
    interchange.into_iter().chain([resource.endpoint.clone()]).collect()
}

fn collect(
    model: &Model,
    properties: &[Property],
    only_always: bool,
    into: &mut BTreeSet<ResourceId>,
) {
    let is_meant = |property: &&Property| !only_always || property.presence != Presence::Optional;
    for property in properties.iter().filter(is_meant) {
        match &property.kind {
            PropertyKind::Reference(reference) => match reference.target {
                Target::Resource(id) => _ = into.insert(id),
                Target::Abstract(id) => into.extend(&model.base(id).subclasses),
            },
            PropertyKind::Scalar(Scalar::Descriptor(id)) => _ = into.insert(*id),
            PropertyKind::Scalar(_) => {}
            PropertyKind::Object(inner) | PropertyKind::List(inner) => {
                collect(model, inner, only_always, into);
            }
        }
    }
}
