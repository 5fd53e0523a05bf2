//! The linked model: every name resolved, every derived fact worked out once.

use std::collections::HashMap;

use crate::source::{Presence, ResourceKind};

/// The member that holds what extensions add to an object: an object of objects, by schema.
pub const EXTENSIONS: &str = "_ext";

/// Index of a resource in [`Model::resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u16);

/// Index of an abstract base in [`Model::abstracts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbstractId(pub u16);

/// A data standard (and its extensions), ready to be asked.
#[derive(Debug, Clone)]
pub struct Model {
    /// The core first, then the extensions: (project, schema, version).
    pub projects: Vec<Project>,
    /// Every resource, in the order of the files.
    pub resources: Vec<Resource>,
    /// Every abstract base.
    pub abstracts: Vec<Abstract>,
    /// School years that a new store holds, by their second year.
    pub school_years: Vec<u16>,
    pub(crate) by_endpoint: HashMap<String, ResourceId>,
    pub(crate) by_element: HashMap<String, ResourceId>,
    /// By `schema/Name`.
    pub(crate) by_name: HashMap<String, Target>,
}

/// A project: the core standard or an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `Ed-Fi`
    pub name: String,
    /// Path segment, `ed-fi`.
    pub schema: String,
    /// `5.2.0`
    pub version: String,
}

/// What a reference points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A resource that has documents of its own.
    Resource(ResourceId),
    /// An abstract base; a document of any subclass will do.
    Abstract(AbstractId),
}

/// An abstract base: only its subclasses have documents.
#[derive(Debug, Clone)]
pub struct Abstract {
    /// Own index.
    pub id: AbstractId,
    /// Path segment of its project, `ed-fi`.
    pub schema: String,
    /// `EducationOrganization`
    pub name: String,
    /// Properties of the identity.
    pub properties: Vec<Property>,
    /// The identity, flat.
    pub key: Vec<KeyColumn>,
    /// The resources that extend it.
    pub subclasses: Vec<ResourceId>,
}

/// A resource: the kind of a document.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Own index.
    pub id: ResourceId,
    /// Index into [`Model::projects`].
    pub project: usize,
    /// Path segment of its project, `ed-fi`.
    pub schema: String,
    /// `Section`
    pub name: String,
    /// `sections`
    pub endpoint: String,
    /// What kind of thing it is.
    pub kind: ResourceKind,
    /// The abstract base, if it has one.
    pub base: Option<Base>,
    /// Whether PUT may change the key.
    pub updatable_key: bool,
    /// Domains of the standard.
    pub domains: Vec<String>,
    /// Interchanges that may carry it.
    pub interchanges: Vec<String>,
    /// Element name in an interchange.
    pub element: String,
    /// Paths of elements inside a record that no property takes.
    pub ignored_elements: Vec<String>,
    /// Subjects of authorization: kind and key column.
    pub subjects: Vec<Subject>,
    /// For a person: the associations through which clients gain access to it.
    pub access_through: Vec<ResourceId>,
    /// Further associations through which strategies of that name grant access to it.
    pub access_by: Vec<(String, Vec<ResourceId>)>,
    /// Groups of places whose values must agree.
    pub unified: Vec<Vec<Place>>,
    /// Properties in canonical order.
    pub properties: Vec<Property>,
    /// The identity, flat, in key order.
    pub key: Vec<KeyColumn>,
    /// What a list can be asked for, by name; `id` and paging aside.
    pub query_fields: Vec<QueryField>,
}

/// A subject of authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `EducationOrganization`, `Student`, `Contact`, `Staff` or `Namespace`.
    pub kind: String,
    /// Flat column that holds it.
    pub column: String,
    /// Where the column's value stands in a document.
    pub place: Place,
    /// What the kind is.
    pub of: SubjectOf,
}

/// What a subject of authorization is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectOf {
    /// An organization: a document of a subclass of the base that the kind names.
    Organization(AbstractId),
    /// A person: a document of the resource that the kind names.
    Person(ResourceId),
    /// Neither, such as a namespace.
    Other,
}

