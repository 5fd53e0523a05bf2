//! Layers of configuration, and where each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use homeroom_store::masked_text;
use toml::{Table, Value};

use super::bucket::bucket;
use super::error::{ConfigError, Origin};
use super::sections::{Config, TlsConfig};
use super::wording::{listed, plainly};
use super::{StorePlace, check};

/// The setting of the store's URL, which may contain a password.
const URL: &str = "store.url";
/// The setting of the file that holds the URL instead.
const URL_FILE: &str = "store.url_file";
/// The setting with the secret of a bucket's key.
const BUCKET_SECRET: &str = "blobs.secret_access_key";
/// The beginning of the names of environment variables that are settings.
const PREFIX: &str = "HOMEROOM_";
/// Environment variables of that beginning that are no settings: those of the lab, of uploads, of builds, tests
/// and benchmarks.
const NO_SETTINGS: [&str; 8] =
    ["LAB_SECRET", "UPLOAD_SECRET", "COMMIT", "LONG", "REFERENCE", "SEED", "STORE_STRICT", "TIMES"];
/// The beginnings of further such names.
const NO_SETTINGS_BEGIN: [&str; 4] = ["API_", "BENCH_", "FUZZ_", "TEST_"];

/// Values by dotted name, each with its origin; a later layer wins.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    values: BTreeMap<String, (Given, Origin)>,
}

/// A value in the form in which it was given.
#[derive(Clone)]
enum Given {
    /// A value from a file.
    Toml(Value),
    /// A text from the environment or the command line.
    Text(String),
}

impl fmt::Debug for Given {
    /// Hides the value, which may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

impl Given {
    /// Returns the possible readings, the likeliest first: a number, a boolean, a text, a list.
    fn readings(&self) -> Vec<Value> {
        match self {
            Self::Toml(value @ Value::String(_)) => vec![value.clone()],
            Self::Toml(value) => vec![value.clone(), Value::String(value.to_string())],
            Self::Text(text) => {
                let number = text.parse().ok().map(Value::Integer);
                let fraction = text.parse().ok().map(Value::Float);
                let truth = text.parse().ok().map(Value::Boolean);
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                let list = Value::Array(items.map(|item| item.to_owned().into()).collect());
                let text = Value::String(text.clone());
                number.into_iter().chain(fraction).chain(truth).chain([text, list]).collect()
            }
        }
    }
}

impl Layers {
    /// Adds the settings of a TOML file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has an unknown setting.
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

