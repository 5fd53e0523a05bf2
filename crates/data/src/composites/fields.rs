//! The query parameter that selects an answer's members: `fields=id,name,addresses(city,postalCode)`.
//!
//! Source: Ed-Fi ODS/API 7.3. `*` stands for all members of its level; names that an answer does not
//! have are refused.

use super::{Member, Node};

/// Deepest nesting of an expression.
const DEPTH_MAX: usize = 24;

/// Selects the members of an object that an answer shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fields {
    /// Every member is shown.
    All,
    /// Only the named members are shown; each has a selection of its own members.
    Some(Vec<(String, Fields)>),
}

impl Fields {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and at which character, counted from 1.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { text, at: 0 };
        let fields = reader.level(0)?;
        match reader.next() {
            None => Ok(fields),
            Some(_) => Err(reader.wrong("a closing parenthesis has no opening one")),
        }
    }

    fn of(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(self),
            Self::Some(all) => {
                let mut named = all.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
                named.next().map(|(_, inner)| inner)
            }
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn wrong(&self, what: &str) -> String {
        format!("fields: {what}, at character {}.", self.text[..self.at].chars().count() + 1)
    }

    fn level(&mut self, depth: usize) -> Result<Fields, String> {
        if depth == DEPTH_MAX {
            return Err(self.wrong(&format!("there are at most {DEPTH_MAX} levels")));
        }
        let (mut all, mut is_all) = (vec![], false);
        loop {
            match self.next() {
                Some('*') => {
                    self.at += 1;
                    is_all = true;
                }
                _ => {
                    let name = self.name()?;
                    let inner = if self.next() == Some('(') {
                        self.at += 1;
                        let inner = self.level(depth + 1)?;
                        if self.next() != Some(')') {
                            return Err(self.wrong("a parenthesis is not closed"));
                        }
                        self.at += 1;
                        inner
                    } else {
                        Fields::All
                    };
                    all.push((name, inner));
                }
            }
            match self.next() {
                Some(',') => self.at += 1,
                None | Some(')') => {
                    return Ok(if is_all { Fields::All } else { Fields::Some(all) });
                }
                Some(_) => return Err(self.wrong("expected a comma or a parenthesis")),
            }
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        if name.is_empty() {
            return Err(self.wrong("expected a name or *"));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }
}

impl Node {
    /// Returns the first name of a selection that the node does not have.
    pub(super) fn unknown<'f>(&self, fields: &'f Fields) -> Option<&'f str> {
        self.unknown_beside(fields, None)
    }

    /// Does the same; `subtype` is a value that stands beside the node's members.
    fn unknown_beside<'f>(&self, fields: &'f Fields, subtype: Option<&str>) -> Option<&'f str> {
        let Fields::Some(all) = fields else { return None };
        all.iter().find_map(|(name, inner)| {
            let is_subtype = subtype.is_some_and(|own| own.eq_ignore_ascii_case(name));
            match (self.named(name), inner) {
                (Some(member), inner) if member.name().is_some() && member.node().is_some() => {
                    member.node()?.unknown_beside(inner, member.subtype())
                }
                (None, _) if !is_subtype => Some(name.as_str()),
                // A value has no members.
                (_, Fields::Some(inner)) => inner.first().map(|(name, _)| name.as_str()),
                (_, Fields::All) => None,
            }
        })
    }

    /// Returns the member with this name, also from within flattened members; the name of a flattened
    /// member's subtype finds that member.
    fn named(&self, name: &str) -> Option<&Member> {
        self.members.iter().find_map(|member| match (member.name(), member.node()) {
            (Some(own), _) => own.eq_ignore_ascii_case(name).then_some(member),
            (None, node) => node.and_then(|node| node.named(name)).or_else(|| {
                member.subtype().filter(|own| own.eq_ignore_ascii_case(name)).map(|_| member)
            }),
        })
    }

    /// Returns the node with only the selected members; nothing else is read from the store.
    pub(super) fn select(&self, fields: &Fields) -> Self {
        if *fields == Fields::All {
            return self.clone();
        }
        let members = self.members.iter().filter_map(|member| {
            let inner = match member.name() {
                Some(name) => fields.of(name)?,
                // A flattened member's own members stand on the level of its owner.
                None => fields,
            };
            let mut member = member.clone();
            if let Some(node) = member.node_mut() {
                *node = node.select(inner);
            }
            match &mut member {
                Member::Base { name, subtype, .. } | Member::Reference { name, subtype, .. } => {
                    *subtype = subtype.take().filter(|own| inner.of(own).is_some());
                    let is_empty = name.is_none() && subtype.is_none();
                    (!is_empty || member.node().is_some_and(|node| !node.members.is_empty()))
                        .then_some(member)
                }
                _ => Some(member),
            }
        });
        Self { members: members.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(names: &[(&str, Fields)]) -> Fields {
        Fields::Some(names.iter().map(|(name, inner)| ((*name).into(), inner.clone())).collect())
    }

    #[test]
    fn an_expression_names_members_and_their_members() {
        let city = || some(&[("city", Fields::All), ("postalCode", Fields::All)]);
        for (text, fields) in [
            ("id", some(&[("id", Fields::All)])),
            (
                " id , addresses ( city,postalCode ) ",
                some(&[("id", Fields::All), ("addresses", city())]),
            ),
            ("a(*),b", some(&[("a", Fields::All), ("b", Fields::All)])),
            ("*", Fields::All),
            ("a(b(c))", some(&[("a", some(&[("b", some(&[("c", Fields::All)]))]))])),
        ] {
            assert_eq!(Fields::read(text), Ok(fields), "{text}");
        }
    }

    #[test]
    fn an_invalid_expression_is_refused_at_its_position() {
        let deep = "a(".repeat(DEPTH_MAX + 1);
        for (text, place) in [
            ("", 1),
            ("a,", 3),
            ("a,,b", 3),
            ("a(", 3),
            ("a(b", 4),
            ("a)", 2),
            ("a()", 3),
            ("a b", 3),
            ("ä.b", 2),
            ("a-b", 2),
            (deep.as_str(), 2 * DEPTH_MAX + 1),
        ] {
            let wrong = Fields::read(text).unwrap_err();
            assert!(wrong.ends_with(&format!("character {place}.")), "{text}: {wrong}");
        }
    }
}