/// A resource's place under an abstract base.
#[derive(Debug, Clone)]
pub struct Base {
    /// The base.
    pub id: AbstractId,
    /// For each column of the base's key, the index of the own key column.
    pub columns: Vec<usize>,
}

/// A property.
#[derive(Debug, Clone)]
pub struct Property {
    /// JSON name.
    pub name: String,
    /// Whether it must be there, and whether it is part of an identity.
    pub presence: Presence,
    /// What it holds.
    pub kind: PropertyKind,
    /// Path of XML elements from the owner's element.
    pub xml: String,
}

/// What a property holds.
#[derive(Debug, Clone)]
pub enum PropertyKind {
    /// One value.
    Scalar(Scalar),
    /// A reference to another document.
    Reference(Reference),
    /// An embedded object.
    Object(Vec<Property>),
    /// A collection of objects; the item's [`Presence::Key`] properties are its identity.
    List(Vec<Property>),
}

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Text of `min..=max` characters.
    Text {
        /// Fewest characters.
        min: u32,
        /// Most characters.
        max: u32,
    },
    /// A whole number, bounds inclusive.
    Integer {
        /// 32 or 64.
        bits: u8,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A decimal number; bounds inclusive.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// Least value.
        min: Option<f64>,
        /// Greatest value.
        max: Option<f64>,
    },
    /// true or false.
    Boolean,
    /// ISO date.
    Date,
    /// ISO date and time, UTC.
    DateTime,
    /// Time of day.
    Time,
    /// URI of a descriptor of this resource.
    Descriptor(ResourceId),
}

/// A reference: an object whose members are the target's key.
#[derive(Debug, Clone)]
pub struct Reference {
    /// What it points to.
    pub target: Target,
    /// Its members, in the order of the target's key.
    pub parts: Vec<ReferencePart>,
}

/// A member of a reference.
#[derive(Debug, Clone)]
pub struct ReferencePart {
    /// JSON name inside the reference.
    pub name: String,
    /// Flat name in the owner.
    pub column: String,
    /// Its type, as in the target's key.
    pub scalar: Scalar,
}

/// A column of an identity.
#[derive(Debug, Clone)]
pub struct KeyColumn {
    /// Flat name, `schoolId`.
    pub name: String,
    /// Its type.
    pub scalar: Scalar,
    /// Where it stands; of several that are unified, the first.
    pub source: ColumnSource,
}

/// Where a root column stands in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// A scalar of the root, by index into the properties.
    Scalar(usize),
    /// A member of a root reference: property, part.
    Part(usize, usize),
}

/// A place in a document: property indices from the root (lists stand for each of their items),
/// and, where the last one is a reference, the member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Property indices from the root.
    pub steps: Vec<usize>,
    /// Index of the reference's member.
    pub part: Option<usize>,
}

/// A name that a list can be filtered by.
#[derive(Debug, Clone)]
pub struct QueryField {
    /// Parameter name.
    pub name: String,
    /// Type of its value.
    pub scalar: Scalar,
    /// What it is compared with.
    pub sources: Vec<QuerySource>,
    /// Whether it is part of the resource's key.
    pub identity: bool,
}

/// What a query field is compared with; of several any match counts, as they are unified.
pub type QuerySource = ColumnSource;

impl Model {
    /// The resource behind a path such as `ed-fi/sections`; case does not matter.
    pub fn by_endpoint(&self, schema: &str, endpoint: &str) -> Option<&Resource> {
        let mut key = String::with_capacity(schema.len() + endpoint.len() + 1);
        key.push_str(schema);
        key.push('/');
        key.push_str(endpoint);
        key.make_ascii_lowercase();
        self.by_endpoint.get(&key).map(|id| self.resource(*id))
    }

