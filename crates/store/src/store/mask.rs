//! Removes secrets from URLs and messages before they are shown.
//!
//! In doubtful cases more is hidden than necessary: a part of an address is shown only if it is
//! known to be harmless.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

use crate::store::parameters;

/// Replacement for hidden parts.
const HIDDEN: &str = "***";
/// Parts of names that indicate secrets.
const SECRET: [&str; 9] =
    ["pass", "pwd", "secret", "token", "key", "credential", "auth", "signature", "cookie"];

/// Returns a database address without its secrets.
pub(super) fn masked_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return HIDDEN.into() };
    let hidden = || format!("{scheme}://{HIDDEN}");
    let (user, rest) = match rest.rsplit_once('@') {
        // This may be the end of a user's password or part of a parameter; there is no way to tell.
        Some((user, _)) if user.contains('?') => return hidden(),
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (rest, None),
    };
    let (hosts, database) = place.split_once('/').map_or((place, None), |(h, d)| (h, Some(d)));
    if !hosts.split(',').all(is_host) || !database.is_none_or(is_plain) {
        return hidden();
    }
    let mut shown = format!("{scheme}://");
    match user.map(|user| user.split_once(':').map_or((user, None), |(n, p)| (n, Some(p)))) {
        None => {}
        Some((name, None)) if is_plain(name) => _ = write!(shown, "{name}@"),
        Some((name, Some(_))) if is_plain(name) => _ = write!(shown, "{name}:{HIDDEN}@"),
        Some(_) => _ = write!(shown, "{HIDDEN}@"),
    }
    shown.push_str(place);
    for (at, parameter) in parameters.into_iter().flat_map(|all| all.split('&')).enumerate() {
        shown.push(if at == 0 { '?' } else { '&' });
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let is_value = |c: char| c.is_ascii_alphanumeric() || "_./,:%+-".contains(c);
        if !parameters::is_shown(name) || !value.chars().all(is_value) {
            // An unknown name may be the rest of a secret.
            let is_name = parameters::is_shown(name) || (is_plain(name) && is_secret(name));
            shown.push_str(if is_name && parameter.contains('=') { name } else { HIDDEN });
            shown.push('=');
            shown.push_str(HIDDEN);
            break;
        }
        shown.push_str(parameter);
    }
    shown
}

/// Returns whether a text contains only the characters of names, paths and addresses.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c))
}

/// Returns whether a text is a host, perhaps with a port, or empty.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !text.ends_with(']') => (name, port),
        _ => (text, "0"),
    };
    let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match six {
        Some(six) => six.chars().all(|c| c.is_ascii_hexdigit() || ":.%".contains(c)),
        None => name.chars().all(|c| c.is_alphanumeric() || "_.-%".contains(c)),
    };
    is_name && port.parse::<u16>().is_ok()
}

/// Returns a message without the secrets of URLs and settings: passwords before a host, and
/// whatever follows the name of a secret and an equals sign, to the end of the line.
pub fn masked_text(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(masked_line).collect();
    lines.join("\n")
}

fn masked_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        rest = match after.split_once('@') {
            // The password is already hidden.
            Some((user, _)) if user.strip_suffix(HIDDEN).is_some_and(is_user) => {
                let end = user.len() + 1;
                shown.push_str(&after[..end]);
                &after[end..]
            }
            Some(_) => {
                shown.push_str(HIDDEN);
                let (user, _) = after.rsplit_once('@').unwrap_or_default();
                // This may be the end of a user's password or part of a parameter; there is no way
                // to tell.
                if user.contains('?') { "" } else { &after[user.len()..] }
            }
            None => after,
        };
    }
    shown.push_str(rest);
    match value_of_secret(&shown) {
        Some(at) => {
            shown.truncate(at);
            shown + HIDDEN
        }
        None => shown,
    }
}

/// Returns whether a text is what comes before a password, `USER:`, or before a hidden user.
fn is_user(text: &str) -> bool {
    text.is_empty() || text.strip_suffix(':').is_some_and(is_plain)
}

/// Returns where the value of the first named secret begins in a line, `name=value`.
fn value_of_secret(line: &str) -> Option<usize> {
    line.match_indices('=').map(|(at, _)| at).find_map(|at| {
        let divides = |c: char| c.is_whitespace() || "?&;,\"'`(){}<>=".contains(c);
        let name = line[..at].trim_end().rsplit(divides).next().unwrap_or_default();
        // A secret itself may begin as a hidden one looks.
        let after = line[at + 1..].strip_prefix(HIDDEN);
        let is_hidden = after.is_some_and(|after| !after.starts_with(char::is_alphanumeric));
        (!is_hidden && is_secret(&decoded(&decoded(name)))).then_some(at + 1)
    })
}

