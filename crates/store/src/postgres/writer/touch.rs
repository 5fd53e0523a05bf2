//! What plans have read and what others change: decides whether one must wait for another's writes.

use std::collections::HashSet;

use crate::id::{DocumentId, KindId};
use crate::lane::{Lane, PartRows};
use crate::plan::{Answer, Ask, Write};
use crate::row::References;
use crate::through::Passed;
use crate::tie::{Start, Tie};

/// Something that one plan may read and another may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Touch {
    /// Which document has an identity, its own or its base's.
    Key([u8; 16]),
    /// Which document has a public id.
    Uuid([u8; 16]),
    /// A document's text.
    Text(i64),
    /// Whether a document exists.
    Being(i64),
    /// Which documents refer to a document.
    Edges(i64),
    /// The holders of an item, for a label.
    Held(KindId, i64),
    /// Clients and their rights.
    Access,
    /// Rows of a part's own tables, whichever.
    Part,
    /// Rows of a lane, whichever.
    Lane(Lane),
    /// Rows of a lane with one key.
    Row(Lane, u64),
    /// Anything: plain SQL is not analysed.
    All,
}

/// Adds what a question reads.
pub(super) fn of_ask(ask: &Ask, out: &mut Vec<Touch>) {
    out.push(match ask {
        Ask::Document(key)
        | Ask::Target(key)
        | Ask::Reach(Start::Document(key), _)
        | Ask::Test(Start::Document(key), _) => Touch::Key(key.0),
        Ask::DocumentByUuid(uuid) => Touch::Uuid(uuid.0),
        Ask::Referrers(id) => Touch::Edges(id.0),
        Ask::Reach(Start::Number(number), way) => Touch::Held(way.label(0), *number),
        Ask::Test(Start::Number(number), _) => Touch::Being(*number),
        Ask::AccessVersion => Touch::Access,
        Ask::Part(_) => Touch::Part,
        Ask::Rows(part, _) => rows(*part),
        Ask::Sql(_) => Touch::All,
    });
}

/// Adds what an answer has revealed.
pub(super) fn of_answer(answer: &Answer, out: &mut Vec<Touch>) {
    match answer {
        Answer::Document(Some(row)) => {
            out.extend([Touch::Text(row.id.0), Touch::Being(row.id.0)]);
        }
        Answer::Target(Some((id, ..))) => out.push(Touch::Being(id.0)),
        Answer::Reached(reached) => {
            out.extend(reached.seen.iter().map(|(label, item)| Touch::Held(*label, *item)));
        }
        // A document that begins to refer to it, or refers to it with another text, changes its
        // edges.
        Answer::Passed(Passed { document: Some(id), by_referrers, .. }) => {
            out.extend([Touch::Text(*id), Touch::Being(*id)]);
            out.extend(by_referrers.then_some(Touch::Edges(*id)));
        }
        Answer::Passed(Passed { document: None, .. })
        | Answer::Document(None)
        | Answer::Target(None)
        | Answer::Referrers(_)
        | Answer::AccessVersion(_)
        | Answer::Rows(_) => {}
    }
}

/// Adds what a write changes.
pub(super) fn of_write(write: &Write, out: &mut Vec<Touch>) {
    match write {
        Write::Create(new) => {
            out.extend([Touch::Key(new.key.0), Touch::Uuid(new.uuid.0)]);
            out.extend(new.alias.map(|alias| Touch::Key(alias.0)));
            out.extend(new.references.links.iter().map(|link| edges(link.target)));
            out.extend(new.references.others.iter().copied().map(edges));
            out.extend(new.ties.iter().map(held));
        }
        Write::Replace { old, old_references, old_ties, new } => {
            out.push(Touch::Text(old.0));
            let before = References::targets(old_references);
            let links = new.references.links.iter().map(|link| link.target);
            let after = links.chain(new.references.others.iter().copied());
            out.extend(before.into_iter().chain(after).map(edges));
            out.extend(old_ties.iter().chain(&new.ties).map(held));
        }
        Write::Delete { row, ties, .. } => {
            out.extend(ties.iter().map(held));
            out.extend([Touch::Key(row.key.0), Touch::Uuid(row.uuid.0)]);
            out.extend([Touch::Text(row.id.0), Touch::Being(row.id.0)]);
            out.extend(References::targets(&row.references).into_iter().map(edges));
        }
        Write::Part(_) => out.push(Touch::Part),
        Write::Rows(part, _) => out.push(rows(*part)),
        Write::Sql(_) => out.push(Touch::All),
    }
}

fn rows(part: PartRows) -> Touch {
    part.key().map_or(Touch::Lane(part.lane()), |key| Touch::Row(part.lane(), key))
}

fn held(tie: &Tie) -> Touch {
    Touch::Held(tie.label, tie.item)
}

fn edges(target: DocumentId) -> Touch {
    Touch::Edges(target.0)
}

/// Everything changed so far.
#[derive(Debug, Default)]
pub(super) struct Changed {
    all: bool,
    single: HashSet<Touch>,
    /// The lanes of which anything was changed.
    lanes: HashSet<Lane>,
}

impl Changed {
    pub(super) fn add(&mut self, touched: &[Touch]) {
        self.all |= touched.contains(&Touch::All);
        self.single.extend(touched);
        self.lanes.extend(touched.iter().filter_map(|touch| match touch {
            Touch::Lane(lane) | Touch::Row(lane, _) => Some(*lane),
            _ => None,
        }));
    }

    pub(super) fn clear(&mut self) {
        self.all = false;
        self.single.clear();
        self.lanes.clear();
    }

    /// Returns whether something that was read has changed since.
    pub(super) fn outdates(&self, seen: &[Touch]) -> bool {
        let is_changed = |touch| match touch {
            Touch::All => !self.single.is_empty(),
            Touch::Part => self.single.contains(&Touch::Part) || !self.lanes.is_empty(),
            Touch::Lane(lane) => self.single.contains(&Touch::Part) || self.lanes.contains(&lane),
            Touch::Row(lane, _) => [Touch::Part, Touch::Lane(lane), touch]
                .iter()
                .any(|changed| self.single.contains(changed)),
            touch => self.single.contains(&touch),
        };
        !seen.is_empty() && (self.all || seen.iter().copied().any(is_changed))
    }

    /// Returns whether something to be changed was changed already. Two plans that refer to the
    /// same document, or tie the same item, do not conflict; statements on the rows of one key of a lane keep
    /// their order in any case, and so do those on any rows.
    pub(super) fn meets(&self, changes: &[Touch]) -> bool {
        let is_changed = |touch: &Touch| {
            !matches!(
                touch,
                Touch::Edges(_) | Touch::Held(..) | Touch::Part | Touch::Lane(_) | Touch::Row(..)
            ) && self.single.contains(touch)
        };
        self.all || changes.iter().any(is_changed)
    }
}
