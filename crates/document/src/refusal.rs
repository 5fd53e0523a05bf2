//! Why a document is not written or deleted.

use homeroom_access::Denial;
use homeroom_model::Resource;

use crate::validate::key_values;
use crate::violations::Violations;

/// Why a plan has written nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such document.
    NotFound,
    /// The rights of the caller do not suffice.
    Denied(Denial),
    /// The stored version is none of those that the caller expects.
    OtherVersion,
    /// The caller expects a version of a document that is not stored.
    NoVersion,
    /// The stored version is one of those that the caller excludes.
    KnownVersion,
    /// Descriptors do not exist; the messages stand at the places that name them.
    UnknownDescriptors(Violations),
    /// Documents that are referred to do not exist.
    Unresolved {
        /// Names of their resources, each once, in order.
        targets: Vec<String>,
        /// Number of further places, beyond those that have a message.
        more: usize,
        /// The messages, at the places of the references.
        violations: Violations,
    },
    /// A document of another resource has the same identity under the base of both.
    IdentityTaken {
        /// Name of the resource that was sent, and its identifying values.
        identity: String,
    },
    /// The identifying values would change.
    KeyChange {
        /// The resource and its identifying columns.
        named: String,
        /// Whether the standard allows the change.
        is_allowed: bool,
    },
    /// Other documents refer to the document.
    Referred {
        /// Names of their resources.
        by: Vec<String>,
    },
    /// The store answered a question that was not asked.
    Confused,
}

/// The stable code of a fault in a document or its record. The Ed-Fi API has it as the type of a
/// problem, and a load's results have it as the type of a reject.
///
/// Source: Ed-Fi ODS/API 7.3, problem details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The input cannot be read.
    Unreadable,
    /// The document breaks rules of its resource.
    Invalid,
    /// The document is larger than allowed.
    TooLarge,
    /// There is no such document.
    NotFound,
    /// A document that is referred to does not exist.
    Unresolved,
    /// Another document has the same identity.
    IdentityTaken,
    /// The identifying values cannot be changed.
    KeyChange,
    /// Other documents refer to the document.
    Referred,
    /// The document has another version than the caller expects.
    Version,
    /// Rights do not suffice; the code of the denial.
    Denied(&'static str),
    /// The server failed.
    Failed,
}

impl Code {
    /// Returns the code as a URN.
    pub fn urn(self) -> &'static str {
        match self {
            Self::Unreadable => "urn:ed-fi:api:bad-request",
            Self::Invalid => "urn:ed-fi:api:bad-request:data-validation-failed",
            Self::TooLarge => "urn:ed-fi:api:payload-too-large",
            Self::NotFound => "urn:ed-fi:api:not-found",
            Self::Unresolved => "urn:ed-fi:api:data-conflict:unresolved-reference",
            Self::IdentityTaken => "urn:ed-fi:api:data-conflict:non-unique-identity",
            Self::KeyChange => {
                "urn:ed-fi:api:bad-request:data-validation-failed:key-change-not-supported"
            }
            Self::Referred => "urn:ed-fi:api:data-conflict:dependent-item-exists",
            Self::Version => "urn:ed-fi:api:optimistic-lock-failed",
            Self::Denied(code) => code,
            Self::Failed => "urn:ed-fi:api:system",
        }
    }
}

impl Refusal {
    /// Returns the refusal of a document whose identity one of another resource has.
    pub(crate) fn identity_taken(resource: &Resource, body: &str) -> Self {
        let identity = format!("{} {}", resource.name, key_values(resource, body));
        Self::IdentityTaken { identity }
    }

    /// Returns the stable code of the refusal.
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound => Code::NotFound,
            Self::Denied(denial) => Code::Denied(denial.code()),
            Self::OtherVersion | Self::NoVersion | Self::KnownVersion => Code::Version,
            Self::UnknownDescriptors(_) => Code::Invalid,
            Self::Unresolved { .. } => Code::Unresolved,
            Self::IdentityTaken { .. } => Code::IdentityTaken,
            Self::KeyChange { .. } => Code::KeyChange,
            Self::Referred { .. } => Code::Referred,
            Self::Confused => Code::Failed,
        }
    }

    /// Returns what happened, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotFound => "There is no such document.".into(),
            Self::Denied(denial) => denial.sentence().into(),
            Self::OtherVersion => {
                "The document has changed since it was read: its ETag does not match If-Match."
                    .into()
            }
            Self::NoVersion => {
                "If-Match asks for a stored document, but there is none with these identifying \
                 values."
                    .into()
            }
            Self::KnownVersion => {
                "The document is stored in a version that If-None-Match excludes.".into()
            }
            Self::UnknownDescriptors(_) => {
                "The document is invalid; validationErrors lists each violation with its path."
                    .into()
            }
            Self::Unresolved { targets, more, .. } => {
                let more = match more {
                    0 => String::new(),
                    1 => " 1 more reference points to a document that does not exist.".to_owned(),
                    more => {
                        format!(" {more} more references point to documents that do not exist.")
                    }
                };
                let do_not = if targets.len() > 1 { "do not" } else { "does not" };
                format!("The referenced {} {do_not} exist.{more}", targets.join(", "))
            }
            Self::IdentityTaken { .. } => {
                "A document of another kind already has these identifying values.".into()
            }
            Self::KeyChange { named, is_allowed: true } => {
                format!("{named} cannot be changed yet; delete the document and create it again.")
            }
            Self::KeyChange { named, is_allowed: false } => {
                format!("{named} cannot be changed; delete the document and create it again.")
            }
            Self::Referred { by } => {
                format!("Documents of these kinds still refer to this one: {}.", by.join(", "))
            }
            Self::Confused => "The store answered another question.".into(),
        }
    }

    /// Returns what happened in this case, beside the sentence.
    pub fn particulars(&self) -> Option<&str> {
        match self {
            Self::Denied(denial) => denial.particulars(),
            Self::IdentityTaken { identity } => Some(identity),
            _ => None,
        }
    }

    /// Returns the messages about places in the document.
    pub fn violations(&self) -> Option<&Violations> {
        match self {
            Self::UnknownDescriptors(violations) | Self::Unresolved { violations, .. } => {
                Some(violations)
            }
            _ => None,
        }
    }

    /// Returns how to mend it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Denied(denial) => denial.how_to_mend(),
            Self::UnknownDescriptors(_) => {
                Some("Send the descriptor first, or use one that the descriptor's endpoint lists.")
            }
            Self::Unresolved { .. } => Some(
                "Send the referenced document first; /metadata/data/v3/dependencies gives an order \
                 that works.",
            ),
            Self::IdentityTaken { .. } => {
                Some("The identity must be unique among all kinds of the same base.")
            }
            Self::Referred { .. } => Some("Delete the documents that refer to it first."),
            _ => None,
        }
    }
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

/// Returns the message for a descriptor that does not exist.
pub fn unknown_descriptor(name: &str) -> String {
    format!("The value is not a known {name}.")
}
