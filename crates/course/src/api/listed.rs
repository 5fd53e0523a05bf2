//! What a list asks for: filters, an order, and the token of a page, which has all of it.
//!
//! The token of the next page is signed with a secret that no answer shows. It has the parameters of the
//! first request, so that filters, order and what is included hold for all pages, and the key after
//! which the page begins.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use homeroom_http::Query;
use homeroom_store::Value;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::request::{flag, moment_of};
use crate::error::Error;
use crate::signature::hmac;
use crate::sql::lists::Order;

/// Items of a page.
pub(crate) const PAGE: usize = 100;
/// Most tags that a list is filtered by.
const TAGS_MAX: usize = 8;
/// Most bytes of a list's parameters. What asks for the next page has to fit into a request's head.
const PARAMETERS_BYTES_MAX: usize = 3_000;
/// Bytes of a token's signature.
const SIGNATURE_BYTES: usize = 16;
/// The first and the last moment.
const FIRST: i64 = i64::MIN;
const LAST: i64 = i64::MAX;
/// A letter after all others; keys have at most 200 letters.
const LAST_LETTER: &str = "\u{10ffff}";
const KEY_CHARS_MAX: usize = 200;

/// A kind of list: its name, what it can be filtered and ordered by, and its parameters besides those that
/// all lists have.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The moment that `since` and `until` are about where nothing is said.
    pub(crate) moment: &'static str,
    /// The fields that can be filtered by, the first where nothing is said.
    pub(crate) fields: &'static [&'static str],
    pub(crate) others: &'static [&'static str],
}

/// The parameters that all lists have and that hold for all pages.
const COMMON: [&str; 7] =
    ["since", "until", "datetimeFilter", "tags", "filter", "filterBy", "orderBy"];

/// The value of the column by which a list is ordered.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Key {
    Moment(i64),
    Text(String),
}

impl Key {
    /// Reads the value from the last column of a row.
    pub(crate) fn of(row: &[Value]) -> Result<Self, Error> {
        let damaged = || Error::damaged("a list");
        let value = row.last().ok_or_else(damaged)?;
        let text = || value.as_text().map(|text| Self::Text(text.to_owned()));
        value.as_integer().map(Self::Moment).or_else(text).ok_or_else(damaged)
    }
}

impl From<Key> for Value {
    fn from(key: Key) -> Self {
        match key {
            Key::Moment(moment) => moment.into(),
            Key::Text(text) => text.into(),
        }
    }
}

/// An item after which a page begins: what it is ordered by, its id, its instance.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct After(pub(crate) Key, pub(crate) String, pub(crate) i64);

/// A request for a page of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    kind: &'static str,
    /// The parameters of the first request.
    pub(crate) query: Query,
    /// Least and greatest moments of change.
    pub(crate) updated: (i64, i64),
    /// Least and greatest moments of creation.
    pub(crate) created: (i64, i64),
    /// A pattern, and what it is about; empty for all.
    filter: String,
    field: &'static str,
    /// Tags of which an item has one, as JSON; empty texts for none.
    tags: [String; TAGS_MAX],
    /// After what the page begins; the first page begins after nothing.
    after: Option<After>,
}

/// What a token has. It is for a kind of list.
#[derive(Debug, Deserialize, Serialize)]
struct Token {
    parameters: BTreeMap<String, String>,
    after: After,
}

impl Listed {
    /// Reads what a list asks for. `secret` is that of tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] names the parameter that cannot be used.
    pub(crate) fn read(kind: &'static Kind, query: &Query, secret: &str) -> Result<Self, Error> {
        let parameters = parameters(kind, query)?;
        let Some(more) = given(query, "more") else {
            return Self::of(kind, parameters, None);
        };
        let token: Token = opened(more, kind.name, secret)?;
        for (name, value) in &parameters {
            if token.parameters.get(name) != Some(value) {
                return Err(Error::Invalid(format!(
                    "{name} cannot be sent with more, which keeps the filters of the first page"
                )));
            }
        }
        Self::of(kind, token.parameters, Some(token.after))
    }

