//! A JSON value as a tree that borrows from its text.

use std::borrow::Cow;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, as written.
    Number(&'a str),
    /// A string, unescaped.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object's members, in order.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// The members of an object, in order.
pub type Members<'a> = [(Cow<'a, str>, Json<'a>)];

impl<'a> Json<'a> {
    /// Returns the member with this name, regardless of case. If there are several, the last one
    /// that is not null counts.
    pub fn member(members: &'a Members<'a>, name: &str) -> Option<&'a Json<'a>> {
        Self::last_of(members, |sent| sent.eq_ignore_ascii_case(name))
    }

    /// Returns the last value for which `is_meant` holds and that is not null, else the last for
    /// which it holds.
    pub(crate) fn last_of(
        members: &'a Members<'a>,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<&'a Json<'a>> {
        let mut null = None;
        for (_, value) in members.iter().rev().filter(|(name, _)| is_meant(name)) {
            if *value != Json::Null {
                return Some(value);
            }
            null = null.or(Some(value));
        }
        null
    }
}
