//! The content of a model file, name for name, before anything is resolved.

/// One model file: a standard, or an extension of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// Project name as tables and schemas write it, `Ed-Fi`.
    pub project: String,
    /// Schema segment of a path, `ed-fi`.
    pub schema: String,
    /// Version of the data standard, `5.2.0`.
    pub version: String,
    /// School years that a new store holds, by their second year.
    pub school_years: Vec<u16>,
    /// What all descriptors of this file share, without name and endpoint. Its properties come
    /// before a descriptor's own; its lists replace a descriptor's empty lists.
    pub descriptor: Option<ResourceSource>,
    /// For an extension: schema and version of the standard that it extends.
    pub extends: Option<(String, String)>,
    /// Descriptors, abstract bases and resources, in the file's order.
    pub resources: Vec<ResourceSource>,
    /// Additions of an extension to resources of the standard.
    pub extensions: Vec<ExtensionSource>,
}

/// Additions of an extension to one resource of the standard; in documents they stand under `_ext`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSource {
    /// The extended resource: its name, or schema and name, `ed-fi/Contact`.
    pub target: String,
    /// Whether every document must have them.
    pub required: bool,
    /// Groups of places in the whole document whose values must agree.
    pub unified: Vec<Vec<String>>,
    /// Added properties, by the object that they extend.
    pub parts: Vec<ExtensionPart>,
}

/// Properties added to one object of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionPart {
    /// Path of the object, `addresses`; empty for the document itself.
    pub within: String,
    /// Properties in canonical order.
    pub properties: Vec<PropertySource>,
}

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A base; only its subclasses have documents.
    Abstract,
    /// A value of a vocabulary, keyed by namespace and code value.
    Descriptor,
    /// An ordinary resource: an entity or an association.
    Entity,
    /// A resource whose documents the store itself provides, such as school years.
    Enumeration,
}

/// One resource as the model file states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceSource {
    /// The kind of the resource.
    pub kind: ResourceKind,
    /// Name in the singular, `Section`; a descriptor's ends in `Descriptor`.
    pub name: String,
    /// Endpoint, `sections`; empty for an abstract base.
    pub endpoint: String,
    /// The abstract base, and the base's names of the own key columns. As everywhere in a file, a
    /// name without a schema is looked up first in the file itself, then in the standard.
    pub base: Option<(String, Vec<KeyMap>)>,
    /// Whether PUT may change the key.
    pub updatable_key: bool,
    /// Domains of the standard that it belongs to.
    pub domains: Vec<String>,
    /// Interchanges that may carry it, `MasterSchedule`.
    pub interchanges: Vec<String>,
    /// Element name in an interchange; [`None`] if it is the resource's name.
    pub element: Option<String>,
    /// Paths of elements inside a record that become no property.
    pub ignored_elements: Vec<String>,
    /// Subjects of authorization.
    pub subjects: Vec<SubjectSource>,
    /// For a person: the associations through which clients gain access to it.
    pub access_through: Vec<String>,
    /// Further associations through which clients may gain access, by the name of the access path.
    pub access_by: Vec<(String, Vec<String>)>,
    /// Groups of places, `classPeriods.classPeriodReference.schoolId`, whose values must agree.
    pub unified: Vec<Vec<String>>,
    /// Properties in canonical order.
    pub properties: Vec<PropertySource>,
}

/// A key column of a subclass, and its name in the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    /// Column of the base's key, `educationOrganizationId`.
    pub base: String,
    /// Column of the own key, `schoolId`.
    pub own: String,
}

/// A subject of authorization: a kind and the column that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectSource {
    /// `EducationOrganization`, `Student`, `Contact`, `Staff` or `Namespace`.
    pub kind: String,
    /// Flat column, `schoolId`.
    pub column: String,
}

/// Whether a property is required, and whether it is part of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Part of the identity of the resource, or of an item in its collection; also required.
    Key,
    /// Required.
    Required,
    /// May be absent.
    Optional,
}

/// One property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertySource {
    /// JSON name.
    pub name: String,
    /// Whether it is required, and whether it is part of an identity.
    pub presence: Presence,
    /// Its type.
    pub kind: Type,
    /// Path of its XML elements from the owner's element, `Name/FirstName`; [`None`] where the
    /// general rule gives it (`name` capitalized, without `Descriptor`).
    pub xml: Option<String>,
}

/// A property's type. Lengths are in characters; bounds are decimal text, inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Text of `min..=max` characters.
    Text {
        /// Fewest characters.
        min: u32,
        /// Most characters.
        max: Option<u32>,
    },
    /// A whole number of 32 or 64 bits.
    Integer {
        /// Width in bits: 32 or 64.
        bits: u8,
        /// Least value.
        min: Option<String>,
        /// Greatest value.
        max: Option<String>,
    },
    /// A decimal number.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Number of digits after the point.
        scale: u8,
        /// Least value.
        min: Option<String>,
        /// Greatest value.
        max: Option<String>,
    },
    /// A boolean.
    Boolean,
    /// An ISO date.
    Date,
    /// An ISO date and time, in UTC.
    DateTime,
    /// A time of day.
    Time,
    /// A descriptor's URI; holds the name of the descriptor's resource, which ends in `Descriptor`.
    Descriptor(String),
    /// A reference to a resource or an abstract base.
    Reference {
        /// Name of the target.
        target: String,
        /// Its members, in the order of the target's key.
        parts: Vec<PartSource>,
    },
    /// An embedded object.
    Object(Vec<PropertySource>),
    /// A collection of objects.
    List(Vec<PropertySource>),
}

/// A member of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSource {
    /// Name inside the reference object.
    pub name: String,
    /// Key column of the target, where it differs from `name`.
    pub key: Option<String>,
    /// Flat column name in the owner (the query parameter), where it differs from `name`.
    pub column: Option<String>,
}
