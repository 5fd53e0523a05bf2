//! Measures what compressing lists costs: `cargo run --release -p homeroom-data --example compressed
//! FILE…`, where each file is the answer to a list.
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::io::Write as _;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Rounds, of which the fastest counts.
const ROUNDS: usize = 30;

fn main() -> std::io::Result<()> {
    for file in std::env::args().skip(1) {
        let body = std::fs::read(&file)?;
        for level in [1, 6] {
            let (mut best_us, mut bytes) = (u128::MAX, 0);
            for _ in 0..ROUNDS {
                let begun = Instant::now();
                let mut encoder = GzEncoder::new(vec![], Compression::new(level));
                encoder.write_all(&body)?;
                bytes = encoder.finish()?.len();
                best_us = best_us.min(begun.elapsed().as_micros());
            }
            println!("{file}: {} bytes, level {level}: {bytes} bytes in {best_us} µs", body.len());
        }
    }
    Ok(())
}