    fn of(
        kind: &'static Kind,
        parameters: BTreeMap<String, String>,
        after: Option<After>,
    ) -> Result<Self, Error> {
        let query = Query::of(parameters);
        let until = moment_of(&query, "until", LAST)?;
        let until = until.saturating_add(rest_of_unit(given(&query, "until").unwrap_or_default()));
        let range = (moment_of(&query, "since", FIRST)?, until);
        let moments = ["created", "updated"];
        let moment = word(&query, "datetimeFilter", &moments)?.unwrap_or(kind.moment);
        let all = (FIRST, LAST);
        let (updated, created) = if moment == "created" { (all, range) } else { (range, all) };
        let field = word(&query, "filterBy", kind.fields)?;
        let field = field.or(kind.fields.first().copied()).unwrap_or_default();
        let filter = given(&query, "filter").unwrap_or_default();
        let in_row = crate::tags::in_row(filter);
        let filter = match (filter, field) {
            ("", _) => String::new(),
            (_, "tags") => pattern(in_row.trim_matches('"')),
            (filter, _) => pattern(filter),
        };
        let tags = tags_of(query.get("tags").unwrap_or_default())?;
        Ok(Self { kind: kind.name, query, updated, created, filter, field, tags, after })
    }

    /// Returns the order that is asked for, or the one where nothing is said.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] lists the orders.
    pub(crate) fn order<'o, const N: usize>(
        &self,
        orders: &'o [[Order<N>; 2]],
        default: &str,
    ) -> Result<&'o Order<N>, Error> {
        let all: Vec<&Order<N>> = orders.iter().flatten().collect();
        let names: Vec<&str> = all.iter().map(|order| order.name).collect();
        let name = word(&self.query, "orderBy", &names)?.unwrap_or(default);
        let found = all.into_iter().find(|order| order.name == name);
        found.ok_or_else(|| Error::damaged("the orders of a list"))
    }

    /// Returns the arguments of the filters, which are the same for a page and for the count.
    pub(crate) fn filters(&self) -> Vec<Value> {
        let mut all = vec![
            self.updated.0.into(),
            self.updated.1.into(),
            self.created.0.into(),
            self.created.1.into(),
            self.filter.as_str().into(),
            self.field.into(),
        ];
        all.extend(self.tags.iter().map(|tag| tag.as_str().into()));
        all
    }

    /// Returns the arguments of a page up to the id of the item after which it begins, and its instance.
    pub(crate) fn page<const N: usize>(&self, order: &Order<N>) -> (Vec<Value>, i64) {
        let mut all = self.filters();
        let After(key, id, instance) = self.after.clone().unwrap_or_else(|| first(order));
        all.extend([limit(), key.into(), id.into()]);
        (all, instance)
    }

    /// Returns whether an item with these moments is among those that are asked for.
    pub(crate) fn has(&self, created: i64, updated: i64) -> bool {
        let is_in = |(first, last), moment| (first..=last).contains(&moment);
        is_in(self.created, created) && is_in(self.updated, updated)
    }

    /// Returns the instance after which a list of instances begins.
    pub(crate) fn instance(&self) -> i64 {
        self.after.as_ref().map_or(-1, |after| after.2)
    }

    /// Returns whether all items are counted: at the first page, where that is asked for.
    pub(crate) fn is_counted(&self, query: &Query) -> bool {
        self.after.is_none() && flag(query, "includeTotalCount")
    }

    /// Returns the token of the page after an item.
    pub(crate) fn more(&self, after: After, secret: &str) -> String {
        let pairs = self.query.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        sealed(&Token { parameters: pairs.collect(), after }, self.kind, secret)
    }
}

/// Returns a value as the text of a token of a list. Only who knows the secret can make it.
pub(crate) fn sealed(value: &impl Serialize, list: &str, secret: &str) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut bytes = signature(secret, list, &json).to_vec();
    bytes.extend(json);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the value of a token that was made for this list.
