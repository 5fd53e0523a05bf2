//! Layers of configuration, and where each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use homeroom_store::masked_text;
use toml::{Table, Value};

use super::{Config, StorePlace, check};

/// Setting of the store's URL, which may hold a password.
const URL: &str = "store.url";
/// Setting of the file that holds the URL instead.
const URL_FILE: &str = "store.url_file";

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// The file is no TOML. What stands in it is not shown: it may be a password.
    #[error(
        "{}: line {line}, column {column}{}: {message}",
        path.display(),
        setting.as_ref().map_or(String::new(), |name| format!(", `{name}`"))
    )]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Where in it, from 1 on.
        line: usize,
        /// Where in the line, in characters from 1 on.
        column: usize,
        /// The setting that the line begins with, if there is such a one.
        setting: Option<String>,
        /// What is wrong.
        message: String,
    },
    /// A value that stands in a file of its own cannot be had.
    #[error("{origin}: {name}: cannot read {}: {error}", path.display())]
    NoValue {
        /// Where the file is named.
        origin: Origin,
        /// The setting that names it.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// Nothing has this name.
    #[error("{origin}: `{name}` is no setting{}", nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    Unknown {
        /// Where it stands.
        origin: Origin,
        /// The name given.
        name: String,
        /// The nearest name that there is.
        nearest: Option<String>,
    },
    /// A value does not fit.
    #[error("{origin}: {name}: {message}")]
    Value {
        /// Where it stands.
        origin: Origin,
        /// The setting.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "{name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// Values by dotted name, each with its origin; a later layer wins.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    values: BTreeMap<String, (Given, Origin)>,
}

/// A value as it was given.
#[derive(Clone)]
enum Given {
    /// By a file.
    Toml(Value),
    /// By the environment or the command line.
    Text(String),
}

impl fmt::Debug for Given {
    /// A value may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

impl Given {
    /// What it may mean, the likeliest first: a number, a truth value, text, a list.
    fn readings(&self) -> Vec<Value> {
        match self {
            Self::Toml(value @ Value::String(_)) => vec![value.clone()],
            Self::Toml(value) => vec![value.clone(), Value::String(value.to_string())],
            Self::Text(text) => {
                let number = text.parse().ok().map(Value::Integer);
                let truth = text.parse().ok().map(Value::Boolean);
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                let list = Value::Array(items.map(|item| item.to_owned().into()).collect());
                let text = Value::String(text.clone());
                number.into_iter().chain(truth).chain([text, list]).collect()
            }
        }
    }
}

impl Layers {
    /// Adds a TOML file.
    ///
    /// # Errors
    ///
    /// Unreadable files, unknown names.
    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable(path.to_owned(), error))?;
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| not_toml(path, &text, &error))?;
        let mut flat = vec![];
        flatten("", table, &mut flat);
        for (name, value) in flat {
            self.add(&name, Given::Toml(value), Origin::File(path.to_owned()))?;
        }
        Ok(())
    }

    /// Adds environment variables `HOMEROOM_SECTION__KEY`; other names are passed over.
    ///
    /// # Errors
    ///
    /// Unknown settings.
    pub fn add_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix("HOMEROOM_") else { continue };
            if !name.contains("__") {
                continue;
            }
            let name = name.replace("__", ".").to_lowercase();
            self.add(&name, Given::Text(value), Origin::Environment(variable))?;
        }
        Ok(())
    }

    /// Adds a value of the command line.
    ///
    /// # Errors
    ///
    /// Unknown settings.
    pub fn add_flag(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        self.add(name, Given::Text(value.into()), Origin::Flag)
    }

    /// Adds the URL of the store from the file that `store.url_file` names, if it does.
    ///
    /// # Errors
    ///
    /// There is a URL already, or the file cannot be read.
    pub fn add_url_file(&mut self, config: &Config) -> Result<(), ConfigError> {
        let Some(path) = &config.store.url_file else { return Ok(()) };
        let (name, origin) = (URL_FILE.to_owned(), self.origin(URL_FILE));
        if config.store.url.is_some() {
            let message = format!("store.url is given, too ({}); one is enough", self.origin(URL));
            return Err(ConfigError::Value { origin, name, message });
        }
        match std::fs::read_to_string(path) {
            Ok(text) => {
                self.add(URL, Given::Text(text.trim().to_owned()), Origin::File(path.clone()))
            }
            Err(error) => Err(ConfigError::NoValue { origin, name, path: path.clone(), error }),
        }
    }

    fn add(&mut self, name: &str, value: Given, origin: Origin) -> Result<(), ConfigError> {
        let known = names();
        if !known.iter().any(|(n, _)| n == name) {
            let known = known.iter().map(|(known, _)| known.as_str());
            let nearest = homeroom_access::nearest(name, known).first().map(|n| (*n).to_owned());
            return Err(ConfigError::Unknown { origin, name: masked_text(name), nearest });
        }
        self.values.insert(name.into(), (value, origin));
        Ok(())
    }

    /// The configuration that results.
    ///
    /// # Errors
    ///
    /// The first value that does not fit its setting.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let mut whole = Config::default();
        for (name, (given, origin)) in &self.values {
            let wrong = |message| ConfigError::Value {
                origin: origin.clone(),
                name: name.clone(),
                message,
            };
            whole = with(&whole, name, given).map_err(wrong)?;
        }
        match check::flaw(&whole) {
            None => Ok(whole),
            Some((name, message)) => {
                Err(ConfigError::Value { origin: self.origin(name), name: name.into(), message })
            }
        }
    }

    fn origin(&self, name: &str) -> Origin {
        self.values.get(name).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// Every setting: name, value in force without passwords, origin.
    pub fn explain(&self, config: &Config) -> Vec<(String, String, Origin)> {
        let mut flat = vec![];
        flatten("", Table::try_from(config).unwrap_or_default(), &mut flat);
        flat.into_iter()
            .map(|(name, value)| {
                let origin = self.origin(&name);
                let is_secret = name == URL;
                let shown = || Value::String(config.store.place().to_string());
                let value = if is_secret { shown() } else { value };
                (name, masked_text(&value.to_string()), origin)
            })
            .collect()
    }
}

