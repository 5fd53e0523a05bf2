//! Finds the files of a load.

mod search;
mod view;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeroom_export::MANIFEST;
use homeroom_model::Model;

use self::view::View;
use crate::csv_file::CsvLayout;
use crate::csv_map::CsvMaps;
use crate::encoding::as_utf8;
use crate::error::LoadError;
use crate::exported::ExportedTables;
use crate::json_layout::Layout;
use crate::manifest::{self, List, Listed};
use crate::packed::{Packing, UNPACKED_BYTES_MAX, Unpacked, plainly, unpack};
use crate::place::Malformed;
use crate::refused_paths::refuse_open_store;
use crate::source::{Extension, Format, SourceFile, format_of, irregular};
use crate::spool::Spool;

pub(crate) use self::search::{has_documents, is_toml, search};

/// Most bytes that are read from the standard input.
pub const STDIN_BYTES_MAX: u64 = 64 << 30;
/// The path that means the standard input.
const STDIN: &str = "-";

/// Finds the files below all paths, in the order of the paths, and by name within a folder. `map`
/// is a file of mappings for CSV; mappings among the paths count as well.
///
/// # Errors
///
/// [`LoadError::Path`], [`LoadError::Nothing`].
pub(crate) fn find(
    model: &Model,
    paths: &[PathBuf],
    map: Option<&Path>,
) -> Result<Vec<SourceFile>, LoadError> {
    let mut maps = vec![];
    for path in map.into_iter().chain(paths.iter().map(PathBuf::as_path)) {
        if is_toml(path) || map == Some(path) {
            maps.push(CsvMaps::read(model, path).map_err(|error| error.about(path))?);
        }
    }
    let mut finding = Finding { model, maps, tables: OnceCell::new(), found: vec![] };
    for path in paths {
        finding.path(path).map_err(|error| error.about(path))?;
    }
    let mut found = finding.found;
    let mut seen = HashSet::new();
    found
        .retain(|file| seen.insert(file.path.canonicalize().unwrap_or_else(|_| file.path.clone())));
    if found.is_empty() { Err(LoadError::Nothing) } else { Ok(found) }
}

/// The files found so far.
struct Finding<'m> {
    model: &'m Model,
    maps: Vec<CsvMaps>,
    tables: OnceCell<ExportedTables>,
    found: Vec<SourceFile>,
}

