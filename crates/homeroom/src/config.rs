//! Configuration: defaults, then `homeroom.toml`, then `HOMEROOM_SECTION__KEY`, then flags.
//!
//! Only this module reads these sources, once, into types; the origin of each value is known.
//! Some sizes follow from the machine's memory where they are not set.
//! `PGPASSWORD` is the password of a database whose URL has none, and `AWS_…` says what the settings of a
//! bucket do not.

mod bucket;
mod budgets;
mod check;
mod duration;
mod error;
mod layers;
mod memory;
mod place;
mod secret;
mod sections;
mod socket;
mod wording;

use std::path::{Path, PathBuf};

pub use budgets::BudgetsConfig;
pub use duration::HumanDuration;
pub use error::{ConfigError, Origin};
pub use layers::Layers;
use memory::Machine;
pub use place::StorePlace;
pub use sections::{
    Config, DEFAULT_VERSION, LogConfig, LogFormat, Part, RequestLog, ServerConfig, StandardConfig,
};

/// The environment variable with the password of a database whose URL has none, as in libpq.
const PASSWORD: &str = "PGPASSWORD";

/// The part of the configuration that the command line sets; it overrides all other sources.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConfigArgs {
    /// Configuration file [default: homeroom.toml, where it exists]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the store [default: homeroom-data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// The store: `postgres://USER:PASSWORD@HOST/DATABASE` or `sqlite:PATH` [default: a file in the
    /// folder]. Every process list shows this option, so put a password into the environment
    /// variable `HOMEROOM_STORE__URL`, or into a file that `HOMEROOM_STORE__URL_FILE` names
    #[arg(long, value_name = "URL", global = true)]
    pub store: Option<String>,
    /// Version of the data standard [default: 5.2.0]
    #[arg(long, value_name = "VERSION", global = true)]
    pub standard_version: Option<String>,
    /// Extensions of it, separated by commas: shipped ones by name, others by the path of their
    /// file
    #[arg(long, value_name = "NAMES", global = true)]
    pub extensions: Option<String>,
    /// Files with definitions of composites, separated by commas
    #[arg(long, value_name = "FILES", global = true)]
    pub composites: Option<String>,
}

impl ConfigArgs {
    /// Reads the configuration; `flags` are further values from the command line, by dotted name.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the place of the wrong value and what would be right.
    pub fn read(&self, flags: &[(&str, Option<String>)]) -> Result<(Config, Layers), ConfigError> {
        let mut layers = Layers::default();
        let usual = Path::new("homeroom.toml");
        match &self.config {
            Some(path) => layers.add_file(path)?,
            None if usual.is_file() => layers.add_file(usual)?,
            None => {}
        }
        layers.add_environment(std::env::vars())?;
        let folder = self.data_dir.as_ref().map(|path| path.display().to_string());
        let own = [
            ("store.data_dir", folder),
            ("store.url", self.store.clone()),
            ("standard.version", self.standard_version.clone()),
            ("standard.extensions", self.extensions.clone()),
            ("standard.composites", self.composites.clone()),
        ];
        for (name, value) in flags.iter().cloned().chain(own) {
            if let Some(value) = value {
                layers.add_flag(name, &value)?;
            }
        }
        let config = layers.resolve()?;
        layers.add_url_file(&config)?;
        let mut config = layers.resolve()?;
        if let (Some(place), Ok(password)) = (&mut config.store.url, std::env::var(PASSWORD)) {
            place.add_password(&password);
        }
        layers.add_bucket(&mut config, &|name| std::env::var(name).ok())?;
        Machine::ask().size(&mut config.store);
        Ok((config, layers))
    }
}
