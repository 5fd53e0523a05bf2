//! What all pages of the lab have around their figures: one file, no network, no script.

use super::chart;
use super::markup::Markup;
use super::words;

/// The page's content security policy: nothing is loaded; styles are inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Returns a page with a header and the sections of its main part.
pub fn page(
    title: &str,
    generator_version: &str,
    header: impl FnOnce(&mut Markup),
    sections: impl FnOnce(&mut Markup),
) -> String {
    let mut page = Markup::default();
    page.ours("<!DOCTYPE html>\n");
    page.element("html", &[("lang", "en")], |m| {
        m.element("head", &[], |m| head(m, title));
        m.line();
        m.element("body", &[], |m| {
            chart::patterns::write(m);
            m.leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to the figures");
            header(m);
            m.element("main", &[("id", "main")], sections);
            m.element("footer", &[], |m| {
                m.text("Made by homeroom lab ");
                m.outside(&words::name(generator_version));
                m.text(
                    ". Response times count from the moment at which a request was due, so a \
                        server that stalls cannot hide it.",
                );
            });
        });
    });
    page.line();
    page.finish()
}

fn head(page: &mut Markup, title: &str) {
    page.void("meta", &[("charset", "utf-8")]);
    let policy = [("http-equiv", "Content-Security-Policy"), ("content", POLICY)];
    page.void("meta", &policy);
    page.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    page.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    page.leaf("title", &[], title);
    page.element("style", &[], |m| m.ours(include_str!("page/style.css")));
}

/// Writes the banner of a page: what was tested, the answer, what it means.
pub fn banner(page: &mut Markup, look: &str, kicker: [&str; 3], headline: &str, lead: &str) {
    page.element("header", &[("class", &format!("hero {look}"))], |m| {
        let [test, target, started] = kicker;
        m.element("p", &[("class", "kicker")], |m| {
            m.text(test);
            m.text(" against ");
            m.outside(&words::name(target));
            m.text(", ");
            m.outside(&words::name(started));
        });
        m.leaf("h1", &[], headline);
        m.leaf("p", &[("class", "lead")], lead);
    });
    page.line();
}

/// Writes a section with its heading.
pub fn section(page: &mut Markup, id: &str, heading: &str, inside: impl FnOnce(&mut Markup)) {
    let title = format!("{id}-heading");
    page.element("section", &[("id", id), ("aria-labelledby", &title)], |m| {
        m.leaf("h2", &[("id", &title)], &words::name(heading));
        inside(m);
    });
    page.line();
}

/// Writes facts as a heading and a list of names and values.
pub fn facts(page: &mut Markup, heading: &str, facts: &[(&str, String)]) {
    page.element("div", &[], |m| {
        m.leaf("h3", &[], heading);
        m.element("dl", &[], |m| {
            for (name, value) in facts {
                m.element("div", &[], |m| {
                    m.leaf("dt", &[], name);
                    m.element("dd", &[], |m| m.outside(&words::name(value)));
                });
            }
        });
    });
}

/// The longest command line that is shown, in characters.
const COMMAND_CHARS_MAX: usize = 4_000;

/// Writes the command line that repeats a test.
pub fn command(page: &mut Markup, words: &[String]) {
    page.leaf("h3", &[("id", "command-name")], "The command that repeats it");
    let area = [
        ("class", "scroll command"),
        ("role", "region"),
        ("tabindex", "0"),
        ("aria-labelledby", "command-name"),
    ];
    page.element("pre", &area, |m| m.leaf("code", &[], &quoted(words)));
}

/// Formats the command line, quoted for a shell where necessary.
fn quoted(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    words::cut(&quoted.collect::<Vec<_>>().join(" "), COMMAND_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_command_is_read_back_by_a_shell() {
        let words = ["lab", "run", "--name", "it's $(here)", ""].map(String::from);

        let shown = quoted(&words);

        assert_eq!(shown, r"lab run --name 'it'\''s $(here)' ''");
    }
}
