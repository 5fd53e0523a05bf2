//! A stored document and its references.

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};

/// The columns of a [`Row`], in the order of its fields.
pub(crate) const COLUMNS: &str = "id, uuid, kind, key, cv, modified, refs, body";

/// Returns the columns of a [`Row`], each prefixed with a table's name.
pub(crate) fn columns(table: &str) -> String {
    let columns: Vec<String> =
        COLUMNS.split(", ").map(|column| format!("{table}.{column}")).collect();
    columns.join(", ")
}

/// Number of id bits within a block: documents are counted by blocks of 4,096 ids.
pub(crate) const BLOCK_BITS: u32 = 12;

/// A count that is kept in the same transaction as what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Count {
    /// Documents of a kind in a block of ids.
    Documents(u16, i64),
    /// Tombstones of a kind.
    Tombstones(u16),
    /// Past ties of a label.
    PastTies(u16),
}

impl Count {
    /// Returns the count for documents of a kind around an id.
    pub(crate) fn of_document(kind: KindId, id: i64) -> Self {
        Self::Documents(kind.0, id >> BLOCK_BITS)
    }

    /// Returns part and kind of a row of `gone`; [`None`] for documents.
    pub(crate) fn gone(self) -> Option<(i64, u16)> {
        match self {
            Self::Documents(..) => None,
            Self::Tombstones(kind) => Some((0, kind)),
            Self::PastTies(label) => Some((1, label)),
        }
    }
}

/// A stored document.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The document's number in the store.
    pub id: DocumentId,
    /// Its public id.
    pub uuid: Uuid,
    /// Its kind.
    pub kind: KindId,
    /// Hash of its identity.
    pub key: NaturalKey,
    /// Version of its last change, which is the document's ETag.
    pub change_version: i64,
    /// Time of its last change, in microseconds since 1970.
    pub modified: i64,
    /// Packed [`References`].
    pub references: Vec<u8>,
    /// Canonical JSON text, without id, ETag and links.
    pub body: String,
}

/// A reference in a document's text that is shown with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Byte offset in the body of the `}` that closes the reference.
    pub offset: u32,
    /// The document referred to.
    pub target: DocumentId,
    /// The target's kind.
    pub kind: KindId,
    /// The target's public id.
    pub uuid: Uuid,
}

/// A place in a document's text where answers insert members that are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Byte offset in the body of the `}` that closes the object.
    pub offset: u32,
    /// Number of the first member, in the shape for which the gaps were recorded.
    pub first: u16,
    /// How many consecutive members are inserted.
    pub count: u16,
}

/// The gaps of a document's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// A hash of all members of the kind, on which the members' numbers depend. For another shape
    /// the gaps are meaningless.
    pub shape: u32,
    /// The gaps, in the order of the text; at most 65,535.
    pub places: Vec<Gap>,
}

/// Everything that a document refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// References, in the order of the text.
    pub links: Vec<Link>,
    /// Other documents that must stay as long as this one does, such as descriptors.
    pub others: Vec<DocumentId>,
    /// Numbers by which reads and lists tell documents apart without their text. Each has a
    /// position that the kind defines; [`DocumentId::ITSELF`] is replaced by the document's own
    /// number.
    pub marks: Vec<Option<i64>>,
    /// Where answers insert members that the text lacks, if that was recorded.
    pub gaps: Option<Gaps>,
}

/// Bytes of the counts of links and of marks.
const HEAD_BYTES: usize = 4;
/// Flag in the count of links: gaps follow the links.
const HAS_GAPS: u16 = 1 << 15;
/// Bytes of the shape and the count of gaps.
const GAPS_HEAD_BYTES: usize = 4 + 2;
const GAP_BYTES: usize = 4 + 2 + 2;
const MARK_BYTES: usize = 8;
/// Stands for an absent mark.
const NO_MARK: i64 = i64::MIN;
const LINK_BYTES: usize = 4 + 8 + 2 + 16;

