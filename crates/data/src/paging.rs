//! Paging parameters of a query string: limits, offsets, page tokens, change windows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use homeroom_http::{Kind, Problem, Query};
use homeroom_store::DocumentId;

/// Most documents on a page, and the default page size.
pub const PAGE_MAX: u32 = 500;
/// Most partitions of a resource.
pub const PARTITIONS_MAX: u64 = 200;

/// The requested page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// Return only documents after this one.
    pub after: DocumentId,
    /// Return only documents up to and including this one.
    pub upto: DocumentId,
    /// Number of documents to skip.
    pub skip: u64,
    /// Most documents to return.
    pub limit: u32,
    /// Whether to count all documents.
    pub total_count: bool,
    /// First and last change version, inclusive.
    pub changed: Option<(i64, i64)>,
}

/// The range of documents in a page token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageToken {
    /// The range begins after this document.
    pub after: DocumentId,
    /// The range ends with this document.
    pub upto: DocumentId,
}

const TOKEN_VERSION: u8 = 1;

impl PageToken {
    /// Writes the token as text.
    pub fn write(self) -> String {
        let mut bytes = vec![TOKEN_VERSION];
        bytes.extend_from_slice(&self.after.0.to_be_bytes());
        if self.upto.0 != i64::MAX {
            bytes.extend_from_slice(&self.upto.0.to_be_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token; [`None`] if this server did not issue it.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (version, rest) = bytes.split_first()?;
        let number = |bytes: &[u8]| Some(DocumentId(i64::from_be_bytes(bytes.try_into().ok()?)));
        let (after, upto) = match (*version, rest.len()) {
            (TOKEN_VERSION, 8) => (number(rest)?, DocumentId(i64::MAX)),
            (TOKEN_VERSION, 16) => (number(&rest[..8])?, number(&rest[8..])?),
            _ => return None,
        };
        (after.0 >= 0).then_some(Self { after, upto })
    }
}

impl Paging {
    /// Reads the paging parameters.
    ///
    /// # Errors
    ///
    /// 400 `parameter-validation-failed`, with one line per parameter.
    pub fn read(query: &Query) -> Result<Self, Problem> {
        let mut errors = vec![];
        let mut number = |name: &str, max: u64| -> Option<u64> {
            let text = query.get(name)?;
            match text.parse() {
                Ok(number) if number <= max => Some(number),
                _ => {
                    let bound = if max == i64::MAX.unsigned_abs() {
                        "or more".to_owned()
                    } else {
                        format!("to {max}")
                    };
                    errors.push(format!("{name} must be a whole number from 0 {bound}."));
                    None
                }
            }
        };
        let sent = |name: &str| query.get(name).is_some();
        let large = i64::MAX.unsigned_abs();
        let limit = number("limit", PAGE_MAX.into());
        let page_size = number("pageSize", PAGE_MAX.into());
        let offset = number("offset", large);
        let min = number("minChangeVersion", large);
        let max = number("maxChangeVersion", large);
        let total_count = match query.get("totalCount") {
            None => false,
            Some(text) if text.eq_ignore_ascii_case("true") => true,
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            Some(_) => {
                errors.push("totalCount must be true or false.".into());
                false
            }
        };
        let token = query.get("pageToken").map(PageToken::read);
        if token == Some(None) {
            errors.push("pageToken was not issued by this server; begin without one.".into());
        }
        if token.is_some() && offset.is_some() {
            errors.push("pageToken and offset cannot be combined.".into());
        }
        if token.is_some() {
            // With a page size, a limit is ignored; a limit of 0 asks for an empty page.
            if limit.is_some_and(|limit| limit > 0) && page_size.is_none() {
                errors.push("Use pageToken with pageSize, not with limit.".into());
            }
        } else if sent("pageSize") && !sent("limit") {
            errors.push(if sent("offset") {
                "Use offset with limit, not with pageSize.".into()
            } else {
                "pageSize needs a pageToken: begin with limit.".into()
            });
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            errors.push("minChangeVersion must not be greater than maxChangeVersion.".into());
        }
        if !errors.is_empty() {
            let mut problem = Problem::of(Kind::ParameterValidationFailed);
            problem.errors = errors;
            return Err(problem);
        }
        let whole = PageToken { after: DocumentId(0), upto: DocumentId(i64::MAX) };
        let run = token.flatten().unwrap_or(whole);
        let version = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
        Ok(Self {
            after: run.after,
            upto: run.upto,
            skip: offset.unwrap_or(0),
            limit: page_size
                .filter(|_| token.is_some())
                .or(limit)
                .and_then(|limit| u32::try_from(limit).ok())
                .unwrap_or(PAGE_MAX),
            total_count,
            changed: (min.is_some() || max.is_some())
                .then(|| (version(min).unwrap_or(0), version(max).unwrap_or(i64::MAX))),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_invalid_values_are_reported_at_once() {
        let query =
            Query::read("limit=501&offset=-1&totalCount=x&minChangeVersion=9&maxChangeVersion=3")
                .unwrap();

        let problem = Paging::read(&query).unwrap_err();

        assert_eq!(problem.errors.len(), 4, "{:?}", problem.errors);
    }

    #[test]
    fn a_token_and_an_offset_exclude_each_other() {
        let token = PageToken { after: DocumentId(7), upto: DocumentId(i64::MAX) }.write();
        for (text, good) in [
            (format!("pageToken={token}&pageSize=10"), true),
            (format!("pageToken={token}&offset=10"), false),
            (format!("pageToken={token}&limit=10"), false),
            (format!("pageToken={token}&limit=0"), true),
            (format!("pageToken={token}&limit=10&pageSize=5"), true),
            (format!("pageToken={token}&totalCount=true"), true),
            (format!("pageToken={token}&totalCount=false"), true),
            ("pageToken=nonsense".into(), false),
            ("pageSize=0".into(), false),
            ("pageSize=5&offset=1".into(), false),
            ("pageSize=5&totalCount=true".into(), false),
            ("pageSize=5&limit=2".into(), true),
        ] {
            assert_eq!(Paging::read(&Query::read(&text).unwrap()).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn limit_applies_to_offset_pages_and_page_size_to_token_pages() {
        let token = PageToken { after: DocumentId(7), upto: DocumentId(i64::MAX) }.write();
        for (text, limit) in [
            (String::new(), PAGE_MAX),
            ("limit=3".into(), 3),
            ("limit=3&pageSize=9".into(), 3),
            (format!("pageToken={token}"), PAGE_MAX),
            (format!("pageToken={token}&pageSize=9"), 9),
            (format!("pageToken={token}&pageSize=9&limit=3"), 9),
            (format!("pageToken={token}&limit=0"), 0),
        ] {
            assert_eq!(Paging::read(&Query::read(&text).unwrap()).unwrap().limit, limit, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_page_token_survives_a_round_trip(after in 0..=i64::MAX, upto in any::<i64>()) {
            let token = PageToken { after: DocumentId(after), upto: DocumentId(upto) };
            prop_assert_eq!(PageToken::read(&token.write()), Some(token));
        }

        #[test]
        fn any_text_can_be_given_as_a_page_token(text in ".{0,40}") {
            _ = PageToken::read(&text);
        }
    }
}
