//! The linked model: every name resolved, every derived fact worked out once.

use std::collections::HashMap;

use crate::source::{Presence, ResourceKind};

/// The member that holds the extensions of an object: an object with one object per schema.
pub const EXTENSIONS: &str = "_ext";

/// Index of a resource in [`Model::resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u16);

/// Index of an abstract base in [`Model::abstracts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbstractId(pub u16);

/// A linked data standard with its extensions.
#[derive(Debug, Clone)]
pub struct Model {
    /// The core standard first, then the extensions.
    pub projects: Vec<Project>,
    /// Every resource, in the order of the files.
    pub resources: Vec<Resource>,
    /// Every abstract base.
    pub abstracts: Vec<Abstract>,
    /// School years that a new store holds, by their second year.
    pub school_years: Vec<u16>,
    pub(crate) by_endpoint: HashMap<String, ResourceId>,
    pub(crate) by_element: HashMap<String, ResourceId>,
    /// Resources and bases by `schema/Name`.
    pub(crate) by_name: HashMap<String, Target>,
}

/// A project: the core standard or an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Name of the project, `Ed-Fi`.
    pub name: String,
    /// Path segment, `ed-fi`.
    pub schema: String,
    /// Version of the standard or extension, `5.2.0`.
    pub version: String,
}

/// What a reference points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A resource that has documents of its own.
    Resource(ResourceId),
    /// An abstract base; documents of all its subclasses qualify.
    Abstract(AbstractId),
}

/// An abstract base: only its subclasses have documents.
#[derive(Debug, Clone)]
pub struct Abstract {
    /// Its own index.
    pub id: AbstractId,
    /// Path segment of its project, `ed-fi`.
    pub schema: String,
    /// Name of the base, `EducationOrganization`.
    pub name: String,
    /// Properties of the identity.
    pub properties: Vec<Property>,
    /// Columns of the identity.
    pub key: Vec<KeyColumn>,
    /// The resources that extend it.
    pub subclasses: Vec<ResourceId>,
}

/// A resource: the kind of a document.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its own index.
    pub id: ResourceId,
    /// Index into [`Model::projects`].
    pub project: usize,
    /// Path segment of its project, `ed-fi`.
    pub schema: String,
    /// Name in the singular, `Section`.
    pub name: String,
    /// Last segment of its path, `sections`.
    pub endpoint: String,
    /// Whether it is a descriptor, an entity or an enumeration.
    pub kind: ResourceKind,
    /// The abstract base, if it has one.
    pub base: Option<Base>,
    /// Whether PUT may change the key.
    pub updatable_key: bool,
    /// Domains of the standard that it belongs to.
    pub domains: Vec<String>,
    /// Interchanges that may carry it.
    pub interchanges: Vec<String>,
    /// Name of its element in an interchange.
    pub element: String,
    /// Paths of elements inside a record that become no property.
    pub ignored_elements: Vec<String>,
    /// Subjects of authorization.
    pub subjects: Vec<Subject>,
    /// For a person: the associations through which clients gain access to it.
    pub access_through: Vec<ResourceId>,
    /// Further associations that grant access to it, by the strategy that uses them.
    pub access_by: Vec<(String, Vec<ResourceId>)>,
    /// Groups of places whose values must agree.
    pub unified: Vec<Vec<Place>>,
    /// Properties in canonical order.
    pub properties: Vec<Property>,
    /// Columns of the identity, in key order.
    pub key: Vec<KeyColumn>,
    /// Parameters that a list can be filtered by, apart from `id` and paging.
    pub query_fields: Vec<QueryField>,
}

/// A subject of authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `EducationOrganization`, `Student`, `Contact`, `Staff` or `Namespace`.
    pub kind: String,
    /// Flat column that holds its value.
    pub column: String,
    /// The place of the column's value in a document.
    pub place: Place,
    /// What the kind stands for.
    pub of: SubjectOf,
}

/// What the kind of a subject of authorization stands for.
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
    /// For each column of the base's key, the index of the matching column in the resource's own
    /// key.
    pub columns: Vec<usize>,
}

/// A property.
#[derive(Debug, Clone)]
pub struct Property {
    /// JSON name.
    pub name: String,
    /// Whether it is required, and whether it is part of an identity.
    pub presence: Presence,
    /// What it holds.
    pub kind: PropertyKind,
    /// Path of its XML elements from the owner's element.
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
        /// Width in bits: 32 or 64.
        bits: u8,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A decimal number; bounds inclusive.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Number of digits after the point.
        scale: u8,
        /// Least value.
        min: Option<f64>,
        /// Greatest value.
        max: Option<f64>,
    },
    /// A boolean.
    Boolean,
    /// An ISO date.
    Date,
    /// An ISO date and time, in UTC.
    DateTime,
    /// A time of day.
    Time,
    /// A URI of a descriptor of this resource.
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
    /// Name inside the reference object.
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
    /// Its place in a document; the first place if several are unified.
    pub source: ColumnSource,
}

