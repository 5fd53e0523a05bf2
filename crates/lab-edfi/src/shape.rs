//! The parts of a target's own description that are needed to compose documents.

/// All resources of a target, including descriptors and extensions.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    /// The resources in the order of their descriptions; other structures refer to one by its index
    /// here.
    pub resources: Vec<Resource>,
}

/// A resource.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its path within the data management API, such as `/ed-fi/schools`.
    pub path: String,
    /// Its name in scenarios and reports: the last segment of the path or, where two resources
    /// share that, the path without its first `/`.
    pub name: String,
    /// The name of its schema, such as `edFi_school`.
    pub schema: String,
    /// The members of its documents.
    pub properties: Vec<Property>,
    /// The flat names of its identity, as far as they are declared.
    pub identity: Vec<String>,
    /// The parameters by which its collection may be filtered.
    pub query: Vec<String>,
    /// The methods that its paths support.
    pub takes: Takes,
}

/// The methods of a resource's paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Takes {
    /// Whether documents can be created.
    pub post: bool,
    /// Whether documents can be replaced by id.
    pub put: bool,
    /// Whether documents can be deleted by id.
    pub delete: bool,
}

/// A member of a document or of an object in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The member's name.
    pub name: String,
    /// Whether it is required.
    pub is_required: bool,
    /// Whether it is marked as part of the identity.
    pub is_identity: bool,
    /// The kind of value that it holds.
    pub form: Form,
}

/// The kind of value that a member holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A single value.
    Scalar(Scalar),
    /// A descriptor's value, `namespace#codeValue`, and its resource if one fits.
    Descriptor(Option<usize>),
    /// The identity of another document.
    Reference(Reference),
    /// An object that belongs to the document.
    Object(Vec<Property>),
    /// A list of such objects.
    List(Vec<Property>),
}

/// A single value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A string.
    Text {
        /// The fewest characters.
        min: usize,
        /// The most characters.
        max: usize,
        /// The first allowed value, where the values are listed.
        only: Option<String>,
    },
    /// A date such as `2026-08-01`.
    Date,
    /// A date and time.
    Moment,
    /// A time of day.
    Time,
    /// A whole number.
    Integer {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// Any number.
    Number {
        /// The least value.
        min: f64,
        /// The greatest value.
        max: f64,
    },
    /// True or false.
    Boolean,
}

/// A reference: an object whose members are an identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The name of its schema without `Reference`, such as `edFi_school`.
    pub to: String,
    /// The part of the property's name before the target's name: a role, or empty.
    pub role: String,
    /// The resources that it can refer to, the likeliest first: one, several that share an abstract
    /// resource's identity, or none if none is known.
    pub targets: Vec<usize>,
    /// The names and types of its members.
    pub members: Vec<(String, Form)>,
}

impl Reference {
    /// Returns its role, or the property's name if it has none.
    pub fn role_or<'t>(&'t self, property: &'t str) -> &'t str {
        let name = property.strip_suffix("Reference").unwrap_or(property);
        if self.role.is_empty() { name } else { &self.role }
    }
}

impl Resource {
    /// Returns whether its documents are descriptors.
    pub fn is_descriptor(&self) -> bool {
        self.schema.ends_with("Descriptor")
    }

    /// Returns the flat name of a reference's member: the longest that fits, which includes a role,
    /// or the member's own name if none is declared.
    pub fn flat_name<'n>(
        &'n self,
        property: &str,
        reference: &Reference,
        member: &'n str,
    ) -> &'n str {
        let is_another = |flat: &str| reference.members.iter().any(|(name, _)| name == flat);
        let told = self.identity.iter().chain(&self.query);
        let fitting = told.filter(|flat| {
            *flat == member || (is_flat_name(flat, property, member) && !is_another(flat))
        });
        fitting.max_by_key(|flat| flat.len()).map_or(member, String::as_str)
    }

    /// Returns whether a reference of this resource is part of its identity.
    pub fn identifies(&self, property: &Property, reference: &Reference) -> bool {
        if property.is_identity {
            return true;
        }
        property.is_required
            && (self.identity.is_empty() || self.has_in_identity(property, reference))
    }

    fn has_in_identity(&self, property: &Property, reference: &Reference) -> bool {
        reference.members.iter().all(|(member, _)| {
            self.identity.iter().any(|flat| is_flat_name(flat, &property.name, member))
        })
    }
}

/// Returns whether a flat name is that of a reference's member: the same name, or the same after a
/// role with which the property's name begins.
pub fn is_flat_name(flat: &str, property: &str, member: &str) -> bool {
    let Some(role) = strip_suffix_any_case(flat, member) else { return false };
    role.len() <= property.len()
        && property.is_char_boundary(role.len())
        && property[..role.len()].eq_ignore_ascii_case(role)
}

/// Removes a suffix from a text, ignoring case.
pub fn strip_suffix_any_case<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(end.len())?;
    (text.is_char_boundary(at) && text[at..].eq_ignore_ascii_case(end)).then(|| &text[..at])
}
