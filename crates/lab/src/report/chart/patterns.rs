//! Fill patterns that can be told apart without colours: a tone and a hatch for each class of
//! outcomes.

use super::super::markup::Markup;

/// A tone of the style sheet, and the strokes over it, for each of `outcome::CLASSES`.
const FILLS: [(&str, &str); 14] = [
    ("k-ok", ""),
    ("k-moved", RISING),
    ("k-client", RISING),
    ("k-client", FALLING),
    ("k-client", DOTS),
    ("k-client", CROSSED),
    ("k-client", LEVEL),
    ("k-client", UPRIGHT),
    ("k-server", RISING),
    ("k-server", FALLING),
    ("k-server", DOTS),
    ("k-server", CROSSED),
    ("k-time", LEVEL),
    ("k-gone", UPRIGHT),
];

const RISING: &str = "M-2 2l4 -4M0 8l8 -8M6 10l4 -4";
const FALLING: &str = "M-2 6l4 4M0 0l8 8M6 -2l4 4";
const DOTS: &str = "M3 4h2M7 0h2M7 8h2M-1 0h2M-1 8h2";
const CROSSED: &str = "M0 0l8 8M0 8l8 -8";
const LEVEL: &str = "M0 4h8";
const UPRIGHT: &str = "M4 0v8";

/// Writes the patterns `k0` to `k13`, which the style sheet's classes `.k0` to `.k13` refer to.
pub fn write(page: &mut Markup) {
    let unseen = [("class", "unseen"), ("aria-hidden", "true"), ("width", "0"), ("height", "0")];
    page.element("svg", &unseen, |m| {
        m.element("defs", &[], |m| {
            for (at, (tone, hatch)) in FILLS.iter().enumerate() {
                let id = format!("k{at}");
                let pattern = [
                    ("id", id.as_str()),
                    ("width", "8"),
                    ("height", "8"),
                    ("patternUnits", "userSpaceOnUse"),
                ];
                m.element("pattern", &pattern, |m| {
                    m.void("rect", &[("class", tone), ("width", "8"), ("height", "8")]);
                    if !hatch.is_empty() {
                        m.void("path", &[("class", "hatch"), ("d", hatch)]);
                    }
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use homeroom_load::outcome::CLASSES;

    #[test]
    fn no_two_classes_look_alike() {
        for (at, fill) in FILLS.iter().enumerate() {
            assert!(!FILLS[..at].contains(fill), "{fill:?}");
        }
        assert_eq!(FILLS.len(), CLASSES.len());
    }

    #[test]
    fn the_style_sheet_has_a_class_for_each_pattern() {
        let styles = include_str!("../page/style.css");
        for at in 0..FILLS.len() {
            assert!(styles.contains(&format!(".k{at} {{ fill: url(#k{at}); }}")), "{at}");
        }
    }
}
