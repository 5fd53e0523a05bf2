//! Tokens: nobody is recognized but by a token that this server signed, byte for byte.

use homeroom_access::ANY_SCOPE;
use homeroom_http::Timestamp;

use crate::world::World;

/// Even first byte: the rest is an `Authorization` header. Odd: the rest are edits of a valid
/// header, three bytes each (place and edit).
///
/// # Panics
///
/// When a header is accepted that is not the good one.
pub fn token(bytes: &[u8]) {
    let world = World::get();
    let Some((mode, rest)) = bytes.split_first() else { return };
    let good = &world.authorization();
    let header = if mode % 2 == 0 {
        String::from_utf8_lossy(rest).into_owned()
    } else {
        String::from_utf8_lossy(&changed(good.as_bytes(), rest)).into_owned()
    };
    let recognized = world.access.recognize(Some(&header), ANY_SCOPE, Timestamp::now());
    if let Err(problem) = recognized {
        assert!(matches!(problem.kind.status().as_u16(), 401 | 403));
        return;
    }
    let (scheme, token) = header.trim().split_once(' ').expect("a scheme and a token");
    let is_good = scheme.eq_ignore_ascii_case("bearer") && good.ends_with(token.trim());
    assert!(is_good && token.trim().len() > 100, "accepted: {header}");
}

/// Something good with bytes flipped, removed, doubled, or cut off behind.
pub fn changed(good: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut text = good.to_vec();
    for change in changes.chunks_exact(3) {
        if text.is_empty() {
            break;
        }
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % text.len();
        match change[2] {
            0 => _ = text.remove(at),
            1 => text.insert(at, text[at]),
            2 => text.truncate(at),
            // Bytes that no header can contain are skipped.
            flip if flip < 128 => text[at] = (text[at] ^ flip) & 0x7f,
            put => text[at] = put & 0x7f,
        }
    }
    text
}
