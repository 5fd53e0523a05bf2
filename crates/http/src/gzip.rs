//! Compresses a text with gaps once, so that filling the gaps needs copying but no compression.
//!
//! The runs of text between the gaps are compressed separately, and each ends on a whole byte; the
//! filling of a gap is stored uncompressed between them. Together they form one gzip member, which
//! every client can read.
//!
//! Source: RFC 1951 §3.2.4 (stored blocks), RFC 1952 §2.3 (header and trailer).

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// Magic number, deflate, no flags, no time, no level, unknown operating system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty stored block, marked as the last one.
const END: [u8; 5] = [1, 0, 0, 0xff, 0xff];
/// Most bytes of a stored block.
const STORED_MAX: usize = u16::MAX as usize;

/// A compressed text with gaps.
#[derive(Debug)]
pub struct Gzip {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    /// Compressed blocks, none of them marked as the last one.
    blocks: Vec<u8>,
    /// Checksum and length of the text.
    sum: Crc,
}

impl Gzip {
    /// Compresses the runs of text between the gaps.
    pub fn of<T: AsRef<str>>(runs: &[T]) -> Self {
        Self { runs: runs.iter().map(|text| Run::of(text.as_ref().as_bytes())).collect() }
    }

    /// Returns the number of compressed bytes, without fillings.
    pub fn length(&self) -> usize {
        self.runs.iter().map(|run| run.blocks.len()).sum()
    }

    /// Returns the whole text, with the same filling in every gap.
    pub fn filled(&self, filling: &str) -> Vec<u8> {
        let mut filling_sum = Crc::new();
        filling_sum.update(filling.as_bytes());
        let mut sum = Crc::new();
        let mut out = HEADER.to_vec();
        for (at, run) in self.runs.iter().enumerate() {
            if at > 0 {
                store(&mut out, filling.as_bytes());
                sum.combine(&filling_sum);
            }
            out.extend_from_slice(&run.blocks);
            sum.combine(&run.sum);
        }
        out.extend_from_slice(&END);
        out.extend_from_slice(&sum.sum().to_le_bytes());
        out.extend_from_slice(&sum.amount().to_le_bytes());
        out
    }
}

impl Run {
    fn of(text: &[u8]) -> Self {
        let mut sum = Crc::new();
        sum.update(text);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("memory takes every byte");
        encoder.flush().expect("memory takes every byte");
        Self { blocks: std::mem::take(encoder.get_mut()), sum }
    }
}

/// Appends bytes uncompressed.
fn store(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(STORED_MAX) {
        let length = u16::try_from(chunk.len()).expect("a chunk is no longer than a block");
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut decoder = GzDecoder::new(bytes);
        decoder.read_to_string(&mut text).unwrap();
        assert!(decoder.into_inner().is_empty(), "one member is all");
        text
    }

    #[test]
    fn a_value_longer_than_a_block_spans_several_blocks() {
        let filling = "0123456789".repeat(STORED_MAX / 4);

        let bytes = Gzip::of(&["[", "]"]).filled(&filling);

        assert_eq!(read(&bytes), format!("[{filling}]"));
    }

    #[test]
    fn text_that_repeats_becomes_short() {
        let text = "{\"type\":\"string\"},".repeat(10_000);

        let bytes = Gzip::of(&[&text]).filled("");

        assert!(bytes.len() * 50 < text.len(), "{}", bytes.len());
        assert_eq!(read(&bytes), text);
    }

    proptest! {
        #[test]
        fn compressed_text_is_read_back(
            runs in prop::collection::vec(".{0,80}", 1..6),
            filling in ".{0,40}",
        ) {
            prop_assert_eq!(read(&Gzip::of(&runs).filled(&filling)), runs.join(&filling));
        }
    }
}
