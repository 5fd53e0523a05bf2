//! Finds the elements that the `ref`s inside an element name, to be copied with it.

use std::io::BufRead;

use super::ids::{Found, Ids};
use super::scan::{Scanner, Token};
use crate::place::{Malformed, Spot};

/// Returns the length of the element at a place, and the offsets of the elements that its `ref`s
/// name.
pub(crate) fn references<R: BufRead>(
    source: R,
    at: Spot,
    ids: &Ids,
) -> Result<(u64, Vec<u64>), Malformed> {
    let mut scanner = Scanner::new(source, at);
    let mut found = vec![];
    loop {
        match scanner.next()? {
            Token::Start => {
                if let Some(id) = &scanner.tag().reference
                    && let Found::At(offset) = ids.find(id)
                {
                    found.push(offset);
                }
            }
            Token::End if scanner.depth() == 0 => break,
            Token::End | Token::Text => {}
            Token::Eof => return Err(scanner.start().malformed("the file ends inside a record")),
        }
    }
    Ok((scanner.spot().offset - at.offset, found))
}
