//! The encodings in which manifests and the names of files come.

use std::borrow::Cow;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A text of a file, and how it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// The encoding in which it was read.
    pub(crate) encoding: &'static Encoding,
    /// What is wrong with what the file says about its encoding, if anything is.
    pub(crate) wrong: Option<String>,
}

/// Reads an XML file in the encoding that it has: by its mark, by its first bytes, or as it says; in
/// UTF-8 where it says nothing.
///
/// Many tools write UTF-8 and say something else: what is UTF-8 beyond doubt is read as that. What is in
/// no encoding that is known is read as Latin 1, which never fails.
///
/// Source: XML 1.0 §4.3.3 and appendix F; WHATWG Encoding for the names of encodings.
pub(crate) fn decoded(bytes: &[u8]) -> Decoded<'_> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return read(&bytes[length..], encoding, None);
    }
    match bytes {
        [b'<', 0, ..] => return read(bytes, UTF_16LE, None),
        [0, b'<', ..] => return read(bytes, UTF_16BE, None),
        _ => {}
    }
    let said = said(bytes);
    let known = said.as_deref().map(|name| (name, Encoding::for_label(name.as_bytes())));
    let utf_8 = std::str::from_utf8(bytes).ok();
    match (known, utf_8) {
        (None, Some(_)) => read(bytes, UTF_8, None),
        // What begins with one byte for each sign is no UTF-16.
        (Some((_, Some(encoding))), Some(_)) if [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding) => {
            read(bytes, UTF_8, None)
        }
        (Some((name, Some(encoding))), utf_8)
            if encoding.is_ascii_compatible() && ![UTF_8, REPLACEMENT].contains(&encoding) =>
        {
            match utf_8 {
                Some(text) if text.is_ascii() => read(bytes, encoding, None),
                Some(text) if is_utf_8_for_sure(text, encoding) => {
                    let wrong = format!("the manifest says that it is in {name}, and is in UTF-8");
                    read(bytes, UTF_8, Some(wrong))
                }
                _ => as_said(bytes, name, encoding),
            }
        }
        // ISO 2022 JP has ASCII's bytes for other signs.
        (Some((name, Some(encoding))), _)
            if !encoding.is_ascii_compatible()
                && ![UTF_16LE, UTF_16BE, REPLACEMENT].contains(&encoding) =>
        {
            as_said(bytes, name, encoding)
        }
        (Some((name, _)), Some(_)) => {
            let wrong = format!(
                "the manifest says that it is in {name}, which is not known; it is read as UTF-8"
            );
            read(bytes, UTF_8, Some(wrong))
        }
        (known, None) => {
            let name = known.map_or("UTF-8", |(name, _)| name);
            let wrong = format!(
                "the manifest is not in {name}, as it should be; it is read as Latin 1, so letters may be wrong"
            );
            read(bytes, WINDOWS_1252, Some(wrong))
        }
    }
}

/// A text in the encodings of East Asia is hardly ever UTF-8 of three bytes by chance; any other text
/// with letters beyond ASCII is hardly ever UTF-8 by chance.
fn is_utf_8_for_sure(text: &str, said: &'static Encoding) -> bool {
    said.is_single_byte() || text.chars().any(|letter| letter.len_utf8() > 2)
}

fn as_said<'b>(bytes: &'b [u8], name: &str, encoding: &'static Encoding) -> Decoded<'b> {
    let found = read(bytes, encoding, None);
    let wrong = found.wrong.map(|wrong| format!("{wrong}, and it says that it is in {name}"));
    Decoded { wrong, ..found }
}

fn read<'b>(bytes: &'b [u8], encoding: &'static Encoding, wrong: Option<String>) -> Decoded<'b> {
    let (text, has_lost) = encoding.decode_without_bom_handling(bytes);
    let lost = has_lost.then(|| {
        format!("the manifest has bytes that are no signs of {}; they are lost", encoding.name())
    });
    Decoded { text, encoding, wrong: wrong.or(lost) }
}

/// Returns the encoding that the declaration at the beginning of a file names.
fn said(bytes: &[u8]) -> Option<String> {
    let start = &bytes[..bytes.len().min(300)];
    let start = String::from_utf8_lossy(start);
    let declaration = start.trim_start().strip_prefix("<?xml")?;
    let declaration = declaration.split_once("?>").map_or(declaration, |(inner, _)| inner);
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest[1..].split_once(quote)?;
    let name: String = name.trim().chars().take(40).collect();
    (!name.is_empty()).then_some(name)
}

/// Encodings of names that archives made by older computers have, in the order in which they are tried.
const OF_NAMES: &[&str] = &[
    "gb18030",
    "shift_jis",
    "big5",
    "euc-kr",
    "windows-1251",
    "ibm866",
    "windows-1250",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
];

