//! How a fuzz target chooses by its first bytes.

/// Two bytes that choose among `count`, and the rest.
pub fn choice(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_at_checked(2)?;
    Some((usize::from(u16::from_le_bytes([number[0], number[1]])) % count, rest))
}
