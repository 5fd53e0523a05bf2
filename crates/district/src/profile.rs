//! What a district has beside the documents that are always generated, read from
//! `data/profile-*.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::batch::{Batch, Document};
use crate::documents::{Documents, documents};
use crate::layout::{AGENCY, District};
use crate::people::student_id;
use crate::plan::DistrictPlan;

/// A profile: further documents, and further members of the usual ones.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The proportions that it has.
    pub ratios: Ratios,
    descriptors: BTreeMap<String, Vec<String>>,
    documents: Vec<Further>,
    members: Vec<Member>,
}

/// The proportions of a profile. A record is a document or an item of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    /// Number of records for each student, over all interchanges.
    pub records_per_student: f64,
    /// Number of documents for each student.
    pub documents_per_student: f64,
    /// Least and greatest number of records for each document.
    pub records_per_document: [f64; 2],
    /// Number of records for each student in the interchange of students.
    pub student_interchange_records_per_student: f64,
}

/// Further documents of a kind.
#[derive(Debug)]
struct Further {
    resource: String,
    unit: Unit,
    every: usize,
    count: usize,
    is_first: bool,
    json: Template,
}

#[derive(Debug)]
struct Member {
    resource: String,
    json: Template,
}

/// What documents are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Student,
    School,
    District,
}

/// A text with places for values.
#[derive(Debug)]
struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Student,
    Entry,
    School,
    Agency,
    Year,
    Number,
    Of(Vec<String>),
}

/// The values of a template's places.
struct Values<'d> {
    district: &'d District,
    /// Index of the student or the school.
    unit: usize,
    of: Unit,
    number: usize,
    /// Counts through the values of a list.
    turn: usize,
}

impl Profile {
    /// Returns the profile with a name.
    ///
    /// # Panics
    ///
    /// If the file of the profile is broken, which a test excludes.
    pub fn named(name: &str) -> Option<&'static Self> {
        static PUBLISHED: OnceLock<Profile> = OnceLock::new();
        let published = PUBLISHED.get_or_init(|| {
            read(include_str!("../data/profile-published.toml"))
                .expect("a test reads every profile")
        });
        (published.name == name).then_some(published)
    }

    /// Returns the names of all profiles.
    pub fn names() -> &'static [&'static str] {
        &["published"]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    ratios: Ratios,
    descriptors: BTreeMap<String, Vec<String>>,
    documents: Vec<WrittenFurther>,
    members: Vec<WrittenMember>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFurther {
    resource: String,
    unit: Unit,
    #[serde(default = "one")]
    every: usize,
    #[serde(default = "one")]
    count: usize,
    #[serde(default)]
    first: bool,
    json: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMember {
    resource: String,
    json: String,
}

const fn one() -> usize {
    1
}

fn read(text: &str) -> Result<Profile, String> {
    let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
    let further = |further: WrittenFurther| {
        let WrittenFurther { resource, unit, every, count, first, json } = further;
        let every = every.max(1);
        Ok(Further { resource, unit, every, count, is_first: first, json: template(&json)? })
    };
    let member = |WrittenMember { resource, json }: WrittenMember| {
        Ok::<_, String>(Member { resource, json: template(&json)? })
    };
    Ok(Profile {
        name: written.name,
        ratios: written.ratios,
        descriptors: written.descriptors,
        documents: written.documents.into_iter().map(further).collect::<Result<_, String>>()?,
        members: written.members.into_iter().map(member).collect::<Result<_, _>>()?,
    })
}

/// Divides a text at its places. A brace that begins no place is text.
fn template(text: &str) -> Result<Template, String> {
    let mut pieces = vec![];
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let end = from.find('}').unwrap_or(from.len());
        let name = from.get(1..end).unwrap_or_default();
        let piece = match name {
            "student" => Some(Piece::Student),
            "entry" => Some(Piece::Entry),
            "school" => Some(Piece::School),
            "agency" => Some(Piece::Agency),
            "year" => Some(Piece::Year),
            "n" => Some(Piece::Number),
            name => name
                .strip_prefix("of:")
                .map(|values| Piece::Of(values.split('|').map(str::to_owned).collect())),
        };
        let is_json = name.is_empty() || name.starts_with('"');
        match piece {
            Some(piece) => {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(piece);
                rest = &from[end + 1..];
            }
            None if is_json => {
                plain.push('{');
                rest = &from[1..];
            }
            None => return Err(format!("there is no place {{{name}}}")),
        }
    }
    plain.push_str(rest);
    pieces.push(Piece::Text(plain));
    Ok(Template(pieces))
}

impl Template {
    fn write(&self, out: &mut String, values: &Values<'_>) {
        let Values { district, unit, of, number, turn } = *values;
        for piece in &self.0 {
            // A string takes whatever is written.
            _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Student => write!(out, "{}", student_id(unit)),
                Piece::Entry => {
                    let student = district.student(unit);
                    write!(out, "{}", district.year.instruction[student.enrolled.start])
                }
                Piece::School if of == Unit::Student => {
                    write!(out, "{}", district.seat(unit).0.id)
                }
                Piece::School => write!(out, "{}", district.schools[unit].id),
                Piece::Agency => write!(out, "{AGENCY}"),
                Piece::Year => write!(out, "{}", district.year.ends),
                Piece::Number => write!(out, "{number}"),
                Piece::Of(all) => out.write_str(&all[turn % all.len()]),
            };
        }
    }
}

