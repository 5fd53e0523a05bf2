//! A document as it is stored, and its references.

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};

/// The columns of a [`Row`], in its order.
pub(crate) const COLUMNS: &str = "id, uuid, kind, key, cv, modified, refs, body";

/// Blocks of 4,096 ids are counted together.
pub(crate) const BLOCK_BITS: u32 = 12;

/// A stored document.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Number.
    pub id: DocumentId,
    /// Public id.
    pub uuid: Uuid,
    /// Kind.
    pub kind: KindId,
    /// Hash of its identity.
    pub key: NaturalKey,
    /// Version of its last change; the document's ETag.
    pub change_version: i64,
    /// Moment of its last change, microseconds since 1970.
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
    /// Its kind.
    pub kind: KindId,
    /// Its public id.
    pub uuid: Uuid,
}

/// All that a document refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// References, in the order of the text.
    pub links: Vec<Link>,
    /// Further documents that must stay as long as this one does, such as descriptors.
    pub others: Vec<DocumentId>,
}

const LINK_BYTES: usize = 4 + 8 + 2 + 16;

impl References {
    /// Gives the document's references to itself the number that it has got.
    pub(crate) fn name_itself(&mut self, id: DocumentId) {
        let links = self.links.iter_mut().map(|link| &mut link.target);
        for target in links.chain(&mut self.others) {
            if *target == DocumentId::ITSELF {
                *target = id;
            }
        }
    }

    /// Packs them: a count of links, the links, the others.
    ///
    /// # Panics
    ///
    /// With more than 65,535 links, which no document within the size limit can hold.
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 + self.links.len() * LINK_BYTES + self.others.len() * 8);
        let count = u16::try_from(self.links.len()).expect("a document has fewer links than bytes");
        out.extend_from_slice(&count.to_le_bytes());
        for link in &self.links {
            out.extend_from_slice(&link.offset.to_le_bytes());
            out.extend_from_slice(&link.target.0.to_le_bytes());
            out.extend_from_slice(&link.kind.0.to_le_bytes());
            out.extend_from_slice(&link.uuid.0);
        }
        for other in &self.others {
            out.extend_from_slice(&other.0.to_le_bytes());
        }
        out
    }

    /// The links of packed references, in the order of the text.
    pub fn links(packed: &[u8]) -> impl Iterator<Item = Link> + '_ {
        let (links, _) = halves(packed);
        links.chunks_exact(LINK_BYTES).map(|chunk| Link {
            offset: u32::from_le_bytes(array(&chunk[0..4])),
            target: DocumentId(i64::from_le_bytes(array(&chunk[4..12]))),
            kind: KindId(u16::from_le_bytes(array(&chunk[12..14]))),
            uuid: Uuid(array(&chunk[14..30])),
        })
    }

    /// Every other document referred to, each once, in order.
    pub fn targets(packed: &[u8]) -> Vec<DocumentId> {
        let (_, others) = halves(packed);
        let mut targets: Vec<DocumentId> = Self::links(packed)
            .map(|link| link.target)
            .chain(others.chunks_exact(8).map(|c| DocumentId(i64::from_le_bytes(array(c)))))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

fn halves(packed: &[u8]) -> (&[u8], &[u8]) {
    if packed.len() < 2 {
        return (&[], &[]);
    }
    let count = usize::from(u16::from_le_bytes([packed[0], packed[1]]));
    let rest = &packed[2..];
    rest.split_at((count * LINK_BYTES).min(rest.len()))
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
        let references = References {
            links: vec![link(10, 5), link(40, 3)],
            others: vec![DocumentId(4), DocumentId(5)],
        };

        let packed = references.pack();

        assert_eq!(References::links(&packed).collect::<Vec<_>>(), references.links);
        assert_eq!(References::targets(&packed), [3, 4, 5].map(DocumentId));
        assert!(References::targets(&[]).is_empty());
    }
}
