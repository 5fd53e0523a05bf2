//! Resolves the names in the files.

use std::collections::HashMap;

use super::error::LinkError;

use crate::resource::{AbstractId, ResourceId, Scalar, Target};
use crate::source::{ResourceKind, ResourceSource, Source, Type};
use crate::words::is_word;

/// Most characters of a text without a stated length.
const TEXT_MAX: u32 = 65_536;

/// The origin of a statement, for messages: a resource or an extension of one, and its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    /// Index of the file.
    pub(super) project: usize,
    /// The file's schema segment.
    pub(super) schema: &'a str,
    /// Name of the resource in messages, `Section`.
    pub(super) name: &'a str,
}

impl Owner<'_> {
    pub(super) fn wrong(&self, message: impl Into<String>) -> LinkError {
        LinkError { resource: format!("{}/{}", self.schema, self.name), message: message.into() }
    }

    /// Checks that a text can be a name: names are used in paths, SQL and file names.
    pub(super) fn name(&self, what: &str, text: &str) -> Result<(), LinkError> {
        if is_word(text) {
            return Ok(());
        }
        Err(self.wrong(format!(
            "`{text}` is not a name of a {what}: letters and digits, a letter first"
        )))
    }
}

/// The names of all files.
pub(super) struct Names<'a> {
    schemas: Vec<&'a str>,
    pub(super) targets: HashMap<String, Target>,
    pub(super) resources: Vec<(usize, &'a ResourceSource)>,
    pub(super) abstracts: Vec<(usize, &'a ResourceSource)>,
}

impl<'a> Names<'a> {
    pub(super) fn of(sources: &'a [Source]) -> Result<Self, LinkError> {
        let mut names = Self {
            schemas: sources.iter().map(|source| source.schema.as_str()).collect(),
            targets: HashMap::new(),
            resources: vec![],
            abstracts: vec![],
        };
        for (project, source) in sources.iter().enumerate() {
            for resource in &source.resources {
                names.add(project, resource)?;
            }
        }
        Ok(names)
    }

    fn add(&mut self, project: usize, source: &'a ResourceSource) -> Result<(), LinkError> {
        let owner = self.owner(project, &source.name);
        owner.name("resource", &source.name)?;
        if source.kind != ResourceKind::Abstract {
            owner.name("resource's endpoint", &source.endpoint)?;
        }
        if let Some(element) = &source.element {
            owner.name("resource's element", element)?;
        }
        if let Some(interchange) = source.interchanges.iter().find(|name| !is_word(name)) {
            owner.name("interchange", interchange)?;
        }
        if self.resources.len().max(self.abstracts.len()) == RESOURCES_MAX {
            return Err(owner.wrong(format!("the files have more than {RESOURCES_MAX} resources")));
        }
        let target = if source.kind == ResourceKind::Abstract {
            self.abstracts.push((project, source));
            Target::Abstract(AbstractId(index(self.abstracts.len() - 1)))
        } else {
            self.resources.push((project, source));
            Target::Resource(ResourceId(index(self.resources.len() - 1)))
        };
        let name = format!("{}/{}", self.schemas[project], source.name);
        match self.targets.insert(name, target) {
            Some(_) => Err(self.owner(project, &source.name).wrong("the name appears twice")),
            None => Ok(()),
        }
    }

    pub(super) fn all(&self) -> Vec<Target> {
        let resources = (0..self.resources.len()).map(|at| Target::Resource(ResourceId(index(at))));
        let bases = (0..self.abstracts.len()).map(|at| Target::Abstract(AbstractId(index(at))));
        resources.chain(bases).collect()
    }

    pub(super) fn source(&self, target: Target) -> (Owner<'a>, &'a ResourceSource) {
        let (project, source) = match target {
            Target::Resource(id) => self.resources[usize::from(id.0)],
            Target::Abstract(id) => self.abstracts[usize::from(id.0)],
        };
        (self.owner(project, &source.name), source)
    }

    /// Returns the owner for a name in a file.
    pub(super) fn owner<'n>(&self, project: usize, name: &'n str) -> Owner<'n>
    where
        'a: 'n,
    {
        Owner { project, schema: self.schemas[project], name }
    }

    /// Resolves a name in a file: with a schema in front, within that schema; without one, first in
    /// the file itself, then in the standard.
    pub(super) fn target(&self, owner: Owner<'_>, name: &str) -> Result<Target, LinkError> {
        let found = if name.contains('/') {
            self.targets.get(name)
        } else {
            let of = |schema: &str| self.targets.get(&format!("{schema}/{name}"));
            of(self.schemas[owner.project]).or_else(|| of(self.schemas[0]))
        };
        found.copied().ok_or_else(|| owner.wrong(self.unknown(name)))
    }

    /// Resolves the name in a section `extension NAME`: without a schema in front, within the
    /// standard.
    pub(super) fn target_of_extension(
        &self,
        owner: Owner<'_>,
        name: &str,
    ) -> Result<Target, LinkError> {
        let found = if name.contains('/') {
            self.targets.get(name)
        } else {
            self.targets.get(&format!("{}/{name}", self.schemas[0]))
        };
        found.copied().ok_or_else(|| owner.wrong(self.unknown(name)))
    }

    fn unknown(&self, name: &str) -> String {
        let bare = name.rsplit('/').next().unwrap_or(name);
        let mut near: Vec<&str> = self
            .targets
            .keys()
            .filter(|known| known.rsplit('/').next().is_some_and(|n| n.eq_ignore_ascii_case(bare)))
            .map(String::as_str)
            .collect();
        near.sort_unstable();
        match near.as_slice() {
            [] => format!("nothing is named `{name}`"),
            _ => format!("nothing is named `{name}`; available: {}", near.join(", ")),
        }
    }

    pub(super) fn scalar(
        &self,
        owner: Owner<'_>,
        kind: &Type,
    ) -> Result<Option<Scalar>, LinkError> {
        Ok(Some(match kind {
            Type::Text { min, max } => Scalar::Text { min: *min, max: max.unwrap_or(TEXT_MAX) },
            Type::Integer { bits, min, max } => {
                let (least, greatest) = if *bits == 32 {
                    (i64::from(i32::MIN), i64::from(i32::MAX))
                } else {
                    (i64::MIN, i64::MAX)
                };
                let bound = |text: Option<&str>| match bound(owner, text)? {
                    Some(bound) if !(least..=greatest).contains(&bound) => {
                        Err(owner.wrong(format!("the bound {bound} does not fit an int{bits}")))
                    }
                    bound => Ok(bound),
                };
                Scalar::Integer {
                    bits: *bits,
                    min: bound(min.as_deref())?.unwrap_or(least),
                    max: bound(max.as_deref())?.unwrap_or(greatest),
                }
            }
            Type::Decimal { precision, scale, min, max } => Scalar::Decimal {
                precision: *precision,
                scale: *scale,
                min: bound(owner, min.as_deref())?,
                max: bound(owner, max.as_deref())?,
            },
            Type::Boolean => Scalar::Boolean,
            Type::Date => Scalar::Date,
            Type::DateTime => Scalar::DateTime,
            Type::Time => Scalar::Time,
            Type::Descriptor(name) => match self.target(owner, name)? {
                Target::Resource(id)
                    if self.resources[usize::from(id.0)].1.kind == ResourceKind::Descriptor =>
                {
                    Scalar::Descriptor(id)
                }
                _ => return Err(owner.wrong(format!("`{name}` is not a descriptor"))),
            },
            Type::Reference { .. } | Type::Object(_) | Type::List(_) => return Ok(None),
        }))
    }
}

fn bound<T: std::str::FromStr>(
    owner: Owner<'_>,
    text: Option<&str>,
) -> Result<Option<T>, LinkError> {
    text.map(|text| text.parse().map_err(|_| owner.wrong(format!("`{text}` is not a bound"))))
        .transpose()
}

/// Most resources of all files together; also the limit for bases.
pub const RESOURCES_MAX: usize = 10_000;

pub fn index(at: usize) -> u16 {
    u16::try_from(at).expect("RESOURCES_MAX fits")
}
