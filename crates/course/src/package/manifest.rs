//! Reads the manifest of a SCORM package into a tree of activities.
//!
//! Source: IMS Content Packaging 1.1.2 and 1.1.4; SCORM 1.2 CAM §2; SCORM 2004 CAM §3.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::finding::{Finding, Findings};
use super::limits::ACTIVITIES_MAX;
use super::resources::{Files, Resource, Target, resources};
use super::sequencing::sequencing;
use super::standard::Standard;
use super::tree::{Activity, ActivityType, CompletionThreshold};
use super::xml::Element;

/// What a manifest says.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) standard: Standard,
    pub(crate) root: Activity,
    pub(crate) languages: Vec<String>,
    pub(crate) description: Option<String>,
}

/// Reads a manifest. Why it cannot be played is among the findings.
pub(crate) fn manifest(root: &Element, files: &Files, findings: &mut Findings) -> Option<Manifest> {
    if !root.name.eq_ignore_ascii_case("manifest") {
        let message = format!("the root element is {}, not manifest", root.name);
        findings.add(Finding::fail("no-manifest", message).at(root.label(), root.line));
        return None;
    }
    let standard = standard(root, findings);
    let resources = resources(root, files);
    if resources.is_empty() {
        let message = "the manifest has no resources; there is nothing to launch";
        findings.add(Finding::fail("no-resources", message).at(root.label(), root.line));
        return None;
    }
    for resource in resources.values() {
        for (path, line) in &resource.missing {
            let message = "a file that the manifest names is not in the package";
            let finding = Finding::warn("missing-file", message);
            findings.add(finding.at(resource.element.label(), *line).of_file(path.clone()));
        }
    }
    let collection = root.child("sequencingCollection");
    let mut building = Building {
        standard,
        resources,
        collection,
        known: HashSet::new(),
        activities: 0,
        findings,
    };
    let organization = building.organization(root);
    let tree = match organization {
        Some(organization) => building.root(organization)?,
        None => building.without_organization(root)?,
    };
    if tree.launchable().is_empty() {
        let message = "no item leads to a file that can be launched";
        findings.add(Finding::fail("nothing-to-launch", message).at(root.label(), root.line));
        return None;
    }
    let found = tree.launchable().len();
    findings.add(Finding::pass("activities", format!("{found} activities can be launched")));
    let (languages, description) = about(root);
    Some(Manifest { standard, root: tree, languages, description })
}

fn standard(root: &Element, findings: &mut Findings) -> Standard {
    let metadata = root.child("metadata");
    let version = metadata.and_then(|metadata| metadata.text_of("schemaversion"));
    let spaces: Vec<&str> = root.attributes.iter().map(|(_, value)| value.as_str()).collect();
    let has = |part: &str| spaces.iter().any(|space| space.contains(part));
    let by_spaces = if has("adlcp_v1p3") || has("imsss") || has("adlseq_v1p3") {
        Some(Standard::Scorm2004Third)
    } else if has("adlcp_rootv1p2") || has("imscp_rootv1p1p2") {
        Some(Standard::Scorm12)
    } else {
        None
    };
    let by_version = version.and_then(Standard::of_version);
    let standard = match (by_version, by_spaces) {
        (Some(version), Some(spaces)) if version.is_2004() != spaces.is_2004() => {
            let message = format!(
                "schemaversion says {}, but the namespaces are those of another version; the \
                 namespaces are believed",
                version.name()
            );
            findings.add(Finding::warn("version-differs", message).at("manifest", root.line));
            spaces
        }
        (Some(version), _) => version,
        (None, Some(spaces)) => {
            let message = "the manifest has no schemaversion that is known; its namespaces decide";
            findings.add(Finding::warn("no-version", message).at("manifest", root.line));
            spaces
        }
        (None, None) => {
            let message = "the manifest does not say which SCORM it is for; it is taken for 1.2";
            findings.add(Finding::warn("no-version", message).at("manifest", root.line));
            Standard::Scorm12
        }
    };
    findings.add(Finding::pass("standard", format!("the package is {}", standard.name())));
    standard
}