/// Returns whether a name indicates a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Returns a name without percent-encoding.
///
/// Source: RFC 3986 §2.1.
fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_is_shown_without_secrets() {
        for (given, shown) in [
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://u@h:5/d?sslmode=prefer", "postgres://u@h:5/d?sslmode=prefer"),
            ("postgres://u:p@h/d", "postgres://u:***@h/d"),
            ("postgres://u:p@h:1,[::1]:2/d", "postgres://u:***@h:1,[::1]:2/d"),
            ("postgres://u:p@%2Frun%2Fpg/d", "postgres://u:***@%2Frun%2Fpg/d"),
            ("postgresql://u:p@x@h/d", "postgresql://u:***@h/d"),
            ("postgresql://u:p?q@h/d", "postgresql://***"),
            ("postgres://u%3Ap@h/d", "postgres://***@h/d"),
            ("postgres://u:p/d", "postgres://***"),
            ("postgres://u:p", "postgres://***"),
            ("postgres://h:5/d?password=p@q", "postgres://***"),
            (
                "postgres:///d?host=/s&password=p&sslpassword=q",
                "postgres:///d?host=/s&password=***",
            ),
            ("postgres:///d?pass%77ord=p", "postgres:///d?***=***"),
            ("postgres:///d?PassWord=p&host=h", "postgres:///d?PassWord=***"),
            ("postgres:///d?host=h;password=p", "postgres:///d?host=***"),
            ("postgres:///d?password%3Dp", "postgres:///d?***=***"),
            ("postgres:///d?options=-cmy.password=p", "postgres:///d?***=***"),
        ] {
            assert_eq!(masked_url(given), shown, "{given}");
        }
    }

    #[test]
    fn a_message_is_shown_without_secrets() {
        for (given, shown) in [
            ("cannot read homeroom.toml: no such file", "cannot read homeroom.toml: no such file"),
            ("see http://h:1/a?limit=5", "see http://h:1/a?limit=5"),
            (
                "string \"postgres://u:p\\\"x@h/d\", expected",
                "string \"postgres://***@h/d\", expected",
            ),
            ("a postgres://u:***@h/d: b", "a postgres://u:***@h/d: b"),
            ("a://u:***@h and b://u:p@h", "a://u:***@h and b://***@h"),
            ("http://h/?pass%77ord=p x", "http://h/?pass%77ord=***"),
            ("host=h Password=p q", "host=h Password=***"),
            (
                "one http://u:p@h/\ntwo --secret=p\nthree",
                "one http://***@h/\ntwo --secret=***\nthree",
            ),
        ] {
            assert_eq!(masked_text(given), shown, "{given}");
        }
    }

    #[test]
    fn a_secret_that_begins_as_a_hidden_one_looks_is_hidden() {
        assert_eq!(masked_text("password=***Hunter2, password=***"), "password=***");
        assert_eq!(masked_text("password=***, token=t"), "password=***, token=***");
        let told = "postgres://h/d?password=***: the server does not answer";
        assert_eq!(masked_text(told), told);
    }

    #[test]
    fn a_name_may_follow_any_white_space() {
        for space in [" ", "\t", "\u{a0}", "\u{3000}"] {
            assert_eq!(
                masked_text(&format!("a{space}password=p")),
                format!("a{space}password=***")
            );
        }
    }

    proptest! {
        #[test]
        fn no_spelling_of_a_password_is_shown(
            password in "[A-Z0-9!$'()*+,:;=?@/#%\\[\\] \"\\\\{}-]{0,6}Hunter2[A-Z!$'()*+,:;=?@/#]{0,4}",
            name in prop::sample::select(vec![
                "password", "PASSWORD", "pass%77ord", "%70assword", "sslpassword", "passwd", "pass word",
                "password ", "%2570assword", "secret", "x",
            ]),
        ) {
            for url in [
                format!("postgres://u:{password}@h/d"),
                format!("postgresql://u:{password}@h:5/d?sslmode=prefer"),
                format!("postgres://u:{password}/d"),
                format!("postgres://:{password}@h"),
                format!("postgres://h/d?{name}={password}"),
                format!("postgres://u@h/d?host=g&{name}={password}&port=5"),
                format!("postgres://u:{password}@h/d?{name}={password}"),
            ] {
                let is_without_host = url.ends_with(&format!("{password}/d"));
                let is_like_port =
                    password.split('/').next().is_some_and(|port| port.parse::<u16>().is_ok());
                if is_without_host && (password.contains(['@', ',']) || is_like_port) {
                    // This is an address whose host has this name.
                    continue;
                }
                prop_assert!(!masked_url(&url).contains("Hunter2"), "{}", masked_url(&url));
                // Messages quote the value that they are about.
                let is_like_hidden = password.starts_with(HIDDEN);
                if name != "x" && name != "pass word" && !is_without_host && !is_like_hidden {
                    let shown = masked_text(&format!("invalid value {url:?}, expected a number"));
                    prop_assert!(!shown.contains("Hunter2"), "{}", shown);
                }
            }
        }

        #[test]
        fn any_text_can_be_masked(text in "\\PC{0,60}") {
            _ = (masked_url(&text), masked_text(&text));
        }
    }
}
