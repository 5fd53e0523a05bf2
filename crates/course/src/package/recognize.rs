//! Finds out what a file is: a SCORM package, a medium, or something that is not played yet.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use encoding_rs::Encoding;
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

use super::archive::Archive;
use super::encoding::{decoded, of_names};
use super::finding::{Finding, Findings, Level};
use super::limits::PackageLimits;
use super::manifest::manifest;
use super::media::{ending, medium};
use super::resources::Files;
use super::standard::Standard;
use super::tree::{Activity, ActivityType};
use super::unpacking::Unpacking;
use super::xml::{Element, parse};

const MANIFEST: &str = "imsmanifest.xml";
/// Bytes by which a medium is recognized.
const FIRST_BYTES: usize = 1_024;
/// Most findings about damaged files.
const FAULTS_MAX: usize = 20;

/// A package that has been read.
#[derive(Debug)]
pub struct Package {
    /// The standard that it was made for, as far as that is known.
    pub standard: Option<Standard>,
    /// Its activities; none where it cannot be played.
    pub tree: Option<Activity>,
    /// The languages that its metadata names.
    pub languages: Vec<String>,
    /// The description that its metadata has.
    pub description: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Its files; none where it cannot be played.
    pub unpacking: Option<Unpacking>,
}

impl Package {
    /// Returns whether it can be played.
    pub fn is_playable(&self) -> bool {
        self.tree.is_some() && !self.findings.iter().any(|finding| finding.level == Level::Fail)
    }

    /// Returns why it cannot be played, in one text.
    pub fn failure(&self) -> String {
        let failures = self.findings.iter().filter(|finding| finding.level == Level::Fail);
        let all: Vec<String> = failures.take(5).map(Finding::line_of_text).collect();
        if all.is_empty() { "the package cannot be played".into() } else { all.join("; ") }
    }

    /// Unpacks all its files into nothing, as an import would, and adds what is wrong with them.
    #[must_use]
    pub fn verified(mut self) -> Self {
        let Some(unpacking) = &mut self.unpacking else { return self };
        let faults = unpacking.faults(FAULTS_MAX);
        if faults.is_empty() {
            let message = format!("{} files can be unpacked", unpacking.files());
            self.findings.push(Finding::pass("files", message));
        }
        self.findings.extend(faults);
        self
    }

    fn refused(findings: Findings) -> Self {
        Self {
            standard: None,
            tree: None,
            languages: vec![],
            description: None,
            findings: findings.into_all(),
            unpacking: None,
        }
    }
}

/// Reads a package. `name` is the name of the file as it was handed in.
pub fn read(mut file: File, name: &str, limits: PackageLimits) -> Package {
    let mut findings = Findings::default();
    let mut first = [0; FIRST_BYTES];
    let begun = file.seek(SeekFrom::Start(0)).and_then(|_| read_start(&mut file, &mut first));
    let length = match begun {
        Ok(length) => length,
        Err(error) => {
            findings.add(Finding::fail("unreadable", format!("the file cannot be read: {error}")));
            return Package::refused(findings);
        }
    };
    let first = &first[..length];
    if length == 0 {
        findings.add(Finding::fail("empty", "the file is empty"));
        return Package::refused(findings);
    }
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    if bytes > limits.packed_bytes {
        let message = format!("the file has more than {} bytes", limits.packed_bytes);
        findings.add(Finding::fail("too-large", message));
        return Package::refused(findings);
    }
    if !first.starts_with(b"PK") {
        return match medium(name, first) {
            Some(media) => of_medium(file, name, media, limits, findings),
            None => {
                let message = "the file is neither a zip archive nor a video (mp4), a recording \
                               (mp3) or a document (pdf)";
                findings.add(Finding::fail("broken-zip", message));
                Package::refused(findings)
            }
        };
    }
    match Archive::open(file, &limits, &mut findings) {
        Ok(archive) => of_archive(archive, limits, findings),
        Err(finding) => {
            findings.add(finding);
            Package::refused(findings)
        }
    }
}

