//! Why a record is rejected: as a type, a message, a hint and a group.

use std::fmt::Write as _;

use homeroom_document::{Code, Refusal, Violations};
use homeroom_model::Target;
use homeroom_store::NaturalKey;

use crate::causes::{Group, Reason};
use crate::flaw::Flaw;
use crate::identity::without_indices;
use crate::place::Malformed;
use crate::reject::Missing;

/// Most violations that one message lists.
const SPELLED_MAX: usize = 20;
/// Most kinds of missing documents that the sentence of a cause lists.
const LACKING_MAX: usize = 10;

/// A document that a record refers to and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absent {
    /// How it is reported.
    pub missing: Missing,
    /// Its resource or base.
    pub target: Target,
    /// Its identity.
    pub hash: NaturalKey,
    /// Whether it is a descriptor.
    pub is_descriptor: bool,
    /// Whether the input has records of its resource, or of a subclass of its base.
    pub is_in_input: bool,
}

/// Why a record is rejected.
#[derive(Debug)]
pub(crate) enum Fault<'f> {
    /// It cannot be read as the model describes it.
    Flawed(&'f [Flaw]),
    /// It violates rules of its resource.
    Invalid(&'f Violations),
    /// It refers to documents that do not exist.
    Absent(&'f [Absent]),
    /// The store refuses it.
    Refused(&'f Refusal),
    /// The model has no such element.
    Unknown(&'f str),
    /// It is a file that cannot be read.
    File(&'f Malformed),
    /// It is a part of a file that is no record.
    Stray(&'f Malformed),
}

/// The texts for a fault.
#[derive(Debug)]
pub(crate) struct Words {
    /// Everything that is wrong.
    pub message: String,
    /// How to correct it.
    pub hint: String,
    /// The group for counting causes.
    pub group: Group,
    /// What is wrong, in a sentence that fits the whole group.
    pub what: String,
}

impl Words {
    /// Returns the reason for rejecting something whose resource is not known, at a file and line.
    pub(crate) fn reason<'w>(&'w self, place: (&'w str, u64)) -> Reason<'w> {
        Reason {
            group: self.group.clone(),
            resource: None,
            what: &self.what,
            hint: &self.hint,
            place,
            root: None,
        }
    }
}

impl Fault<'_> {
    /// Returns line and column of the fault itself, where they are known.
    pub(crate) fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Flawed(flaws) => {
                let (line, column) = flaws.first()?.place?;
                Some((line.into(), column.into()))
            }
            _ => None,
        }
    }

    /// Returns its stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Flawed(flaws) => flaws.first().map_or(Code::Unreadable, |flaw| flaw.code),
            Self::Invalid(_) => Code::Invalid,
            Self::Absent(absent) if absent.iter().any(|absent| absent.is_descriptor) => {
                Code::Invalid
            }
            Self::Absent(_) => Code::Unresolved,
            Self::Refused(refusal) => refusal.code(),
            Self::Unknown(_) | Self::File(_) | Self::Stray(_) => Code::Unreadable,
        }
    }

    /// Returns the status with which the API refuses a document for such a fault.
    pub(crate) fn status(&self) -> u16 {
        match self.code() {
            Code::Unreadable | Code::Invalid | Code::KeyChange => 400,
            Code::Denied(_) => 403,
            Code::NotFound => 404,
            Code::Unresolved | Code::IdentityTaken | Code::Referred => 409,
            Code::Version => 412,
            Code::TooLarge => 413,
            Code::Failed => 500,
        }
    }

    /// Returns what found the fault, as other loaders name it.
    pub(crate) fn method(&self) -> &'static str {
        match (self, self.code()) {
            (Self::Absent(_), Code::Invalid) => "descriptors",
            (_, Code::Unreadable | Code::TooLarge) => "json",
            (_, Code::Unresolved | Code::Referred) => "references",
            (_, Code::IdentityTaken) => "uniqueness",
            _ => "schema",
        }
    }

    /// Returns the texts for the fault; `name` is that of the resource or, for a file, of the file.
    pub(crate) fn words(&self, name: &str) -> Words {
        let r#type = self.code().urn();
        let words = |message: String, hint: &str, by: String, what: String| Words {
            message,
            hint: hint.to_owned(),
            group: Group { r#type: r#type.into(), by },
            what,
        };
        match self {
            Self::Flawed(flaws) => {
                let message = spell(flaws.iter().map(|flaw| match flaw.path.as_str() {
                    "" => flaw.message.clone(),
                    path => format!("{path}: {}", flaw.message),
                }));
                let Some(first) = flaws.first() else {
                    return words(message, "", String::new(), String::new());
                };
                let what = match first.path.as_str() {
                    "" => format!("{name}: {}", first.general),
                    path => format!("{name}, {path}: {}", first.general),
                };
                words(message, first.hint, what.clone(), what)
            }
            Self::Invalid(violations) => {
                let message = spell(violations.iter().flat_map(|(path, messages)| {
                    messages.iter().map(move |message| format!("{path}: {message}"))
                }));
                let first = violations.iter().next();
                let (path, first) = first.map_or(("$", ""), |(path, messages)| {
                    (path.as_str(), messages.first().map_or("", String::as_str))
                });
                let path = without_indices(path);
                let by = format!("{name} {path} {}", without_digits(first));
                let hint =
                    "Mend the record; each message names the place of its value in the document.";
                words(message, hint, by, format!("{name}, {path}: {first}"))
            }
            Self::Absent(absent) => self.absent_words(name, absent),
            Self::Refused(refusal) => {
                let sentence = refusal.sentence();
                let places = refusal.violations().into_iter().flatten();
                let more = places.flat_map(|(path, messages)| {
                    messages.iter().map(move |message| format!("{path}: {message}"))
                });
                let particulars = refusal.particulars().map(str::to_owned);
                let message =
                    spell(std::iter::once(sentence.clone()).chain(particulars).chain(more));
                let hint = refusal.hint().unwrap_or(match refusal.code() {
                    Code::Denied(_) => {
                        "Load it with a key that has the right to it, or ask for that right; the \
                         record itself may be right."
                    }
                    _ => "Mend the record.",
                });
                words(message, hint, name.to_owned(), format!("{name}: {sentence}"))
            }
            Self::Unknown(element) => {
                let what = format!("The model has no record for the element {element}.");
                words(
                    what.clone(),
                    "Correct the name, or load it with a model that has it.",
                    (*element).to_owned(),
                    what,
                )
            }
            Self::File(malformed) => {
                let message = format!(
                    "Nothing of this file was loaded: {} (line {}, column {}).",
                    malformed.message, malformed.line, malformed.column
                );
                let what = format!("{name}: {}.", malformed.message);
                words(message, "Mend the file and load it again.", name.to_owned(), what)
            }
            Self::Stray(malformed) => {
                let Malformed { line, column, message } = malformed;
                let said = format!("Among the records, {message} (line {line}, column {column}).");
                let what = format!("{name}: {message}.");
                let hint =
                    "Mend the file there and load it again; what is stored already is left alone.";
                words(said, hint, what.clone(), what)
            }
        }
    }

    fn absent_words(&self, name: &str, all: &[Absent]) -> Words {
        let message = spell(all.iter().map(|absent| {
            let Missing { resource, key, path, nearest, rejected } = &absent.missing;
            let mut message = if absent.is_descriptor {
                format!("The {resource} {key}, used at {path}, is not in the store.")
            } else {
                format!("The {resource} {key}, which {path} refers to, does not exist.")
            };
            if let Some(nearest) = nearest {
                _ = write!(message, " The nearest that is: {nearest}.");
            }
            if let Some(at) = rejected {
                _ = write!(message, " It was rejected itself: {}, line {}.", at.file, at.line);
            }
            message
        }));
        let r#type =
            |is_descriptor| if is_descriptor { Code::Invalid } else { Code::Unresolved }.urn();
        let lacking: Vec<&Absent> = lacking(all).collect();
        if lacking.is_empty() {
            let Some(Absent { missing, is_descriptor, .. }) = all.first() else {
                let group = Group { r#type: self.code().urn().into(), by: String::new() };
                return Words { message, hint: String::new(), group, what: String::new() };
            };
            let (resource, path) = (&missing.resource, without_indices(&missing.path));
            let what = format!("{name} refers to a {resource} that was rejected itself ({path}).");
            let hint = format!("Mend the {resource} first, then load both again.");
            let group = Group { r#type: r#type(*is_descriptor).into(), by: what.clone() };
            return Words { message, hint, group, what };
        }
        let mut kinds: Vec<String> = lacking
            .iter()
            .map(|absent| {
                let resource = &absent.missing.resource;
                if absent.is_descriptor {
                    resource.clone()
                } else {
                    format!("{resource} {}", path_of(absent))
                }
            })
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let what = sentence(name, &lacking);
        let group = Group {
            r#type: r#type(lacking.iter().any(|absent| absent.is_descriptor)).into(),
            by: format!("{name} lacks {}", kinds.join(", ")),
        };
        Words { message, hint: hint(&lacking), group, what }
    }
}

/// Returns the missing documents that were not rejected themselves.
pub(crate) fn lacking(all: &[Absent]) -> impl Iterator<Item = &Absent> {
    all.iter().filter(|absent| absent.missing.rejected.is_none())
}

/// Says which kinds of documents the records of a resource lack.
fn sentence(name: &str, lacking: &[&Absent]) -> String {
    let (descriptors, others): (Vec<&Absent>, Vec<&Absent>) =
        lacking.iter().copied().partition(|absent| absent.is_descriptor);
    let mut used = each_once(descriptors.iter().map(|absent| absent.missing.resource.clone()));
    used.sort_unstable();
    let used = limited(used);
    let meant = |absent: &&Absent| format!("a {} ({})", absent.missing.resource, path_of(absent));
    let meant = limited(each_once(others.iter().map(meant)));
    let mut said = vec![];
    match used.as_slice() {
        [] => {}
        [_] => said.push(format!("uses a {} that is not in the store", listed(&used))),
        _ => said.push(format!("uses values of {} that are not in the store", listed(&used))),
    }
    match (meant.as_slice(), others.first()) {
        ([_], Some(only)) => said.push(format!(
            "refers to a {} that does not exist ({})",
            only.missing.resource,
            path_of(only)
        )),
        ([], _) | (_, None) => {}
        _ => said.push(format!("refers to {} that do not exist", listed(&meant))),
    }
    format!("{name} {}.", said.join(", and "))
}

/// Returns the place of a reference, the same for all items of a collection.
fn path_of(absent: &Absent) -> String {
    without_indices(&absent.missing.path)
}

/// Cuts a list of kinds.
fn limited(mut kinds: Vec<String>) -> Vec<String> {
    let more = kinds.len().saturating_sub(LACKING_MAX);
    if more > 1 {
        kinds.truncate(LACKING_MAX);
        kinds.push(format!("{more} more kinds"));
    }
    kinds
}

/// Says what to do about documents that are missing.
fn hint(lacking: &[&Absent]) -> String {
    let kinds = |is_wanted: &dyn Fn(&Absent) -> bool| {
        let wanted = lacking.iter().filter(|absent| is_wanted(absent));
        each_once(wanted.map(|absent| absent.missing.resource.clone()))
    };
    let descriptors = kinds(&|absent| absent.is_descriptor);
    let unknown = kinds(&|absent| !absent.is_descriptor && !absent.is_in_input);
    let others = kinds(&|absent| !absent.is_descriptor && absent.is_in_input);
    let mut said = vec![];
    if !descriptors.is_empty() {
        let names = listed(&limited(descriptors));
        said.push(format!("Load the {names} first, or use a value that the store has."));
    }
    if !unknown.is_empty() {
        said.push(format!(
            "The input has no {} at all: load those first, or add the file that holds them.",
            unknown.join(" and no ")
        ));
    }
    if !others.is_empty() {
        said.push(format!(
            "The input has other records of {} but not this one: add it, or correct the reference.",
            listed(&others)
        ));
    }
    said.join(" ")
}

/// Returns each text once, in the order of their first places.
fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Lists texts: `a`, `a and b`, `a, b and c`.
fn listed(texts: &[String]) -> String {
    match texts {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        texts => texts.concat(),
    }
}

fn spell(messages: impl Iterator<Item = String>) -> String {
    let mut messages = messages;
    let mut spelled: Vec<String> = messages.by_ref().take(SPELLED_MAX).collect();
    match messages.count() {
        0 => {}
        more => spelled.push(format!("{more} more.")),
    }
    spelled.join(" ")
}

/// Replaces each digit run with `#`, so that messages of the same kind are equal.
fn without_digits(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_of_one_kind_share_a_group() {
        let violations = |index: u32, length: u32| {
            let path = format!("$.addresses[{index}].city");
            let message =
                format!("city: The value has {length} characters; at most 30 are allowed.");
            Violations::from([(path, vec![message])])
        };
        let words = |violations: &Violations| Fault::Invalid(violations).words("Student");

        let (first, second) = (words(&violations(0, 31)), words(&violations(17, 45)));

        assert_eq!(first.group, second.group);
        assert!(first.message.starts_with("$.addresses[0].city: city: The value has 31"));
    }

    #[test]
    fn a_record_is_grouped_by_all_missing_targets_that_were_not_rejected() {
        let absent = |resource: &str, rejected| Absent {
            missing: Missing {
                resource: resource.into(),
                key: "{}".into(),
                path: format!("$.items[3].{resource}"),
                nearest: None,
                rejected,
            },
            target: Target::Resource(homeroom_model::ResourceId(0)),
            hash: NaturalKey([0; 16]),
            is_descriptor: false,
            is_in_input: false,
        };
        let at = crate::reject::RejectedAt { file: "f".into(), line: 7 };
        let rejected = absent("A", Some(at));

        let words = Fault::Absent(&[rejected.clone(), absent("B", None)]).words("C");
        let more = Fault::Absent(&[absent("B", None), rejected.clone(), absent("D", None)]);
        let follows = Fault::Absent(&[rejected]).words("C");

        assert_eq!(words.what, "C refers to a B that does not exist ($.items.B).");
        assert!(words.message.contains("It was rejected itself: f, line 7."));
        assert!(words.hint.contains("no B at all"));
        let more = more.words("C");
        assert_eq!(more.what, "C refers to a B ($.items.B) and a D ($.items.D) that do not exist.");
        assert!(more.hint.contains("no B and no D at all"), "{}", more.hint);
        assert_eq!(follows.what, "C refers to a A that was rejected itself ($.items.A).");
    }

    #[test]
    fn a_long_list_is_cut() {
        let message = spell((0..25).map(|n| n.to_string()));

        assert!(message.ends_with("19 5 more."), "{message}");
    }
}
