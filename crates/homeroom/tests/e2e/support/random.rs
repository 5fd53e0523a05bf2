//! Reproducible random numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Random numbers that are reproducible from their seed (splitmix64).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator seeded by `HOMEROOM_SEED` or the clock, and prints the seed.
    pub fn seeded() -> Self {
        let given = std::env::var("HOMEROOM_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_secs() ^ u64::from(now.subsec_nanos())
        });
        println!("HOMEROOM_SEED={seed}");
        Self(seed)
    }

    /// Returns an independent generator, for another thread.
    pub fn child(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
