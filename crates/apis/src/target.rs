//! The target of a request on its way to an upstream or part: other beginnings of paths, and members of the
//! query that are set or removed. Everything else stays as it was sent.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::definition::{PathChange, QueryChanges};
use crate::path::below;

/// What is encoded in a member of a query: everything but what no server reads otherwise.
const WRITTEN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b',').remove(b':');

/// The changes of an API, ready to be made.
#[derive(Debug, Default)]
pub(crate) struct TargetChanges {
    paths: Vec<PathChange>,
    /// Names that are removed, those that are set among them.
    gone: Vec<String>,
    /// What is added to the query, as it is written there.
    added: String,
}

impl TargetChanges {
    pub(crate) fn new(paths: &[PathChange], query: &QueryChanges) -> Self {
        let write = |text: &str| utf8_percent_encode(text, WRITTEN).to_string();
        let added =
            query.set.iter().map(|(name, value)| format!("{}={}", write(name), write(value)));
        Self {
            paths: paths.to_vec(),
            gone: query.set.keys().chain(&query.remove).cloned().collect(),
            added: added.collect::<Vec<_>>().join("&"),
        }
    }

    /// Returns the path below the API's own, with the beginning of the first change that matches.
    pub(crate) fn path(&self, rest: String) -> String {
        for PathChange { from, to } in &self.paths {
            if let Some(behind) = below(&rest, from.trim_end_matches('/')) {
                return format!("{}{behind}", to.trim_end_matches('/'));
            }
        }
        rest
    }

    /// Returns the path below the API's own to which one below the target belongs: the other way of
    /// [`Self::path`], where that is clear.
    pub(crate) fn back(&self, rest: &str) -> String {
        for PathChange { from, to } in &self.paths {
            let to = to.trim_end_matches('/');
            if let Some(behind) = below(rest, to).filter(|_| !to.is_empty()) {
                return format!("{}{behind}", from.trim_end_matches('/'));
            }
        }
        rest.to_owned()
    }

    /// Returns the query; members that no change names are as they were sent.
    pub(crate) fn query(&self, query: String) -> String {
        if self.gone.is_empty() {
            return query;
        }
        let kept = query.split('&').filter(|pair| {
            let name = pair.split_once('=').map_or(*pair, |(name, _)| name).replace('+', " ");
            let name = percent_decode_str(&name).decode_utf8_lossy();
            !self.gone.iter().any(|gone| *gone == name)
        });
        let added = Some(self.added.as_str()).filter(|added| !added.is_empty());
        let all = kept.filter(|pair| !pair.is_empty()).chain(added);
        all.collect::<Vec<_>>().join("&")
    }
}

/// Says what is wrong with a beginning of a path.
pub(crate) fn fault_of_path(path: &str) -> Option<Cow<'static, str>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:@!$&'()*+,=".contains(&byte);
    if !path.starts_with('/') {
        return Some("it does not begin with a slash".into());
    }
    if !path.bytes().all(is_plain) || path.contains("//") {
        return Some("it has characters that a path has not, or an empty segment".into());
    }
    let leads_out = path.split('/').any(|segment| matches!(segment, "." | ".."));
    leads_out.then(|| "it has a segment `.` or `..`".into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(paths: &[(&str, &str)], set: &[(&str, &str)], remove: &[&str]) -> TargetChanges {
        let paths: Vec<_> = paths
            .iter()
            .map(|(from, to)| PathChange { from: (*from).into(), to: (*to).into() })
            .collect();
        let set = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let remove = remove.iter().map(|name| (*name).into()).collect();
        TargetChanges::new(&paths, &QueryChanges { set, remove })
    }

    #[test]
    fn a_path_of_the_target_leads_back_to_the_one_that_led_there() {
        let changes = changes(&[("/old/", "/new/deep"), ("/gone", "/")], &[], &[]);

        for (there, expected) in [
            ("/new/deep/7?x", "/old/7?x"),
            ("/new/deep", "/old"),
            ("/new/deeper", "/new/deeper"),
            ("/other", "/other"),
            ("", ""),
        ] {
            assert_eq!(changes.back(there), expected, "{there}");
        }
    }

    #[test]
    fn the_beginning_of_a_path_is_replaced_by_whole_segments() {
        let changes = changes(&[("/old/", "/new/deep"), ("/gone", "/"), ("/", "/all/")], &[], &[]);

        for (sent, expected) in [
            ("/old/a%2Fb/", "/new/deep/a%2Fb/"),
            ("/old", "/new/deep"),
            ("/older/a", "/all/older/a"),
            ("/gone/a", "/a"),
            ("/x", "/all/x"),
            ("", "/all"),
        ] {
            assert_eq!(changes.path(sent.into()), expected, "{sent}");
        }
        assert_eq!(super::TargetChanges::default().path("/a".into()), "/a");
    }

    #[test]
    fn members_of_a_query_are_set_and_removed_however_they_are_written() {
        let changes = changes(&[], &[("tenant", "a&b c")], &["debug", "a b"]);

        for (sent, expected) in [
            ("", "tenant=a%26b%20c"),
            ("x=1&debug&y=%20&&debug=2", "x=1&y=%20&tenant=a%26b%20c"),
            ("%64ebug=1&a+b=1&a%20b=2&tenant=other&z", "z&tenant=a%26b%20c"),
        ] {
            assert_eq!(changes.query(sent.into()), expected, "{sent}");
        }
        assert_eq!(super::TargetChanges::default().query("a&&b".into()), "a&&b");
    }

    #[test]
    fn a_beginning_that_leads_elsewhere_is_told() {
        for wrong in ["", "a", "/a//b", "/a/../b", "/./a", "/a?b", "/a b", "/%2e"] {
            assert!(fault_of_path(wrong).is_some(), "{wrong}");
        }
        for right in ["/", "/a", "/a/b-c.d~e/"] {
            assert!(fault_of_path(right).is_none(), "{right}");
        }
    }

    proptest! {
        #[test]
        fn a_member_that_is_set_has_one_value(query in "([ab%6+=&1]|%61){0,12}") {
            let changes = changes(&[], &[("a", "own")], &[]);

            let changed = changes.query(query);

            let values: Vec<String> = changed
                .split('&')
                .filter_map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    let name = name.replace('+', " ");
                    (percent_decode_str(&name).decode_utf8_lossy() == "a").then(|| value.to_owned())
                })
                .collect();
            prop_assert_eq!(values, ["own"]);
        }
    }
}
