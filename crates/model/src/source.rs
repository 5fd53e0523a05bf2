//! What a model file says, name for name, before anything is resolved.

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
    /// What every descriptor of this file has, without a name and an endpoint; its properties come
    /// before a descriptor's own, its lists stand for a descriptor's empty ones.
    pub descriptor: Option<ResourceSource>,
    /// For an extension: schema and version of the standard that it extends.
    pub extends: Option<(String, String)>,
    /// Descriptors, abstract bases and resources, in the file's order.
    pub resources: Vec<ResourceSource>,
    /// What an extension adds to resources of the standard.
    pub extensions: Vec<ExtensionSource>,
}

/// What an extension adds to one resource of the standard; it stands under `_ext` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSource {
    /// The resource: its name, or schema and name, `ed-fi/Contact`.
    pub target: String,
    /// Whether a document must have it.
    pub required: bool,
    /// Groups of places in the whole document whose values must agree.
    pub unified: Vec<Vec<String>>,
    /// The properties by the object that they extend.
    pub parts: Vec<ExtensionPart>,
}

/// What is added to one object of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionPart {
    /// Where the object stands, `addresses`; empty for the document itself.
    pub within: String,
    /// Properties in canonical order.
    pub properties: Vec<PropertySource>,
}

/// What kind of thing a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A base that only its subclasses have documents of.
    Abstract,
    /// A value of a vocabulary, keyed by namespace and code value.
    Descriptor,
    /// An ordinary resource: an entity or an association.
    Entity,
    /// A resource whose documents the store itself provides, such as school years.
    Enumeration,
}

/// One resource as the file states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceSource {
    /// What kind of thing it is.
    pub kind: ResourceKind,
    /// Name in the singular, `Section`; a descriptor's ends in `Descriptor`.
    pub name: String,
    /// Endpoint, `sections`; empty for an abstract base.
    pub endpoint: String,
    /// The abstract base and how the own key columns are named there. Here as in every place, a
    /// name without a schema is the file's own, or else the standard's.
    pub base: Option<(String, Vec<KeyMap>)>,
    /// Whether PUT may change the key.
    pub updatable_key: bool,
    /// Domains of the standard that it belongs to.
    pub domains: Vec<String>,
    /// Interchanges that may carry it, `MasterSchedule`.
    pub interchanges: Vec<String>,
    /// Element name in an interchange; [`None`]: the resource's name.
    pub element: Option<String>,
    /// Paths of elements inside a record that no property takes.
    pub ignored_elements: Vec<String>,
    /// What authorization asks about.
    pub subjects: Vec<SubjectSource>,
    /// For a person: the associations through which clients gain access to it.
    pub access_through: Vec<String>,
    /// Further associations through which clients may gain access, by the name of the way.
    pub access_by: Vec<(String, Vec<String>)>,
    /// Groups of places, `classPeriods.classPeriodReference.schoolId`, whose values must agree.
    pub unified: Vec<Vec<String>>,
    /// Properties in canonical order.
    pub properties: Vec<PropertySource>,
}

/// A key column of a subclass under its base's name.
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

/// Whether a property must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Part of the identity (of the resource, or of an item in its collection); also required.
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
    /// Whether it must be there.
    pub presence: Presence,
    /// Its type.
    pub kind: Type,
    /// Path of XML elements from the owner's element, `Name/FirstName`, where the general rule
    /// (`name` with a capital, without `Descriptor`) does not give it.
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
        /// 32 or 64.
        bits: u8,
        /// Least value.
        min: Option<String>,
        /// Greatest value.
        max: Option<String>,
    },
    /// A decimal number.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// Least value.
        min: Option<String>,
        /// Greatest value.
        max: Option<String>,
    },
    /// true or false.
    Boolean,
    /// ISO date.
    Date,
    /// ISO date and time, UTC.
    DateTime,
    /// Time of day.
    Time,
    /// A descriptor's URI; the descriptor's resource name with `Descriptor`.
    Descriptor(String),
    /// A reference: target resource or abstract base, and the parts.
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
    /// JSON name inside the reference.
    pub name: String,
    /// Key column of the target, where it differs from `name`.
    pub key: Option<String>,
    /// Flat column name in the owner (the query parameter), where it differs from `name`.
    pub column: Option<String>,
}
