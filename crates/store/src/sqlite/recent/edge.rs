//! Identities, and edges as numbers that have the order of their table.

/// The bytes of an identity.
pub(crate) type Key = [u8; 16];

/// Bits of a document's number, which a counter never reaches.
pub(crate) const NUMBER_BITS: u32 = 56;

/// The greatest number of a document.
pub(crate) const NUMBER_MAX: i64 = (1 << NUMBER_BITS) - 1;

/// An edge: target, kind of the source, source.
pub(crate) type Edge = (i64, u16, i64);

/// Packs an edge.
pub(crate) fn pack((target, kind, source): Edge) -> u128 {
    let number = |number: i64| u128::from(number.unsigned_abs());
    number(target) << (NUMBER_BITS + 16) | u128::from(kind) << NUMBER_BITS | number(source)
}

/// Returns a packed edge.
#[expect(clippy::cast_possible_truncation, reason = "each part is cut out by its bits")]
pub(crate) fn unpack(edge: u128) -> Edge {
    let number = |bits: u128| (bits & ((1 << NUMBER_BITS) - 1)) as i64;
    (number(edge >> (NUMBER_BITS + 16)), (edge >> NUMBER_BITS) as u16, number(edge))
}
