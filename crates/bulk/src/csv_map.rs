//! The mapping of CSV files to documents, as `[[map]]` tables of a TOML file.
//!
//! ```toml
//! [[map]]
//! file = "pupils.csv"
//! resource = "students"
//! columns = { "Pupil No" = "$.studentUniqueId", "Born" = "$.birthDate" }
//! constants = { "$.birthCity" = "Alderhollow" }
//! ```
//!
//! Instead of a path, a column may have a table: `{ path, prefix, values }`. `values` replaces whole
//! values, `prefix` is put in front, for example of a descriptor's code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use homeroom_model::{Model, Property, PropertyKind, ResourceId, Scalar};
use serde::Deserialize;

use crate::error::LoadError;
use crate::levels::resource_named;

/// Most bytes of a mapping file.
const MAP_BYTES_MAX: u64 = 16 << 20;
/// Largest index in a path. Items that a row leaves empty are left out.
const INDEX_MAX: usize = 999;

/// A file of mappings.
#[derive(Debug)]
pub(crate) struct CsvMaps {
    /// Each file, as the mapping names it, with its mapping.
    pub maps: Vec<(PathBuf, CsvMap)>,
    /// The mapping file; the files are beside it or below its folder.
    path: PathBuf,
}

/// How the rows of a file become documents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvMap {
    /// The resource.
    pub resource: ResourceId,
    /// The separator between fields.
    pub delimiter: u8,
    /// What becomes of the column with a header, in the order of the paths.
    pub columns: Vec<(String, Target)>,
    /// Values that every document has.
    pub constants: Vec<(Vec<Step>, String)>,
}

/// What becomes of a column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Where it is put.
    pub path: Vec<Step>,
    /// What is put in front of it.
    pub prefix: String,
    /// Values that are replaced as a whole.
    pub values: BTreeMap<String, String>,
    /// Whether it is a number, which tables write with leading zeros, too.
    pub is_number: bool,
}