fn read_start(file: &mut File, first: &mut [u8; FIRST_BYTES]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < first.len() {
        match file.read(&mut first[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

fn of_archive(mut archive: Archive, limits: PackageLimits, mut findings: Findings) -> Package {
    let paths: Vec<String> = archive.entries.iter().map(|entry| entry.path.clone()).collect();
    let Some(path) = shallowest(&paths, &[MANIFEST]) else {
        // If there is one that cannot be read, the findings have it.
        if shallowest(&archive.refused, &[MANIFEST]).is_none() {
            findings.add(other_kind(&paths));
        }
        return Package::refused(findings);
    };
    let folder = path[..path.len() - MANIFEST.len()].to_owned();
    if folder.is_empty() {
        findings.add(Finding::pass("manifest", "imsmanifest.xml is at the root"));
    } else {
        let message = "imsmanifest.xml is in a folder, which is taken for the root; pack the \
                       folder's contents instead of the folder";
        findings.add(Finding::warn("manifest-below", message).of_file(path.clone()));
    }
    for other in beside(&paths, &path) {
        let message = format!(
            "the package has another manifest at the same depth; this one is passed over, and {path} is \
             the course"
        );
        findings.add(Finding::warn("manifest-twice", message).of_file(other.clone()));
    }
    let bytes = match archive.read(&path, limits.manifest_bytes) {
        Ok(bytes) => bytes,
        Err(finding) => {
            findings.add(finding);
            return Package::refused(findings);
        }
    };
    let found = decoded(&bytes);
    if let Some(wrong) = &found.wrong {
        findings.add(Finding::warn("encoding", wrong).of_file(path.clone()));
    }
    let root = match parse(&found.text) {
        Ok(root) => root,
        Err(wrong) => {
            let finding = Finding::fail("bad-xml", wrong.message);
            findings.add(finding.at(MANIFEST, wrong.line));
            return Package::refused(findings);
        }
    };
    spell(&mut archive, &root, found.encoding, limits, &mut findings);
    // What lies beside the manifest's folder may be used from there.
    let common = archive.common_folder().to_owned();
    let base = folder.strip_prefix(&common).unwrap_or_default().to_owned();
    let archive = archive.within(&common);
    let files = Files::of(archive.entries.iter().map(|entry| entry.path.as_str()));
    let Some(found) = manifest(&root, &base, &files, &mut findings) else {
        return Package::refused(findings);
    };
    Package {
        standard: Some(found.standard),
        tree: Some(found.root),
        languages: found.languages,
        description: found.description,
        findings: findings.into_all(),
        unpacking: Some(Unpacking::of_archive(archive, limits)),
    }
}

/// Finds the encoding of names of which the archive does not tell it: the one in which the manifest has
/// them.
fn spell(
    archive: &mut Archive,
    root: &Element,
    own: &'static Encoding,
    limits: PackageLimits,
    findings: &mut Findings,
) {
    let raw = archive.unclear_names();
    if raw.is_empty() {
        return;
    }
    let named = named(root);
    let is_wanted = |name: &str| {
        let name = name.replace('\\', "/").to_lowercase();
        name.split('/').all(|part| part.is_ascii() || named.contains(part))
    };
    let unclear = raw.len();
    let clear = archive.entries.iter().filter(|entry| entry.is_unclear() && is_wanted(&entry.path));
    let Some(encoding) = of_names(&raw, own, clear.count(), &is_wanted) else { return };
    archive.respell(encoding, limits.path_bytes);
    let message = format!(
        "the archive does not tell the encoding of {unclear} names; they are read as {}, as which the \
         manifest has them",
        encoding.name()
    );
    findings.add(Finding::warn("names-encoding", message));
}

/// Returns the parts of all paths that a manifest names, in small letters.
fn named(root: &Element) -> HashSet<String> {
    let mut all = HashSet::new();
    let mut open = vec![root];
    while let Some(element) = open.pop() {
        for name in ["href", "base"] {
            let Some(path) = element.attribute(name) else { continue };
            let path = path.replace('\\', "/");
            let decoded = percent_decode_str(&path).decode_utf8_lossy();
            let decoded: String = decoded.nfc().collect::<String>().to_lowercase();
            let parts = decoded.split(['/', '?', '#']).filter(|part| !part.is_ascii());
            all.extend(parts.map(str::to_owned));
        }
        open.extend(&element.children);
    }
    all
}

/// Returns the other manifests at the depth of one.
fn beside<'p>(paths: &'p [String], path: &str) -> impl Iterator<Item = &'p String> {
    let depth = path.matches('/').count();
    let is_manifest = |name: &str| {
        name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(MANIFEST))
    };
    let others = paths.iter().filter(move |other| *other != path);
    others.filter(move |other| is_manifest(other) && other.matches('/').count() == depth)
}

/// Says what an archive without `imsmanifest.xml` is.
fn other_kind(paths: &[String]) -> Finding {
    let has = |ending: &str| paths.iter().any(|path| path.to_lowercase().ends_with(ending));
    let (article, kind) = if shallowest(paths, &["cmi5.xml"]).is_some() {
        ("a", "cmi5")
    } else if shallowest(paths, &["tincan.xml"]).is_some() {
        ("an", "xAPI")
    } else if has(".crs") && has(".au") {
        ("an", "AICC")
    } else if let Some(inner) = paths.iter().find(|path| path.to_lowercase().ends_with(".zip")) {
        let message = "the archive has no imsmanifest.xml, but another archive; hand in that one";
        return Finding::fail("archive-within", message).of_file(inner.clone());
    } else {
        let message = "the archive has no imsmanifest.xml, so it is no SCORM package; export the \
                       course as SCORM 1.2 or SCORM 2004";
        return Finding::fail("no-manifest", message);
    };
    let message = format!(
        "this is {article} {kind} package, and {kind} is not supported yet; export the course as SCORM \
         1.2 or SCORM 2004"
    );
    Finding::fail("not-supported", message)
}

fn shallowest(paths: &[String], names: &[&str]) -> Option<String> {
    let is_named = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted))
    };
    let depth = |path: &&String| (path.matches('/').count(), path.len());
    paths.iter().filter(is_named).min_by_key(depth).cloned()
}

fn of_medium(
    file: File,
    name: &str,
    media: &str,
    limits: PackageLimits,
    mut findings: Findings,
) -> Package {
    findings.add(Finding::pass("standard", format!("the file is {media}")));
    let path = format!("medium.{}", ending(media));
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let title = last.rsplit_once('.').map_or(last, |(title, _)| title);
    let title = if title.is_empty() { "Medium" } else { title };
    let mut activity = Activity::new("medium", title, ActivityType::Media);
    activity.href = Some(path.clone());
    activity.media = Some(media.to_owned());
    let mut root = Activity::new("course", title, ActivityType::Aggregation);
    root.children.push(activity);
    Package {
        standard: Some(Standard::Media),
        tree: Some(root),
        languages: vec![],
        description: None,
        findings: findings.into_all(),
        unpacking: Some(Unpacking::of_file(file, path, limits)),
    }
}

/// Returns the course that consists of a page elsewhere.
pub fn web_link(url: &str, title: &str) -> Activity {
    let mut activity = Activity::new("link", title, ActivityType::Link);
    activity.href = Some(url.to_owned());
    let mut root = Activity::new("course", title, ActivityType::Aggregation);
    root.children.push(activity);
    root
}
