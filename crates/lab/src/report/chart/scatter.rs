//! One value against another, with a dot for each pair.

use super::super::markup::Markup;
use super::super::table::{Cell, Part, Table};
use super::super::words;
use super::frame::{Frame, LETTER, LegendEntry, Plot, Swatch, label, number};

/// A chart of dots.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// The frame.
    pub frame: Frame,
    /// The groups of dots; later ones are drawn on top.
    pub dots: Vec<Dots>,
    /// The headings of the data table: the dot's name, x and y.
    pub headings: [String; 3],
}

/// A group of dots that look alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Dots {
    /// What the dots are.
    pub name: String,
    /// How they look.
    pub shape: Shape,
    /// Whether a line connects them in order.
    pub joined: bool,
    /// The dots.
    pub each: Vec<Dot>,
}

/// One dot.
#[derive(Debug, Clone, PartialEq)]
pub struct Dot {
    /// What it is.
    pub name: String,
    /// Its label in the drawing; empty for none.
    pub label: String,
    /// Its horizontal value.
    pub x: f64,
    /// Its vertical value.
    pub y: f64,
}

/// The shape of a dot; shapes can be told apart without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A filled circle.
    Circle,
    /// A small, faint circle, for large groups.
    Speck,
    /// A hollow triangle.
    Triangle,
    /// A cross, for something that failed.
    Cross,
    /// A hollow diamond, for something that does not count.
    Diamond,
}

impl Shape {
    fn look(self) -> &'static str {
        match self {
            Self::Circle => "dot circle",
            Self::Speck => "dot speck",
            Self::Triangle => "dot triangle",
            Self::Cross => "dot cross",
            Self::Diamond => "dot diamond",
        }
    }

    /// Returns its outline around a point.
    fn path(self, x: f64, y: f64) -> String {
        let (x, y) = (number(x), number(y));
        match self {
            Self::Circle => format!("M{x} {y}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0"),
            Self::Speck => format!("M{x} {y}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0"),
            Self::Triangle => format!("M{x} {y}m0 -6l6 10h-12z"),
            Self::Cross => format!("M{x} {y}m-5 -5l10 10m0 -10l-10 10"),
            Self::Diamond => format!("M{x} {y}m0 -6l6 6l-6 6l-6 -6z"),
        }
    }
}

impl Scatter {
    /// Writes the figure.
    pub fn figure(&self, page: &mut Markup) {
        let seen = self.dots.iter().filter(|dots| !dots.each.is_empty());
        let keys: Vec<LegendEntry> = seen.map(key).collect();
        self.frame.figure(page, &keys, &self.data(), |m, plot| self.draw(m, plot));
    }

    fn draw(&self, page: &mut Markup, plot: &Plot) {
        for dots in self.dots.iter().filter(|dots| dots.joined) {
            let places = dots.each.iter().enumerate().map(|(nth, dot)| {
                let step = if nth == 0 { 'M' } else { 'L' };
                format!("{step}{} {}", number(plot.x(dot.x)), number(plot.y(dot.y)))
            });
            let path: String = places.collect();
            let class = format!("join {}", dots.shape.look());
            page.void("path", &[("class", &class), ("d", &path)]);
        }
        for dots in &self.dots {
            for dot in &dots.each {
                let path = dots.shape.path(plot.x(dot.x), plot.y(dot.y));
                page.element("path", &[("class", dots.shape.look()), ("d", &path)], |m| {
                    m.leaf("title", &[], &self.says(dots, dot));
                });
            }
        }
        self.labels(page, plot);
    }

    /// Writes labels beside dots; a label that would cover another is left out, as the data table
    /// has it.
    fn labels(&self, page: &mut Markup, plot: &Plot) {
        let mut taken: Vec<(f64, f64, f64)> = vec![];
        for dot in self.dots.iter().flat_map(|dots| &dots.each).filter(|dot| !dot.label.is_empty())
        {
            let wide = dot.label.chars().count() as f64 * LETTER;
            let (x, y) = (plot.x(dot.x) - wide / 2.0, plot.y(dot.y) - 10.0);
            let covers = |other: &(f64, f64, f64)| {
                (other.1 - y).abs() < 14.0 && x < other.0 + other.2 && other.0 < x + wide
            };
            if !taken.iter().any(covers) {
                taken.push((x, y, wide));
                label(page, "start", (x, y), &dot.label);
            }
        }
    }

    fn says(&self, dots: &Dots, dot: &Dot) -> String {
        let [_, x, y] = &self.headings;
        let (at_x, at_y) = (words::figure(dot.x), words::figure(dot.y));
        format!("{}: {}\n{x}: {at_x}\n{y}: {at_y}", dots.name, words::name(&dot.name))
    }

    fn data(&self) -> Table {
        let parts = self.dots.iter().map(|dots| Part {
            heading: dots.name.clone(),
            rows: (dots.each.iter())
                .map(|dot| {
                    vec![Cell::Text(dot.name.clone()), Cell::Figure(dot.x), Cell::Figure(dot.y)]
                })
                .collect(),
        });
        Table {
            id: format!("{}-data", self.frame.id),
            caption: format!("{}: each dot", self.frame.title),
            columns: self.headings.to_vec(),
            parts: parts.filter(|part| !part.rows.is_empty()).collect(),
            notes: vec![],
        }
    }
}

fn key(dots: &Dots) -> LegendEntry {
    let sample = Swatch::Path(dots.shape.path(14.0, 6.0));
    LegendEntry { name: dots.name.clone(), look: dots.shape.look().into(), sample }
}