    /// Adds environment variables `HOMEROOM_SECTION__KEY`. Variables of other programs, and those
    /// that tests and benchmarks have, are ignored.
    ///
    /// # Errors
    ///
    /// If a setting is unknown. A variable with another spelling, `HOMEROOM_STORE_URL`, is refused,
    /// too: it would have no effect.
    pub fn add_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix(PREFIX) else { continue };
            if !name.contains("__") {
                let is_other = NO_SETTINGS.contains(&name)
                    || NO_SETTINGS_BEGIN.iter().any(|begin| name.starts_with(begin));
                if is_other {
                    continue;
                }
                let nearest = nearest_variable(name);
                return Err(ConfigError::UnknownVariable {
                    variable: masked_text(&variable),
                    nearest,
                });
            }
            let name = name.replace("__", ".").to_lowercase();
            self.add(&name, Given::Text(value), Origin::Environment(variable))?;
        }
        Ok(())
    }

    /// Adds a value from the command line.
    ///
    /// # Errors
    ///
    /// If the setting is unknown.
    pub fn add_flag(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        self.add(name, Given::Text(value.into()), Origin::Flag)
    }

    /// Adds the store's URL from the file that `store.url_file` names, if it is set.
    ///
    /// # Errors
    ///
    /// If there is a URL already, or the file cannot be read.
    pub fn add_url_file(&mut self, config: &Config) -> Result<(), ConfigError> {
        let Some(path) = &config.store.url_file else { return Ok(()) };
        let (name, origin) = (URL_FILE.to_owned(), self.origin(URL_FILE));
        if config.store.url.is_some() {
            let message =
                format!("store.url is also set ({}); set only one of them", self.origin(URL));
            return Err(ConfigError::Value { origin, name, message });
        }
        match std::fs::read_to_string(path) {
            Ok(text) => {
                self.add(URL, Given::Text(text.trim().to_owned()), Origin::File(path.clone()))
            }
            Err(error) => Err(ConfigError::NoValue { origin, name, path: path.clone(), error }),
        }
    }

    /// Puts together what settings and environment say of the bucket of the blobs.
    ///
    /// # Errors
    ///
    /// Names the setting that is missing or wrong.
    pub fn add_bucket(
        &self,
        config: &mut Config,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        let found = bucket(&config.blobs, variable);
        config.blobs.bucket = found.map_err(|(name, message)| ConfigError::Value {
            origin: self.origin(name),
            name: name.to_owned(),
            message,
        })?;
        Ok(())
    }

    fn add(&mut self, name: &str, value: Given, origin: Origin) -> Result<(), ConfigError> {
        let known = names();
        if !known.iter().any(|(n, _)| n == name) {
            let known = known.iter().map(|(known, _)| known.as_str());
            let nearest = homeroom_http::nearest(name, known).first().map(|n| (*n).to_owned());
            return Err(ConfigError::Unknown { origin, name: masked_text(name), nearest });
        }
        self.values.insert(name.into(), (value, origin));
        Ok(())
    }

    /// Returns the resulting configuration.
    ///
    /// # Errors
    ///
    /// Names the first value that does not fit its setting.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let mut whole = Config::default();
        for (name, (given, origin)) in &self.values {
            let wrong = |message| ConfigError::Value {
                origin: origin.clone(),
                name: name.clone(),
                message: with_example(name, message),
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

    /// Returns every setting: its name, the value in force without passwords, or [`None`] where there
    /// is none, and its origin.
    pub fn explain(&self, config: &Config) -> Vec<(String, Option<String>, Origin)> {
        let mut flat = vec![];
        flatten("", Table::try_from(config).unwrap_or_default(), &mut flat);
        let unset = names().into_iter().map(|(name, _)| name);
        let unset = unset.filter(|name| flat.iter().all(|(own, _)| own != name));
        let unset: Vec<(String, Option<Value>)> = unset.map(|name| (name, None)).collect();
        let mut all: Vec<(String, Option<Value>)> =
            flat.into_iter().map(|(name, value)| (name, Some(value))).collect();
        all.extend(unset);
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.into_iter()
            .map(|(name, value)| {
                let origin = self.origin(&name);
                let value =
                    value.map(|value| match (name.as_str(), &config.blobs.secret_access_key) {
                        (URL, _) => Value::String(config.store.place().to_string()),
                        (BUCKET_SECRET, Some(secret)) => Value::String(secret.shown().to_owned()),
                        _ => value,
                    });
                (name, value.map(|value| masked_text(&value.to_string())), origin)
            })
            .collect()
    }
}

/// Describes what is wrong with an invalid TOML file, without showing its content.
fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..at).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let word = text[begin..].split(['=', '\n']).next().unwrap_or_default().trim();
    // Only a known name is shown: any other word may be part of a value.
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

/// Returns every setting, including those without a default.
fn names() -> Vec<(String, Value)> {
    let mut config = Config::default();
    config.standard.model = Some(PathBuf::new());
    config.store.url = StorePlace::read("sqlite:homeroom.db").ok();
    config.store.url_file = Some(PathBuf::new());
    config.store.cache_kib = Some(16_384);
    config.store.recent_documents = Some(262_144);
    config.log.requests_file = Some(PathBuf::new());
    config.log.audit_file = Some(PathBuf::new());
    config.server.client_rate = Some(50.0);
    config.server.client_tokens_max = Some(15);
    config.server.content_listen = Some(SocketAddr::from(([127, 0, 0, 1], 8081)));
    config.server.public_url = Some("https://learn.example.org".into());
    config.server.content_url = Some("https://content.example.org".into());
    config.server.client_authorities = Some(PathBuf::new());
    config.server.tls =
        vec![TlsConfig { certificate: PathBuf::new(), key: PathBuf::new(), names: vec![] }];
    config.blobs.dir = Some(PathBuf::new());
    config.blobs.url = Some("s3://homeroom-blobs/district".into());
    config.blobs.endpoint = Some("https://minio.example.org:9000".into());
    config.blobs.region = Some("eu-west-1".into());
    config.blobs.access_key_id = Some("AKIDEXAMPLE".into());
    config.blobs.secret_access_key = Some("file:/etc/homeroom/bucket-secret".into());
    config.jobs.attempts_max = Some(5);
    config.budgets.transforms = Some(2);
    config.budgets.entrance = Some(2);
    let mut flat = vec![];
    flatten("", Table::try_from(config).unwrap_or_default(), &mut flat);
    flat
}