/// What is wrong with a file that is no TOML, without what stands in it.
fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..at).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let word = text[begin..].split(['=', '\n']).next().unwrap_or_default().trim();
    // Nothing but a known name: any other word may be a part of a value.
    let is_setting =
        names().iter().any(|(name, _)| name == word || name.rsplit('.').next() == Some(word));
    ConfigError::NotToml {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[begin..].chars().count() + 1,
        setting: is_setting.then(|| word.to_owned()),
        message: error.message().to_owned(),
    }
}

/// Every setting that there is; those without a default too.
fn names() -> Vec<(String, Value)> {
    let mut config = Config::default();
    config.standard.model = Some(PathBuf::new());
    config.store.url = StorePlace::read("sqlite:homeroom.db").ok();
    config.store.url_file = Some(PathBuf::new());
    let mut flat = vec![];
    flatten("", Table::try_from(config).unwrap_or_default(), &mut flat);
    flat
}

fn flatten(prefix: &str, table: Table, out: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => flatten(&name, inner, out),
            value => out.push((name, value)),
        }
    }
}

/// The configuration with one more value; the message that helps most where it does not fit.
fn with(config: &Config, name: &str, given: &Given) -> Result<Config, String> {
    let mut table = Table::try_from(config).map_err(|error| error.to_string())?;
    let mut messages = vec![];
    for reading in given.readings() {
        set(&mut table, name, reading);
        match table.clone().try_into() {
            Ok(config) => return Ok(config),
            Err(error) => messages.push(error.message().to_owned()),
        }
    }
    // Of a reading with the right type it says more than that the type is wrong.
    let best = messages.iter().position(|message| !message.starts_with("invalid type"));
    Err(masked_text(&messages.swap_remove(best.unwrap_or(0))))
}

fn set(table: &mut Table, name: &str, value: Value) {
    match name.split_once('.') {
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                set(inner, rest, value);
            }
        }
        None => _ = table.insert(name.into(), value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_layer_wins_and_every_value_knows_its_origin() {
        let mut layers = Layers::default();
        layers.add_environment([("HOMEROOM_STORE__QUEUE".into(), "7".into())].into_iter()).unwrap();
        layers.add_flag("server.listen", "127.0.0.1:1").unwrap();
        layers.add_flag("server.drain", "3s").unwrap();

        let config = layers.resolve().unwrap();

        assert_eq!(config.store.queue, 7);
        assert_eq!(config.server.drain, super::super::HumanDuration::from_secs(3));
        let explained = layers.explain(&config);
        let origin = |name: &str| &explained.iter().find(|(n, ..)| n == name).unwrap().2;
        assert_eq!(*origin("store.queue"), Origin::Environment("HOMEROOM_STORE__QUEUE".into()));
        assert_eq!(*origin("server.listen"), Origin::Flag);
        assert_eq!(*origin("log.level"), Origin::Default);
    }

    #[test]
    fn a_password_of_a_store_is_in_force_and_not_shown() {
        let mut layers = Layers::default();
        layers.add_flag("store.url", "postgres://me:secret@db/ods").unwrap();
        layers.add_flag("store.queue", "9").unwrap();

        let config = layers.resolve().unwrap();

        let place = StorePlace::read("postgres://me:secret@db/ods").unwrap();
        assert_eq!(config.store.url, Some(place));
        let shown = format!("{config:?} {:?}", layers.explain(&config));
        assert!(shown.contains("me:***@db") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn no_error_and_no_value_shows_a_password() {
        for given in [
            "postgres://me:hunter2@db/ods",
            "postgres://db/ods?pass%77ord=hunter2",
            "postgres://db/ods?user=me&PASSWORD=hunter2",
            "POSTGRES://me:hunter2@db/ods",
            "postgres://me:hunter2/ods",
        ] {
            for name in names().iter().map(|(name, _)| name) {
                let mut layers = Layers::default();
                layers.add_flag(name, given).unwrap();

                let shown = match layers.resolve() {
                    Ok(config) => format!("{:?} {:?}", config.store.url, layers.explain(&config)),
                    Err(error) => format!("{error} {error:?}"),
                };

                // A host without a user may be called like that.
                let is_hidden = name == URL || !given.ends_with("hunter2/ods");
                assert!(!is_hidden || !shown.contains("hunter2"), "{name}: {shown}");
                assert!(!format!("{layers:?}").contains("hunter2"));
            }
        }
    }

    #[test]
    fn an_unknown_setting_names_the_nearest() {
        let error = Layers::default().add_flag("store.queu", "1").unwrap_err();

        assert!(error.to_string().contains("did you mean `store.queue`"), "{error}");
    }

    #[test]
    fn a_value_that_does_not_fit_names_its_place() {
        let mut layers = Layers::default();
        layers.add_flag("server.listen", "nowhere").unwrap();

        let error = layers.resolve().unwrap_err().to_string();

        assert!(error.starts_with("command line: server.listen:"), "{error}");
    }
}
