//! The frame around the data of a chart, and the figure that contains both.

use super::super::markup::Markup;
use super::super::table::Table;
use super::super::words;
use super::axis::Axis;

/// The parts that all charts have.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The chart's id, unique in a page: letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// A description of what can be seen, in a sentence or two.
    pub says: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Named lines across the chart.
    pub marks: Vec<Mark>,
    /// Whether it shares a row with another chart.
    pub small: bool,
}

/// A line across a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where it crosses.
    pub at: Across,
    /// Its label; empty for none.
    pub name: String,
    /// Its style: `stage`, `limit`, `stable`, `burst` or `failure`.
    pub look: &'static str,
}

/// Where a line crosses a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Across {
    /// From top to bottom, at this value of x.
    X(f64),
    /// From left to right, at this value of y.
    Y(f64),
}

/// An entry of a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct LegendEntry {
    /// Its label.
    pub name: String,
    /// The CSS class of its sample, as in the drawing.
    pub look: String,
    /// The sample.
    pub sample: Swatch,
}

/// The sample beside a label in a legend, 28 wide and 12 high.
#[derive(Debug, Clone, PartialEq)]
pub enum Swatch {
    /// A line.
    Line,
    /// A filled area.
    Area,
    /// An outline.
    Path(String),
}

/// The space above the data.
const TOP: f64 = 26.0;
/// The space to the right of the data.
const RIGHT: f64 = 96.0;
/// The space below the data.
const BOTTOM: f64 = 46.0;
/// The space to the left of the data.
const LEFT: f64 = 78.0;
/// The estimated width of a letter in a mark's label, in units of the drawing.
pub const LETTER: f64 = 7.0;

/// The area of the data, in units of the drawing.
pub struct Plot<'a> {
    frame: &'a Frame,
    width: f64,
    height: f64,
}

impl Plot<'_> {
    /// Returns the horizontal position of a value.
    pub fn x(&self, value: f64) -> f64 {
        LEFT + self.frame.x.place(value) * (self.right() - LEFT)
    }

    /// Returns the vertical position of a value.
    pub fn y(&self, value: f64) -> f64 {
        self.bottom() - self.frame.y.place(value) * (self.bottom() - TOP)
    }

    /// Returns the position of the right edge of the data.
    pub fn right(&self) -> f64 {
        self.width - RIGHT
    }

    /// Returns the position of the bottom edge of the data.
    pub fn bottom(&self) -> f64 {
        self.height - BOTTOM
    }
}

impl Frame {
    /// Writes the figure: heading, legend, drawing, data.
    pub fn figure(
        &self,
        page: &mut Markup,
        keys: &[LegendEntry],
        data: &Table,
        draw: impl FnOnce(&mut Markup, &Plot),
    ) {
        let class = if self.small { "chart small" } else { "chart" };
        page.element("figure", &[("class", class)], |m| {
            m.element("figcaption", &[], |m| {
                m.element("h3", &[("id", &self.part("name"))], |m| m.text(&self.title));
                m.leaf("p", &[], &self.says);
            });
            legend(m, keys);
            let area = [
                ("class", "scroll drawing"),
                ("role", "region"),
                ("tabindex", "0"),
                ("aria-labelledby", &self.part("name")),
            ];
            m.element("div", &area, |m| self.svg(m, draw));
            m.line();
            m.element("details", &[], |m| {
                m.leaf("summary", &[], &format!("Figures: {}", self.title));
                data.html(m);
            });
        });
        page.line();
    }

    fn part(&self, of: &str) -> String {
        format!("{}-{of}", self.id)
    }

    fn svg(&self, page: &mut Markup, draw: impl FnOnce(&mut Markup, &Plot)) {
        let (width, height) = if self.small { (540.0, 250.0) } else { (1_080.0, 330.0) };
        let plot = Plot { frame: self, width, height };
        let named = format!("{} {}", self.part("title"), self.part("desc"));
        let view = format!("0 0 {width} {height}");
        let svg = [
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("viewBox", view.as_str()),
            ("role", "img"),
            ("aria-labelledby", named.as_str()),
        ];
        page.element("svg", &svg, |m| {
            m.leaf("title", &[("id", &self.part("title"))], &self.title);
            m.leaf("desc", &[("id", &self.part("desc"))], &self.says);
            self.grid(m, &plot);
            self.marks(m, &plot);
            draw(m, &plot);
        });
    }

