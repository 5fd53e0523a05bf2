//! Bars as SVG.

use std::fmt::Write as _;

/// Height of a bar and the gap below it.
const STEP: f64 = 18.0;
/// Width of the names on the left.
const NAMES: f64 = 210.0;
/// Width of the longest bar.
const WIDTH: f64 = 480.0;
/// Colours of the bars of one row.
const COLOURS: [&str; 4] = ["#2f6f9f", "#d08a2d", "#5b8f4a", "#8d5a97"];

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
    let height = 40.0 + STEP * bars as f64 + 6.0 * rows.len() as f64;
    let whole = NAMES + WIDTH + 110.0;
    let mut out = format!(
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {whole} {height}\" role=\"img\" \
         aria-label=\"{}\">",
        escaped(title),
        escaped(title)
    );
    let mut x = NAMES;
    for (mode, colour) in modes.iter().zip(COLOURS) {
        _ = write!(
            out,
            "<rect x=\"{x}\" y=\"4\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" \
             y=\"14\">{}</text>",
            x + 16.0,
            escaped(mode)
        );
        x += 110.0;
    }
    let mut y = 28.0;
    for row in rows {
        _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            NAMES - 8.0,
            y + 12.0,
            escaped(&row.name)
        );
        let before = y;
        for (value, colour) in row.values.iter().zip(COLOURS) {
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

/// Escapes a text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
