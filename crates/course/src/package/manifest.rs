//! Reads the manifest of a SCORM package into a tree of activities.
//!
//! Source: IMS Content Packaging 1.1.2 and 1.1.4; SCORM 1.2 CAM §2; SCORM 2004 CAM §3.

use std::collections::HashSet;

use super::about::{about, standard};
use super::finding::{Finding, Findings};
use super::item::describe;
use super::limits::{ACTIVITIES_MAX, DEPTH_MAX};
use super::resources::{Files, Resource, Resources, Target};
use super::sequencing::{Collection, collection, sequencing};
use super::standard::Standard;
use super::tree::{Activity, ActivityType};
use super::xml::Element;

/// What a manifest says.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) standard: Standard,
    pub(crate) root: Activity,
    pub(crate) languages: Vec<String>,
    pub(crate) description: Option<String>,
}

/// Reads a manifest that is in a folder of the package. Why it cannot be played is among the findings.
pub(crate) fn manifest(
    root: &Element,
    folder: &str,
    files: &Files,
    findings: &mut Findings,
) -> Option<Manifest> {
    if !root.name.eq_ignore_ascii_case("manifest") {
        let message = format!("the root element is {}, not manifest", root.name);
        findings.add(Finding::fail("no-manifest", message).at(root.label(), root.line));
        return None;
    }
    let standard = standard(root, findings);
    let resources = Resources::of(root, folder, files, findings);
    if resources.is_empty() {
        let message = "the manifest has no resources; there is nothing to launch";
        findings.add(Finding::fail("no-resources", message).at(root.label(), root.line));
        return None;
    }
    for resource in resources.each() {
        for (path, line) in &resource.missing {
            let message = "a file that the manifest names is not in the package";
            let finding = Finding::warn("missing-file", message);
            findings.add(finding.at(resource.element.label(), *line).of_file(path.clone()));
        }
    }
    for (scope, id) in resources.ids() {
        let Some(resource) = resources.find(scope, id) else { continue };
        for dependency in resource.element.all("dependency") {
            let wanted = dependency.attribute("identifierref").unwrap_or_default();
            if resources.find(scope, wanted).is_none() {
                let message =
                    format!("the resource depends on {wanted}, which is not in the manifest");
                let finding = Finding::warn("missing-dependency", message);
                findings.add(finding.at(resource.element.label(), dependency.line));
            }
        }
    }
    let mut shared = Collection::new();
    for scope in &resources.scopes {
        for (id, found) in collection(scope.element, findings) {
            shared.entry(id).or_insert(found);
        }
    }
    let (known, activities, depth) = (HashSet::new(), 0, 0);
    let mut building =
        Building { standard, resources: &resources, shared, known, activities, depth, findings };
    let tree = match building.organization(0) {
        Some(organization) => building.root(organization)?,
        None => building.without_organization()?,
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

/// Returns whether an item below an element leads to something that can be launched.
fn leads(resources: &Resources<'_>, element: &Element, scope: usize) -> bool {
    element.all("item").any(|item| {
        let reference = item.attribute("identifierref").filter(|id| !id.is_empty());
        let is_there = |id: &str| {
            resources.inner(scope, id).is_some()
                || resources.find(scope, id).is_some_and(Resource::is_there)
        };
        reference.is_some_and(is_there) || leads(resources, item, scope)
    })
}

/// Returns the title of an element, in one line.
fn title(element: &Element) -> Option<String> {
    let words = element.text_of("title")?.split([' ', '\t', '\r', '\n']);
    Some(words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

struct Building<'r, 'm> {
    standard: Standard,
    resources: &'r Resources<'m>,
    shared: Collection,
    known: HashSet<String>,
    activities: usize,
    depth: usize,
    findings: &'r mut Findings,
}

impl<'m> Building<'_, 'm> {
    /// Returns the default organization of a manifest.
    fn organization(&mut self, scope: usize) -> Option<&'m Element> {
        let organizations = self.resources.scopes[scope].element.child("organizations")?;
        let all: Vec<&Element> = organizations.all("organization").collect();
        let first = *all.first()?;
        let findings = &mut *self.findings;
        let mut warn = |code: &str, message: &str, at: &Element| {
            findings.add(Finding::warn(code, message).at(at.label(), at.line));
        };
        let mut taken = first;
        if let Some(default) = organizations.attribute("default").filter(|id| !id.is_empty()) {
            let found = all.iter().find(|one| one.attribute("identifier") == Some(default));
            match found {
                Some(found) => taken = found,
                None => {
                    let message = "the default organization is not there; the first one is taken";
                    warn("no-default", message, organizations);
                }
            }
        }
        let leads = |one: &Element| leads(self.resources, one, scope);
        if !leads(taken)
            && let Some(other) = all.iter().find(|one| leads(one))
        {
            let message = "no item of this organization can be launched; another one is taken";
            warn("organization-empty", message, taken);
            taken = other;
        }
        if all.len() > 1 {
            let message = "the manifest has several organizations; this one is played";
            warn("organizations", message, taken);
        }
        Some(taken)
    }

    fn root(&mut self, organization: &'m Element) -> Option<Activity> {
        let id = self.unique(organization.attribute("identifier").unwrap_or("organization"));
        let title = title(organization).unwrap_or_else(|| "Untitled course".into());
        let mut root = Activity::new(&id, &title, ActivityType::Aggregation);
        root.sequencing = self.sequencing(organization);
        for item in organization.all("item") {
            root.children.push(self.item(item, 0)?);
        }
        Some(root)
    }

    /// Makes a course of the organizations of the manifests within, or else of the resources that can be
    /// launched, for packages without organization.
    fn without_organization(&mut self) -> Option<Activity> {
        let manifest = self.resources.scopes[0].element;
        let mut root = Activity::new("organization", "Untitled course", ActivityType::Aggregation);
        for scope in 1..self.resources.scopes.len() {
            let Some(organization) = self.organization(scope) else { continue };
            let id = self.unique(organization.attribute("identifier").unwrap_or("organization"));
            let title = title(organization).unwrap_or_else(|| id.clone());
            let mut part = Activity::new(&id, &title, ActivityType::Aggregation);
            self.fill(&mut part, organization, scope)?;
            root.children.push(part);
        }
        if !root.children.is_empty() {
            let message = "the manifest has no organization; those of the manifests within it are \
                           played in their order";
            let finding = Finding::warn("no-organization", message);
            self.findings.add(finding.at("manifest", manifest.line));
            return Some(root);
        }
        let message = "the manifest has no organization; its resources are played in their order";
        self.findings.add(Finding::warn("no-organization", message).at("manifest", manifest.line));
        let resources = self.resources;
        for (scope, id) in resources.ids() {
            let element = resources.find(scope, id)?.element;
            if element.attribute("href").is_none_or(str::is_empty) {
                continue;
            }
            let mut activity = Activity::new(&self.unique(id), id, ActivityType::Asset);
            self.launch(&mut activity, (scope, id), "", element);
            root.children.push(activity);
        }
        Some(root)
    }

    /// Puts the items of an organization below an activity, which takes its sequencing if it has none.
    fn fill(
        &mut self,
        activity: &mut Activity,
        organization: &'m Element,
        scope: usize,
    ) -> Option<()> {
        if activity.sequencing.is_none() {
            activity.sequencing = self.sequencing(organization);
        }
        for item in organization.all("item") {
            activity.children.push(self.item(item, scope)?);
        }
        Some(())
    }

    fn item(&mut self, item: &'m Element, scope: usize) -> Option<Activity> {
        self.activities += 1;
        if self.activities > ACTIVITIES_MAX {
            let message = format!("the course has more than {ACTIVITIES_MAX} activities");
            self.findings.add(Finding::fail("too-many-items", message).at(item.label(), item.line));
            return None;
        }
        if self.depth == DEPTH_MAX {
            let message = format!("the course has more than {DEPTH_MAX} levels of activities");
            self.findings.add(Finding::fail("too-deep", message).at(item.label(), item.line));
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
        let title = title(item).unwrap_or_else(|| id.clone());
        let mut activity = Activity::new(&id, &title, ActivityType::Aggregation);
        describe(&mut activity, item, self.standard, self.findings);
        activity.sequencing = self.sequencing(item);
        if activity.max_time_allowed.is_none() {
            let limits = activity.sequencing.as_ref().map(|all| &all["limits"]);
            let limit = limits.and_then(|all| all["attemptAbsoluteDurationLimit"].as_str());
            activity.max_time_allowed = limit.map(str::to_owned);
        }
        self.depth += 1;
        for child in item.all("item") {
            activity.children.push(self.item(child, scope)?);
        }
        self.refer(&mut activity, item, scope)?;
        self.depth -= 1;
        Some(activity)
    }

    /// Follows the reference of an item to a resource, or to a manifest within its own.
    fn refer(&mut self, activity: &mut Activity, item: &'m Element, scope: usize) -> Option<()> {
        let reference = item.attribute("identifierref").filter(|id| !id.is_empty());
        match reference {
            Some(_) if !activity.children.is_empty() => {
                let message = "an item with items below it has a resource, which is not launched";
                self.findings
                    .add(Finding::warn("resource-above", message).at(item.label(), item.line));
            }
            Some(reference) => {
                let inner = self.resources.inner(scope, reference);
                let organization = inner.and_then(|inner| Some((inner, self.organization(inner)?)));
                match organization {
                    Some((inner, organization)) => self.fill(activity, organization, inner)?,
                    None => {
                        let parameters = item.attribute("parameters").unwrap_or_default();
                        self.launch(activity, (scope, reference), parameters, item);
                    }
                }
            }
            None if activity.children.is_empty() => {
                let message = "an item has neither a resource nor items; it cannot be launched";
                self.findings.add(Finding::warn("empty-item", message).at(item.label(), item.line));
            }
            None => {}
        }
        Some(())
    }

    fn launch(
        &mut self,
        activity: &mut Activity,
        (scope, id): (usize, &str),
        parameters: &str,
        item: &Element,
    ) {
        let at = |finding: Finding| finding.at(item.label(), item.line);
        let Some(resource) = self.resources.find(scope, id) else {
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

    fn sequencing(&mut self, element: &Element) -> Option<serde_json::Value> {
        let is_2004 = self.standard.is_2004();
        is_2004.then(|| sequencing(element, &self.shared, self.findings)).flatten()
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