    /// The resource that a person names: `students`, `Student`, `ed-fi/students`; in any case.
    pub fn named(&self, name: &str) -> Option<&Resource> {
        let name = name.trim_matches('/');
        if let Some((schema, name)) = name.split_once('/') {
            return self.by_endpoint(schema, name).or_else(|| {
                self.resources.iter().find(|resource| {
                    resource.schema.eq_ignore_ascii_case(schema)
                        && resource.name.eq_ignore_ascii_case(name)
                })
            });
        }
        let of_project = self.projects.iter().find_map(|p| self.by_endpoint(&p.schema, name));
        of_project.or_else(|| self.resources.iter().find(|r| r.name.eq_ignore_ascii_case(name)))
    }

    /// The resource with this index.
    ///
    /// # Panics
    ///
    /// When the index is of another model.
    pub fn resource(&self, id: ResourceId) -> &Resource {
        &self.resources[usize::from(id.0)]
    }

    /// The abstract base with this index.
    ///
    /// # Panics
    ///
    /// When the index is of another model.
    pub fn base(&self, id: AbstractId) -> &Abstract {
        &self.abstracts[usize::from(id.0)]
    }

    /// What a name such as `Section` or `ed-fi/EducationOrganization` stands for; without a schema
    /// it is that of the first project which has it.
    pub fn by_name(&self, name: &str) -> Option<Target> {
        if name.contains('/') {
            return self.by_name.get(name).copied();
        }
        let mut schemas = self.projects.iter().map(|project| &project.schema);
        schemas.find_map(|schema| self.by_name.get(&format!("{schema}/{name}")).copied())
    }

    /// Name of a target's types in an XML schema: its name, or, where a project before has that too,
    /// with its schema in front, `HOMOGRAPH-School`.
    pub fn xml_name(&self, target: Target) -> String {
        let name = self.target_name(target);
        if self.by_name(name) == Some(target) {
            return name.to_owned();
        }
        let schema = match target {
            Target::Resource(id) => &self.resource(id).schema,
            Target::Abstract(id) => &self.base(id).schema,
        };
        crate::xml::extension_name(schema, name)
    }

    /// Whether it is more than a standard alone.
    pub fn has_extensions(&self) -> bool {
        self.projects.len() > 1
    }

    /// The resource whose record an element of an interchange is; see [`crate::xml`].
    pub fn by_element(&self, name: &str) -> Option<ResourceId> {
        self.by_element.get(name).copied()
    }

    /// Schema and name of a target, `ed-fi/Section`.
    pub fn qualified_name(&self, target: Target) -> String {
        let schema = match target {
            Target::Resource(id) => &self.resource(id).schema,
            Target::Abstract(id) => &self.base(id).schema,
        };
        format!("{schema}/{}", self.target_name(target))
    }

    /// Name of a target.
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Resource(id) => &self.resource(id).name,
            Target::Abstract(id) => &self.base(id).name,
        }
    }

    /// Identity of a target.
    pub fn target_key(&self, target: Target) -> &[KeyColumn] {
        match target {
            Target::Resource(id) => &self.resource(id).key,
            Target::Abstract(id) => &self.base(id).key,
        }
    }
}

impl Property {
    /// Whether it holds what extensions add to the object around it.
    pub fn is_extensions(&self) -> bool {
        self.name == EXTENSIONS
    }
}

impl Resource {
    /// Its path below the API's root, `/ed-fi/sections`.
    pub fn path(&self) -> String {
        format!("/{}/{}", self.schema, self.endpoint)
    }

    /// The JSON path of a root column, `$.schoolReference.schoolId`.
    pub fn column_path(&self, source: ColumnSource) -> String {
        match source {
            ColumnSource::Scalar(at) => format!("$.{}", self.properties[at].name),
            ColumnSource::Part(at, part) => match &self.properties[at].kind {
                PropertyKind::Reference(reference) => {
                    format!("$.{}.{}", self.properties[at].name, reference.parts[part].name)
                }
                _ => format!("$.{}", self.properties[at].name),
            },
        }
    }
}
