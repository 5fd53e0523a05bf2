//! Finds out what a file is: a SCORM package, a medium, or something that is not played yet.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use super::archive::{Archive, Unpacking};
use super::finding::{Finding, Findings, Level};
use super::limits::PackageLimits;
use super::manifest::manifest;
use super::media::{ending, medium};
use super::resources::Files;
use super::standard::Standard;
use super::tree::{Activity, ActivityType};
use super::xml::{decoded, parse};

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
    let mut first = [0; 16];
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

fn read_start(file: &mut File, first: &mut [u8; 16]) -> std::io::Result<usize> {
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
    let Some(path) = shallowest(&paths, &["imsmanifest.xml"]) else {
        findings.add(other_kind(&paths));
        return Package::refused(findings);
    };
    let folder = path[..path.len() - "imsmanifest.xml".len()].to_owned();
    if folder.is_empty() {
        findings.add(Finding::pass("manifest", "imsmanifest.xml is at the root"));
    } else {
        let message = "imsmanifest.xml is in a folder, which is taken for the root; pack the \
                       folder's contents instead of the folder";
        findings.add(Finding::warn("manifest-below", message).of_file(path.clone()));
    }
    let bytes = match archive.read(&path, limits.manifest_bytes) {
        Ok(bytes) => bytes,
        Err(finding) => {
            findings.add(finding);
            return Package::refused(findings);
        }
    };
    let archive = archive.within(&folder);
    let (text, is_as_said) = decoded(&bytes);
    if !is_as_said {
        let message = "the manifest is not in the encoding that it says; it is read as Latin 1";
        findings.add(Finding::warn("encoding", message).of_file(path.clone()));
    }
    let root = parse(&text);
    let root = match root {
        Ok(root) => root,
        Err(wrong) => {
            let finding = Finding::fail("bad-xml", wrong.message);
            findings.add(finding.at("imsmanifest.xml", wrong.line));
            return Package::refused(findings);
        }
    };
    let files = Files::of(archive.entries.iter().map(|entry| entry.path.as_str()));
    let Some(found) = manifest(&root, &files, &mut findings) else {
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
