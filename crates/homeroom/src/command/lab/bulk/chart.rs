//! Bars as SVG.

use std::fmt::Write as _;

/// Height of a bar and the gap below it.
const STEP: f64 = 18.0;
/// Width of the names on the left.
const NAMES: f64 = 210.0;
/// Width of the longest bar.
const WIDTH: f64 = 480.0;
/// Colours of the bars of one row, which begin again where there are more modes.
const COLOURS: [&str; 8] =
    ["#2f6f9f", "#d08a2d", "#5b8f4a", "#8d5a97", "#b5483f", "#3f9c98", "#8a7032", "#6b6b6b"];
/// Width of a name of the legend with its colour, and how many of them are side by side.
const LEGEND: f64 = 145.0;
const LEGEND_COLUMNS: usize = 4;

/// A row: a name, and a value for each mode that has one.
pub(super) struct Bars {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<Option<f64>>,
}

/// Draws rows of bars; the longest bar has the greatest value.
pub(super) fn chart(
    title: &str,
    modes: &[&str],
    rows: &[Bars],
    written: &dyn Fn(f64) -> String,
) -> String {
    let values = || rows.iter().flat_map(|row| row.values.iter().flatten());
    let most = values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bars: usize = rows.iter().map(|row| row.values.iter().flatten().count().max(1)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a height in pixels")]
    let below = STEP * modes.len().div_ceil(LEGEND_COLUMNS).saturating_sub(1) as f64;
    #[expect(clippy::cast_precision_loss, reason = "a height in pixels")]
    let height = 40.0 + below + STEP * bars as f64 + 6.0 * rows.len() as f64;
    let whole = NAMES + WIDTH + 110.0;
    let mut out = format!(
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {whole} {height}\" role=\"img\" \
         aria-label=\"{}\">",
        escaped(title),
        escaped(title)
    );
    let (mut x, mut y) = (NAMES, 0.0);
    for (at, (mode, colour)) in modes.iter().zip(colours()).enumerate() {
        if at > 0 && at % LEGEND_COLUMNS == 0 {
            (x, y) = (NAMES, y + STEP);
        }
        _ = write!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" \
             y=\"{}\">{}</text>",
            y + 4.0,
            x + 16.0,
            y + 14.0,
            escaped(mode)
        );
        x += LEGEND;
    }
    y += 28.0;
    for row in rows {
        _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            NAMES - 8.0,
            y + 12.0,
            escaped(&row.name)
        );
        let before = y;
        for (value, colour) in row.values.iter().zip(colours()) {
            let Some(value) = value else { continue };
            let width = WIDTH * value / most;
            _ = write!(
                out,
                "<rect x=\"{NAMES}\" y=\"{y}\" width=\"{width:.1}\" height=\"14\" \
                 fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{}\">{}</text>",
                NAMES + width + 5.0,
                y + 12.0,
                escaped(&written(*value))
            );
            y += STEP;
        }
        y = y.max(before + STEP) + 6.0;
    }
    out + "</svg></figure>\n"
}

/// The colours of all modes there may be.
fn colours() -> impl Iterator<Item = &'static str> {
    COLOURS.into_iter().cycle()
}

/// Escapes a text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_in_the_legend_and_has_its_bar_within_the_chart() {
        for count in [1, 4, 6, 9] {
            let modes: Vec<String> =
                (1..=count).map(|at| format!("mode {at} on 2 cores")).collect();
            let modes: Vec<&str> = modes.iter().map(String::as_str).collect();
            let values = (1..=count).map(|at| Some(f64::from(at)));
            let rows = [Bars { name: "Student".into(), values: values.collect() }];

            let chart = chart("Time", &modes, &rows, &|value| format!("{value} s"));

            for (at, mode) in modes.iter().enumerate() {
                assert!(chart.contains(&format!(">{mode}</text>")), "{mode}: {chart}");
                assert!(chart.contains(&format!(">{} s</text>", at + 1)), "{mode}: {chart}");
            }
            let number = |text: &str, before: &str| {
                let (_, rest) = text.split_once(before).unwrap();
                rest.split(['"', ' ']).next().unwrap().parse::<f64>().unwrap()
            };
            let height = number(&chart, "viewBox=\"0 0 800 ");
            for bar in chart.split("<rect ").skip(1) {
                assert!(number(bar, "y=\"") + 14.0 <= height, "{bar} {height}");
                assert!(number(bar, "x=\"") + LEGEND <= 800.0, "{bar}");
            }
        }
        let six: std::collections::BTreeSet<&str> = colours().take(6).collect();
        assert_eq!(six.len(), 6);
    }
}
