//! What an `Accept` header prefers.
//!
//! Source: RFC 9110 §12.5.1.

/// Whether the caller likes `wanted` better than `usual`; a tie and a missing header mean no.
pub fn prefers(accept: Option<&str>, wanted: &str, usual: &str) -> bool {
    accept.is_some_and(|accept| quality(accept, wanted) > quality(accept, usual))
}

/// Quality of a media type in thousandths: the most specific range that matches it decides.
fn quality(accept: &str, media: &str) -> u16 {
    let kind = media.split('/').next().unwrap_or(media);
    accept
        .split(',')
        .filter_map(|range| {
            let mut parts = range.split(';');
            let name = parts.next().unwrap_or_default().trim();
            let specific = if name.eq_ignore_ascii_case(media) {
                2
            } else if name.strip_suffix("/*").is_some_and(|k| k.eq_ignore_ascii_case(kind)) {
                1
            } else if name == "*/*" {
                0
            } else {
                return None;
            };
            let weight = parts
                .filter_map(|parameter| parameter.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
                .map_or(1000, |(_, value)| thousandths(value.trim()));
            Some((specific, weight))
        })
        .max()
        .map_or(0, |(_, weight)| weight)
}

/// `0.85` is 850; what is no weight counts as 0.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    match whole {
        "1" => 1000,
        "0" => format!("{fraction:0<3.3}").parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_higher_weight_is_a_preference() {
        for (accept, expected) in [
            (None, false),
            (Some("*/*"), false),
            (Some("application/json"), false),
            (Some("text/html"), true),
            (Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), true),
            (Some("text/html;q=0.5, application/json;q=0.50"), false),
            (Some("text/html;q=0.501, application/json;q=0.5"), true),
            (Some("application/json, text/*;q=0.9"), false),
            (Some("text/*"), true),
            (Some("*/*;q=0.9, text/html;q=0"), false),
            (Some("text/html;q=high"), false),
            (Some(";;,,=,q=1"), false),
        ] {
            assert_eq!(prefers(accept, "text/html", "application/json"), expected, "{accept:?}");
        }
    }
}
