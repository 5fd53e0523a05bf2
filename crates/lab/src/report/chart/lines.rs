//! Values over time as lines, with a band for the range of each slice.

use std::fmt::Write;

use super::super::markup::Markup;
use super::super::table::{Cell, Part, Table};
use super::super::thin::Slice;
use super::super::words;
use super::frame::{Frame, LegendEntry, Plot, Swatch, name_ends, number, strip};

/// The number of line styles; the style sheet has as many.
pub const LOOKS: usize = 8;

/// A chart of lines over a common axis.
#[derive(Debug, Clone)]
pub struct Lines {
    /// The frame.
    pub frame: Frame,
    /// The beginning of each slice, and the end of the last.
    pub at: Vec<f64>,
    /// The lines.
    pub series: Vec<Line>,
    /// Formats a value with its unit.
    pub shown: fn(f64) -> String,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its label.
    pub name: String,
    /// One value per slice; `None` for a gap.
    pub values: Vec<Option<Slice>>,
}

impl Lines {
    /// Writes the figure.
    pub fn figure(&self, page: &mut Markup) {
        let keys: Vec<LegendEntry> = self.series.iter().enumerate().map(key).collect();
        self.frame.figure(page, &keys, &self.data(), |m, plot| self.draw(m, plot));
    }

    fn draw(&self, page: &mut Markup, plot: &Plot) {
        for (at, line) in self.series.iter().enumerate() {
            let band = self.band(plot, line);
            if !band.is_empty() {
                let class = format!("band s{}", at % LOOKS);
                page.void("path", &[("class", &class), ("d", &band)]);
            }
        }
        for (at, line) in self.series.iter().enumerate() {
            let class = format!("line s{}", at % LOOKS);
            page.void("path", &[("class", &class), ("d", &self.path(plot, line))]);
        }
        self.lone_points(page, plot);
        let ends = self.series.iter().enumerate().filter_map(|(at, line)| {
            let last = line.values.iter().rev().flatten().next()?;
            Some((plot.y(last.mean), line.name.clone(), format!("s{}", at % LOOKS)))
        });
        name_ends(page, plot, ends.collect());
        page.element("g", &[("class", "hits")], |m| {
            for slice in 0..self.slices() {
                let (from, to) = (plot.x(self.at[slice]), plot.x(self.at[slice + 1]));
                strip(m, plot, from, to, &self.says(slice));
            }
        });
    }

    fn slices(&self) -> usize {
        self.at.len().saturating_sub(1)
    }

    fn middle(&self, plot: &Plot, slice: usize) -> f64 {
        plot.x(f64::midpoint(self.at[slice], self.at[slice + 1]))
    }

    fn path(&self, plot: &Plot, line: &Line) -> String {
        let (mut path, mut drawing) = (String::new(), false);
        for (slice, value) in line.values.iter().enumerate() {
            if let Some(value) = value {
                let (x, y) = (number(self.middle(plot, slice)), number(plot.y(value.mean)));
                let _ = write!(path, "{}{x} {y}", if drawing { 'L' } else { 'M' });
            }
            drawing = value.is_some();
        }
        path
    }

    /// Returns the area from the least to the greatest value of each slice; empty if no slice has a
    /// range.
    fn band(&self, plot: &Plot, line: &Line) -> String {
        let wide = |slice: &Slice| plot.y(slice.least) - plot.y(slice.greatest) > 0.5;
        if !line.values.iter().flatten().any(wide) {
            return String::new();
        }
        let mut path = String::new();
        let mut from = 0;
        for gap in line.values.split(Option::is_none) {
            let slices: Vec<(usize, Slice)> =
                gap.iter().flatten().enumerate().map(|(at, slice)| (from + at, *slice)).collect();
            let upper = slices.iter().map(|(at, slice)| (*at, slice.greatest));
            let lower = slices.iter().rev().map(|(at, slice)| (*at, slice.least));
            for (nth, (at, value)) in upper.chain(lower).enumerate() {
                let (x, y) = (number(self.middle(plot, at)), number(plot.y(value)));
                let _ = write!(path, "{}{x} {y}", if nth == 0 { 'M' } else { 'L' });
            }
            path.push_str(if slices.is_empty() { "" } else { "Z" });
            from += gap.len() + 1;
        }
        path
    }

    /// Draws points between two gaps, which no line reaches.
    fn lone_points(&self, page: &mut Markup, plot: &Plot) {
        for (look, line) in self.series.iter().enumerate() {
            let class = format!("point s{}", look % LOOKS);
            for (slice, value) in line.values.iter().enumerate() {
                let gap = |at: Option<usize>| {
                    at.and_then(|at| line.values.get(at)).is_none_or(Option::is_none)
                };
                if let Some(value) = value
                    && gap(slice.checked_sub(1))
                    && gap(slice.checked_add(1))
                {
                    let (x, y) = (number(self.middle(plot, slice)), number(plot.y(value.mean)));
                    page.void("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", "3.5")]);
                }
            }
        }
    }

    fn says(&self, slice: usize) -> String {
        let mut says = words::clock(self.at[slice]);
        for line in &self.series {
            if let Some(Some(value)) = line.values.get(slice) {
                let _ = write!(says, "\n{}: {}", words::name(&line.name), (self.shown)(value.mean));
                if value.greatest > value.least {
                    let (least, greatest) =
                        ((self.shown)(value.least), (self.shown)(value.greatest));
                    let _ = write!(says, " ({least} to {greatest})");
                }
            }
        }
        says
    }

    fn data(&self) -> Table {
        let rows = (0..self.slices()).map(|slice| {
            let mut row = vec![Cell::Text(words::clock(self.at[slice]))];
            row.extend(self.series.iter().map(|line| match line.values.get(slice) {
                Some(Some(value)) => Cell::Figure(value.mean),
                _ => Cell::Nothing,
            }));
            row
        });
        let mut columns = vec!["From".to_owned()];
        columns.extend(self.series.iter().map(|line| line.name.clone()));
        Table {
            id: format!("{}-data", self.frame.id),
            caption: format!(
                "{}: {}, means from each moment to the next",
                self.frame.title, self.frame.y.name
            ),
            columns,
            parts: vec![Part { heading: String::new(), rows: rows.collect() }],
            notes: vec![],
        }
    }
}

fn key((at, line): (usize, &Line)) -> LegendEntry {
    LegendEntry {
        name: line.name.clone(),
        look: format!("line s{}", at % LOOKS),
        sample: Swatch::Line,
    }
}
