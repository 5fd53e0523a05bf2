//! Numbers that look random, and those of organizations.

/// A generator of numbers that look random but are the same each time.
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }

    /// Returns the number of one of `of` organizations.
    pub fn organization(&mut self, of: usize) -> i64 {
        number(self.below(of))
    }
}

/// Returns the number of the `n`th organization.
pub fn number(n: usize) -> i64 {
    100 + i64::try_from(n).unwrap_or(0)
}