/// A step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// To a member.
    Member(String),
    /// To an item.
    Item(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    map: Vec<WrittenMap>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMap {
    file: PathBuf,
    resource: String,
    columns: BTreeMap<String, WrittenTarget>,
    #[serde(default)]
    constants: BTreeMap<String, toml::Value>,
    delimiter: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenTarget {
    Path(String),
    Table {
        path: String,
        #[serde(default)]
        prefix: String,
        #[serde(default)]
        values: BTreeMap<String, String>,
    },
}

impl CsvMaps {
    /// Whether a TOML file looks like one of mappings.
    pub(crate) fn is_at(path: &Path) -> bool {
        let is_small = std::fs::metadata(path).is_ok_and(|about| about.len() <= MAP_BYTES_MAX);
        is_small
            && std::fs::read_to_string(path)
                .ok()
                .and_then(|text| text.parse::<toml::Table>().ok())
                .is_some_and(|table| table.contains_key("map"))
    }

    /// Reads a file of mappings.
    ///
    /// # Errors
    ///
    /// [`LoadError::Path`] with what is wrong with it.
    pub(crate) fn read(model: &Model, path: &Path) -> Result<Self, LoadError> {
        Self::read_as(model, path, path)
    }

    /// Reads mappings whose text is at `content` as if it stood at `path`.
    ///
    /// # Errors
    ///
    /// As [`CsvMaps::read`].
    pub(crate) fn read_as(model: &Model, content: &Path, path: &Path) -> Result<Self, LoadError> {
        let wrong = |problem: String| LoadError::Path { path: path.to_owned(), problem };
        let about = std::fs::metadata(content).map_err(|error| wrong(error.to_string()))?;
        if about.len() > MAP_BYTES_MAX {
            return Err(wrong(format!("a file of mappings has at most {MAP_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(content).map_err(|error| wrong(error.to_string()))?;
        let written: Written = toml::from_str(&text)
            .map_err(|error| wrong(format!("it is no file of [[map]] tables: {error}")))?;
        let mut maps = vec![];
        for map in written.map {
            let file = map.file.clone();
            let map = compile(model, map)
                .map_err(|problem| wrong(format!("[[map]] of {}: {problem}", file.display())))?;
            maps.push((file, map));
        }
        Ok(Self { maps, path: path.to_owned() })
    }

    /// Whether these are the mappings of a file.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Returns the files that the mappings name.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.maps.iter().map(|(file, _)| self.path.with_file_name("").join(file))
    }

    /// Returns the mapping for a file: one that names it, or else one for a file of its name.
    pub(crate) fn of(&self, path: &Path) -> Option<&CsvMap> {
        let whole = path.canonicalize().ok();
        let is_named = |file: &PathBuf| {
            let named = self.path.with_file_name("").join(file);
            named == path || (whole.is_some() && named.canonicalize().ok() == whole)
        };
        let named = self.maps.iter().find(|(file, _)| is_named(file));
        let found = named.or_else(|| {
            let plain = |path: &Path| {
                let name = path.file_name()?.to_str()?;
                Some(name.strip_suffix(".gz").unwrap_or(name).to_owned())
            };
            self.maps.iter().find(|(file, _)| plain(file) == plain(path))
        });
        found.map(|(_, map)| map)
    }
}

fn compile(model: &Model, written: WrittenMap) -> Result<CsvMap, String> {
    let WrittenMap { resource, columns, constants, delimiter, .. } = written;
    let resource = resource_named(model, &resource)
        .ok_or_else(|| format!("there is no resource {resource}"))?;
    let delimiter = match delimiter.as_deref() {
        None => b',',
        Some(text) if text.len() == 1 && !matches!(text, "\"" | "\r" | "\n") => text.as_bytes()[0],
        Some(_) => return Err("the delimiter is one ASCII character".into()),
    };
    let mut compiled = vec![];
    for (header, target) in columns {
        let (path, prefix, values) = match target {
            WrittenTarget::Path(path) => (path, String::new(), BTreeMap::new()),
            WrittenTarget::Table { path, prefix, values } => (path, prefix, values),
        };
        let path = steps(&path)?;
        let is_number = is_number(&model.resource(resource).properties, &path);
        compiled.push((header, Target { path, prefix, values, is_number }));
    }
    // Items of a collection are made in the order of their numbers.
    compiled.sort_by(|(_, a), (_, b)| a.path.cmp(&b.path));
    let mut fixed = vec![];
    for (path, value) in constants {
        let value = match value {
            toml::Value::String(text) => text,
            value @ (toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)) => value.to_string(),
            _ => return Err(format!("the constant {path} is no single value")),
        };
        fixed.push((steps(&path)?, value));
    }
    Ok(CsvMap { resource, delimiter, columns: compiled, constants: fixed })
}

/// Whether a path leads to a number.
fn is_number(properties: &[Property], path: &[Step]) -> bool {
    let [Step::Member(name), rest @ ..] = path else { return false };
    let Some(property) = properties.iter().find(|own| own.name.eq_ignore_ascii_case(name)) else {
        return false;
    };
    let is_numeric =
        |scalar: &Scalar| matches!(scalar, Scalar::Integer { .. } | Scalar::Decimal { .. });
    match (&property.kind, rest) {
        (PropertyKind::Scalar(scalar), []) => is_numeric(scalar),
        (PropertyKind::Object(inner), rest)
        | (PropertyKind::List(inner), [Step::Item(_), rest @ ..]) => is_number(inner, rest),
        (PropertyKind::Reference(reference), [Step::Member(name)]) => {
            let mut parts = reference.parts.iter();
            let part = parts.find(|part| part.name.eq_ignore_ascii_case(name));
            part.is_some_and(|part| is_numeric(&part.scalar))
        }
        _ => false,
    }
}

/// Reads a path such as `$.addresses[0].city`.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let wrong = || format!("{path} is no path such as $.name or $.addresses[0].city");
    let plain = path.strip_prefix('$').unwrap_or(path);
    let plain = plain.strip_prefix('.').unwrap_or(plain);
    let mut found = vec![];
    for part in plain.split('.') {
        let (name, items) = part.find('[').map_or((part, ""), |at| part.split_at(at));
        if name.is_empty() {
            return Err(wrong());
        }
        found.push(Step::Member(name.to_owned()));
        for item in items.split_inclusive(']') {
            let index = item.strip_prefix('[').and_then(|item| item.strip_suffix(']'));
            let index: usize = index.and_then(|index| index.parse().ok()).ok_or_else(wrong)?;
            if index > INDEX_MAX {
                return Err(format!("{path} has an item after the {INDEX_MAX}th"));
            }
            found.push(Step::Item(index));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_members_and_items() {
        let member = |name: &str| Step::Member(name.into());

        assert_eq!(
            steps("$.addresses[0].city").unwrap(),
            [member("addresses"), Step::Item(0), member("city")]
        );
        assert_eq!(steps("birthDate").unwrap(), [member("birthDate")]);
        for wrong in ["", "$", "$.a..b", "$.a[x]", "$.a[0", "$.[0]", "$.a[1000]"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mapping_is_found_by_the_files_path_or_name_and_a_fault_in_it_is_told() {
        let model = crate::tests::model();
        let folder = crate::tests::Folder::new();
        let good = "[[map]]\nfile = \"a.csv\"\nresource = \"students\"\ndelimiter = \";\"\n\
                    columns = { No = \"$.studentUniqueId\" }\n";
        let path = folder.write("map.toml", good);
        let csv = folder.write("a.csv", "No\n1\n");

        let maps = CsvMaps::read(&model, &path).unwrap();

        assert!(CsvMaps::is_at(&path) && !CsvMaps::is_at(&csv));
        assert_eq!(maps.of(&csv).unwrap().delimiter, b';');
        assert!(maps.of(Path::new("elsewhere/a.csv.gz")).is_some());
        assert!(maps.of(Path::new("b.csv")).is_none());
        for (from, to, told) in [
            ("students", "pupils", "no resource pupils"),
            ("$.studentUniqueId", "$..x", "$..x is no path"),
            ("\";\"", "\"--\"", "delimiter"),
            ("columns", "colums", "colums"),
        ] {
            folder.write("map.toml", good.replace(from, to));
            let error = CsvMaps::read(&model, &path).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
