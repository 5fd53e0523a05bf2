//! Operations that are done by themselves: each finds its places in the text that the one before has left.

use super::compiled::{Change, Compiled, Name};
use super::edit::{self, Edit, applied, remove, set};
use super::pointer::{Step, is_name};
use super::scan;
use super::unfit::Unfit;

impl Compiled {
    /// Returns the edits of a body, in the order of their places.
    ///
    /// # Errors
    ///
    /// [`Unfit`], also where a member that it names is there twice.
    pub(super) fn edits(&self, text: &[u8]) -> Result<Vec<Edit<'_>>, Unfit> {
        let mut edits = vec![];
        let root = scan::blank(text, 0);
        if let (Change::Drop, true, [parents @ .., Step::Each]) =
            (&self.change, self.within.is_empty(), &self.places[..])
        {
            each(text, root, 0, parents, &mut |at, depth| {
                if text[at] == b'[' {
                    let end = scan::value(text, at, depth)?;
                    edits.push(Edit { from: at, to: end, bytes: b"[]".into() });
                }
                Ok(())
            })?;
            return Ok(edits);
        }
        each(text, root, 0, &self.places, &mut |at, depth| {
            self.change_place(text, at, depth, &mut edits)
        })?;
        Ok(edits)
    }

    fn change_place<'a>(
        &'a self,
        text: &[u8],
        at: usize,
        depth: usize,
        edits: &mut Vec<Edit<'a>>,
    ) -> Result<(), Unfit> {
        match &self.change {
            Change::Rename(name) => {
                let Some((last, before)) = self.within.split_last() else { return Ok(()) };
                let Some(parent) = edit::find(text, at, depth, before)? else { return Ok(()) };
                rename(text, parent, depth + before.len(), last, name, edits)
            }
            Change::Add(value, _) => {
                edits.extend(set(text, at, depth, &self.within, value)?);
                Ok(())
            }
            Change::Drop => {
                edits.extend(remove(text, at, depth, &self.within)?);
                Ok(())
            }
            Change::Move(to) => {
                let Some(from) = edit::find(text, at, depth, &self.within)? else { return Ok(()) };
                let value = &text[from..scan::value(text, from, depth)?];
                let end = scan::value(text, at, depth)?;
                let place = &text[at..end];
                let Some(gone) = remove(place, 0, depth, &self.within)? else { return Ok(()) };
                let without = applied(place, &[gone]);
                let Some(put) = set(&without, 0, depth, to, value)? else { return Ok(()) };
                let bytes = applied(&without, &[put]);
                edits.push(Edit { from: at, to: end, bytes: bytes.into() });
                Ok(())
            }
        }
    }
}

/// Renames a member of the object at `at`, and removes another that has the new name already.
fn rename<'a>(
    text: &[u8],
    at: usize,
    depth: usize,
    old: &str,
    new: &'a Name,
    edits: &mut Vec<Edit<'a>>,
) -> Result<(), Unfit> {
    if text[at] != b'{' || old == new.name {
        return Ok(());
    }
    let (mut members, mut found, mut is_twice) = (vec![], None, false);
    scan::members(text, at, depth, |member| {
        if is_name(&text[member.name..member.name_end], old) {
            is_twice |= found.replace(members.len()).is_some();
        }
        members.push(member);
    })?;
    if is_twice {
        return Err(Unfit::Twice(old.to_owned()));
    }
    let Some(found) = found else { return Ok(()) };
    let renamed = members[found];
    let is_taken = |(number, member): (usize, &scan::Member)| {
        number != found && is_name(&text[member.name..member.name_end], &new.name)
    };
    let mut own =
        vec![Edit { from: renamed.name, to: renamed.name_end, bytes: new.quoted().into() }];
    let spans: Vec<(usize, usize)> = members.iter().map(|m| (m.name, m.value_end)).collect();
    let taken: Vec<usize> = members
        .iter()
        .enumerate()
        .filter_map(|(number, member)| is_taken((number, member)).then_some(number))
        .collect();
    own.extend(edit::without(&spans, &taken));
    own.sort_unstable_by_key(|edit| edit.from);
    edits.extend(own);
    Ok(())
}

/// Calls `found` with the place and the depth of each value that the steps lead to.
fn each(
    text: &[u8],
    at: usize,
    depth: usize,
    steps: &[Step],
    found: &mut dyn FnMut(usize, usize) -> Result<(), Unfit>,
) -> Result<(), Unfit> {
    match steps.split_first() {
        None => found(at, depth),
        Some((Step::Named(name), rest)) => {
            match edit::find(text, at, depth, std::slice::from_ref(name))? {
                Some(inner) => each(text, inner, depth + 1, rest, found),
                None => Ok(()),
            }
        }
        Some((Step::Each, _)) if text[at] != b'[' => Ok(()),
        Some((Step::Each, rest)) => {
            let mut places = vec![];
            scan::items(text, at, depth, |begin, _| places.push(begin))?;
            places.into_iter().try_for_each(|place| each(text, place, depth + 1, rest, found))
        }
    }
}