    fn grid(&self, page: &mut Markup, plot: &Plot) {
        page.element("g", &[("class", "grid")], |m| {
            for (value, name) in &self.y.ticks {
                let y = plot.y(*value);
                line(m, "", (LEFT, y), (plot.right(), y));
                label(m, "end", (LEFT - 8.0, y + 4.0), name);
            }
            for (value, name) in &self.x.ticks {
                let x = plot.x(*value);
                line(m, "", (x, plot.bottom()), (x, plot.bottom() + 5.0));
                label(m, "middle", (x, plot.bottom() + 20.0), name);
            }
            let middle = f64::midpoint(LEFT, plot.right());
            label(m, "middle", (middle, plot.height - 6.0), &self.x.name);
            label(m, "start", (4.0, 14.0), &self.y.name);
            line(m, "axis", (LEFT, plot.bottom()), (plot.right(), plot.bottom()));
        });
    }

    /// Returns how far labels of marks may reach.
    fn end(&self, plot: &Plot) -> f64 {
        if self.small { plot.right() } else { plot.width }
    }

    fn marks(&self, page: &mut Markup, plot: &Plot) {
        // Labels are placed from right to left; one without room moves a line down or is left out.
        let mut taken = [f64::INFINITY; 3];
        for mark in self.marks.iter().rev() {
            let class = format!("mark {}", mark.look);
            match mark.at {
                Across::X(value) => {
                    let x = plot.x(value);
                    line(page, &class, (x, TOP), (x, plot.bottom()));
                    let end = x + 4.0 + mark.name.chars().count() as f64 * LETTER;
                    let row = taken.iter().position(|taken| end < taken.min(self.end(plot)));
                    if let Some(row) = row.filter(|_| !mark.name.is_empty()) {
                        let y = TOP + 10.0 + 16.0 * row as f64;
                        label(page, "start", (x + 4.0, y), &mark.name);
                        taken[row] = x;
                    }
                }
                Across::Y(value) => {
                    let y = plot.y(value);
                    line(page, &class, (LEFT, y), (plot.right(), y));
                    label(page, "start", (LEFT + 6.0, y - 5.0), &mark.name);
                }
            }
        }
    }
}

/// Writes the legend: a sample and a label for each entry.
fn legend(page: &mut Markup, keys: &[LegendEntry]) {
    if keys.is_empty() {
        return;
    }
    page.element("ul", &[("class", "legend")], |m| {
        for key in keys {
            m.element("li", &[], |m| {
                let sample = [("viewBox", "0 0 28 12"), ("aria-hidden", "true")];
                m.element("svg", &sample, |m| {
                    let look = key.look.as_str();
                    match &key.sample {
                        Swatch::Line => line(m, look, (0.0, 6.0), (28.0, 6.0)),
                        Swatch::Area => {
                            let (wide, high) = ("28", "12");
                            m.void("rect", &[("class", look), ("width", wide), ("height", high)]);
                        }
                        Swatch::Path(path) => m.void("path", &[("class", look), ("d", path)]),
                    }
                });
                m.outside(&words::name(&key.name));
            });
        }
    });
}

/// Writes labels at the right end of what they name, moved apart so that none covers another.
pub fn name_ends(page: &mut Markup, plot: &Plot, mut ends: Vec<(f64, String, String)>) {
    const APART: f64 = 15.0;
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    for at in 1..ends.len() {
        ends[at].0 = ends[at].0.max(ends[at - 1].0 + APART);
    }
    let mut floor = plot.bottom();
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(floor);
        floor = end.0 - APART;
    }
    for (y, name, look) in ends {
        let class = format!("end {look}");
        let (x, y) = (number(plot.right() + 6.0), number(y + 4.0));
        let cut = words::cut(&name, 13);
        page.leaf("text", &[("class", &class), ("x", &x), ("y", &y)], &cut);
    }
}

/// Writes a strip from top to bottom that shows all values at its position when the pointer is over
/// it.
pub fn strip(page: &mut Markup, plot: &Plot, from: f64, to: f64, says: &str) {
    let (x, width) = (number(from), number((to - from).max(0.5)));
    let (y, height) = (number(TOP), number(plot.bottom() - TOP));
    let area = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height)];
    page.element("rect", &area, |m| m.leaf("title", &[], says));
}

fn line(page: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64)) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
    let places = [("x1", x1.as_str()), ("y1", &y1), ("x2", &x2), ("y2", &y2), ("class", class)];
    page.void("line", if class.is_empty() { &places[..4] } else { &places });
}

/// Writes a label.
pub fn label(page: &mut Markup, anchor: &str, at: (f64, f64), text: &str) {
    let (x, y) = (number(at.0), number(at.1));
    let text = words::name(text);
    page.leaf("text", &[("x", &x), ("y", &y), ("text-anchor", anchor)], &text);
}

/// Formats a coordinate; one decimal is enough for a screen.
pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