/// The place of a root column's value in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// A scalar of the root, by index into the properties.
    Scalar(usize),
    /// A member of a root reference, by indices of the property and the part.
    Part(usize, usize),
}

/// A place in a document: property indices from the root, and the member if the last property is a
/// reference. A list stands for all of its items.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Property indices from the root.
    pub steps: Vec<usize>,
    /// Index of the reference's member; [`None`] if the last property is not a reference.
    pub part: Option<usize>,
}

/// A parameter that a list can be filtered by.
#[derive(Debug, Clone)]
pub struct QueryField {
    /// Parameter name.
    pub name: String,
    /// Type of its value.
    pub scalar: Scalar,
    /// Columns that it is compared with.
    pub sources: Vec<QuerySource>,
    /// Whether it is part of the resource's key.
    pub identity: bool,
}

/// A column that a query field is compared with. If there are several, they are unified, so a match
/// with any of them counts.
pub type QuerySource = ColumnSource;

impl Model {
    /// Returns the resource behind a path such as `ed-fi/sections`, regardless of case.
    pub fn by_endpoint(&self, schema: &str, endpoint: &str) -> Option<&Resource> {
        let mut key = String::with_capacity(schema.len() + endpoint.len() + 1);
        key.push_str(schema);
        key.push('/');
        key.push_str(endpoint);
        key.make_ascii_lowercase();
        self.by_endpoint.get(&key).map(|id| self.resource(*id))
    }

    /// Finds a resource as people name it: `students`, `Student` or `ed-fi/students`, regardless of
    /// case.
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

    /// Returns the resource with this index.
    ///
    /// # Panics
    ///
    /// Panics if the index belongs to another model.
    pub fn resource(&self, id: ResourceId) -> &Resource {
        &self.resources[usize::from(id.0)]
    }

    /// Returns the abstract base with this index.
    ///
    /// # Panics
    ///
    /// Panics if the index belongs to another model.
    pub fn base(&self, id: AbstractId) -> &Abstract {
        &self.abstracts[usize::from(id.0)]
    }

    /// Resolves a name such as `Section` or `ed-fi/EducationOrganization`; without a schema, the
    /// first project that has the name counts.
    pub fn by_name(&self, name: &str) -> Option<Target> {
        if name.contains('/') {
            return self.by_name.get(name).copied();
        }
        let mut schemas = self.projects.iter().map(|project| &project.schema);
        schemas.find_map(|schema| self.by_name.get(&format!("{schema}/{name}")).copied())
    }

    /// Returns the name of a target's types in an XML schema: its own name, or, where an earlier
    /// project has the same name, with its schema in front, `HOMOGRAPH-School`.
    pub fn xml_name(&self, target: Target) -> String {
        let name = self.target_name(target);
        if self.by_name(name) == Some(target) {
            return name.to_owned();
        }
        let schema = match target {
            Target::Resource(id) => &self.resource(id).schema,
            Target::Abstract(id) => &self.base(id).schema,
        };
        extension_name(schema, name)
    }

    /// Whether it contains extensions beside the standard.
    pub fn has_extensions(&self) -> bool {
        self.projects.len() > 1
    }

    /// Returns the resource whose record an interchange element is; see [`crate::xml`].
    pub fn by_element(&self, name: &str) -> Option<ResourceId> {
        self.by_element.get(name).copied()
    }

    /// Returns the schema and name of a target, `ed-fi/Section`.
    pub fn qualified_name(&self, target: Target) -> String {
        let schema = match target {
            Target::Resource(id) => &self.resource(id).schema,
            Target::Abstract(id) => &self.base(id).schema,
        };
        format!("{schema}/{}", self.target_name(target))
    }

    /// Returns the name of a target.
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Resource(id) => &self.resource(id).name,
            Target::Abstract(id) => &self.base(id).name,
        }
    }

    /// Returns the identity of a target.
    pub fn target_key(&self, target: Target) -> &[KeyColumn] {
        match target {
            Target::Resource(id) => &self.resource(id).key,
            Target::Abstract(id) => &self.base(id).key,
        }
    }
}

impl Property {
    /// Whether it holds the extensions of the object around it.
    pub fn is_extensions(&self) -> bool {
        self.name == EXTENSIONS
    }
}

impl Resource {
    /// Returns its path below the API's root, `/ed-fi/sections`.
    pub fn path(&self) -> String {
        format!("/{}/{}", self.schema, self.endpoint)
    }

    /// Returns the JSON path of a root column, `$.schoolReference.schoolId`.
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

/// Returns the name of an element with the extension's name in front, `SAMPLE-Bus`.
pub(crate) fn extension_name(schema: &str, name: &str) -> String {
    format!("{}-{name}", schema.to_uppercase())
}
