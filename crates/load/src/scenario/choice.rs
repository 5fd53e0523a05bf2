//! A weighted choice among the steps that can be done now.

/// The weights of steps, some of which can be chosen now: a tree of sums (P. Fenwick, 1994), in
/// which choosing and changing take logarithmic time.
#[derive(Debug, Clone)]
pub struct Choice {
    weights: Vec<u64>,
    sums: Vec<u64>,
    is_on: Vec<bool>,
    total: u64,
}

/// The sum of all weights, so that shares are exact to nine digits and sums cannot overflow.
const WHOLE: f64 = (1_u64 << 40) as f64;

impl Choice {
    /// Returns a choice in which no step can be chosen yet.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "shares are positive and sum to 2^40"
    )]
    pub fn new(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let whole = |weight: &f64| match *weight {
            weight if weight > 0.0 => ((weight / sum * WHOLE).round() as u64).max(1),
            _ => 0,
        };
        Self {
            weights: weights.iter().map(whole).collect(),
            sums: vec![0; weights.len() + 1],
            is_on: vec![false; weights.len()],
            total: 0,
        }
    }

    /// Sets whether a step can be chosen.
    pub fn set(&mut self, at: usize, on: bool) {
        if self.is_on[at] == on {
            return;
        }
        self.is_on[at] = on;
        let weight = self.weights[at];
        let change = |sum: &mut u64| *sum = if on { *sum + weight } else { *sum - weight };
        change(&mut self.total);
        let mut node = at + 1;
        while node < self.sums.len() {
            change(&mut self.sums[node]);
            node += node & node.wrapping_neg();
        }
    }

    /// Draws one of the steps that can be chosen; `None` if there is none.
    pub fn draw(&self, random: &mut fastrand::Rng) -> Option<usize> {
        if self.total == 0 {
            return None;
        }
        let mut left = random.u64(..self.total);
        let mut node = 0;
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            let next = node + step;
            if next < self.sums.len() && self.sums[next] <= left {
                left -= self.sums[next];
                node = next;
            }
            step /= 2;
        }
        Some(node)
    }

    /// Returns whether a step can be chosen.
    pub fn is_on(&self, at: usize) -> bool {
        self.is_on[at] && self.weights[at] > 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(choice: &Choice, draws: u32) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut counts = vec![0.0; choice.weights.len()];
        for _ in 0..draws {
            counts[choice.draw(&mut random).unwrap()] += 1.0;
        }
        counts.iter().map(|count| count / f64::from(draws)).collect()
    }

    #[test]
    fn shares_follow_the_weights_of_the_available_choices() {
        let mut choice = Choice::new(&[1.0, 2.0, 0.0, 3.0, 4.0]);
        (0..5).for_each(|at| choice.set(at, true));
        let near = |found: Vec<f64>, wanted: [f64; 5]| {
            found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 0.01)
        };

        assert!(near(counts(&choice, 100_000), [0.1, 0.2, 0.0, 0.3, 0.4]));
        choice.set(4, false);
        choice.set(4, false);
        assert!(near(counts(&choice, 100_000), [1.0 / 6.0, 2.0 / 6.0, 0.0, 0.5, 0.0]));
    }

    #[test]
    fn no_choice_is_made_if_none_is_available() {
        let mut choice = Choice::new(&[1.0, 1e-30]);
        assert_eq!(choice.draw(&mut fastrand::Rng::with_seed(1)), None);

        choice.set(1, true);

        assert_eq!(choice.draw(&mut fastrand::Rng::with_seed(1)), Some(1));
    }

    proptest! {
        #[test]
        fn every_choice_is_an_available_one(
            weights in prop::collection::vec(0.0..10.0_f64, 1..70),
            switches in prop::collection::vec((0..70_usize, any::<bool>()), 0..200),
            seed: u64,
        ) {
            let mut choice = Choice::new(&weights);
            for (at, on) in switches {
                choice.set(at % weights.len(), on);
            }
            let mut random = fastrand::Rng::with_seed(seed);

            for _ in 0..20 {
                match choice.draw(&mut random) {
                    Some(at) => prop_assert!(choice.is_on(at)),
                    None => prop_assert!((0..weights.len()).all(|at| !choice.is_on(at))),
                }
            }
        }
    }
}
