//! A chart of a run: rate, times and sizes over the seconds.

use std::fmt::Write as _;

use crate::figures::{Second, as_float};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
/// Bytes that count as one page, whatever the store's own page size.
const PAGE_BYTES: f64 = 4_096.0;

/// One line of a panel: its name, its colour, its value in a second, if that is known.
type Line = (&'static str, &'static str, fn(&Second) -> Option<f64>);

/// The panels from top to bottom: title and lines.
const PANELS: [(&str, &[Line]); 8] = [
    (
        "a second",
        &[
            ("requests", "#1a6fb0", |second| Some(as_float(second.requests as u64))),
            ("part commits", "#b05a1a", |second| Some(as_float(second.parts as u64))),
        ],
    ),
    (
        "ms",
        &[
            ("p50", "#1a6fb0", |second| Some(second.quantiles[0])),
            ("p99", "#b01a3c", |second| Some(second.quantiles[1])),
            ("p99.9", "#999999", |second| Some(second.quantiles[2])),
            ("part p99", "#b05a1a", |second| Some(second.parts_p99)),
        ],
    ),
    ("MiB", &[("log", "#3c8a2e", |second| Some(as_float(second.log_bytes >> 20)))]),
    ("MiB", &[("file", "#3c8a2e", |second| Some(as_float(second.file_bytes >> 20)))]),
    (
        "ms each",
        &[
            ("commit", "#1a6fb0", |second| Some(second.commit_ms)),
            ("sync of the file", "#b05a1a", |second| Some(second.file_sync_ms)),
        ],
    ),
    (
        "syncs a second",
        &[
            ("log", "#1a6fb0", |second| second.log_syncs.map(as_float)),
            ("file", "#b05a1a", |second| Some(as_float(second.file_syncs))),
        ],
    ),
    (
        "MB/s to the disk",
        &[("written", "#6a3ca0", |second| second.written.map(|bytes| as_float(bytes) / 1e6))],
    ),
    (
        "4 KiB pages a request",
        &[("written", "#6a3ca0", |second| {
            let requests = (second.requests > 0).then_some(as_float(second.requests as u64));
            Some(as_float(second.written?) / PAGE_BYTES / requests?)
        })],
    ),
];

/// Returns the chart as an SVG document.
pub fn svg(seconds: &[Second]) -> String {
    let height = (HEIGHT + TOP).mul_add(as_float(PANELS.len() as u64), TOP);
    let full = LEFT + WIDTH + 20.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let step = WIDTH / as_float(seconds.len().max(2) as u64 - 1);
    for (at, (title, lines)) in PANELS.iter().enumerate() {
        let top = (HEIGHT + TOP).mul_add(as_float(at as u64), TOP);
        let greatest = lines.iter().flat_map(|(.., value)| seconds.iter().filter_map(value));
        let greatest = greatest.fold(1.0, f64::max);
        let digits = usize::from(greatest < 10.0);
        _ = writeln!(
            text,
            "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" \
             stroke=\"#ccc\"/>\n<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{greatest:.digits$}</text>\n\
             <text x=\"{x}\" y=\"{bottom}\" text-anchor=\"end\">0</text>",
            x = LEFT - 6.0,
            y = top + 10.0,
            bottom = top + HEIGHT,
        );
        _ = writeln!(text, "<text x=\"{LEFT}\" y=\"{}\">{title}:</text>", top - 8.0);
        for (place, (name, colour, value)) in lines.iter().enumerate() {
            let x = 110.0f64.mul_add(as_float(place as u64), LEFT + 130.0);
            _ = writeln!(
                text,
                "<text x=\"{x}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
                top - 8.0
            );
            let points = seconds.iter().enumerate().filter_map(|(second, values)| {
                let x = step.mul_add(as_float(second as u64), LEFT);
                let y = HEIGHT.mul_add(1.0 - value(values)? / greatest, top);
                Some(format!("{x:.1},{y:.1}"))
            });
            let points: Vec<String> = points.collect();
            _ = writeln!(
                text,
                "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{}\"/>",
                points.join(" ")
            );
        }
    }
    text.push_str("</svg>\n");
    text
}