impl References {
    /// Replaces references to the document itself by the number that it was given.
    pub(crate) fn name_itself(&mut self, id: DocumentId) {
        let links = self.links.iter_mut().map(|link| &mut link.target);
        for target in links.chain(&mut self.others) {
            if *target == DocumentId::ITSELF {
                *target = id;
            }
        }
        for mark in &mut self.marks {
            if *mark == Some(DocumentId::ITSELF.0) {
                *mark = Some(id.0);
            }
        }
    }

    /// Packs them: counts of links and marks, then the marks, the links, the gaps if they were
    /// recorded, and the other documents.
    ///
    /// # Panics
    ///
    /// With more than 32,767 links, or more than 65,535 marks or gaps, which no document within the
    /// limits can have.
    pub fn pack(&self) -> Vec<u8> {
        let gaps = self.gaps.as_ref();
        let gap_bytes = gaps.map_or(0, |gaps| GAPS_HEAD_BYTES + gaps.places.len() * GAP_BYTES);
        let length = self.marks.len() * MARK_BYTES + self.links.len() * LINK_BYTES + gap_bytes;
        let mut out = Vec::with_capacity(HEAD_BYTES + length + self.others.len() * 8);
        let count = |n: usize| u16::try_from(n).expect("a document has fewer links than bytes");
        let links = count(self.links.len());
        assert!(links < HAS_GAPS, "a document has fewer links than its limit of references");
        let flag = if gaps.is_some() { HAS_GAPS } else { 0 };
        out.extend_from_slice(&(links | flag).to_le_bytes());
        out.extend_from_slice(&count(self.marks.len()).to_le_bytes());
        for mark in &self.marks {
            out.extend_from_slice(&mark.unwrap_or(NO_MARK).to_le_bytes());
        }
        for link in &self.links {
            out.extend_from_slice(&link.offset.to_le_bytes());
            out.extend_from_slice(&link.target.0.to_le_bytes());
            out.extend_from_slice(&link.kind.0.to_le_bytes());
            out.extend_from_slice(&link.uuid.0);
        }
        if let Some(gaps) = gaps {
            out.extend_from_slice(&gaps.shape.to_le_bytes());
            out.extend_from_slice(&count(gaps.places.len()).to_le_bytes());
            for gap in &gaps.places {
                out.extend_from_slice(&gap.offset.to_le_bytes());
                out.extend_from_slice(&gap.first.to_le_bytes());
                out.extend_from_slice(&gap.count.to_le_bytes());
            }
        }
        for other in &self.others {
            out.extend_from_slice(&other.0.to_le_bytes());
        }
        out
    }

