//! The members of one object, on which actions are done one after the other, and the edits that this comes to.

use std::borrow::Cow;

use super::compiled::Name;
use super::edit::{Edit, applied, set};
use super::plan::Action;
use super::pointer::{is_name, is_same};
use super::scan::Member;
use super::unfit::Unfit;

/// A member, as it is when some actions are done.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    lead: Lead,
    /// Where it was sent, and whether its name was sent without escapes; [`None`] for one that was added.
    source: Option<(Member, bool)>,
    /// Its new name; one that was added has it.
    name: Option<&'a Name>,
    /// Its new value; one that was added has it.
    value: Option<Cow<'a, [u8]>>,
    is_gone: bool,
}

/// What is in front of a member, behind the one before it.
#[derive(Debug, Clone, Copy)]
enum Lead {
    /// The text between two places of the body.
    Sent(usize, usize),
    Comma,
    Nothing,
}

impl Slot<'_> {
    /// Returns a member as it was sent, behind another that ends at `before`.
    pub(super) fn sent(before: usize, member: Member, is_plain: bool) -> Self {
        let lead = Lead::Sent(before, member.name);
        Self { lead, source: Some((member, is_plain)), name: None, value: None, is_gone: false }
    }

    fn is_named(&self, text: &[u8], wanted: &str) -> bool {
        match (self.name, &self.source) {
            _ if self.is_gone => false,
            (Some(name), _) => name.name == wanted,
            (None, Some((member, true))) => is_same(&text[member.name..member.name_end], wanted),
            (None, Some((member, false))) => is_name(&text[member.name..member.name_end], wanted),
            (None, None) => false,
        }
    }
}

/// An object that is changed.
pub(super) struct Object<'a, 's> {
    text: &'a [u8],
    slots: &'s mut Vec<Slot<'a>>,
    /// White space that stays in an object whose members were all removed.
    inner: Option<(usize, usize)>,
    is_changed: bool,
}

impl<'a, 's> Object<'a, 's> {
    pub(super) fn new(text: &'a [u8], slots: &'s mut Vec<Slot<'a>>) -> Self {
        Self { text, slots, inner: None, is_changed: false }
    }

    /// Does an action.
    ///
    /// # Errors
    ///
    /// [`Unfit`] if a member that it names is there twice.
    pub(super) fn act(&mut self, action: &'a Action) -> Result<(), Unfit> {
        match action {
            Action::Rename { from, to } => self.rename(from, to),
            Action::Put { name, value } => self.put(name, Cow::Borrowed(value)),
            Action::PutWithin { name, within, value, whole } => {
                let Some(found) = self.find(&name.name)? else {
                    return self.put(name, Cow::Borrowed(whole));
                };
                // What was sent has been changed already.
                let slot = &mut self.slots[found];
                if let Some(own) = &slot.value
                    && let Some(edit) = set(own, 0, 0, within, value)?
                {
                    slot.value = Some(Cow::Owned(applied(own, &[edit])));
                }
                Ok(())
            }
            Action::Drop { name } => {
                if let Some(found) = self.find(name)? {
                    self.remove(found);
                }
                Ok(())
            }
            Action::Move { from, to } => {
                let Some(found) = self.find(from)? else { return Ok(()) };
                let slot = &mut self.slots[found];
                let value = match (slot.value.take(), &slot.source) {
                    (Some(value), _) => value,
                    (None, Some((member, _))) => {
                        Cow::Borrowed(&self.text[member.value..member.value_end])
                    }
                    (None, None) => return Ok(()),
                };
                self.remove(found);
                self.put(to, value)
            }
        }
    }

    fn rename(&mut self, from: &str, to: &'a Name) -> Result<(), Unfit> {
        let Some(found) = self.find(from)? else { return Ok(()) };
        for other in 0..self.slots.len() {
            if other != found && self.slots[other].is_named(self.text, &to.name) {
                self.remove(other);
            }
        }
        self.slots[found].name = Some(to);
        self.is_changed = true;
        Ok(())
    }

