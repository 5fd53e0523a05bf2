//! Links the content of model files into a model in which every name is resolved.

mod extend;
mod keys;
mod names;

use std::collections::HashMap;

use self::extend::Extensions;
use self::keys::{Keys, reference_parts};
use self::names::{Names, Owner};
use crate::resource::{
    Abstract, AbstractId, Base, ColumnSource, EXTENSIONS, KeyColumn, Model, Place, Project,
    Property, PropertyKind, QueryField, Reference, Resource, ResourceId, Subject, SubjectOf,
    Target,
};
use crate::source::{PropertySource, ResourceKind, ResourceSource, Source, Type};
use crate::words::default_path;
use crate::xml::extension_name;

/// Schema names that no project may have: claim names use these words in the place of a schema.
pub(crate) const RESERVED_SCHEMAS: [&str; 2] = ["domains", "services"];

/// Most resources of all files together; also the limit for bases.
const RESOURCES_MAX: usize = 10_000;

/// A contradiction within a model file or between files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{resource}: {message}")]
pub struct LinkError {
    /// Schema and name of the resource at fault, `ed-fi/Section`; the schema alone for a file as a
    /// whole.
    pub resource: String,
    /// What cannot be resolved, and what would be right.
    pub message: String,
}

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
    let linker = Linker { names: &names, keys: &keys, extensions: &extensions };
    for (at, (project, source)) in names.abstracts.iter().enumerate() {
        let id = AbstractId(index(at));
        let owner = names.owner(*project, &source.name);
        model.abstracts.push(Abstract {
            id,
            schema: sources[*project].schema.clone(),
            name: source.name.clone(),
            properties: linker.properties(owner, &source.properties)?,
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

struct Linker<'a> {
    names: &'a Names<'a>,
    keys: &'a HashMap<Target, Vec<KeyColumn>>,
    extensions: &'a Extensions<'a>,
}

impl Linker<'_> {
    fn associations(
        &self,
        owner: Owner<'_>,
        names: &[String],
    ) -> Result<Vec<ResourceId>, LinkError> {
        let resources = names.iter().map(|name| match self.names.target(owner, name)? {
            Target::Resource(id) => Ok(id),
            Target::Abstract(_) => Err(owner.wrong(format!("`{name}` is abstract"))),
        });
        resources.collect()
    }

    fn resource(
        &self,
        id: ResourceId,
        owner: Owner<'_>,
        source: &ResourceSource,
    ) -> Result<Resource, LinkError> {
        let mut properties = self.properties(owner, &source.properties)?;
        let key = self.keys[&Target::Resource(id)].clone();
        let query_fields = query_fields(&properties);
        let base = source.base.as_ref().map(|(name, map)| {
            let Target::Abstract(id) = self.names.target(owner, name)? else {
                return Err(owner.wrong(format!("`{name}` is not an abstract base")));
            };
            let columns = self.keys[&Target::Abstract(id)]
                .iter()
                .map(|column| {
                    let own = map
                        .iter()
                        .find(|pair| pair.base == column.name)
                        .map_or(column.name.as_str(), |pair| &pair.own);
                    key.iter()
                        .position(|k| k.name == own)
                        .ok_or_else(|| owner.wrong(format!("its key has no `{own}` for its base")))
                })
                .collect::<Result<_, _>>()?;
            Ok(Base { id, columns })
        });
        let column_place = |column: &str| {
            query_fields
                .iter()
                .find(|field| field.name == column)
                .map(|field| match field.sources[0] {
                    ColumnSource::Scalar(at) => Place { steps: vec![at], part: None },
                    ColumnSource::Part(at, part) => Place { steps: vec![at], part: Some(part) },
                })
                .ok_or_else(|| owner.wrong(format!("no root column is named `{column}`")))
        };
        let mut unified = places(owner, &properties, &source.unified)?;
        for (owner, extension) in self.extensions.of_resource(id) {
            extend::extend(self, *owner, extension, &mut properties)?;
        }
        for (owner, extension) in self.extensions.of_resource(id) {
            unified.extend(places(*owner, &properties, &extension.unified)?);
        }
        Ok(Resource {
            id,
            project: owner.project,
            schema: owner.schema.to_owned(),
            name: source.name.clone(),
            endpoint: source.endpoint.clone(),
            kind: source.kind,
            base: base.transpose()?,
            updatable_key: source.updatable_key,
            domains: source.domains.clone(),
            interchanges: source.interchanges.clone(),
            element: source.element.clone().unwrap_or_else(|| source.name.clone()),
            ignored_elements: source.ignored_elements.clone(),
            subjects: source
                .subjects
                .iter()
                .map(|subject| {
                    Ok(Subject {
                        kind: subject.kind.clone(),
                        column: subject.column.clone(),
                        place: column_place(&subject.column)?,
                        of: match self.names.target(owner, &subject.kind) {
                            Ok(Target::Abstract(base)) => SubjectOf::Organization(base),
                            Ok(Target::Resource(person)) => SubjectOf::Person(person),
                            Err(_) => SubjectOf::Other,
                        },
                    })
                })
                .collect::<Result<_, LinkError>>()?,
            access_through: self.associations(owner, &source.access_through)?,
            access_by: source
                .access_by
                .iter()
                .map(|(name, through)| Ok((name.clone(), self.associations(owner, through)?)))
                .collect::<Result<_, LinkError>>()?,
            unified,
            query_fields: {
                let mut fields = query_fields.clone();
                for field in &mut fields {
                    field.identity = key.iter().any(|column| column.name == field.name);
                }
                fields
            },
            properties,
            key,
        })
    }

    fn properties(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
    ) -> Result<Vec<Property>, LinkError> {
        self.all(owner, sources, false)
    }

    fn items(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
    ) -> Result<Vec<Property>, LinkError> {
        self.all(owner, sources, sources.len() == 1)
    }

    fn all(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
        only: bool,
    ) -> Result<Vec<Property>, LinkError> {
        for (at, source) in sources.iter().enumerate() {
            let twice = |other: &PropertySource| other.name.eq_ignore_ascii_case(&source.name);
            if sources[..at].iter().any(twice) {
                return Err(owner.wrong(format!("`{}` appears twice in one object", source.name)));
            }
            if source.name == EXTENSIONS {
                let message = format!(
                    "`{EXTENSIONS}` is reserved for extensions and cannot be a \
                     property"
                );
                return Err(owner.wrong(message));
            }
            owner.name("property", &source.name)?;
        }
        sources.iter().map(|source| self.property(owner, source, only)).collect()
    }

    fn property(
        &self,
        owner: Owner<'_>,
        source: &PropertySource,
        only: bool,
    ) -> Result<Property, LinkError> {
        let kind = match &source.kind {
            Type::Reference { target, parts } => {
                let target = self.names.target(owner, target)?;
                let parts = reference_parts(owner, source, parts, &self.keys[&target])?;
                PropertyKind::Reference(Reference { target, parts })
            }
            Type::Object(inner) => PropertyKind::Object(self.properties(owner, inner)?),
            Type::List(inner) => PropertyKind::List(self.items(owner, inner)?),
            scalar => PropertyKind::Scalar(
                self.names
                    .scalar(owner, scalar)?
                    .expect("what is no reference, object or list is a scalar"),
            ),
        };
        let xml = source.xml.clone().unwrap_or_else(|| default_path(source, only));
        Ok(Property { name: source.name.clone(), presence: source.presence, kind, xml })
    }
}

fn query_fields(properties: &[Property]) -> Vec<QueryField> {
    let mut fields: Vec<QueryField> = vec![];
    let mut add = |name: &str, scalar, source| {
        if let Some(field) = fields.iter_mut().find(|field| field.name == name) {
            field.sources.push(source);
        } else {
            fields.push(QueryField {
                name: name.into(),
                scalar,
                sources: vec![source],
                identity: false,
            });
        }
    };
    for (at, property) in properties.iter().enumerate() {
        match &property.kind {
            PropertyKind::Scalar(scalar) => add(&property.name, *scalar, ColumnSource::Scalar(at)),
            PropertyKind::Reference(reference) => {
                for (part_at, part) in reference.parts.iter().enumerate() {
                    add(&part.column, part.scalar, ColumnSource::Part(at, part_at));
                }
            }
            PropertyKind::Object(_) | PropertyKind::List(_) => {}
        }
    }
    fields
}

/// Resolves groups of places whose values must agree.
fn places(
    owner: Owner<'_>,
    root: &[Property],
    groups: &[Vec<String>],
) -> Result<Vec<Vec<Place>>, LinkError> {
    groups.iter().map(|group| group.iter().map(|path| place(owner, root, path)).collect()).collect()
}

fn place(owner: Owner<'_>, root: &[Property], path: &str) -> Result<Place, LinkError> {
    let unknown = || owner.wrong(format!("`{path}` is not a place in it"));
    let mut steps = vec![];
    let mut inside = Some(root);
    let mut reference: Option<&Reference> = None;
    let mut part = None;
    for step in path.split('.') {
        if let Some(found) = reference {
            part = Some(found.parts.iter().position(|p| p.name == step).ok_or_else(unknown)?);
            reference = None;
            continue;
        }
        let properties = inside.take().ok_or_else(unknown)?;
        let at = properties.iter().position(|p| p.name == step).ok_or_else(unknown)?;
        steps.push(at);
        match &properties[at].kind {
            PropertyKind::Object(inner) | PropertyKind::List(inner) => inside = Some(inner),
            PropertyKind::Reference(found) => reference = Some(found),
            PropertyKind::Scalar(_) => {}
        }
    }
    if reference.is_some() || inside.is_some() {
        return Err(unknown());
    }
    Ok(Place { steps, part })
}

fn wrong(resource: &str, message: impl Into<String>) -> LinkError {
    LinkError { resource: resource.to_owned(), message: message.into() }
}

fn index(at: usize) -> u16 {
    u16::try_from(at).expect("RESOURCES_MAX fits")
}
