//! The data standard that a server serves: its model, and the content of a new store.

use std::path::Path;
use std::sync::Arc;

use homeroom_data::composites::{self, Composites};
use homeroom_model::{
    EXTENSIONS_SHIPPED, Model, Source, VERSIONS, format, link, shipped, shipped_extension,
    shipped_seed,
};
use homeroom_store::StandardName;

use crate::config::StandardConfig;
use crate::exit::Failure;

/// The most bytes of a model file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A linked model and its seed.
#[derive(Debug, Clone)]
pub struct Standard {
    /// The model.
    pub model: Arc<Model>,
    /// JSON lines for a new store; empty if the version has none.
    pub seed: &'static str,
    /// Whether a store of another standard may be converted to this one.
    pub change_store: bool,
}

impl Standard {
    /// Reads the configured model files: a standard and its extensions.
    ///
    /// # Errors
    ///
    /// Names the version, file, line or resource at fault.
    pub fn read(config: &StandardConfig) -> Result<Self, Failure> {
        let sources = sources(config)?;
        let model = link(&sources)
            .map_err(|error| Failure::Usage(format!("the model does not link: {error}")))?;
        let seed = shipped_seed(&model.projects[0].version).unwrap_or_default();
        Ok(Self { model: Arc::new(model), seed, change_store: config.change_store })
    }

    /// Returns the name under which a store records this standard.
    pub fn name(&self) -> StandardName {
        let core = &self.model.projects[0];
        StandardName { schema: core.schema.clone(), version: core.version.clone() }
    }
}

/// The composites of a model: the shipped ones and those of the configured files.
///
/// # Errors
///
/// Which file cannot be read, or which line of it does not fit.
pub fn composites(config: &StandardConfig, model: &Model) -> Result<Composites, Failure> {
    let mut files = vec![];
    for path in &config.composites {
        let name = path.display().to_string();
        let wrong = |error: std::io::Error| Failure::of_path("standard.composites", path, &error);
        let size = std::fs::metadata(path).map_err(wrong)?.len();
        if size > composites::FILE_BYTES_MAX as u64 {
            return Err(Failure::Usage(format!(
                "standard.composites: {name}: a file of composites may have at most {} KiB, but \
                 this one has {size} bytes",
                composites::FILE_BYTES_MAX >> 10
            )));
        }
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        files.push((name, text));
    }
    let all = Composites::compile(model, &files)
        .map_err(|error| Failure::Usage(format!("standard.composites: {error}")))?;
    for category in &all.categories {
        for left_out in &category.left_out {
            let name = format!("{}/{}", category.organization, category.name);
            tracing::warn!(composites = %name, %left_out, "a composite leaves out a member that the model does not have");
        }
    }
    Ok(all)
}

/// What the configured model files say: the standard first, then its extensions.
///
/// # Errors
///
/// Names the version, file or line at fault.
pub fn sources(config: &StandardConfig) -> Result<Vec<Source>, Failure> {
    let core = match &config.model {
        Some(path) => from_file(path)?,
        None => {
            let version = &config.version;
            let text = shipped(version).ok_or_else(|| {
                Failure::Usage(format!(
                    "standard.version: no model of Data Standard {version} is shipped; shipped \
                     versions: {}",
                    VERSIONS.join(", ")
                ))
            })?;
            from_text(&format!("the shipped model of {version}"), text)?
        }
    };
    let mut sources = vec![core];
    for extension in &config.extensions {
        let source = extension_named(extension, &sources[0].version)?;
        sources.push(source);
    }
    Ok(sources)
}

/// Returns a shipped extension by its name, or a model file by its path.
fn extension_named(name: &str, version: &str) -> Result<Source, Failure> {
    let is_path = name.contains(['/', std::path::MAIN_SEPARATOR, '.']);
    if is_path {
        return from_file(Path::new(name));
    }
    match shipped_extension(name, version) {
        Some(text) => from_text(&format!("the shipped extension {name}"), text),
        None => {
            let there: Vec<&str> = EXTENSIONS_SHIPPED
                .iter()
                .filter(|(_, of, _)| *of == version)
                .map(|(name, ..)| *name)
                .collect();
            let there = match there.as_slice() {
                [] => "none is".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            Err(Failure::Usage(format!(
                "standard.extensions: no extension `{name}` of Data Standard {version} is shipped, \
                 {there}; name a model file of your own by its path, ./{name}.model"
            )))
        }
    }
}

fn from_file(path: &Path) -> Result<Source, Failure> {
    let name = path.display().to_string();
    let wrong = |error: std::io::Error| Failure::of_path("reading a model file", path, &error);
    let size = std::fs::metadata(path).map_err(wrong)?.len();
    if size > FILE_BYTES_MAX {
        return Err(Failure::Usage(format!(
            "{name}: a model file may have at most {} MiB, but this one has {} bytes",
            FILE_BYTES_MAX >> 20,
            size
        )));
    }
    from_text(&name, &std::fs::read_to_string(path).map_err(wrong)?)
}

fn from_text(name: &str, text: &str) -> Result<Source, Failure> {
    format::read(text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

/// Rejects names of resources that a model does not have.
///
/// # Errors
///
/// [`Failure::Usage`] with the first unknown name.
pub fn refuse_unknown(model: &Model, names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| model.named(name).is_none()) {
        Some(unknown) => Err(Failure::Usage(format!("there is no resource {unknown}"))),
        None => Ok(()),
    }
}
