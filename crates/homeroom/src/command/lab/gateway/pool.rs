//! The pool of tokens that a cell's calls draw from.
#![expect(clippy::disallowed_methods, reason = "a pool is renewed when its tokens have aged")]

use std::path::Path;
use std::time::{Duration, Instant};

use homeroom_load::client::Caller;
use homeroom_load::token::{self, Key};

use crate::command::lab::session;
use crate::exit::Failure;

/// A pool of tokens.
pub struct TokenPool {
    origin: Origin,
    tokens: Vec<String>,
    /// When the tokens are too old for another cell.
    until: Option<Instant>,
}

enum Origin {
    /// They were given.
    Given,
    /// They come from a token endpoint.
    Endpoint { caller: Caller, path: Option<String>, key: Key, count: u32 },
}

impl TokenPool {
    /// Reads the tokens of a file, one a line.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Usage(format!("--tokens {}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let tokens: Vec<String> = lines.map(str::to_owned).collect();
        if tokens.is_empty() {
            return Err(wrong("it has no token".into()));
        }
        if tokens.iter().any(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(wrong("a token may have no blank and only ASCII letters".into()));
        }
        Ok(Self { origin: Origin::Given, tokens, until: None })
    }

    /// Returns a pool without tokens, for an API that needs none.
    pub fn none() -> Self {
        Self { origin: Origin::Given, tokens: vec![], until: None }
    }

    /// Returns a pool that is filled from a token endpoint. Without a path, the server's discovery
    /// document names it.
    pub fn from_endpoint(caller: Caller, path: Option<String>, key: Key, count: u32) -> Self {
        let origin = Origin::Endpoint { caller, path, key, count };
        Self { origin, tokens: vec![], until: None }
    }

    /// Returns the tokens.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Asks for new tokens, unless those of the pool last for the next cell.
    pub fn renew(&mut self, cell: Duration, is_fresh: bool) -> Result<(), Failure> {
        let Origin::Endpoint { caller, path, key, count } = &mut self.origin else {
            return Ok(());
        };
        let now = Instant::now();
        if !is_fresh && self.until.is_some_and(|until| now + cell < until) {
            return Ok(());
        }
        let path = path.get_or_insert_with(|| token::path(caller));
        self.tokens.clear();
        let mut least = Duration::MAX;
        for _ in 0..*count {
            let token = session::first_token(caller, path, key)?;
            least = least.min(token.lifetime);
            self.tokens.push(token.text);
        }
        if least < cell {
            return Err(Failure::Failed(format!(
                "the tokens are valid for {} s, less than a cell takes: shorten the cells, or give \
                 the key a longer lifetime",
                least.as_secs()
            )));
        }
        self.until = Some(now + least);
        Ok(())
    }
}
