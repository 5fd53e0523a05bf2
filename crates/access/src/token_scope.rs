//! What a token was asked for: less than all that its key may do.
//!
//! Source: RFC 6749 §3.3 (scope), RFC 9068 §2.2.3 (the claim).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::client::{ApiClient, Scope};

/// Longest scope that a token is asked for, in bytes.
const SCOPE_BYTES_MAX: usize = 1_024;

/// The scope of a token: words, of which a number is an education organization, and the others are scopes
/// of the key, or scopes that it has for published APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Claim", into = "Claim")]
pub(crate) struct TokenScope {
    /// The education organization that the token is restricted to.
    pub(crate) organization: Option<i64>,
    /// The scopes that it is held to; [`None`] for all that its key has.
    pub(crate) held_to: Option<Arc<[String]>>,
}

/// The claim: a number where only an education organization was named, as every version of this server
/// has written and reads it; else a text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Claim {
    Organization(i64),
    Words(String),
}

impl From<Claim> for TokenScope {
    fn from(claim: Claim) -> Self {
        let text = match claim {
            Claim::Organization(id) => return Self { organization: Some(id), held_to: None },
            Claim::Words(text) => text,
        };
        let is_number = |word: &&str| word.parse::<i64>().is_ok();
        let organization = text.split(' ').find_map(|word| word.parse().ok());
        let words = text.split(' ').filter(|word| !is_number(word)).map(str::to_owned);
        Self { organization, held_to: Some(words.collect()) }
    }
}

impl From<TokenScope> for Claim {
    fn from(scope: TokenScope) -> Self {
        match (scope.organization, scope.held_to) {
            (Some(id), None) => Self::Organization(id),
            (id, held_to) => {
                let id = id.map(|id| id.to_string());
                let words = held_to.iter().flat_map(|words| words.iter()).cloned();
                Self::Words(id.into_iter().chain(words).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

impl TokenScope {
    /// Reads what a client asks for; [`None`] for anything that it does not have. `for_apis` are its scopes
    /// for published APIs.
    pub(crate) fn read(text: &str, client: &ApiClient, for_apis: &[String]) -> Option<Self> {
        if text.len() > SCOPE_BYTES_MAX {
            return None;
        }
        let (mut organization, mut words) = (None, vec![]);
        for word in text.split_ascii_whitespace() {
            if let Ok(id) = word.parse() {
                let own = client.education_organizations.contains(&id);
                // A token is for one of them, or for all.
                if !own || organization.replace(id).is_some() {
                    return None;
                }
            } else {
                // A name of one of the server's scopes means that one, whatever published APIs ask for.
                let is_had = match Scope::read(word) {
                    Some(own) => client.has_scope(own),
                    None => client.has_scope(Scope::Apis) && for_apis.iter().any(|has| has == word),
                };
                if !(is_token(word) && is_had) {
                    return None;
                }
                words.push(word.to_owned());
            }
        }
        let held_to = (!words.is_empty()).then(|| words.into());
        Some(Self { organization, held_to })
    }

    /// Returns whether the token is for all that its key may do.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the client as far as the token goes; [`None`] where it no longer has the education
    /// organization.
    pub(crate) fn confine(&self, client: Arc<ApiClient>) -> Option<Arc<ApiClient>> {
        if self.is_whole() {
            return Some(client);
        }
        let mut confined = (*client).clone();
        if let Some(id) = self.organization {
            if !client.education_organizations.contains(&id) {
                return None;
            }
            confined.education_organizations = [id].into();
        }
        if let Some(words) = &self.held_to {
            let is_named = |scope: Scope| words.iter().any(|word| word == scope.name());
            // A scope for published APIs is for nothing else. One of the server that the key has lost is
            // for nothing at all.
            let for_apis = words.iter().any(|word| Scope::read(word).is_none());
            confined.scopes.retain(|scope| is_named(*scope) || (*scope == Scope::Apis && for_apis));
            confined.held_to = Some(Arc::clone(words));
        }
        Some(Arc::new(confined))
    }
}

/// Source: RFC 6749 §3.3.
fn is_token(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(scopes: &[Scope]) -> ApiClient {
        ApiClient { scopes: scopes.to_vec(), ..ApiClient::without_rights() }
    }

    #[test]
    fn a_scope_that_the_key_has_lost_opens_nothing_else() {
        use Scope::{Apis, Data, Learning};
        let for_apis = ["items.read".to_owned(), "learning".to_owned()];
        // What the key has when the token is issued, what that is held to, what the key has later, and what
        // the token reaches then.
        for (had, asked, has, reaches) in [
            (&[Data, Apis][..], "data", &[Data, Apis][..], &[Data][..]),
            (&[Data, Apis], "data", &[Apis], &[]),
            (&[Data, Apis], "data items.read", &[Apis], &[Apis]),
            (&[Data, Apis], "items.read", &[Data, Apis], &[Apis]),
            (&[Data, Apis], "items.read", &[Data], &[]),
            (&[Data, Apis, Learning], "learning", &[Data, Apis], &[]),
        ] {
            let scope = TokenScope::read(asked, &client(had), &for_apis).unwrap();

            let confined = scope.confine(Arc::new(client(has))).unwrap();

            assert_eq!(confined.scopes, reaches, "{asked}");
        }
        assert_eq!(TokenScope::read("learning", &client(&[Data, Apis]), &for_apis), None);
    }

    fn written(scope: &TokenScope) -> String {
        serde_json::to_string(scope).unwrap()
    }

    #[test]
    fn an_organization_alone_is_a_number_as_it_always_was() {
        let scope = TokenScope { organization: Some(255_901), held_to: None };

        assert_eq!(written(&scope), "255901");
        assert_eq!(serde_json::from_str::<TokenScope>("255901").unwrap(), scope);
    }

    #[test]
    fn words_are_a_text_that_reads_back() {
        for organization in [None, Some(7)] {
            let held_to = Some(["a.read".to_owned(), "data".to_owned()].into());
            let scope = TokenScope { organization, held_to };

            let text = written(&scope);

            assert!(text == "\"a.read data\"" || text == "\"7 a.read data\"", "{text}");
            assert_eq!(serde_json::from_str::<TokenScope>(&text).unwrap(), scope);
        }
    }

    #[test]
    fn a_word_has_the_characters_of_a_scope() {
        for (word, is_one) in [("items.read", true), ("a:b/c", true), ("a\"b", false), ("ä", false)]
        {
            assert_eq!(is_token(word), is_one, "{word}");
        }
    }
}
