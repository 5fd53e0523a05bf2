//! The entity tags of `If-Match` and `If-None-Match`.
//!
//! Source: RFC 9110 §8.8.3 (entity tags and their comparison), §13.1.1, §13.1.2.

use http::{HeaderMap, HeaderName};

use crate::problem::{Kind, Problem};

/// What a conditional header demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityTags {
    /// `*`: any version.
    Any,
    /// One of these versions; there is at least one.
    Of(Vec<EntityTag>),
}

/// The tag of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag {
    /// Whether the tag is weak (`W/`): it stands for all equivalent versions.
    pub is_weak: bool,
    /// The text between the quotes.
    pub text: Vec<u8>,
}

impl EntityTags {
    /// Reads a conditional header, whose lines form one list. Returns [`None`] where it is not
    /// sent.
    ///
    /// Some clients send tags without quotes; such a tag is read as if it had them.
    ///
    /// # Errors
    ///
    /// 400 `bad-request` where the header is empty or not understood: a condition that the caller
    /// set must not be ignored.
    pub fn read(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Self>, Problem> {
        let lines: Vec<&[u8]> =
            headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
        if lines.is_empty() {
            return Ok(None);
        }
        let tags = read(&lines.join(&b','));
        tags.map(Some).ok_or_else(|| {
            let title = if *name == http::header::IF_MATCH { "If-Match" } else { "If-None-Match" };
            Problem::of(Kind::BadRequest).error(format!(
                "{title} must be * or a list of entity tags such as \"7\", \"8\"; send the ETag \
                 of an answer, or omit the header."
            ))
        })
    }

    /// Returns whether the tags name this version. A weak tag does, too: proxies that compress make weak tags of
    /// strong ones, and the version that they name is the same.
    pub fn name(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Of(tags) => tags.iter().any(|tag| tag.text == text.as_bytes()),
        }
    }
}

/// Reads a list of tags; [`None`] when it is malformed or empty.
fn read(list: &[u8]) -> Option<EntityTags> {
    let list = list.trim_ascii();
    if list == b"*" {
        return Some(EntityTags::Any);
    }
    let (mut tags, mut rest) = (vec![], list);
    loop {
        rest = rest.trim_ascii_start();
        match rest.first() {
            None => break,
            // Empty list elements are ignored.
            Some(b',') => {
                rest = &rest[1..];
                continue;
            }
            Some(_) => {}
        }
        let (tag, after) = read_tag(rest)?;
        tags.push(tag);
        rest = after.trim_ascii_start();
        if !matches!(rest.first(), None | Some(b',')) {
            return None;
        }
    }
    (!tags.is_empty()).then_some(EntityTags::Of(tags))
}

/// Reads the first tag of a list and returns it with the rest of the list.
fn read_tag(list: &[u8]) -> Option<(EntityTag, &[u8])> {
    let (is_weak, list) = list.strip_prefix(b"W/").map_or((false, list), |rest| (true, rest));
    let (text, rest) = if let Some(inner) = list.strip_prefix(b"\"") {
        let end = inner.iter().position(|byte| *byte == b'"')?;
        (&inner[..end], &inner[end + 1..])
    } else {
        let end = list.iter().position(|byte| matches!(byte, b',' | b' ' | b'\t'));
        let (text, rest) = list.split_at(end.unwrap_or(list.len()));
        // A star must stand alone, and an empty text is not a tag.
        if text.is_empty() || text == b"*" {
            return None;
        }
        (text, rest)
    };
    let is_tag = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..=0xff);
    text.iter().all(is_tag).then(|| (EntityTag { is_weak, text: text.to_vec() }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strong(text: &str) -> EntityTag {
        EntityTag { is_weak: false, text: text.into() }
    }

    fn weak(text: &str) -> EntityTag {
        EntityTag { is_weak: true, text: text.into() }
    }

    #[test]
    fn tags_are_read_as_the_standard_has_them_and_as_clients_send_them() {
        let of = |tags: &[EntityTag]| Some(EntityTags::Of(tags.to_vec()));
        for (list, wanted) in [
            ("*", Some(EntityTags::Any)),
            (" * ", Some(EntityTags::Any)),
            ("\"7\"", of(&[strong("7")])),
            ("7", of(&[strong("7")])),
            ("W/\"7\"", of(&[weak("7")])),
            ("W/7", of(&[weak("7")])),
            ("\"\"", of(&[strong("")])),
            ("\"a,b\" , c", of(&[strong("a,b"), strong("c")])),
            (",, \"7\" ,,\t8,", of(&[strong("7"), strong("8")])),
            ("\"W/\",w/7", of(&[strong("W/"), strong("w/7")])),
            ("\"\u{e9}\"", of(&[strong("\u{e9}")])),
            // Not understood.
            ("", None),
            (" \t", None),
            (",", None),
            ("\"", None),
            ("\"7", None),
            ("7\"", None),
            ("\"7\"8", None),
            ("7 8", None),
            ("\"a b\"", None),
            ("W/", None),
            ("*, \"7\"", None),
            ("\"7\", *", None),
            ("**, \"", None),
        ] {
            assert_eq!(read(list.as_bytes()), wanted, "{list:?}");
        }
    }

    #[test]
    fn the_lines_of_a_header_are_one_list() {
        let mut headers = HeaderMap::new();
        let name = http::header::IF_MATCH;
        assert_eq!(EntityTags::read(&headers, &name).unwrap(), None);
        headers.append(&name, "\"1\"".parse().unwrap());
        headers.append(&name, "\"2\"".parse().unwrap());

        let tags = EntityTags::read(&headers, &name).unwrap().unwrap();

        assert!(tags.name("1") && tags.name("2"));
        headers.append(&name, "*".parse().unwrap());
        assert!(EntityTags::read(&headers, &name).is_err());
    }

    #[test]
    fn a_weak_tag_names_its_version_too() {
        for tag in [weak("7"), strong("7")] {
            let tags = EntityTags::Of(vec![tag]);

            assert!(tags.name("7") && !tags.name("8"), "{tags:?}");
        }
    }
}
