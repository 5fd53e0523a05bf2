//! Spells descriptors in a document's text as their own documents do.

use std::sync::Arc;

use crate::json::member_text;
use crate::spelling::{CODE_VALUE, NAMESPACE};
use crate::validate::{DescriptorText, Document};

/// A replacement for a range of bytes in a document's body.
pub(super) struct Respelled {
    /// The range to replace.
    pub(super) at: DescriptorText,
    /// The new text.
    pub(super) text: Arc<str>,
}

/// Replaces texts in a document's body; the replacements are in order and do not overlap.
pub(super) fn respell(document: &mut Document, others: &[Respelled]) {
    if others.is_empty() {
        return;
    }
    let old = std::mem::take(&mut document.body);
    let mut body = String::with_capacity(old.len() + 64);
    let mut references = document.references.iter_mut().map(|found| &mut found.offset).peekable();
    let mut gaps = document.gaps.iter_mut().map(|gap| &mut gap.offset).peekable();
    let mut spelled = document.spelled.iter_mut().peekable();
    let mut at = 0;
    for Respelled { at: DescriptorText { start, end, .. }, text } in others {
        while let Some(offset) = references.next_if(|offset| **offset < *start) {
            *offset = moved(*offset, at, body.len());
        }
        while let Some(offset) = gaps.next_if(|offset| **offset < *start) {
            *offset = moved(*offset, at, body.len());
        }
        while let Some(before) = spelled.next_if(|before| before.start < *start) {
            before.start = moved(before.start, at, body.len());
            before.end = moved(before.end, at, body.len());
        }
        body.push_str(&old[at..*start as usize]);
        if let Some(itself) = spelled.next_if(|itself| itself.start == *start) {
            itself.start = moved(*start, *start as usize, body.len());
            itself.end = moved(*start, *start as usize, body.len() + text.len());
        }
        body.push_str(text);
        at = *end as usize;
    }
    references.chain(gaps).for_each(|offset| *offset = moved(*offset, at, body.len()));
    for after in spelled {
        after.start = moved(after.start, at, body.len());
        after.end = moved(after.end, at, body.len());
    }
    body.push_str(&old[at..]);
    document.body = body;
}

/// Maps an offset in the old text to the new one, which is `length` long after the old text has
/// been copied up to `at`.
fn moved(offset: u32, at: usize, length: usize) -> u32 {
    u32::try_from(offset as usize - at + length).unwrap_or(u32::MAX)
}

/// Gives a descriptor's document the stored document's identity, which differs only in case.
pub(super) fn keep_identity(document: &mut Document, stored: &str) {
    let mut others: Vec<Respelled> = [NAMESPACE, CODE_VALUE]
        .into_iter()
        .filter_map(|name| {
            let (sent, stored) = (member_text(&document.body, name)?, member_text(stored, name)?);
            let start = sent.as_ptr() as usize - document.body.as_ptr() as usize;
            let place = |at: usize| u32::try_from(at).ok();
            let at = DescriptorText {
                key: document.key,
                start: place(start)?,
                end: place(start + sent.len())?,
            };
            (sent != stored).then(|| Respelled { at, text: stored.into() })
        })
        .collect();
    others.sort_by_key(|other| other.at.start);
    respell(document, &others);
}
