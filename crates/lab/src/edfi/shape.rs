//! What a target's own description says of its resources, in the few words that documents need.

/// All resources of a target, descriptors and extensions among them.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    /// In the order of their descriptions; other places name one by its number here.
    pub kinds: Vec<Kind>,
}

/// A resource.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Its path within the data management API, such as `/ed-fi/schools`.
    pub path: String,
    /// Its name in scenarios and reports: the last segment of the path, or, where two resources
    /// share that, all of it but the first `/`.
    pub name: String,
    /// The name of its schema, such as `edFi_school`.
    pub schema: String,
    /// The members of its documents.
    pub properties: Vec<Property>,
    /// The flat names of its identity, as far as they are told.
    pub identity: Vec<String>,
    /// The names by which its list may be filtered.
    pub query: Vec<String>,
    /// What its paths take.
    pub takes: Takes,
}

/// The methods of a resource's paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Takes {
    /// A new document.
    pub post: bool,
    /// A changed document, by id.
    pub put: bool,
    /// The end of a document, by id.
    pub delete: bool,
}

/// A member of a document or of an object in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Whether it must be there.
    pub is_required: bool,
    /// Whether it is marked as a part of the identity.
    pub is_identity: bool,
    /// What it holds.
    pub form: Form,
}

/// What a member holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A single value.
    Scalar(Scalar),
    /// A descriptor's value, `namespace#codeValue`; of which resource, if one fits.
    Descriptor(Option<usize>),
    /// The identity of a document of some resource.
    Reference(Reference),
    /// An object that belongs to the document.
    Object(Vec<Property>),
    /// A list of such objects.
    List(Vec<Property>),
}

/// A single value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A text of so many characters.
    Text {
        /// At least.
        min: usize,
        /// At most.
        max: usize,
        /// The first of the values that it may be, where they are told.
        only: Option<String>,
    },
    /// `2026-08-01`.
    Date,
    /// A moment.
    Moment,
    /// A time of day.
    Time,
    /// A whole number.
    Integer {
        /// At least.
        min: i64,
        /// At most.
        max: i64,
    },
    /// Any number.
    Number {
        /// At least.
        min: f64,
        /// At most.
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
    /// What comes before the target's name in the property's: a role, or nothing.
    pub role: String,
    /// The resources it can refer to, the likeliest first: one, or those that share an abstract
    /// kind's identity, or none that is known.
    pub targets: Vec<usize>,
    /// The names and values of its members.
    pub members: Vec<(String, Form)>,
}

impl Reference {
    /// Its role, or what its property is called where there is none.
    pub fn role_or<'t>(&'t self, property: &'t str) -> &'t str {
        let name = property.strip_suffix("Reference").unwrap_or(property);
        if self.role.is_empty() { name } else { &self.role }
    }
}

impl Kind {
    /// Whether its documents are descriptors.
    pub fn is_descriptor(&self) -> bool {
        self.schema.ends_with("Descriptor")
    }

    /// The flat name of a reference's member: of those that fit, the longest, which has a role; its
    /// own if none is told.
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

    /// Whether a reference of this resource is a part of its identity.
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

/// Whether a flat name is that of a reference's member: the same, or the same after a role that the
/// property's name begins with.
pub fn is_flat_name(flat: &str, property: &str, member: &str) -> bool {
    let Some(role) = strip_suffix_any_case(flat, member) else { return false };
    role.len() <= property.len()
        && property.is_char_boundary(role.len())
        && property[..role.len()].eq_ignore_ascii_case(role)
}

/// What is left of a text without its end, in any case.
pub fn strip_suffix_any_case<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(end.len())?;
    (text.is_char_boundary(at) && text[at..].eq_ignore_ascii_case(end)).then(|| &text[..at])
}