    /// Returns the marks of packed references, or of their first bytes.
    pub fn marks(packed: &[u8]) -> impl ExactSizeIterator<Item = Option<i64>> + '_ {
        parts(packed).marks.chunks_exact(MARK_BYTES).map(|chunk| {
            let mark = i64::from_le_bytes(array(chunk));
            (mark != NO_MARK).then_some(mark)
        })
    }

    /// Returns how many bytes at the start of packed references hold the counts and `marks` marks.
    pub(crate) fn head_bytes(marks: usize) -> usize {
        HEAD_BYTES + marks * MARK_BYTES
    }

    /// Returns packed references that keep only the marks.
    pub(crate) fn marks_only(packed: &[u8]) -> Vec<u8> {
        Self { marks: Self::marks(packed).collect(), ..Self::default() }.pack()
    }

    /// Returns the links of packed references, in the order of the text.
    pub fn links(packed: &[u8]) -> impl Iterator<Item = Link> + '_ {
        parts(packed).links.chunks_exact(LINK_BYTES).map(|chunk| Link {
            offset: u32::from_le_bytes(array(&chunk[0..4])),
            target: DocumentId(i64::from_le_bytes(array(&chunk[4..12]))),
            kind: KindId(u16::from_le_bytes(array(&chunk[12..14]))),
            uuid: Uuid(array(&chunk[14..30])),
        })
    }

    /// Returns the other documents of packed references, as stored.
    pub fn others(packed: &[u8]) -> impl Iterator<Item = DocumentId> + '_ {
        let others = parts(packed).others;
        others.chunks_exact(8).map(|chunk| DocumentId(i64::from_le_bytes(array(chunk))))
    }

    /// Returns the shape and the gaps of packed references, in the order of the text; [`None`]
    /// where none were recorded.
    pub fn gaps(packed: &[u8]) -> Option<(u32, impl Iterator<Item = Gap> + '_)> {
        let (shape, gaps) = parts(packed).gaps?;
        let gaps = gaps.chunks_exact(GAP_BYTES).map(|chunk| Gap {
            offset: u32::from_le_bytes(array(&chunk[0..4])),
            first: u16::from_le_bytes(array(&chunk[4..6])),
            count: u16::from_le_bytes(array(&chunk[6..8])),
        });
        Some((shape, gaps))
    }

    /// Returns every other document referred to, sorted, without duplicates.
    pub fn targets(packed: &[u8]) -> Vec<DocumentId> {
        let others = parts(packed).others;
        let mut targets: Vec<DocumentId> = Self::links(packed)
            .map(|link| link.target)
            .chain(others.chunks_exact(8).map(|c| DocumentId(i64::from_le_bytes(array(c)))))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

/// The sections of packed references.
#[derive(Default)]
struct Parts<'p> {
    marks: &'p [u8],
    links: &'p [u8],
    /// The shape, and the gaps.
    gaps: Option<(u32, &'p [u8])>,
    others: &'p [u8],
}

fn parts(packed: &[u8]) -> Parts<'_> {
    if packed.len() < HEAD_BYTES {
        return Parts::default();
    }
    let count = |at: usize| u16::from_le_bytes([packed[at], packed[at + 1]]);
    let bytes = |count: u16, each: usize| usize::from(count) * each;
    let rest = &packed[HEAD_BYTES..];
    let (marks, rest) = rest.split_at(bytes(count(2), MARK_BYTES).min(rest.len()));
    let links = bytes(count(0) & !HAS_GAPS, LINK_BYTES);
    let (links, rest) = rest.split_at(links.min(rest.len()));
    if count(0) & HAS_GAPS == 0 || rest.len() < GAPS_HEAD_BYTES {
        return Parts { marks, links, gaps: None, others: rest };
    }
    let (head, rest) = rest.split_at(GAPS_HEAD_BYTES);
    let gaps = bytes(u16::from_le_bytes(array(&head[4..6])), GAP_BYTES);
    let (gaps, others) = rest.split_at(gaps.min(rest.len()));
    Parts { marks, links, gaps: Some((u32::from_le_bytes(array(&head[0..4])), gaps)), others }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_survive_packing() {
        let link = |offset, target| Link {
            offset,
            target: DocumentId(target),
            kind: KindId(7),
            uuid: Uuid([9; 16]),
        };
        let places =
            vec![Gap { offset: 9, first: 1, count: 2 }, Gap { offset: 70, first: 0, count: 1 }];
        for gaps in [None, Some(Gaps::default()), Some(Gaps { shape: u32::MAX, places })] {
            let references = References {
                links: vec![link(10, 5), link(40, 3)],
                others: vec![DocumentId(4), DocumentId(5)],
                marks: vec![Some(-1), None, Some(i64::MAX)],
                gaps,
            };

            let packed = references.pack();
            let head = &packed[..References::head_bytes(3)];
            let marks_only = References::marks_only(&packed);

            let read = References::gaps(&packed)
                .map(|(shape, places)| Gaps { shape, places: places.collect() });
            assert_eq!(read, references.gaps);
            assert_eq!(References::links(&packed).collect::<Vec<_>>(), references.links);
            assert_eq!(References::targets(&packed), [3, 4, 5].map(DocumentId));
            for packed in [&packed[..], head, &marks_only] {
                assert_eq!(References::marks(packed).collect::<Vec<_>>(), references.marks);
            }
            assert!(References::targets(&marks_only).is_empty());
            assert!(References::gaps(&marks_only).is_none());
        }
        assert!(References::targets(&[]).is_empty());
        assert!(References::gaps(&[]).is_none());
    }
}
