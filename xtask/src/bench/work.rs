//! The requests of the loads: bodies, paths, the documents of every resource.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::files::{text, write};
use super::load::Scenario;
use super::server::{Build, Client, Server};
use crate::house::Done;

/// A kind of document that is created over and over, each time with a different value.
pub struct Made {
    /// The path of its resource.
    pub path: &'static str,
    /// The references that every document has.
    references: &'static [&'static str],
    /// The scalars that every document has, copied from a stored one.
    scalars: &'static [&'static str],
    /// The scalar that differs between documents.
    fresh: &'static str,
    /// The value that a scenario gives it.
    value: &'static str,
}

/// A document with three references and a descriptor; the date is new each time.
pub const ATTENDANCE: Made = Made {
    path: "/data/v3/ed-fi/studentSchoolAttendanceEvents",
    references: &["schoolReference", "sessionReference", "studentReference"],
    scalars: &["attendanceEventCategoryDescriptor"],
    fresh: "eventDate",
    value: "${serial:date}",
};

/// A document with three references, one of which contains a namespace; the identifier is new each
/// time.
pub const ASSESSMENT: Made = Made {
    path: "/data/v3/ed-fi/studentAssessments",
    references: &["assessmentReference", "studentReference", "schoolYearTypeReference"],
    scalars: &[],
    fresh: "studentAssessmentIdentifier",
    value: "s${serial}",
};

/// The number of pages of a list that are read in turn.
const PAGES: usize = 100;

impl Made {
    /// Returns bodies made from stored documents, with `%s` for the value that is new each time.
    pub fn templates(&self, client: &Client) -> Result<Vec<String>, String> {
        let page = client.get(&format!("{}?limit=500", self.path))?;
        let found: Value = serde_json::from_str(&page).map_err(|e| e.to_string())?;
        let mut bodies: Vec<String> = vec![];
        for document in found.as_array().into_iter().flatten() {
            let mut body = serde_json::Map::new();
            for name in self.references {
                let mut reference = document[name].clone();
                let members =
                    reference.as_object_mut().ok_or(format!("{} lacks {name}", self.path))?;
                members.remove("link");
                body.insert((*name).into(), reference);
            }
            for name in self.scalars {
                body.insert((*name).into(), document[name].clone());
            }
            body.insert(self.fresh.into(), "%s".into());
            let text = Value::Object(body).to_string();
            if !bodies.contains(&text) {
                bodies.push(text);
            }
        }
        if bodies.is_empty() { Err(format!("there are no {}", self.path)) } else { Ok(bodies) }
    }

    /// Returns a scenario that creates new documents like the stored ones.
    pub fn create(&self, name: &str, client: &Client) -> Result<Scenario, String> {
        let rows = self.templates(client)?.into_iter().filter_map(|body| {
            let (head, tail) = body.split_once("%s")?;
            Some(json!({"head": head, "tail": tail}))
        });
        let mut scenario = Scenario::new(name);
        scenario.pool("bodies", rows.collect());
        scenario.step(json!({
            "name": "create",
            "method": "POST",
            "path": self.path,
            "body": format!("${{head}}{}${{tail}}", self.value),
            "from": {"pool": "bodies"},
            "expect": 201,
        }));
        Ok(scenario)
    }

    /// Returns a scenario that reads stored documents by id.
    pub fn get(&self, name: &str, client: &Client) -> Result<Scenario, String> {
        self.get_at(name, client, self.path)
    }

    /// Returns a scenario that reads stored documents by id at another path of the resource.
    pub fn get_at(&self, name: &str, client: &Client, path: &str) -> Result<Scenario, String> {
        let ids = client.ids(&format!("{}?limit=500", self.path))?;
        Ok(reads(name, ids.into_iter().map(|id| format!("{path}/{id}"))))
    }

    /// Returns a scenario that lists pages of the usual size at different offsets.
    pub fn list(&self, name: &str) -> Scenario {
        let pages = (0..PAGES).map(|at| format!("{}?offset={}&limit=25", self.path, at * 25));
        reads(name, pages)
    }

