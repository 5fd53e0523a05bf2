//! One walk over a body, in which the operations of a group are done.

use super::edit::Edit;
use super::object::{Object, Slot};
use super::plan::Node;
use super::pointer::{is_name, is_same};
use super::scan::{self, Member};
use super::unfit::Unfit;

/// The largest number of members that a walk keeps at a time.
pub(super) const KEPT_MAX: usize = 100_000;

/// A walk keeps at most one edit for this many bytes of the body, so the body bounds the memory for edits.
const BYTES_AN_EDIT: usize = 8;
/// A walk keeps this many edits of any body, however small.
const EDITS_ANYWAY: usize = 1_000;

/// The operations must be done one by one: either one of them does not fit the body, and the first such operation is
/// reported, or the edits of all of them together would take too much memory.
#[derive(Debug)]
pub(super) struct OneByOne;

impl From<scan::NotJson> for OneByOne {
    fn from(_: scan::NotJson) -> Self {
        Self
    }
}

impl From<Unfit> for OneByOne {
    fn from(_: Unfit) -> Self {
        Self
    }
}

/// Returns the edits of a text, which is checked to be one JSON value if it is UTF-8.
///
/// # Errors
///
/// [`OneByOne`] for a text that is not JSON, that has a member twice which an operation names, or that has too many.
pub(super) fn walk<'a>(root: &'a Node, text: &'a [u8]) -> Result<Vec<Edit<'a>>, OneByOne> {
    let mut walk = Walk { text, edits: vec![], spare: vec![], kept: 0 };
    let end = walk.value(root, scan::blank(text, 0), 0)?;
    if scan::blank(text, end) < text.len() {
        return Err(OneByOne);
    }
    let mut edits = walk.edits;
    // The walk adds the edits of an object after the edits of its members' values.
    edits.sort_by_key(|edit| edit.from);
    Ok(edits)
}

struct Walk<'a> {
    text: &'a [u8],
    edits: Vec<Edit<'a>>,
    /// Lists of slots that can be used again.
    spare: Vec<Vec<Slot<'a>>>,
    /// The number of members that are kept now.
    kept: usize,
}

impl<'a> Walk<'a> {
    /// Changes the value at `at`, and returns where it ends.
    fn value(&mut self, node: &'a Node, at: usize, depth: usize) -> Result<usize, OneByOne> {
        match (self.text.get(at), &node.each) {
            (Some(b'{'), _) if node.has_members() => self.object(node, at, depth),
            (Some(b'['), Some(each)) => self.array(each, at, depth),
            _ => Ok(scan::value(self.text, at, depth)?),
        }
    }

    fn array(&mut self, each: &'a Node, at: usize, depth: usize) -> Result<usize, OneByOne> {
        let text = self.text;
        scan::items_by(text, at, depth, |begin| self.value(each, begin, depth + 1))
    }

    fn object(&mut self, node: &'a Node, at: usize, depth: usize) -> Result<usize, OneByOne> {
        let text = self.text;
        let mut slots = self.spare.pop().unwrap_or_default();
        let (mut met, mut before) = (0_u128, at + 1);
        let end = scan::members_by(text, at, depth, |name, name_end, is_plain, value| {
            let own = &text[name..name_end];
            let is_own = |(_, (wanted, _)): &(usize, &(String, Node))| {
                if is_plain { is_same(own, wanted) } else { is_name(own, wanted) }
            };
            let value_end = match node.members().iter().enumerate().find(is_own) {
                Some((number, (_, inner))) => {
                    if met & (1 << number) != 0 {
                        return Err(OneByOne);
                    }
                    met |= 1 << number;
                    self.value(inner, value, depth + 1)?
                }
                None => scan::value(text, value, depth + 1)?,
            };
            if !node.actions.is_empty() {
                if self.kept == KEPT_MAX {
                    return Err(OneByOne);
                }
                self.kept += 1;
                let member = Member { name, name_end, value, value_end };
                slots.push(Slot::sent(before, member, is_plain));
            }
            before = value_end;
            Ok(value_end)
        })?;
        if !node.actions.is_empty() {
            self.kept -= slots.len();
            let mut object = Object::new(text, &mut slots);
            node.actions.iter().try_for_each(|action| object.act(action))?;
            object.edits((at, before, end), &mut self.edits);
            // Operations that are done one by one keep only the edits of one operation at a time.
            if self.edits.len() > text.len() / BYTES_AN_EDIT + EDITS_ANYWAY {
                return Err(OneByOne);
            }
        }
        slots.clear();
        self.spare.push(slots);
        Ok(end)
    }
}