///
/// # Errors
///
/// [`Error::Invalid`] if it was not.
pub(crate) fn opened<T: DeserializeOwned>(
    text: &str,
    list: &str,
    secret: &str,
) -> Result<T, Error> {
    let read = || {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (stated, json) = bytes.split_at_checked(SIGNATURE_BYTES)?;
        let own = signature(secret, list, json);
        // Takes as long wherever they differ.
        let difference = own.iter().zip(stated).fold(0, |all, (one, other)| all | (one ^ other));
        (difference == 0).then(|| serde_json::from_slice(json).ok())?
    };
    read().ok_or_else(no_such_page)
}

/// Returns the error for a page that no list has led to.
pub(crate) fn no_such_page() -> Error {
    Error::Invalid("more is not one that this server has given out for this list".into())
}

/// Returns the signature of a token of a list; JSON has no character 0.
fn signature(secret: &str, list: &str, json: &[u8]) -> [u8; SIGNATURE_BYTES] {
    let whole = hmac(secret.as_bytes(), &[list.as_bytes(), &[0], json].concat());
    std::array::from_fn(|at| whole[at])
}

/// Returns the most items of a page, and one by which it is seen that there are more.
pub(crate) fn limit() -> Value {
    i64::try_from(PAGE + 1).unwrap_or(i64::MAX).into()
}

/// Returns what is before all items in an order.
fn first<const N: usize>(order: &Order<N>) -> After {
    let key = match (order.is_text, order.is_descending) {
        (false, false) => Key::Moment(FIRST),
        (false, true) => Key::Moment(LAST),
        (true, false) => Key::Text(String::new()),
        (true, true) => Key::Text(LAST_LETTER.repeat(KEY_CHARS_MAX + 1)),
    };
    After(key, String::new(), -1)
}

/// Returns a parameter that is not empty.
pub(crate) fn given<'q>(query: &'q Query, name: &str) -> Option<&'q str> {
    query.get(name).filter(|value| !value.is_empty())
}

/// Returns the parameters of a list that hold for all its pages.
fn parameters(kind: &Kind, query: &Query) -> Result<BTreeMap<String, String>, Error> {
    let names = COMMON.iter().chain(kind.others);
    let all: BTreeMap<String, String> = names
        .filter_map(|name| Some(((*name).to_owned(), given(query, name)?.to_owned())))
        .collect();
    // As they stand in a token.
    let bytes = serde_json::to_string(&all).unwrap_or_default().len();
    if bytes > PARAMETERS_BYTES_MAX {
        let message = format!("the filters of a list have at most {PARAMETERS_BYTES_MAX} bytes");
        return Err(Error::Invalid(message));
    }
    Ok(all)
}

/// Returns the microseconds that a moment's last digit stands for, besides the first: answers show
/// milliseconds, and what is shown as a moment is not after it.
fn rest_of_unit(text: &str) -> i64 {
    let digits = text.split_once('.').map_or("", |(_, rest)| rest);
    match digits.chars().take_while(char::is_ascii_digit).count() {
        0 => 999_999,
        1..=3 => 999,
        _ => 0,
    }
}

/// Returns the word of a list that a parameter is, in any case.
fn word<'w>(query: &Query, name: &str, words: &[&'w str]) -> Result<Option<&'w str>, Error> {
    let Some(text) = given(query, name) else { return Ok(None) };
    if words.is_empty() {
        return Err(Error::Invalid(format!("{name} cannot be used with this list")));
    }
    let found = words.iter().copied().find(|word| word.eq_ignore_ascii_case(text));
    found.map(Some).ok_or_else(|| Error::Invalid(format!("{name} is one of {}", words.join(", "))))
}