/// Returns the languages and the description of the course's metadata.
fn about(root: &Element) -> (Vec<String>, Option<String>) {
    let Some(metadata) = root.child("metadata") else { return (vec![], None) };
    let mut languages = vec![];
    let mut description = None;
    walk(metadata, 0, &mut |element| {
        if element.name.eq_ignore_ascii_case("language")
            && !element.text.is_empty()
            && element.text.len() < 36
            && languages.len() < 20
            && !languages.contains(&element.text)
        {
            languages.push(element.text.clone());
        }
        if description.is_none() && element.name.eq_ignore_ascii_case("description") {
            let inner = element.text_of("langstring").or_else(|| element.text_of("string"));
            description = inner.map(|text| text.chars().take(2_000).collect());
        }
    });
    (languages, description)
}

fn walk(element: &Element, depth: usize, visit: &mut dyn FnMut(&Element)) {
    visit(element);
    if depth < 16 {
        for child in &element.children {
            walk(child, depth + 1, visit);
        }
    }
}

struct Building<'m, 'f> {
    standard: Standard,
    resources: HashMap<&'m str, Resource<'m>>,
    collection: Option<&'m Element>,
    known: HashSet<String>,
    activities: usize,
    findings: &'f mut Findings,
}

impl<'m> Building<'m, '_> {
    fn organization(&mut self, root: &'m Element) -> Option<&'m Element> {
        let organizations = root.child("organizations")?;
        let all: Vec<&Element> = organizations.all("organization").collect();
        let first = *all.first()?;
        let Some(default) = organizations.attribute("default") else { return Some(first) };
        let found = all.iter().find(|one| one.attribute("identifier") == Some(default));
        if found.is_none() {
            let message = "the default organization is not there; the first one is taken";
            let finding = Finding::warn("no-default", message);
            self.findings.add(finding.at(organizations.label(), organizations.line));
        }
        Some(found.copied().unwrap_or(first))
    }

    fn root(&mut self, organization: &'m Element) -> Option<Activity> {
        let id = self.unique(organization.attribute("identifier").unwrap_or("organization"));
        let title = organization.text_of("title").unwrap_or("Untitled course");
        let mut root = Activity::new(&id, title, ActivityType::Aggregation);
        root.sequencing = self.sequencing(organization);
        for item in organization.all("item") {
            root.children.push(self.item(item)?);
        }
        Some(root)
    }

    /// Makes a course of the resources that can be launched, for packages without organization.
    fn without_organization(&mut self, manifest: &'m Element) -> Option<Activity> {
        let message = "the manifest has no organization; its resources are played in their order";
        self.findings.add(Finding::warn("no-organization", message).at("manifest", manifest.line));
        let mut root = Activity::new("organization", "Untitled course", ActivityType::Aggregation);
        let list = manifest.child("resources")?;
        for element in list.all("resource") {
            let Some(id) = element.attribute("identifier") else { continue };
            if element.attribute("href").is_none_or(str::is_empty) {
                continue;
            }
            let mut activity = Activity::new(&self.unique(id), id, ActivityType::Asset);
            self.launch(&mut activity, id, "", element);
            root.children.push(activity);
        }
        Some(root)
    }

    fn item(&mut self, item: &'m Element) -> Option<Activity> {
        self.activities += 1;
        if self.activities > ACTIVITIES_MAX {
            let message = format!("the course has more than {ACTIVITIES_MAX} activities");
            self.findings.add(Finding::fail("too-many-items", message).at(item.label(), item.line));
            return None;
        }
        let stated = item.attribute("identifier");
        if stated.is_none() {
            let message = "an item has no identifier; it gets one";
            self.findings.add(Finding::warn("no-identifier", message).at("item", item.line));
        }
        let id = self.unique(stated.unwrap_or("item"));
        if stated.is_some_and(|stated| stated != id) {
            let message = "two items have the same identifier; the later one gets another";
            self.findings
                .add(Finding::warn("identifier-twice", message).at(item.label(), item.line));
        }
        let title = item.text_of("title").unwrap_or(&id).to_owned();
        let mut activity = Activity::new(&id, &title, ActivityType::Aggregation);
        activity.visible = item.attribute("isvisible") != Some("false");
        let text = |name: &str| item.text_of(name).map(str::to_owned);
        activity.launch_data = text("dataFromLMS");
        activity.mastery_score = text("masteryscore").filter(|score| score.parse::<f64>().is_ok());
        activity.max_time_allowed = text("maxtimeallowed");
        activity.time_limit_action = text("timelimitaction");
        activity.prerequisites = text("prerequisites");
        activity.completion_threshold = threshold(item);
        activity.hide_ui = hidden(item);
        activity.data_maps = data_maps(item);
        activity.sequencing = self.sequencing(item);
        for child in item.all("item") {
            activity.children.push(self.item(child)?);
        }
        let reference = item.attribute("identifierref").filter(|id| !id.is_empty());
        match reference {
            Some(_) if !activity.children.is_empty() => {
                let message = "an item with items below it has a resource, which is not launched";
                self.findings
                    .add(Finding::warn("resource-above", message).at(item.label(), item.line));
            }
            Some(reference) => {
                let parameters = item.attribute("parameters").unwrap_or_default();
                self.launch(&mut activity, reference, parameters, item);
            }
            None if activity.children.is_empty() => {
                let message = "an item has neither a resource nor items; it cannot be launched";
                self.findings.add(Finding::warn("empty-item", message).at(item.label(), item.line));
            }
            None => {}
        }
        Some(activity)
    }

    fn launch(&mut self, activity: &mut Activity, id: &str, parameters: &str, item: &Element) {
        let at = |finding: Finding| finding.at(item.label(), item.line);
        let Some(resource) = self.resources.get(id) else {
            let message = format!("the item's resource {id} is not in the manifest");
            self.findings.add(at(Finding::warn("no-resource", message)));
            return;
        };
        let Some(target) = &resource.target else {
            let message = format!("the resource {id} has no href, so the item cannot be launched");
            self.findings.add(at(Finding::warn("no-href", message)));
            return;
        };
        activity.resource = Some(id.to_owned());
        activity.kind = if resource.is_sco { ActivityType::Sco } else { ActivityType::Asset };
        match target {
            Target::Missing(path) => {
                let message = "the file to launch is not in the package";
                self.findings
                    .add(at(Finding::warn("missing-launch", message)).of_file(path.clone()));
                return;
            }
            Target::Elsewhere(_) => {
                let message = "the item launches a page that is not in the package; it cannot talk \
                               to the run-time from there";
                self.findings.add(at(Finding::warn("launch-elsewhere", message)));
                activity.kind = ActivityType::Link;
            }
            Target::File { path, is_exact: false, .. } => {
                let message = "the file to launch is spelled in another case than in the manifest";
                self.findings.add(at(Finding::warn("other-case", message)).of_file(path.clone()));
            }
            Target::File { .. } => {}
        }
        activity.href = Some(target.href(parameters));
    }

    fn sequencing(&self, element: &Element) -> Option<serde_json::Value> {
        self.standard.is_2004().then(|| sequencing(element, self.collection)).flatten()
    }

    fn unique(&mut self, id: &str) -> String {
        let mut own = id.to_owned();
        let mut number = 1;
        while !self.known.insert(own.clone()) {
            number += 1;
            own = format!("{id}-{number}");
        }
        own
    }
}

