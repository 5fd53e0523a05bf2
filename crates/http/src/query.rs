//! The query string of a request.

use percent_encoding::percent_decode_str;

/// Most parameters that one request may carry.
const PARAMETERS_MAX: usize = 200;

/// A query string that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Percent-encoding that does not decode to UTF-8.
    #[error("the query parameter at position {0} is not UTF-8 when decoded")]
    NotUtf8(usize),
    /// More parameters than a request may carry.
    #[error("more than {PARAMETERS_MAX} query parameters")]
    TooMany,
}

/// A decoded query string, its parameters in the order sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `a=1&b=x%20y`. `+` is a space, and a name without `=` has an empty value.
    ///
    /// # Errors
    ///
    /// [`QueryError`]; positions count from 1.
    pub fn read(text: &str) -> Result<Self, QueryError> {
        let mut pairs = vec![];
        for (at, pair) in text.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            if at == PARAMETERS_MAX {
                return Err(QueryError::TooMany);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| {
                let blanks = text.replace('+', " ");
                percent_decode_str(&blanks)
                    .decode_utf8()
                    .map(std::borrow::Cow::into_owned)
                    .map_err(|_| QueryError::NotUtf8(at + 1))
            };
            pairs.push((decode(name)?, decode(value)?));
        }
        Ok(Self(pairs))
    }

    /// A query of names and values that are decoded already.
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// The last value of a parameter; its name matches in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Returns all parameters in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_any_case_and_values_are_decoded() {
        let query = Query::read("Limit=5&a=x%20y+z&&limit=7").unwrap();

        assert_eq!(query.get("limit"), Some("7"));
        assert_eq!(query.get("A"), Some("x y z"));
        assert_eq!(query.get("b"), None);
        assert_eq!(Query::read("a=%ff"), Err(QueryError::NotUtf8(1)));
    }
}