impl Finding<'_> {
    fn path(&mut self, path: &Path) -> Result<(), LoadError> {
        if path.as_os_str() == STDIN {
            return self.standard_input();
        }
        let wrong = |problem: String| LoadError::Path { path: path.to_owned(), problem };
        let about = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        if about.is_dir() {
            return self.folder(path);
        }
        if is_toml(path) {
            let named = self.maps.iter().find(|maps| maps.is_of(path));
            let files: Vec<PathBuf> = named.into_iter().flat_map(CsvMaps::files).collect();
            for file in files {
                let relative = file.file_name().map_or_else(PathBuf::new, PathBuf::from);
                self.listed(Listed { path: file, bytes: None }, relative)?;
            }
            return Ok(());
        }
        if let Some(List { files, damage }) = manifest::listed(path)? {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            for file in files {
                let relative = file.path.strip_prefix(&folder).unwrap_or(&file.path).to_owned();
                self.listed(file, relative)?;
            }
            if let Some(damage) = damage {
                let relative = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
                self.unreadable(path, relative, damage);
            }
            return Ok(());
        }
        self.maps_beside(path)?;
        self.file(path, path.file_name().map_or_else(PathBuf::new, PathBuf::from))
    }

    /// Reads the mapping of a CSV file from a file beside it, unless it has one: that of its own name, or
    /// one that names it.
    fn maps_beside(&mut self, path: &Path) -> Result<(), LoadError> {
        let is_packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
        let plain = if is_packed { path.with_extension("") } else { path.to_owned() };
        if Extension::of(&plain) != Some(Extension::Csv)
            || self.maps.iter().any(|maps| maps.of(path).is_some())
        {
            return Ok(());
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut beside: Vec<PathBuf> =
            beside.map(|entry| entry.path()).filter(|path| is_toml(path)).collect();
        beside.sort_by_key(|map| (map.file_stem() != plain.file_stem(), map.clone()));
        for map in beside.iter().filter(|map| CsvMaps::is_at(map)) {
            let maps = CsvMaps::read(self.model, map)?;
            if maps.of(path).is_some() {
                self.maps.push(maps);
                break;
            }
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path) -> Result<(), LoadError> {
        let mut files = vec![];
        search(path, &mut files)?;
        if files.is_empty() {
            // The manifest of an export in a format that cannot be loaded says so.
            manifest::listed(&path.join(MANIFEST))?;
        }
        for map in files.iter().filter(|file| is_toml(file) && CsvMaps::is_at(file)) {
            self.maps.push(CsvMaps::read(self.model, map)?);
        }
        for file in files {
            let is_list = is_toml(&file) || manifest::listed(&file)?.is_some();
            if !is_list {
                let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
                self.file(&file, relative)?;
            }
        }
        Ok(())
    }

    /// Takes a file that a list names. One that is not there is rejected; the others are loaded.
    fn listed(&mut self, listed: Listed, relative: PathBuf) -> Result<(), LoadError> {
        let Listed { path, bytes } = listed;
        let Ok(about) = std::fs::metadata(&path) else {
            let problem = "a list of files names it, and it is not there".to_owned();
            self.unreadable(&path, relative, problem);
            return Ok(());
        };
        if bytes.is_some_and(|bytes| bytes != about.len()) {
            let problem = format!(
                "it has {} bytes, and its export's manifest says {}; it is incomplete or was \
                 changed. Load the file itself if that is meant",
                about.len(),
                bytes.unwrap_or_default()
            );
            self.unreadable(&path, relative, problem);
            return Ok(());
        }
        self.file(&path, relative)
    }

    fn file(&mut self, path: &Path, relative: PathBuf) -> Result<(), LoadError> {
        refuse_open_store(path)?;
        if let Some(format) = irregular(path) {
            self.add(path, relative, format, None);
            return Ok(());
        }
        let is_mapped = self.maps.iter().any(|maps| maps.of(path).is_some());
        if !is_mapped && self.exported(path, &relative) {
            return Ok(());
        }
        let is_known = Extension::of(path).is_some();
        match Packing::of(path, is_known) {
            Some(packing) => self.packed(path, path, &relative, packing),
            None => match self.recoded(path, path) {
                Ok((format, spool)) => {
                    self.add(path, relative, format, spool.map(|spool| (spool, None)));
                }
                Err(problem) => self.unreadable(path, relative, problem),
            },
        }
        Ok(())
    }

    /// Takes a table of an export. Returns whether it is one.
    fn exported(&mut self, path: &Path, relative: &Path) -> bool {
        let is_packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
        let plain = if is_packed { path.with_extension("") } else { path.to_owned() };
        if Extension::of(&plain) != Some(Extension::Csv) {
            return false;
        }
        let tables = self.tables.get_or_init(|| ExportedTables::new(self.model));
        let Some((resource, is_own)) = tables.of(path) else { return false };
        if !is_own {
            let name = &self.model.resource(resource).name;
            let own = |ending: &str| path.with_file_name(format!("{name}{ending}")).is_file();
            // It is read together with the documents' own table.
            if !own(".csv") && !own(".csv.gz") {
                let problem = format!(
                    "it is a part of documents whose own table, {name}.csv, is not beside it"
                );
                self.unreadable(path, relative.to_owned(), problem);
            }
            return true;
        }
        let folder = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        let is_escaped = manifest::is_escaped(folder);
        match tables.documents(self.model, resource, path, is_escaped) {
            Ok(spool) => {
                let mut plain = relative.with_extension("jsonl");
                if let Some(stem) = plain.file_stem().and_then(|stem| stem.to_str())
                    && let Some(stem) = stem.strip_suffix(".csv")
                {
                    plain = plain.with_file_name(format!("{stem}.jsonl"));
                }
                let format = Format::Json(Layout::Lines, Some(resource));
                self.add(path, plain, format, Some((spool, None)));
            }
            Err(problem) => self.unreadable(path, relative.to_owned(), problem),
        }
        true
    }

    /// Takes the files in a packed one. `content` is where its bytes are.
    fn packed(&mut self, path: &Path, content: &Path, relative: &Path, packing: Packing) {
        // Tables need their manifest and their mappings.
        let is_wanted =
            |inner: &Path| has_documents(inner) || is_toml(inner) || inner.ends_with(MANIFEST);
        let mut left = UNPACKED_BYTES_MAX;
        let mut unpacked = match unpack(path, content, packing, &is_wanted, &mut left) {
            Ok(unpacked) => unpacked,
            Err(problem) => return self.unreadable(path, relative.to_owned(), problem),
        };
        let before = self.found.len();
        if packing == Packing::Zip {
            unpacked = self.maps_within(path, unpacked);
            unpacked = unpacked.into_iter().map(|file| plainly(file, &mut left)).collect();
            unpacked = self.tables_within(path, relative, unpacked);
        }
        if unpacked.is_empty() && self.found.len() == before {
            let problem = "the archive has no .xml, .jsonl, .ndjson, .json or .csv file".to_owned();
            return self.unreadable(path, relative.to_owned(), problem);
        }
        for Unpacked { inner, content, damage } in unpacked {
            let plain = |path: &Path| match packing {
                Packing::Gzip => path.with_file_name(&inner),
                Packing::Zip => path.with_extension("").join(&inner),
            };
            let (named, relative) = (plain(path), plain(relative));
            let before = self.found.len();
            match content {
                Ok(spool) => match self.recoded(&named, spool.path()) {
                    Ok((format, other)) => {
                        let spool = other.unwrap_or(spool);
                        self.add(path, relative, format, Some((spool, damage)));
                    }
                    Err(problem) => self.unreadable(path, relative, problem),
                },
                Err(problem) => self.unreadable(path, relative, problem),
            }
            if packing == Packing::Zip
                && let Some(file) = self.found.get_mut(before)
            {
                file.name = path.join(&inner).display().to_string();
            }
        }
    }

    /// Reads the mappings in an archive; returns its other files.
    fn maps_within(&mut self, path: &Path, unpacked: Vec<Unpacked>) -> Vec<Unpacked> {
        let (maps, others): (Vec<Unpacked>, Vec<Unpacked>) =
            unpacked.into_iter().partition(|file| is_toml(&file.inner));
        for Unpacked { inner, content, .. } in maps {
            let spool = match content {
                Ok(spool) => spool,
                Err(problem) => {
                    self.unreadable(&path.join(&inner), inner, problem);
                    continue;
                }
            };
            if !CsvMaps::is_at(spool.path()) {
                continue;
            }
            match CsvMaps::read_as(self.model, spool.path(), &path.with_extension("").join(&inner))
            {
                Ok(maps) => self.maps.push(maps),
                Err(error) => self.unreadable(&path.join(&inner), inner, error.to_string()),
            }
        }
        others
    }

    /// Takes the tables of an export in an archive; returns its other files.
    fn tables_within(
        &mut self,
        path: &Path,
        relative: &Path,
        unpacked: Vec<Unpacked>,
    ) -> Vec<Unpacked> {
        let is_manifest = |inner: &Path| inner.file_name().is_some_and(|name| name == MANIFEST);
        let tables = self.tables.get_or_init(|| ExportedTables::new(self.model));
        let is_table = |inner: &Path| {
            Extension::of(inner) == Some(Extension::Csv)
                && tables.of(inner).is_some()
                && !self
                    .maps
                    .iter()
                    .any(|maps| maps.of(&path.with_extension("").join(inner)).is_some())
        };
        let (beside, others): (Vec<Unpacked>, Vec<Unpacked>) = unpacked
            .into_iter()
            .partition(|file| is_manifest(&file.inner) || is_table(&file.inner));
        if beside.iter().all(|file| is_manifest(&file.inner)) {
            return others;
        }
        let view = match View::of(&beside) {
            Ok(view) => view,
            Err(error) => {
                let problem = format!("its tables cannot be kept for reading: {error}");
                self.unreadable(path, relative.to_owned(), problem);
                return others;
            }
        };
        for Unpacked { inner, content, .. } in &beside {
            if is_manifest(inner) {
                continue;
            }
            let before = self.found.len();
            let relative = relative.with_extension("").join(inner);
            match content {
                Ok(_) => _ = self.exported(&view.0.join(inner), &relative),
                Err(problem) => self.unreadable(path, relative, problem.clone()),
            }
            for file in &mut self.found[before..] {
                file.name = path.join(inner).display().to_string();
                if let Format::Unreadable(problem) = &mut file.format {
                    let folder = view.0.display().to_string();
                    *problem = problem.replace(&folder, &path.display().to_string());
                }
            }
        }
        others
    }

    /// Returns the format of a file, and its copy as UTF-8 if it is XML or JSON in another encoding.
    fn recoded(&self, named: &Path, content: &Path) -> Result<(Format, Option<Spool>), String> {
        let format = self.format(named, content);
        if Extension::of(named) == Some(Extension::Csv) || File::open(content).is_err() {
            return Ok((format, None));
        }
        Ok(match as_utf8(content)? {
            Some(spool) => (self.format(named, spool.path()), Some(spool)),
            None => (format, None),
        })
    }

    fn format(&self, named: &Path, content: &Path) -> Format {
        if Extension::of(named) != Some(Extension::Csv) {
            return format_of(self.model, named, content);
        }
        let Some(map) = self.maps.iter().find_map(|maps| maps.of(named)) else {
            return Format::Unreadable(
                "no [[map]] says what its columns are; name a file of mappings with --map, or put \
                 it beside the CSV"
                    .into(),
            );
        };
        match CsvLayout::read(content, map) {
            Ok(Some(layout)) => Format::Csv(Arc::new(layout)),
            Ok(None) => Format::Empty,
            Err(problem) => Format::Unreadable(problem),
        }
    }

    fn unreadable(&mut self, path: &Path, relative: PathBuf, problem: String) {
        self.add(path, relative, Format::Unreadable(problem), None);
    }

    fn add(
        &mut self,
        path: &Path,
        relative: PathBuf,
        format: Format,
        copied: Option<(Spool, Option<Malformed>)>,
    ) {
        let (spool, damage) = copied.map_or((None, None), |(spool, damage)| (Some(spool), damage));
        self.found.push(SourceFile {
            path: spool.as_ref().map_or(path, Spool::path).to_owned(),
            name: path.display().to_string(),
            relative,
            format,
            damage,
            spool,
        });
    }

    /// Takes the standard input: interchange XML, or documents that each name their resource.
    fn standard_input(&mut self) -> Result<(), LoadError> {
        let wrong = |problem: String| LoadError::Path { path: STDIN.into(), problem };
        let allows = |bytes| match bytes {
            0..=STDIN_BYTES_MAX => Ok(()),
            _ => Err(format!("more than {STDIN_BYTES_MAX} bytes; load it from a file")),
        };
        let spooled = Spool::of(std::io::stdin().lock(), allows)
            .map_err(|error| wrong(format!("the standard input cannot be kept: {error}")))?;
        if let Some(problem) = spooled.damage {
            return Err(wrong(problem.into_text()));
        }
        let (spool, name) = (spooled.spool, Path::new("stdin"));
        if let Some(packing) = Packing::of(spool.path(), false) {
            self.packed(name, spool.path(), name, packing);
            return Ok(());
        }
        let (format, other) = self.recoded(name, spool.path()).map_err(wrong)?;
        let spool = other.unwrap_or(spool);
        let relative = match format {
            Format::Xml => "stdin.xml",
            _ => "stdin.jsonl",
        };
        self.add(name, relative.into(), format, Some((spool, None)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_found_by_name() {
        let model = crate::tests::model();
        let folder = crate::tests::Folder::new();
        for (name, text) in [
            ("b/students.jsonl", "{}"),
            ("a.xml", "<a/>"),
            (".hidden.xml", "<a/>"),
            ("b/notes.txt", "x"),
            ("manifest.json", "{}"),
            ("ed-fi/schools.jsonl", "{}"),
            ("sections/part 1.json", "[]"),
            ("Student-2.ndjson", "{}"),
            ("other.json", " \n"),
        ] {
            folder.write(name, text);
        }

        let found =
            find(&model, &[folder.path().to_owned(), folder.path().join("a.xml")], None).unwrap();

        let resource = |name: &str| Some(model.by_endpoint("ed-fi", name).unwrap().id);
        let found: Vec<_> =
            found.iter().map(|f| (f.relative.to_str().unwrap(), f.format.clone())).collect();
        assert_eq!(
            found,
            [
                ("Student-2.ndjson", Format::Json(Layout::Lines, resource("students"))),
                ("a.xml", Format::Xml),
                ("b/students.jsonl", Format::Json(Layout::Lines, resource("students"))),
                ("ed-fi/schools.jsonl", Format::Json(Layout::Lines, resource("schools"))),
                ("other.json", Format::Empty),
                ("sections/part 1.json", Format::Json(Layout::Array, resource("sections"))),
            ]
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_is_an_error() {
        let model = crate::tests::model();
        let folder = crate::tests::Folder::new();

        let nowhere = find(&model, &[folder.path().join("nowhere")], None).unwrap_err();
        let empty = find(&model, &[folder.path().to_owned()], None).unwrap_err();

        assert!(nowhere.to_string().contains("nowhere"));
        assert!(matches!(empty, LoadError::Nothing));
    }
}