/// The documents of a district with a profile; see [`profiled`].
pub struct Profiled {
    profile: &'static Profile,
    own: Documents,
    district: District,
    /// Number of own documents so far that got further members, by the index of the members.
    turns: Vec<usize>,
    /// The first of the own documents after the descriptors, until those that come before it have
    /// been handed out.
    held: Option<Document>,
    is_begun: bool,
    batch: Batch,
    /// Further documents of this index are next, for this unit.
    next: (usize, usize),
    is_first: bool,
}

/// Returns the documents of the district that `plan` describes with those of a profile, each after
/// all documents that it refers to.
pub fn profiled(plan: &DistrictPlan, profile: &'static Profile) -> Profiled {
    let mut batch = Batch::default();
    for (resource, values) in &profile.descriptors {
        for value in values {
            batch.add(resource, |o| {
                o.text("codeValue", value);
                o.text("description", value);
                o.text("namespace", format_args!("uri://ed-fi.org/{resource}"));
                o.text("shortDescription", value);
            });
        }
    }
    Profiled {
        profile,
        own: documents(plan),
        district: District::new(plan),
        turns: vec![0; profile.members.len()],
        held: None,
        is_begun: false,
        batch,
        next: (0, 0),
        is_first: true,
    }
}

impl Iterator for Profiled {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        if let Some(document) = self.batch.pop() {
            return Some(document);
        }
        if !self.is_begun {
            let document = self.own.next();
            let is_descriptor =
                document.as_ref().is_some_and(|own| own.resource.ends_with("Descriptor"));
            if is_descriptor {
                return document;
            }
            self.is_begun = true;
            self.held = document;
        }
        // What comes before the district's own documents, then those, then the rest.
        if self.is_first {
            if let Some(document) = self.further() {
                return Some(document);
            }
            (self.is_first, self.next) = (false, (0, 0));
        }
        match self.held.take().or_else(|| self.own.next()) {
            Some(document) => Some(self.with_members(document)),
            None => self.further(),
        }
    }
}

impl Profiled {
    fn with_members(&mut self, mut document: Document) -> Document {
        for (member, turn) in self.profile.members.iter().zip(&mut self.turns) {
            if member.resource == document.resource && document.json.ends_with('}') {
                document.json.pop();
                document.json.push(',');
                let of = Unit::District;
                let values = Values {
                    district: &self.district,
                    unit: 0,
                    of,
                    number: *turn + 1,
                    turn: *turn,
                };
                member.json.write(&mut document.json, &values);
                document.json.push('}');
                *turn += 1;
            }
        }
        document
    }

    /// Returns the next of the profile's own documents.
    fn further(&mut self) -> Option<Document> {
        loop {
            if let Some(document) = self.batch.pop() {
                return Some(document);
            }
            let (at, unit) = self.next;
            let further = self.profile.documents.get(at)?;
            let units = match further.unit {
                Unit::Student => self.district.plan.students(),
                Unit::School => self.district.schools.len(),
                Unit::District => 1,
            };
            if further.is_first != self.is_first || unit >= units {
                self.next = (at + 1, 0);
                continue;
            }
            self.next = (at, unit + further.every);
            for number in 1..=further.count {
                let turn = unit / further.every + number - 1;
                let of = further.unit;
                let values = Values { district: &self.district, unit, of, number, turn };
                let mut json = String::with_capacity(512);
                further.json.write(&mut json, &values);
                self.batch.push(Document { resource: &further.resource, json });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_can_be_read() {
        for name in Profile::names() {
            assert_eq!(Profile::named(name).unwrap().name, *name);
        }
        assert!(Profile::named("none").is_none());
    }

    #[test]
    fn a_place_that_is_none_is_an_error_and_a_brace_of_json_is_not() {
        assert!(template("{\"a\":{},\"b\":{n}}").is_ok());
        assert_eq!(template("{\"a\":{pupil}}").unwrap_err(), "there is no place {pupil}");
    }
}
