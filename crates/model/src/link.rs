//! Links the content of model files into a model in which every name is resolved.

mod error;
mod extend;
mod keys;
mod linker;
mod names;
mod properties;

use std::collections::HashMap;

pub use self::error::LinkError;
use self::extend::Extensions;
use self::keys::Keys;
use self::linker::Linker;
use self::names::{Names, index};
use self::properties::Properties;
use crate::resource::{Abstract, AbstractId, Model, Project, ResourceId, Target, extension_name};
use crate::source::{ResourceKind, ResourceSource, Source};

/// Schema names that no project may have: claim names use these words in the place of a schema.
pub(crate) const RESERVED_SCHEMAS: [&str; 2] = ["domains", "services"];

/// Resolves every name in the files: first the standard, then its extensions.
///
/// # Errors
///
/// Returns the first name that is malformed or unknown, key that refers to itself in a circle,
/// reference whose members are not its target's key, or extension that does not fit what it
/// extends.
pub fn link(sources: &[Source]) -> Result<Model, LinkError> {
    sources.iter().try_for_each(is_named)?;
    projects_fit(sources)?;
    let sources = &with_common(sources);
    let names = Names::of(sources)?;
    let mut keys = Keys { names: &names, done: HashMap::new(), open: vec![] };
    for target in names.all() {
        keys.of(target)?;
    }
    let keys = keys.done;

    let mut model = Model {
        projects: sources
            .iter()
            .map(|s| Project {
                name: s.project.clone(),
                schema: s.schema.clone(),
                version: s.version.clone(),
            })
            .collect(),
        resources: vec![],
        abstracts: vec![],
        school_years: sources.iter().flat_map(|s| s.school_years.iter().copied()).collect(),
        by_endpoint: HashMap::new(),
        by_element: HashMap::new(),
        by_name: names.targets.clone(),
    };
    let extensions = Extensions::of(sources, &names)?;
    let properties = Properties { names: &names, keys: &keys };
    let linker = Linker { properties, extensions: &extensions };
    for (at, (project, source)) in names.abstracts.iter().enumerate() {
        let id = AbstractId(index(at));
        let owner = names.owner(*project, &source.name);
        model.abstracts.push(Abstract {
            id,
            schema: sources[*project].schema.clone(),
            name: source.name.clone(),
            properties: properties.resolve(owner, &source.properties)?,
            key: keys[&Target::Abstract(id)].clone(),
            subclasses: vec![],
        });
    }
    for (at, (project, source)) in names.resources.iter().enumerate() {
        let id = ResourceId(index(at));
        let owner = names.owner(*project, &source.name);
        let mut resource = linker.resource(id, owner, source)?;
        if let Some(base) = &resource.base {
            model.abstracts[usize::from(base.id.0)].subclasses.push(id);
        }
        if *project > 0 {
            if resource.interchanges.is_empty() && resource.kind == ResourceKind::Entity {
                resource.interchanges.push(sources[*project].project.clone());
            }
            let long = extension_name(&resource.schema, &resource.element);
            if model.by_element.contains_key(&resource.element) {
                resource.element.clone_from(&long);
            }
            model.by_element.insert(long, id);
        }
        model.by_element.insert(resource.element.clone(), id);
        for (owner, _) in extensions.of_resource(id) {
            let name = extension_name(owner.schema, &format!("{}Extension", source.name));
            model.by_element.insert(name, id);
        }
        let path = format!("{}/{}", resource.schema, resource.endpoint).to_ascii_lowercase();
        if model.by_endpoint.insert(path, id).is_some() {
            return Err(owner.wrong(format!("the endpoint `{}` appears twice", source.endpoint)));
        }
        model.resources.push(resource);
    }
    Ok(model)
}

/// Checks that a project's names can be used in paths, claims, SQL and XML.
fn is_named(source: &Source) -> Result<(), LinkError> {
    let Source { project, schema, version, .. } = source;
    let plain = |text: &str, more: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    let is_schema = plain(schema, "-")
        && schema.starts_with(|first: char| first.is_ascii_lowercase())
        && !schema.contains(|letter: char| letter.is_ascii_uppercase());
    if !is_schema || RESERVED_SCHEMAS.contains(&schema.as_str()) {
        let taken = RESERVED_SCHEMAS.join(" and ");
        return Err(wrong(
            schema,
            format!(
                "`{schema}` is not a schema: lower-case letters, digits and -, a letter first; \
                 {taken} are \
                 taken"
            ),
        ));
    }
    if !plain(project, "-_") || !plain(version, "-_.") {
        return Err(wrong(
            schema,
            format!(
                "`{project} {version}` is not a name of a project and version: letters, digits, - and _, \
                 in the version also points"
            ),
        ));
    }
    Ok(())
}

/// Checks that the first file is a standard and that all others extend it.
fn projects_fit(sources: &[Source]) -> Result<(), LinkError> {
    let Some(core) = sources.first() else { return Ok(()) };
    if let Some((schema, version)) = &core.extends {
        return Err(wrong(
            &core.schema,
            format!(
                "it is an extension of {schema} {version}; it is loaded beside that standard, not \
                 instead of it"
            ),
        ));
    }
    if !core.extensions.is_empty() {
        return Err(wrong(&core.schema, "a standard has no sections `extension`"));
    }
    for (at, source) in sources.iter().enumerate().skip(1) {
        if sources[..at].iter().any(|other| other.schema.eq_ignore_ascii_case(&source.schema)) {
            let message = "two files have this schema; each may be loaded once".to_owned();
            return Err(wrong(&source.schema, message));
        }
        match &source.extends {
            Some((schema, version)) if *schema == core.schema && *version == core.version => {}
            Some((schema, version)) => {
                return Err(wrong(
                    &source.schema,
                    format!(
                        "it extends {schema} {version}, and the standard is {} {}; serve that \
                         version, or use the file for this one",
                        core.schema, core.version
                    ),
                ));
            }
            None => {
                return Err(wrong(
                    &source.schema,
                    format!(
                        "it does not say what it extends; an extension has the line `extends {} {}`",
                        core.schema, core.version
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Returns the sources with the properties shared by all descriptors copied into each descriptor; a
/// file that states none takes them from the file before.
fn with_common(sources: &[Source]) -> Vec<Source> {
    let mut common: Option<&ResourceSource> = None;
    let mut all = vec![];
    for source in sources {
        let mut whole = source.clone();
        common = source.descriptor.as_ref().or(common);
        let descriptors = whole.resources.iter_mut().filter(|r| r.kind == ResourceKind::Descriptor);
        for resource in descriptors {
            let Some(common) = common else { break };
            let mut properties = common.properties.clone();
            properties.retain(|p| resource.properties.iter().all(|own| own.name != p.name));
            properties.append(&mut resource.properties);
            resource.properties = properties;
            if resource.interchanges.is_empty() {
                resource.interchanges.clone_from(&common.interchanges);
            }
            resource.ignored_elements.extend(common.ignored_elements.iter().cloned());
            if resource.subjects.is_empty() {
                resource.subjects.clone_from(&common.subjects);
            }
            if resource.domains.is_empty() {
                resource.domains.clone_from(&common.domains);
            }
        }
        all.push(whole);
    }
    all
}

fn wrong(resource: &str, message: impl Into<String>) -> LinkError {
    LinkError { resource: resource.to_owned(), message: message.into() }
}