/// Source: SCORM 2004 4th edition CAM §3.4.1.14.
fn threshold(item: &Element) -> Option<CompletionThreshold> {
    let element = item.child("completionThreshold")?;
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    let by_text = number(Some(element.text.as_str()));
    let by_measure = element.attribute("completedByMeasure") == Some("true");
    Some(CompletionThreshold {
        completed_by_measure: by_measure || by_text.is_some(),
        min_progress_measure: by_text
            .or_else(|| number(element.attribute("minProgressMeasure")))
            .unwrap_or(1.0)
            .clamp(0.0, 1.0),
        progress_weight: number(element.attribute("progressWeight")).unwrap_or(1.0).clamp(0.0, 1.0),
    })
}

fn hidden(item: &Element) -> Vec<String> {
    let presentation = item.child("presentation");
    let interface = presentation.and_then(|one| one.child("navigationInterface"));
    let all = interface.into_iter().flat_map(|one| one.all("hideLMSUI"));
    all.map(|one| one.text.clone()).filter(|text| !text.is_empty()).collect()
}

fn data_maps(item: &Element) -> Vec<serde_json::Value> {
    let all = item.child("data").into_iter().flat_map(|data| data.all("map"));
    let is = |map: &Element, name: &str| map.attribute(name) != Some("false");
    all.map(|map| {
        json!({
            "target": map.attribute("targetID"),
            "read": is(map, "readSharedData"),
            "write": is(map, "writeSharedData"),
        })
    })
    .collect()
}