    fn put(&mut self, name: &'a Name, value: Cow<'a, [u8]>) -> Result<(), Unfit> {
        self.is_changed = true;
        if let Some(found) = self.find(&name.name)? {
            self.slots[found].value = Some(value);
            return Ok(());
        }
        let is_first = self.slots.iter().all(|slot| slot.is_gone);
        let lead = if is_first { Lead::Nothing } else { Lead::Comma };
        let (name, value) = (Some(name), Some(value));
        self.slots.push(Slot { lead, source: None, name, value, is_gone: false });
        Ok(())
    }

    /// Finds a member by the name that it has now.
    fn find(&self, name: &str) -> Result<Option<usize>, Unfit> {
        let is_named = |(_, slot): &(usize, &Slot<'_>)| slot.is_named(self.text, name);
        let mut found = self.slots.iter().enumerate().filter(is_named).map(|(number, _)| number);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Unfit::Twice(name.to_owned())),
            (first, None) => Ok(first),
        }
    }

    /// Removes a member with the comma that belongs to it: the one behind it, or for the last the one in front.
    fn remove(&mut self, number: usize) {
        self.is_changed = true;
        self.slots[number].is_gone = true;
        let lead = self.slots[number].lead;
        if let Some(next) = self.slots[number + 1..].iter_mut().find(|slot| !slot.is_gone) {
            next.lead = lead;
        } else if self.slots[..number].iter().all(|slot| slot.is_gone)
            && let Lead::Sent(from, to) = lead
        {
            self.inner = Some((from, to));
        }
    }

    /// Adds the edits that this comes to, for an object that begins at `at`, whose last member ends at `last_end` and
    /// which ends at `end`.
    pub(super) fn edits(
        self,
        (at, last_end, end): (usize, usize, usize),
        edits: &mut Vec<Edit<'a>>,
    ) {
        if !self.is_changed {
            return;
        }
        let mut writing = Writing { at: at + 1, own: edits.len(), edits };
        for slot in self.slots.drain(..).filter(|slot| !slot.is_gone) {
            if let Lead::Sent(from, to) = slot.lead {
                writing.keep(from, to);
            }
            let Some((sent, _)) = slot.source else {
                let before = slot
                    .name
                    .map_or(&[][..], |name| name.before_value(matches!(slot.lead, Lead::Comma)));
                writing.give(Cow::Borrowed(before));
                writing.give(slot.value.unwrap_or_default());
                continue;
            };
            match slot.name {
                Some(name) => writing.give(Cow::Borrowed(name.quoted())),
                None => writing.keep(sent.name, sent.name_end),
            }
            writing.keep(sent.name_end, sent.value);
            match slot.value {
                Some(value) => writing.give(value),
                None => writing.keep(sent.value, sent.value_end),
            }
        }
        if let Some((from, to)) = self.inner {
            writing.keep(from, to);
        }
        writing.keep(last_end, end);
    }
}

/// Edits of an object, in order.
struct Writing<'a, 'e> {
    /// The place of the body up to which it is written.
    at: usize,
    edits: &'e mut Vec<Edit<'a>>,
    /// How many edits there were before.
    own: usize,
}

impl<'a> Writing<'a, '_> {
    /// Keeps a part of the body; what is in front of it and was not kept is removed.
    fn keep(&mut self, from: usize, to: usize) {
        if from > self.at {
            match self.edits[self.own..].last_mut() {
                Some(last) if last.to == self.at => last.to = from,
                _ => self.edits.push(Edit { from: self.at, to: from, bytes: Cow::Borrowed(&[]) }),
            }
        }
        self.at = to;
    }

    fn give(&mut self, bytes: Cow<'a, [u8]>) {
        self.edits.push(Edit { from: self.at, to: self.at, bytes });
    }
}