/// Returns the pattern of texts that contain a text, whatever the case of its ASCII letters: what both
/// databases fold.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.to_ascii_lowercase().chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Reads tags, any of which is wanted, as they stand in a row.
fn tags_of(text: &str) -> Result<[String; TAGS_MAX], Error> {
    let mut all: [String; TAGS_MAX] = Default::default();
    let wanted = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    for (at, tag) in wanted.enumerate() {
        let place = all.get_mut(at).ok_or_else(|| {
            Error::Invalid(format!("a list is filtered by at most {TAGS_MAX} tags"))
        })?;
        *place = crate::tags::in_row(tag);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: "things",
        moment: "updated",
        fields: &["id", "title"],
        others: &["includeAll"],
    };
    static THINGS: Kind = KIND;
    static OTHERS: Kind = Kind { name: "others", ..KIND };

    fn read(kind: &'static Kind, query: &str) -> Result<Listed, Error> {
        Listed::read(kind, &Query::read(query).unwrap(), "secret")
    }

    #[test]
    fn filters_are_texts_and_no_patterns() {
        assert_eq!(pattern("A_b%!"), "%a!_b!%!!%");
        let tags = tags_of(" one ,,two").unwrap();
        assert_eq!(
            (tags[0].as_str(), tags[1].as_str(), tags[2].as_str()),
            ("\"one\"", "\"two\"", "")
        );
        assert!(tags_of("1,2,3,4,5,6,7,8,9").is_err());
    }

    #[test]
    fn a_token_has_all_that_the_first_page_asked_for() {
        let first = read(&THINGS, "filter=E%C3%A9&filterBy=TITLE&tags=a&includeAll=true").unwrap();
        let after = After(Key::Text("a\"/é".into()), "b".into(), 2);

        let more = first.more(after.clone(), "secret");
        let second = read(&THINGS, &format!("more={more}")).unwrap();

        assert_eq!(second, Listed { after: Some(after), ..first });
        assert_eq!(second.query.get("includeAll"), Some("true"));
        for (query, is_fine) in [
            (format!("more={more}&filterBy=TITLE"), true),
            (format!("more={more}&includeTotalCount=true"), true),
            (format!("more={more}&filterBy=id"), false),
            (format!("more={more}&since=2026-01-01"), false),
            (format!("more={more}x"), false),
            (format!("more={}", more.replace('A', "B")), false),
            ("more=x".into(), false),
        ] {
            assert_eq!(read(&THINGS, &query).is_ok(), is_fine, "{query}");
        }
        assert!(read(&OTHERS, &format!("more={more}")).is_err(), "a token is for its list");
        let query = Query::read(&format!("more={more}")).unwrap();
        assert!(Listed::read(&THINGS, &query, "another").is_err(), "and for its server");
    }

    #[test]
    fn until_includes_what_is_shown_as_that_moment() {
        let until = |text: &str| read(&THINGS, &format!("until={text}")).unwrap().updated.1;
        assert_eq!(until("1970-01-01T00:00:01Z"), 1_999_999);
        assert_eq!(until("1970-01-01T00:00:01.5Z"), 1_500_999);
        assert_eq!(until("1970-01-01T00:00:01.000Z"), 1_000_999);
        assert_eq!(until("1970-01-01T00:00:01.500001Z"), 1_500_001);
        assert_eq!(read(&THINGS, "").unwrap().updated, (FIRST, LAST));
    }

    #[test]
    fn what_a_list_does_not_know_is_refused() {
        for query in [
            "filterBy=weather",
            "datetimeFilter=bogus",
            "since=yesterday",
            &format!("filter={}", "x".repeat(PARAMETERS_BYTES_MAX + 1)),
        ] {
            assert!(read(&THINGS, query).is_err(), "{query}");
        }
        let range = |listed: Listed| (listed.created.0, listed.updated.0);
        let asked = read(&THINGS, "since=1970-01-02&datetimeFilter=Created").unwrap();
        assert_eq!(range(asked), (86_400_000_000, FIRST));
        assert_eq!(range(read(&THINGS, "since=1970-01-02").unwrap()), (FIRST, 86_400_000_000));
    }
}