    /// Writes many documents, each with a different date.
    pub fn write_many(bodies: &[String], count: usize, file: &Path) -> Done {
        use std::io::Write as _;

        let folder = file.parent().ok_or("the file has no folder")?;
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        let out = std::fs::File::create(file).map_err(|e| e.to_string())?;
        let mut out = std::io::BufWriter::new(out);
        for at in 0..count {
            let date = date(at / bodies.len());
            writeln!(out, "{}", bodies[at % bodies.len()].replace("%s", &date))
                .map_err(|e| e.to_string())?;
        }
        out.flush().map_err(|e| e.to_string())
    }
}

/// Returns a date for each number, from 1900 on: 28 days a month.
pub fn date(number: usize) -> String {
    let (year, month, day) = (1900 + number / 336, number / 28 % 12 + 1, number % 28 + 1);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns a scenario that reads random paths.
pub fn reads(name: &str, paths: impl Iterator<Item = String>) -> Scenario {
    let mut scenario = Scenario::new(name);
    scenario.pool("stored", paths.map(|path| json!({"path": path})).collect());
    scenario.step(json!({
        "name": "read", "path": "${path}", "from": {"pool": "stored"}, "expect": 200,
    }));
    scenario
}

/// Documents of every resource: made from the model, stored, and templates to create new ones.
pub struct Every {
    makers: Vec<Maker>,
    /// The files of the documents that they refer to.
    setup: PathBuf,
}

/// A line of the file that the example `every_resource` writes.
struct Maker {
    path: String,
    /// The value that makes its documents differ; `None` if only references do.
    fresh: Option<&'static str>,
    body: String,
    changed: Option<String>,
}

impl Every {
    /// Makes the documents.
    pub fn make(folder: &Path) -> Result<Self, String> {
        let folder = folder.join("every");
        let done = Command::new("cargo")
            .args(["run", "--quiet", "--locked", "-p", "homeroom-data"])
            .args(["--example", "every_resource", "--", text(&folder)])
            .status()
            .map_err(|e| e.to_string())?;
        if !done.success() {
            return Err("the documents of every resource could not be made".into());
        }
        let file = folder.join("every.tsv");
        let lines = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let makers: Option<Vec<Maker>> = lines.lines().map(Maker::read).collect();
        let makers = makers.ok_or_else(|| format!("{}: what is this?", file.display()))?;
        Ok(Self { makers, setup: folder.join("setup") })
    }

    /// Loads the documents that they refer to into the store of `data`, which no server has open.
    pub fn load(&self, build: &Build, data: &Path) -> Done {
        build.run(&["load", text(&self.setup), "--data-dir", text(data)])
    }

    /// Returns how many resources there are, how many of them can be created anew, and how many
    /// updated.
    pub fn counts(&self) -> [usize; 3] {
        let count = |is: &dyn Fn(&Maker) -> bool| self.makers.iter().filter(|m| is(m)).count();
        [self.makers.len(), count(&|m| m.fresh.is_some()), count(&|m| m.changed.is_some())]
    }

    /// Returns a scenario of 60 % reads, 20 % creates, 15 % updates and 5 % deletes; reads are of
    /// up to 100 stored documents of each resource.
    pub fn mix(&self, client: &Client) -> Result<Scenario, String> {
        let mut paths = vec![];
        for Maker { path, .. } in &self.makers {
            let ids = client.ids(&format!("{path}?limit=100"))?;
            paths.extend(ids.into_iter().map(|id| format!("{path}/{id}")));
        }
        let mut scenario = Scenario::new("mix");
        scenario.pool("stored", paths.into_iter().map(|path| json!({"path": path})).collect());
        let [_, created, updated] = self.counts();
        scenario.step(json!({
            "name": "read", "path": "${path}", "from": {"pool": "stored"}, "expect": 200,
            "weight": 60.0,
        }));
        for Maker { path, fresh, body, changed } in &self.makers {
            let Some(fresh) = fresh else { continue };
            let pool = path.as_str();
            scenario.step(json!({
                "name": format!("create {path}"), "method": "POST", "path": path,
                "body": body.replace("\\1", fresh), "expect": 201,
                "take": {"id": "header:location"},
                "keep": {"pool": pool, "values": {"id": "${id}", "fresh": fresh}},
                "weight": 20.0 / created as f64,
            }));
            scenario.step(json!({
                "name": format!("delete {path}"), "method": "DELETE", "path": format!("{path}/${{id}}"),
                "from": {"pool": pool, "remove": true}, "expect": 204,
                "weight": 5.0 / created as f64,
            }));
            let Some(changed) = changed else { continue };
            // A 201 means that another client has deleted the document in the meantime.
            scenario.step(json!({
                "name": format!("update {path}"), "method": "POST", "path": path,
                "body": changed.replace("\\1", "${fresh}").replace("\\2", "r${serial}"),
                "from": {"pool": pool}, "expect": [200, 201],
                "weight": 15.0 / updated as f64,
            }));
        }
        Ok(scenario)
    }
}

impl Maker {
    fn read(line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.split('\t').collect();
        let [path, form, body, changed] = parts[..] else { return None };
        let fresh = match form {
            "text" => Some("m${serial}"),
            // The number is unique over all resources, so subclasses of one base never collide.
            "number" => Some("1${serial}"),
            "date" => Some("${serial:date}"),
            "-" => None,
            _ => return None,
        };
        let changed = (changed != "-").then(|| changed.to_owned());
        Some(Self { path: path.to_owned(), fresh, body: body.to_owned(), changed })
    }
}

/// Creates a claim set that grants resources under a strategy.
pub fn claim_set(
    folder: &Path,
    server: &Server,
    name: &str,
    strategy: &str,
    resources: &[&str],
) -> Done {
    let file = folder.join(format!("{name}.json"));
    let actions: Vec<Value> = ["Create", "Read", "Update", "Delete"]
        .iter()
        .map(|name| json!({"name": name, "authorizationStrategies": [strategy]}))
        .collect();
    let claims: Vec<Value> = resources
        .iter()
        .map(|resource| {
            let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
            json!({"claim": claim, "actions": actions})
        })
        .collect();
    let set = json!({"name": name, "resourceClaims": claims});
    write(&file, &set.to_string())?;
    let data = text(&server.data);
    server.build.run(&["claim-sets", "put", name, "--file", text(&file), "--data-dir", data])
}

/// Returns a client for whom assessment results are authorized by namespace.
pub fn by_namespace(folder: &Path, server: &Server) -> Result<Client, String> {
    claim_set(folder, server, "ByNamespace", "NamespaceBased", &["studentAssessment"])?;
    server.client(&["--claim-set", "ByNamespace", "--namespace-prefixes", "uri://"])
}

/// Returns a client for whom attendance is authorized by relationships with a district's agency.
pub fn by_relationship(folder: &Path, server: &Server, district: &Path) -> Result<Client, String> {
    let resources = ["studentSchoolAttendanceEvent"];
    claim_set(folder, server, "ByRelationship", RELATIONSHIPS, &resources)?;
    let agency = first(district, "localEducationAgencies")?["localEducationAgencyId"].to_string();
    server.client(&["--claim-set", "ByRelationship", "--education-organizations", &agency])
}

/// The strategy that most vendors have for student data.
pub const RELATIONSHIPS: &str = "RelationshipsWithEdOrgsAndPeople";

/// Returns the first document of a resource in a folder of JSON lines.
pub fn first(district: &Path, endpoint: &str) -> Result<Value, String> {
    let file = district.join(format!("{endpoint}.jsonl"));
    let lines = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(lines.lines().next().unwrap_or_default()).map_err(|e| e.to_string())
}
