//! Parts of a whole over time, stacked on each other.

use std::fmt::Write;

use super::super::markup::Markup;
use super::super::table::{Cell, Part, Table};
use super::super::words;
use super::frame::{Frame, LegendEntry, Plot, Swatch, number, strip};

/// A chart of layers over a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Stacked {
    /// The frame.
    pub frame: Frame,
    /// The beginning of each slice, and the end of the last.
    pub at: Vec<f64>,
    /// The layers, from the bottom up.
    pub layers: Vec<Layer>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its label.
    pub name: String,
    /// Its text in the legend.
    pub legend: String,
    /// The CSS class of its fill.
    pub look: String,
    /// One value per slice.
    pub values: Vec<f64>,
}

/// The height from which a layer has its label inside.
const NAMED_FROM: f64 = 17.0;

impl Stacked {
    /// Writes the figure.
    pub fn figure(&self, page: &mut Markup) {
        let keys = self.layers.iter().map(|layer| {
            let look = format!("layer {}", layer.look);
            LegendEntry { name: layer.legend.clone(), look, sample: Swatch::Area }
        });
        let keys: Vec<LegendEntry> = keys.collect();
        self.frame.figure(page, &keys, &self.data(), |m, plot| self.draw(m, plot));
    }

    fn slices(&self) -> usize {
        self.at.len().saturating_sub(1)
    }

    fn draw(&self, page: &mut Markup, plot: &Plot) {
        let mut below = vec![0.0; self.slices()];
        let mut names = vec![];
        for layer in &self.layers {
            let above: Vec<f64> =
                below.iter().zip(&layer.values).map(|(below, value)| below + value).collect();
            let class = format!("layer {}", layer.look);
            page.void("path", &[("class", &class), ("d", &self.outline(plot, &below, &above))]);
            names.extend(self.best_place(plot, &below, &above).map(|at| (at, &layer.name)));
            below = above;
        }
        for ((x, y), name) in names {
            let (x, y) = (number(x), number(y + 4.0));
            let place = [("class", "inside"), ("x", &x), ("y", &y), ("text-anchor", "middle")];
            page.leaf("text", &place, name);
        }
        page.element("g", &[("class", "hits")], |m| {
            for slice in 0..self.slices() {
                let (from, to) = (plot.x(self.at[slice]), plot.x(self.at[slice + 1]));
                strip(m, plot, from, to, &self.says(slice));
            }
        });
    }

    /// Returns an outline along the upper edge and back along the lower one, with gaps where the
    /// layer is empty.
    fn outline(&self, plot: &Plot, below: &[f64], above: &[f64]) -> String {
        let mut path = String::new();
        let mut from = 0;
        while from < self.slices() {
            if above[from] <= below[from] {
                from += 1;
                continue;
            }
            let run = (from..self.slices()).take_while(|at| above[*at] > below[*at]).count();
            let (first, last) = (number(plot.x(self.at[from])), from + run);
            let _ = write!(path, "M{first} {}", number(plot.y(above[from])));
            let there = self.at[from + 1..=last].iter().zip(&above[from..last]);
            let back = self.at[from..last].iter().zip(&below[from..last]).rev();
            for (x, y) in there.chain(back) {
                let _ = write!(path, "V{}H{}", number(plot.y(*y)), number(plot.x(*x)));
            }
            path.push('Z');
            from = last;
        }
        path
    }

    /// Returns the middle of the longest stretch in which the layer is high enough for its label.
    fn best_place(&self, plot: &Plot, below: &[f64], above: &[f64]) -> Option<(f64, f64)> {
        let high = |at: usize| plot.y(below[at]) - plot.y(above[at]) >= NAMED_FROM;
        let (mut best, mut from) = ((0.0, 0, 0), None);
        for slice in 0..=self.slices() {
            if slice < self.slices() && high(slice) {
                from.get_or_insert(slice);
            } else if let Some(start) = from.take() {
                let wide = plot.x(self.at[slice]) - plot.x(self.at[start]);
                if wide > best.0 {
                    best = (wide, start, slice);
                }
            }
        }
        let (wide, start, end) = best;
        (wide >= 40.0).then(|| {
            let middle = usize::midpoint(start, end - 1);
            let x = f64::midpoint(plot.x(self.at[start]), plot.x(self.at[end]));
            (x, f64::midpoint(plot.y(below[middle]), plot.y(above[middle])))
        })
    }

    fn says(&self, slice: usize) -> String {
        let mut says = words::clock(self.at[slice]);
        for layer in self.layers.iter().filter(|layer| layer.values[slice] > 0.0) {
            let _ = write!(says, "\n{}: {}/s", layer.name, words::figure(layer.values[slice]));
        }
        says
    }

    fn data(&self) -> Table {
        let rows = (0..self.slices()).map(|slice| {
            let mut row = vec![Cell::Text(words::clock(self.at[slice]))];
            row.extend(self.layers.iter().map(|layer| Cell::Figure(layer.values[slice])));
            row
        });
        let mut columns = vec!["From".to_owned()];
        columns.extend(self.layers.iter().map(|layer| layer.name.clone()));
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
