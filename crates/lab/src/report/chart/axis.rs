//! Axes: the position of a value between two ends, and the round values to label.

use super::super::words;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal differences have equal length.
    Linear,
    /// Equal ratios have equal length.
    Log,
}

/// An axis with its ends and ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its title, with the unit.
    pub name: String,
    scale: Scale,
    low: f64,
    high: f64,
    /// The round values and their labels.
    pub ticks: Vec<(f64, String)>,
}

/// Seconds between ticks of time: round in seconds, minutes, hours, days.
const TIME_STEPS: [f64; 21] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1_800.0,
    3_600.0,
    7_200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    2_419_200.0,
];
/// The most ticks of a time axis, whose labels are wide.
const TIME_TICKS_MAX: f64 = 9.0;
/// The approximate number of ticks of a linear axis.
const TICKS: f64 = 5.0;
/// The most powers of ten on an axis.
const DECADES_MAX: i32 = 16;
/// The ratio of greatest to least value from which an axis is logarithmic.
const WORTH_LOG: f64 = 50.0;

impl Axis {
    /// Returns an axis from zero to a round value above `high`.
    pub fn from_zero(name: &str, high: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = round_step(high / TICKS);
        let steps = (high / step - 1e-9).ceil();
        let ticks = (0..=20).map(f64::from).take_while(|at| *at <= steps).map(|at| at * step);
        let ticks = ticks.map(|value| (value, words::figure(value))).collect();
        Self { name: name.into(), scale: Scale::Linear, low: 0.0, high: steps * step, ticks }
    }

    /// Returns an axis of positive times in milliseconds; logarithmic if they are far apart.
    pub fn times(name: &str, least: f64, greatest: f64) -> Self {
        if !(least > 0.0 && greatest.is_finite() && greatest / least >= WORTH_LOG) {
            let mut axis = Self::from_zero(name, greatest);
            axis.ticks.iter_mut().for_each(|(value, text)| *text = time_name(*value));
            return axis;
        }
        let (low, high) = (1.0 / round_step(1.0 / least), round_step(greatest));
        let first = low.log10().ceil();
        let decades = (0..DECADES_MAX).map(|at| 10_f64.powf(first + f64::from(at)));
        let decades = decades.take_while(|value| *value <= high * (1.0 + 1e-9));
        let ticks = decades.map(|value| (value, time_name(value))).collect();
        Self { name: format!("{name} (logarithmic)"), scale: Scale::Log, low, high, ticks }
    }

    /// Returns an axis of seconds since the beginning, from zero to the end.
    pub fn clock(seconds: f64) -> Self {
        let high = if seconds.is_finite() && seconds > 0.0 { seconds } else { 1.0 };
        let fits = TIME_STEPS.iter().find(|step| high / **step <= TIME_TICKS_MAX);
        let step = fits.copied().unwrap_or_else(|| round_step(high / TIME_TICKS_MAX));
        let ticks = (0..=20).map(|at| f64::from(at) * step).take_while(|at| *at <= high + 1e-9);
        let ticks = ticks.map(|at| (at, words::clock(at))).collect();
        let unit = if high < 3_600.0 { "min:s" } else { "h:min:s" };
        let name = format!("time since the beginning ({unit})");
        Self { name, scale: Scale::Linear, low: 0.0, high, ticks }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high one, clamped between them.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the high end.
    pub fn high(&self) -> f64 {
        self.high
    }
}

/// Returns the next of 1, 2 or 5 times a power of ten.
fn round_step(about: f64) -> f64 {
    let power = 10_f64.powf(about.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| about <= factor * power * (1.0 + 1e-9));
    factor.unwrap_or(10.0) * power
}

fn time_name(ms: f64) -> String {
    match ms {
        0.0 => "0".into(),
        _ if ms < 999.5 => format!("{} ms", words::figure(ms)),
        _ => format!("{} s", words::figure(ms / 1e3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> String {
        axis.ticks.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(names(&Axis::from_zero("", 398.0)), "0 100 200 300 400");
        assert_eq!(names(&Axis::from_zero("", 0.07)), "0 0.02 0.04 0.06 0.08");
        assert_eq!(names(&Axis::from_zero("", 0.0)), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(names(&Axis::from_zero("", f64::NAN)), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(names(&Axis::clock(60.0)), "0:00 0:10 0:20 0:30 0:40 0:50 1:00");
        assert_eq!(names(&Axis::clock(172_800.0)).split(' ').count(), 9);
    }

    #[test]
    fn widely_spread_times_get_a_logarithmic_axis() {
        let axis = Axis::times("t", 2.0, 1_900.0);

        assert_eq!(names(&axis), "10 ms 100 ms 1 s");
        assert!((axis.place(2.0), axis.place(2_000.0)) == (0.0, 1.0));
        assert!((axis.place(63.245_553) - 0.5).abs() < 1e-6);
        assert_eq!(names(&Axis::times("t", 2.0, 40.0)), "0 10 ms 20 ms 30 ms 40 ms");
    }

    #[test]
    fn every_value_is_placed_within_the_axis() {
        for axis in [Axis::from_zero("", 10.0), Axis::times("", 1.0, 1e4), Axis::clock(5.0)] {
            for value in [-1e300, 0.0, 1e300, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&axis.place(value)), "{axis:?} {value}");
            }
        }
    }
}
