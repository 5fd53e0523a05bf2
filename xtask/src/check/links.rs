//! Checks the links of the Markdown pages.
//!
//! A link is written `[text](target)`, or `[name]: target` on a line of its own. Links to other
//! sites are not checked, and code is not searched.

use std::collections::HashSet;
use std::path::Path;

use crate::house::{Done, all_well, files, read, root, shown};

/// Checks that every relative link leads to an existing file and to one of its headings.
///
/// # Errors
///
/// Names each link that does not, with its page and line.
pub fn check() -> Done {
    let find = |path: &Path| {
        let text = || std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        path.exists().then(|| text().unwrap_or_default())
    };
    let mut problems = vec![];
    for page in files(root(), "md")? {
        problems.extend(broken(&page, &read(&page)?, &find));
    }
    all_well(&problems)
}

/// Returns a description of each broken link of a page.
///
/// `find` returns the text of the file at a path, which is empty for a folder, or `None` if there
/// is nothing.
fn broken(page: &Path, text: &str, find: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let mut problems = vec![];
    for (line, target) in links(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target.as_str(), ""));
        let linked = match file {
            "" => Some(text.to_owned()),
            file => find(&page.with_file_name(file)),
        };
        let problem = match linked {
            None => "there is no such file",
            Some(linked) if !anchor.is_empty() && !anchors(&linked).contains(anchor) => {
                "the file has no such heading"
            }
            Some(_) => continue,
        };
        problems.push(format!("{}:{line}: {target}: {problem}", shown(page)));
    }
    problems
}

/// Returns the targets of a page's links with their lines, counted from 1.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = vec![];
    let mut is_code = false;
    for (line, text) in (1..).zip(without_blocks(text)) {
        if text.trim().is_empty() {
            is_code = false; // Code inside a paragraph ends with it.
        }
        let mut prose = String::new();
        for (part, text) in text.split('`').enumerate() {
            is_code ^= part > 0;
            if !is_code {
                prose.push_str(text);
            }
        }
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let named = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        let named = named.map(|(_, target)| target.trim());
        links.extend(inline.chain(named).map(|target| (line, target.to_owned())));
    }
    links
}

/// Returns the anchors of a page's headings, as GitHub makes them.
///
/// Letters become lower case, blanks become hyphens, and other marks except hyphen and underscore
/// are dropped. The second heading of a name gets `-1`, the third `-2`.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    for line in without_blocks(text) {
        let heading = line.trim_start_matches('#');
        if !(1..=6).contains(&(line.len() - heading.len())) || !heading.starts_with(' ') {
            continue;
        }
        let heading = heading.trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let is_new = anchors.insert(anchor.clone());
        if !is_new {
            let mut numbered = (1..).map(|number| format!("{anchor}-{number}"));
            let free = numbered.find(|anchor| !anchors.contains(anchor));
            anchors.extend(free);
        }
    }
    anchors
}

/// Returns the lines of a page; those of fenced code blocks are empty.
fn without_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { "" } else { line }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# One page
See [one](two.md), [another
one](../README.md#how-it-works), [this](#one-page) and `[code](none.md)`.
```text
[a block](none.md)
# no heading
```
[the web](https://example.org/none.md#none)

[name]: two.md#its-2nd-heading-1
";

    fn found(text: &str) -> Vec<String> {
        let find = |path: &Path| match path.to_str().unwrap() {
            "docs/two.md" => Some("# It's 2nd heading\n## It's 2nd heading\n".to_owned()),
            "docs/../README.md" => Some("## How it *works*\n".to_owned()),
            _ => None,
        };
        broken(Path::new("docs/one.md"), text, &find)
    }

    #[test]
    fn links_to_files_and_headings_that_exist_are_accepted() {
        assert_eq!(links(PAGE).len(), 5);
        assert_eq!(found(PAGE), [""; 0]);
    }

    #[test]
    fn each_broken_link_is_reported_with_its_line() {
        for (from, to, problem) in [
            ("two.md)", "three.md)", "docs/one.md:2: three.md: there is no such file"),
            ("#how-it", "#why-it", "docs/one.md:3: ../README.md#why-it-works: the file has no"),
            ("(#one", "(#no", "docs/one.md:3: #no-page: the file has no such heading"),
            ("(#one-page", "(#no-heading", "docs/one.md:3: #no-heading: the file has no such"),
            ("heading-1", "heading-2", "docs/one.md:10: two.md#its-2nd-heading-2: the file has"),
        ] {
            let problems = found(&PAGE.replace(from, to));

            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].starts_with(problem), "{problems:?}");
        }
    }
}
