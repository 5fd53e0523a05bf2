//! Evaluates the headers `Accept` and `Accept-Encoding`.
//!
//! Source: RFC 9110 §12.5.1, §12.5.3.

/// Whether the client prefers `wanted` to `usual`; no in case of a tie or a missing header.
pub fn prefers(accept: Option<&str>, wanted: &str, usual: &str) -> bool {
    accept.is_some_and(|accept| quality(accept, wanted) > quality(accept, usual))
}

/// Whether the caller names `wanted` and likes it no less than `usual`, if `usual` is named, too.
pub fn names_media(accept: Option<&str>, wanted: &str, usual: &str) -> bool {
    let Some(accept) = accept else { return false };
    let (wanted, usual) = (named(accept, wanted), named(accept, usual));
    wanted.is_some_and(|wanted| wanted > 0 && wanted >= usual.unwrap_or(0))
}

/// Returns the quality of a media type that is listed itself, not through a range.
fn named(accept: &str, media: &str) -> Option<u16> {
    accept.split(',').find_map(|range| {
        let mut parts = range.split(';');
        let is_it = parts.next().unwrap_or_default().trim().eq_ignore_ascii_case(media);
        is_it.then(|| weight(parts))
    })
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
            Some((specific, weight(parts)))
        })
        .max()
        .map_or(0, |(_, weight)| weight)
}

/// Whether the client accepts gzip and does not prefer uncompressed content.
pub fn takes_gzip<'a>(accept_encoding: impl Iterator<Item = &'a str>) -> bool {
    let (mut gzip, mut identity, mut others) = (None, None, None);
    for coding in accept_encoding.flat_map(|line| line.split(',')) {
        let mut parts = coding.split(';');
        let slot = match parts.next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => &mut gzip,
            "identity" => &mut identity,
            "*" => &mut others,
            _ => continue,
        };
        *slot = Some(weight(parts));
    }
    let gzip = gzip.or(others).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// Returns the weight among the parameters of a range or a coding, in thousandths.
fn weight<'a>(parameters: impl Iterator<Item = &'a str>) -> u16 {
    parameters
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .map_or(1000, |(_, value)| thousandths(value.trim()))
}

/// Converts a weight such as `0.85` to 850; an invalid weight counts as 0.
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
    fn an_accepted_type_is_served_unless_the_default_is_preferred() {
        for (accept, expected) in [
            (None, false),
            (Some("*/*"), false),
            (Some("application/*"), false),
            (Some("application/graphml"), true),
            (Some("application/graphml, */*"), true),
            (Some("application/graphml, application/json"), true),
            (Some("application/json, Application/GraphML"), true),
            (Some("application/graphml;q=0.8, application/json;q=0.9"), false),
            (Some("application/graphml;q=0, */*"), false),
        ] {
            let named = names_media(accept, "application/graphml", "application/json");
            assert_eq!(named, expected, "{accept:?}");
        }
    }

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

    #[test]
    fn gzip_is_used_unless_it_is_refused_or_less_preferred() {
        for (lines, expected) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["gzip, deflate, br"], true),
            (&["deflate, GZip;q=0.5"], true),
            (&["x-gzip"], true),
            (&["br", "gzip"], true),
            (&["gzip;q=0"], false),
            (&["gzip; q=0.000, *"], false),
            (&["gzip;q=0.001"], true),
            (&["*"], true),
            (&["*;q=0"], false),
            (&["*;q=0, gzip"], true),
            (&["deflate, br"], false),
            (&["identity"], false),
            (&["identity, gzip;q=0.5"], false),
            (&["identity;q=0.5, gzip"], true),
            (&["identity;q=0, gzip;q=0"], false),
            (&["gzipped"], false),
            (&["gzip;q=much"], false),
            (&[";;,,=,q=1"], false),
        ] {
            assert_eq!(takes_gzip(lines.iter().copied()), expected, "{lines:?}");
        }
    }
}