/// Returns the variable of the setting whose name is nearest to that of a variable.
fn nearest_variable(name: &str) -> Option<String> {
    let known = names();
    let plain = |name: &str| name.replace(['.', '_'], "").to_lowercase();
    let wanted = plain(name);
    let is_same = known.iter().find(|(known, _)| plain(known) == wanted);
    let found = is_same.map(|(known, _)| known.as_str()).or_else(|| {
        let known = known.iter().map(|(known, _)| known.as_str());
        homeroom_http::nearest(&name.to_lowercase().replacen('_', ".", 1), known).first().copied()
    });
    found.map(|name| format!("{PREFIX}{}", name.to_uppercase().replace('.', "__")))
}

/// Adds what a right value of a setting looks like to a message about a wrong one.
fn with_example(name: &str, message: String) -> String {
    let example = match name {
        "server.listen" | "server.admin_listen" | "server.content_listen" => {
            "127.0.0.1:8080, or 0.0.0.0:8080 for all addresses of this machine".to_owned()
        }
        "server.parts" => listed(&["data", "admin"]),
        "server.cors_origins" => listed(&["https://app.example.org"]),
        "standard.extensions" => listed(&["tpdm"]),
        _ => match names().into_iter().find(|(known, _)| known == name) {
            // The message about a URL says what one looks like.
            _ if name == URL => return message,
            Some((_, Value::String(text))) if !text.is_empty() => text,
            Some((_, value @ (Value::Integer(_) | Value::Boolean(_) | Value::Float(_)))) => {
                value.to_string()
            }
            _ => return message,
        },
    };
    format!("{}; a right value is {example}", plainly(message.trim_end()))
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

/// Returns the configuration with one more value or, if it does not fit, the most helpful message.
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
    // A message about a reading of the right type says more than one about a wrong type.
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
        let value = |name: &str| {
            let found = explained.iter().find(|(own, ..)| own == name);
            found.unwrap_or_else(|| panic!("no {name}")).1.as_deref()
        };
        for (name, _) in names() {
            value(&name);
        }
        assert_eq!((value("store.queue"), value("blobs.dir")), (Some("7"), None));
    }

    #[test]
    fn a_store_password_is_used_but_never_shown() {
        let mut layers = Layers::default();
        layers.add_flag("store.url", "postgres://me:hunter2@db/ods").unwrap();
        layers.add_flag("store.queue", "9").unwrap();

        let config = layers.resolve().unwrap();

        let place = StorePlace::read("postgres://me:hunter2@db/ods").unwrap();
        assert_eq!(config.store.url, Some(place));
        let shown = format!("{config:?} {:?}", layers.explain(&config));
        assert!(shown.contains("me:***@db") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_secret_of_a_bucket_is_not_shown() {
        let mut layers = Layers::default();
        layers.add_flag("blobs.url", "s3://blobs").unwrap();
        layers.add_flag("blobs.endpoint", "http://minio:9000").unwrap();
        layers.add_flag("blobs.access_key_id", "id").unwrap();
        layers.add_flag(BUCKET_SECRET, "hunter2").unwrap();
        let mut config = layers.resolve().unwrap();

        layers.add_bucket(&mut config, &|_| None).unwrap();

        let shown = format!("{config:?} {:?}", layers.explain(&config));
        assert!(shown.contains("***") && !shown.contains("hunter2"), "{shown}");
        let bucket = config.blobs.bucket.expect("a bucket is set");
        assert_eq!(bucket.key, Some(("id".into(), "hunter2".into())));
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

                // This may also be the name of a host in a URL without a user.
                let is_hidden = name == URL || !given.ends_with("hunter2/ods");
                assert!(!is_hidden || !shown.contains("hunter2"), "{name}: {shown}");
                assert!(!format!("{layers:?}").contains("hunter2"));
            }
        }
    }

    #[test]
    fn the_page_of_settings_has_each_and_no_other() {
        let page = include_str!("../../../../docs/reference/settings.md");
        let of_row = |line: &'static str| line.strip_prefix("| `")?.split_once('`').map(|(n, _)| n);
        let mut on_page: Vec<&str> = page.lines().filter_map(of_row).collect();
        let known = names();
        let mut known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        on_page.sort_unstable();
        known.sort_unstable();

        assert_eq!(known, on_page);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_in_plain_words_with_a_right_one() {
        for (name, given, said) in [
            (
                "store.queue",
                "abc",
                "must be a whole number from 0 to 4294967295, not \"abc\"; a right value is 1024",
            ),
            (
                "store.queue",
                "-1",
                "must be a whole number from 0 to 4294967295, not `-1`; a right value is 1024",
            ),
            ("log.audit", "maybe", "must be true or false, not \"maybe\"; a right value is true"),
            ("server.client_rate", "fast", "must be a number, not \"fast\"; a right value is 50.0"),
            (
                "jobs.attempts_max",
                "many",
                "must be a whole number from 0 to 4294967295, not \"many\"; a right value is 5",
            ),
            (
                "server.parts",
                "data,foo",
                "`gateway`, `learning`; a right value is [\"data\", \"admin\"] in",
            ),
        ] {
            let mut layers = Layers::default();
            layers.add_flag(name, given).unwrap();
            let told = layers.resolve().unwrap_err().to_string();
            assert!(told.contains(said) && told.contains(name), "{told}");
        }
        let mut layers = Layers::default();
        let given = Given::Toml(Value::Integer(7));
        layers.add("server.cors_origins", given, Origin::File("homeroom.toml".into())).unwrap();
        let told = layers.resolve().unwrap_err().to_string();
        assert!(
            told.contains("must be a list, not `7`; a right value is [\"https://app.exa"),
            "{told}"
        );
    }

    #[test]
    fn an_error_about_an_unknown_setting_suggests_the_nearest() {
        let error = Layers::default().add_flag("store.queu", "1").unwrap_err();

        assert!(error.to_string().contains("did you mean `store.queue`"), "{error}");
    }

    #[test]
    fn a_variable_that_is_nearly_a_setting_is_refused_and_those_of_tests_are_not() {
        let add = |name: &str| {
            Layers::default().add_environment([(name.to_owned(), "1".to_owned())].into_iter())
        };
        for (variable, meant) in [
            ("HOMEROOM_STORE_URL", "HOMEROOM_STORE__URL?"),
            ("HOMEROOM_STORE_QUEU", "HOMEROOM_STORE__QUEUE?"),
            ("HOMEROOM_LOG_LEVEL", "HOMEROOM_LOG__LEVEL?"),
            ("HOMEROOM_", "two underscores"),
        ] {
            let error = add(variable).unwrap_err().to_string();
            assert!(error.starts_with(variable) && error.contains(meant), "{error}");
        }
        for other in
            NO_SETTINGS.into_iter().chain(["TEST_POSTGRES", "BENCH_OTHER_STORE", "API_KEY"])
        {
            assert!(add(&format!("{PREFIX}{other}")).is_ok(), "{other}");
        }
    }

    #[test]
    fn a_wrong_value_says_what_a_right_one_looks_like() {
        for (name, example) in [
            ("server.listen", "0.0.0.0:8080"),
            ("server.drain", "25s"),
            ("store.queue", "1024"),
            ("server.trust_forwarded", "false"),
            ("log.format", "auto"),
        ] {
            let mut layers = Layers::default();
            layers.add_flag(name, ":8080").unwrap();

            let error = layers.resolve().unwrap_err().to_string();

            assert!(error.contains(example), "{error}");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_names_its_place() {
        let mut layers = Layers::default();
        layers.add_flag("server.listen", "nowhere").unwrap();

        let error = layers.resolve().unwrap_err().to_string();

        assert!(error.starts_with("command line: server.listen:"), "{error}");
    }
}