/// Finds the encoding in which most of `names` are what a manifest wants, whose own encoding is tried
/// first; [`None`] where none does better than `others`, the number of those that are wanted as they are
/// read already.
pub(crate) fn of_names(
    names: &[&[u8]],
    own: &'static Encoding,
    others: usize,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<&'static Encoding> {
    let listed = OF_NAMES.iter().filter_map(|name| Encoding::for_label(name.as_bytes()));
    let mut best = None;
    let mut most = others;
    for encoding in [own].into_iter().chain(listed) {
        let found =
            names.iter().filter(|name| name_in(name, encoding).is_some_and(|n| is_wanted(&n)));
        let found = found.count();
        if found > most {
            (best, most) = (Some(encoding), found);
        }
    }
    best
}

/// Returns a name in an encoding, if it is in that.
pub(crate) fn name_in(name: &[u8], encoding: &'static Encoding) -> Option<String> {
    encoding.decode_without_bom_handling_and_without_replacement(name).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, text: &str, encoding: &str) -> Vec<u8> {
        let encoding = Encoding::for_label(encoding.as_bytes()).unwrap();
        let (bytes, _, lost) = encoding.encode(text);
        assert!(!lost, "{text}");
        [format!("<?xml version='1.0' encoding=\"{name}\" ?>").as_bytes(), &bytes].concat()
    }

    #[test]
    fn a_text_is_read_in_the_encoding_that_it_says() {
        for (name, text) in [
            ("GB2312", "\u{8bfe}\u{7a0b}"),
            ("GBK", "\u{8054}\u{901a}"),
            ("gb18030", "\u{8bfe}\u{7a0b}"),
            ("Shift_JIS", "\u{8868}\u{793a}"),
            ("EUC-JP", "\u{8868}\u{793a}"),
            ("Big5", "\u{8ab2}\u{7a0b}"),
            ("EUC-KR", "\u{acfc}\u{c815}"),
            ("windows-1250", "\u{17e}lu\u{165}"),
            ("windows-1251", "\u{43a}\u{443}\u{440}\u{441}"),
            ("windows-1252", "caf\u{e9} \u{20ac}"),
            ("windows-1253", "\u{3bc}\u{3ac}"),
            ("windows-1254", "\u{15f}"),
            ("windows-1255", "\u{5e9}"),
            ("windows-1256", "\u{62f}"),
            ("KOI8-R", "\u{43a}\u{443}\u{440}\u{441}"),
            ("ISO-8859-1", "caf\u{e9}"),
            ("ISO-8859-2", "\u{17e}lu\u{165}"),
            ("ISO-2022-JP", "\u{8868}\u{793a}"),
            ("UTF-8", "caf\u{e9}"),
            ("US-ASCII", "cafe"),
        ] {
            let bytes = declared(name, text, name);

            let found = decoded(&bytes);

            assert!(found.text.ends_with(text), "{name}: {found:?}");
            assert_eq!(found.wrong, None, "{name}");
        }
    }

    #[test]
    fn marks_and_first_bytes_tell_the_encoding() {
        for (bom, read) in [
            ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
            ([0xfe, 0xff], u16::to_be_bytes),
        ] {
            let wide: Vec<u8> =
                bom.into_iter().chain("<\u{e4}/>".encode_utf16().flat_map(read)).collect();
            for bytes in [&wide[..], &wide[2..]] {
                assert_eq!((decoded(bytes).text, decoded(bytes).wrong), ("<\u{e4}/>".into(), None));
            }
        }
        assert_eq!(decoded(b"\xef\xbb\xbf<a/>").text, "<a/>");
    }

    #[test]
    fn what_says_something_else_is_read_with_a_word() {
        let text = "\u{8bfe}\u{7a0b} caf\u{e9}";
        for name in ["ISO-8859-1", "GB2312", "klingon"] {
            let bytes = declared(name, text, "utf-8");
            let found = decoded(&bytes);
            assert!(found.text.ends_with(text) && found.wrong.is_some(), "{name}: {found:?}");
        }
        for bytes in [&b"<a>\xe4</a>"[..], b"<?xml version='1.0' encoding='klingon'?><a>\xe4</a>"] {
            let found = decoded(bytes);
            assert!(found.text.ends_with("<a>\u{e4}</a>") && found.wrong.is_some(), "{found:?}");
        }
        let utf_16 = b"<?xml version='1.0' encoding='UTF-16'?><a>\xc3\xa4</a>";
        assert!(decoded(utf_16).text.ends_with("<a>\u{e4}</a>"));
        let broken = b"<?xml version='1.0' encoding='GB2312'?><a>\xff\xff</a>";
        assert!(decoded(broken).wrong.is_some());
    }

    #[test]
    fn names_are_in_the_encoding_in_which_they_are_wanted() {
        for (encoding, name) in
            [("gbk", "\u{8bfe}"), ("shift_jis", "\u{8868}"), ("big5", "\u{8ab2}")]
        {
            let encoding = Encoding::for_label(encoding.as_bytes()).unwrap();
            let (raw, _, _) = encoding.encode(name);

            let found = of_names(&[&raw], UTF_8, 0, &|read| read == name).unwrap();

            assert_eq!(name_in(&raw, found).as_deref(), Some(name), "{encoding:?}");
        }
        assert_eq!(of_names(&[b"\x82"], UTF_8, 0, &|_| false), None);
    }
}
