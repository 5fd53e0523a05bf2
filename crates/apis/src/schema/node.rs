//! A compiled schema.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value;

use super::format::Format;

/// The place of a schema among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(pub(super) usize);

/// The schemas of a document.
#[derive(Debug, Default)]
pub(crate) struct Schemas(pub(super) Vec<Node>);

/// The types that a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);

    const NAMES: [(&'static str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self::BOOLEAN),
        ("integer", Self::INTEGER),
        ("number", Self::NUMBER),
        ("string", Self::STRING),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
    ];

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(own, _)| *own == name).map(|(_, types)| *types)
    }

    pub(super) fn allow(self, value: &Value) -> bool {
        match value {
            Value::Null => self.has(Self::NULL),
            Value::Bool(_) => self.has(Self::BOOLEAN),
            Value::Number(number) => {
                let is_whole = || {
                    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
                };
                self.has(Self::NUMBER) || (self.has(Self::INTEGER) && is_whole())
            }
            Value::String(_) => self.has(Self::STRING),
            Value::Array(_) => self.has(Self::ARRAY),
            Value::Object(_) => self.has(Self::OBJECT),
        }
    }

    pub(super) fn names(self) -> String {
        let own = Self::NAMES.iter().filter(|(_, types)| self.has(*types));
        own.map(|(name, _)| *name).collect::<Vec<_>>().join(" or ")
    }
}

/// A pattern and its text.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Regex,
}

/// A schema: what it asks for. A member that is absent asks for nothing.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) is_never: bool,
    pub(super) reference: Option<At>,
    pub(super) types: Option<Types>,
    /// The values of `enum` or `const`, in one form for equal values.
    pub(super) values: Option<Vec<String>>,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: Option<f64>,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
    pub(super) prefix_items: Vec<At>,
    pub(super) items: Option<At>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) is_unique: bool,
    pub(super) contains: Option<(At, u64, Option<u64>)>,
    pub(super) properties: BTreeMap<String, At>,
    pub(super) pattern_properties: Vec<(Pattern, At)>,
    pub(super) additional: Option<At>,
    pub(super) property_names: Option<At>,
    pub(super) required: Vec<String>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) dependent_required: BTreeMap<String, Vec<String>>,
    pub(super) dependent_schemas: BTreeMap<String, At>,
    pub(super) all_of: Vec<At>,
    pub(super) any_of: Vec<At>,
    pub(super) one_of: Vec<At>,
    pub(super) not: Option<At>,
    /// `if`, `then`, `else`.
    pub(super) condition: Option<(At, Option<At>, Option<At>)>,
}

/// Deepest chain of references that is followed to learn what a schema is about.
const CHAIN_MAX: usize = 16;

impl Schemas {
    /// Returns the types that a schema allows; [`None`] for all.
    pub(crate) fn types(&self, at: At) -> Option<Types> {
        self.types_within(at, CHAIN_MAX)
    }

    fn types_within(&self, at: At, depth: usize) -> Option<Types> {
        let depth = depth.checked_sub(1)?;
        let node = &self.0[at.0];
        if node.types.is_some() {
            return node.types;
        }
        let first = |all: &[At]| all.iter().find_map(|own| self.types_within(*own, depth));
        let united = |all: &[At]| {
            let own = all.iter().filter_map(|own| self.types_within(*own, depth));
            own.reduce(Types::with)
        };
        node.reference
            .and_then(|own| self.types_within(own, depth))
            .or_else(|| first(&node.all_of))
            .or_else(|| united(&node.any_of))
            .or_else(|| united(&node.one_of))
    }

    /// Returns the schema of the items of a list; [`None`] for anything.
    pub(crate) fn items(&self, at: At) -> Option<At> {
        self.find(at, CHAIN_MAX, &|node| node.items)
    }

    /// Returns the properties that a schema names.
    pub(crate) fn properties(&self, at: At) -> Vec<(&str, At)> {
        let mut found = vec![];
        self.gather(at, CHAIN_MAX, &mut found);
        found
    }

    fn gather<'a>(&'a self, at: At, depth: usize, found: &mut Vec<(&'a str, At)>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let node = &self.0[at.0];
        found.extend(node.properties.iter().map(|(name, own)| (name.as_str(), *own)));
        for own in node.reference.iter().chain(&node.all_of) {
            self.gather(*own, depth, found);
        }
    }

    fn find<T>(&self, at: At, depth: usize, of: &impl Fn(&Node) -> Option<T>) -> Option<T> {
        let depth = depth.checked_sub(1)?;
        let node = &self.0[at.0];
        of(node).or_else(|| {
            let mut others = node.reference.iter().chain(&node.all_of);
            others.find_map(|own| self.find(*own, depth, of))
        })
    }
}
