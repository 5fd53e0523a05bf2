//! Edits of a text: a range of its bytes and what takes their place.

use std::borrow::Cow;

use super::pointer::{index_of, is_name};
use super::scan;
use super::unfit::Unfit;

/// Replaces the bytes from `from` to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit<'a> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) bytes: Cow<'a, [u8]>,
}

/// Returns a text with edits, which are in order. One within what another in front of it has replaced does nothing.
pub(super) fn applied(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let more: usize = edits.iter().map(|edit| edit.bytes.len()).sum();
    let mut changed = Vec::with_capacity(text.len() + more);
    let mut at = 0;
    for edit in edits {
        if edit.from < at {
            continue;
        }
        changed.extend_from_slice(&text[at..edit.from]);
        changed.extend_from_slice(&edit.bytes);
        at = edit.to;
    }
    changed.extend_from_slice(&text[at..]);
    changed
}

/// Returns where the value begins that the names lead to from the value at `at`.
///
/// # Errors
///
/// [`Unfit`], also where a member on the way is there twice: which of them the next reader takes is not
/// known here.
pub(super) fn find(
    text: &[u8],
    at: usize,
    depth: usize,
    names: &[String],
) -> Result<Option<usize>, Unfit> {
    let Some((name, rest)) = names.split_first() else { return Ok(Some(at)) };
    let mut found = None;
    match text[at] {
        b'{' => {
            let mut is_twice = false;
            scan::members(text, at, depth, |member| {
                if is_name(&text[member.name..member.name_end], name) {
                    is_twice |= found.replace(member.value).is_some();
                }
            })?;
            if is_twice {
                return Err(Unfit::Twice(name.clone()));
            }
        }
        b'[' => {
            let index = index_of(name);
            let mut number = 0;
            scan::items(text, at, depth, |begin, _| {
                if Some(number) == index {
                    found = Some(begin);
                }
                number += 1;
            })?;
        }
        _ => {}
    }
    match found {
        Some(inner) => find(text, inner, depth + 1, rest),
        None => Ok(None),
    }
}

/// Returns the edit that gives a place within the value at `at` a new value. Objects on the way that
/// are missing are made; [`None`] where something else is in the way.
pub(super) fn set(
    text: &[u8],
    at: usize,
    depth: usize,
    names: &[String],
    value: &[u8],
) -> Result<Option<Edit<'static>>, Unfit> {
    let Some((name, rest)) = names.split_first() else {
        let to = scan::value(text, at, depth)?;
        return Ok(Some(Edit { from: at, to, bytes: value.to_vec().into() }));
    };
    if let Some(inner) = find(text, at, depth, std::slice::from_ref(name))?
        && (text[at] == b'{' || !rest.is_empty())
    {
        return set(text, inner, depth + 1, rest, value);
    }
    match text[at] {
        b'{' => {
            let mut last = None;
            scan::members(text, at, depth, |member| last = Some(member.value_end))?;
            let mut bytes = if last.is_some() { b",".to_vec() } else { vec![] };
            bytes.extend_from_slice(&member(name, &nested(rest, value)));
            let place = last.unwrap_or(at + 1);
            Ok(Some(Edit { from: place, to: place, bytes: bytes.into() }))
        }
        b'[' => insert(text, at, depth, name, &nested(rest, value)),
        _ => Ok(None),
    }
}

/// Returns the edit that puts a value before the element of an index, or behind the last.
fn insert(
    text: &[u8],
    at: usize,
    depth: usize,
    name: &str,
    value: &[u8],
) -> Result<Option<Edit<'static>>, Unfit> {
    let mut spans = vec![];
    scan::items(text, at, depth, |begin, end| spans.push((begin, end)))?;
    let index = if name == "-" { Some(spans.len()) } else { index_of(name) };
    let Some(index) = index.filter(|index| *index <= spans.len()) else { return Ok(None) };
    let (place, bytes) = match (spans.get(index), spans.last()) {
        (Some((begin, _)), _) => (*begin, [value, b","].concat()),
        (None, Some((_, end))) => (*end, [b",", value].concat()),
        (None, None) => (at + 1, value.to_vec()),
    };
    Ok(Some(Edit { from: place, to: place, bytes: bytes.into() }))
}

/// Returns the edit that removes a member or an element; [`None`] where there is none.
pub(super) fn remove(
    text: &[u8],
    at: usize,
    depth: usize,
    names: &[String],
) -> Result<Option<Edit<'static>>, Unfit> {
    let Some((last, before)) = names.split_last() else { return Ok(None) };
    let Some(parent) = find(text, at, depth, before)? else { return Ok(None) };
    let depth = depth + before.len();
    let (mut spans, mut found) = (vec![], None);
    match text[parent] {
        b'{' => {
            let mut is_twice = false;
            scan::members(text, parent, depth, |member| {
                if is_name(&text[member.name..member.name_end], last) {
                    is_twice |= found.replace(spans.len()).is_some();
                }
                spans.push((member.name, member.value_end));
            })?;
            if is_twice {
                return Err(Unfit::Twice(last.clone()));
            }
        }
        b'[' => {
            scan::items(text, parent, depth, |begin, end| spans.push((begin, end)))?;
            found = index_of(last).filter(|index| *index < spans.len());
        }
        _ => {}
    }
    Ok(found.and_then(|found| without(&spans, &[found]).into_iter().next()))
}

/// Returns the edits that remove some of the members or elements whose spans these are, each with the
/// comma that belongs to it.
pub(super) fn without(spans: &[(usize, usize)], removed: &[usize]) -> Vec<Edit<'static>> {
    let mut edits = vec![];
    let mut at = 0;
    while at < removed.len() {
        let first = removed[at];
        let mut last = first;
        while at + 1 < removed.len() && removed[at + 1] == last + 1 {
            at += 1;
            last = removed[at];
        }
        at += 1;
        let (from, to) = match (spans.get(last + 1), first.checked_sub(1)) {
            (Some((next, _)), _) => (spans[first].0, *next),
            (None, Some(before)) => (spans[before].1, spans[last].1),
            (None, None) => (spans[first].0, spans[last].1),
        };
        edits.push(Edit { from, to, bytes: Cow::Borrowed(&[]) });
    }
    edits
}

/// Returns a value within objects of these names.
pub(super) fn nested(names: &[String], value: &[u8]) -> Vec<u8> {
    match names.split_first() {
        None => value.to_vec(),
        Some((name, rest)) => [b"{", &member(name, &nested(rest, value))[..], b"}"].concat(),
    }
}

fn member(name: &str, value: &[u8]) -> Vec<u8> {
    let name = serde_json::Value::from(name).to_string();
    [name.as_bytes(), b":", value].concat()
}
