//! Why rights do not suffice, in the words of rights; one `match` says which problem a caller of the
//! API is told.

use homeroom_http::{Kind, Problem};

/// The missing part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The claim set grants nothing on the resource.
    Resource,
    /// The claim set does not grant the action on the resource.
    Action,
    /// The strategies that are configured cannot be asked of the resource.
    Strategy,
    /// The client has no namespace prefixes.
    Prefixes,
    /// The document that is sent names no namespace.
    SentNamespace,
    /// The stored document names no namespace.
    StoredNamespace,
    /// The namespace begins with none of the client's prefixes.
    Namespace,
    /// The stored document has no ownership token.
    Owner,
    /// The stored document has an ownership token that the client does not have.
    Ownership,
    /// The document that is sent names no subject.
    SentSubject,
    /// The stored document names no subject.
    StoredSubject,
    /// The document that is sent leads to no document of a custom view's basis.
    SentBasis,
    /// The stored document leads to no document of a custom view's basis.
    StoredBasis,
    /// The document's subjects are not related to the client, or a custom view does not contain what
    /// the document leads to.
    Relation,
}

/// The refusal of an action on a resource or a document, because rights do not suffice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The missing part.
    pub lack: Lack,
    /// One pointer wide, so that results stay small.
    said: Box<Said>,
}

/// The explanation of one case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    /// What happened, in one sentence, in place of the usual one.
    detail: Option<String>,
    /// What happened in this case, beside the usual sentence.
    error: Option<String>,
    /// How to mend it.
    hint: Option<String>,
}

impl Denial {
    /// Returns the denial with the usual sentence.
    pub(crate) fn of(lack: Lack) -> Self {
        Self { lack, said: Box::default() }
    }

    #[must_use]
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.said.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub(crate) fn error(mut self, error: impl Into<String>) -> Self {
        self.said.error = Some(error.into());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.said.hint = Some(hint.into());
        self
    }

    /// Whether the server is configured wrongly, so that nobody could do this.
    pub fn is_configuration(&self) -> bool {
        self.lack == Lack::Strategy
    }

    fn kind(&self) -> Kind {
        match self.lack {
            Lack::Resource => Kind::AccessDeniedResource,
            Lack::Action => Kind::AccessDeniedAction,
            Lack::Strategy => Kind::SecurityConfiguration,
            Lack::Prefixes => Kind::NoNamespaces,
            Lack::SentNamespace => Kind::NamespaceRequired,
            Lack::StoredNamespace => Kind::NamespaceUninitialized,
            Lack::Namespace => Kind::NamespaceMismatch,
            Lack::Owner => Kind::OwnershipUninitialized,
            Lack::Ownership => Kind::OwnershipMismatch,
            Lack::SentSubject => Kind::ElementRequired,
            Lack::StoredSubject => Kind::ElementUninitialized,
            Lack::SentBasis => Kind::ViewElementRequired,
            Lack::StoredBasis => Kind::ViewElementUninitialized,
            Lack::Relation => Kind::AccessDenied,
        }
    }

    /// Returns the stable code of what is missing, which is the `type` of the problem in the API.
    pub fn code(&self) -> &'static str {
        self.kind().urn()
    }

    /// Returns what happened, in one sentence.
    pub fn sentence(&self) -> &str {
        self.said.detail.as_deref().unwrap_or_else(|| self.kind().detail())
    }

    /// Returns what happened in this case, beside the sentence.
    pub fn particulars(&self) -> Option<&str> {
        self.said.error.as_deref()
    }

    /// Returns how to mend it.
    pub fn how_to_mend(&self) -> Option<&str> {
        self.said.hint.as_deref()
    }
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        let mut problem = Self::of(denial.kind());
        let Said { detail, error, hint } = *denial.said;
        problem.detail = detail;
        problem.errors.extend(error);
        problem.hint = hint;
        problem
    }
}

/// Returns `schoolId` as messages spell it, `SchoolId`.
pub fn title(column: &str) -> String {
    let mut letters = column.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
