//! What the loads send: bodies, paths, the documents of every resource.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::load::Scenario;
use super::server::{Build, Client, Server};
use super::{text, write};
use crate::house::Done;

/// A kind of document that is created over and over, each time with another value.
pub struct Made {
    /// Its path.
    pub path: &'static str,
    /// References that every document has.
    references: &'static [&'static str],
    /// Scalars that every document has, as they are found.
    scalars: &'static [&'static str],
    /// The scalar that makes documents differ.
    fresh: &'static str,
    /// What a scenario puts there.
    value: &'static str,
}

/// Three references and a descriptor; the date is new each time.
pub const ATTENDANCE: Made = Made {
    path: "/data/v3/ed-fi/studentSchoolAttendanceEvents",
    references: &["schoolReference", "sessionReference", "studentReference"],
    scalars: &["attendanceEventCategoryDescriptor"],
    fresh: "eventDate",
    value: "${serial:date}",
};

/// Three references, a namespace in one of them; the identifier is new each time.
pub const ASSESSMENT: Made = Made {
    path: "/data/v3/ed-fi/studentAssessments",
    references: &["assessmentReference", "studentReference", "schoolYearTypeReference"],
    scalars: &[],
    fresh: "studentAssessmentIdentifier",
    value: "s${serial}",
};

/// How many pages of a list are read in turn.
const PAGES: usize = 100;

impl Made {
    /// Bodies made of stored documents, `%s` for the value that is new each time.
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

    /// Creates of documents like those that are stored, each new.
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

    /// Reads by id of documents that are stored.
    pub fn get(&self, name: &str, client: &Client) -> Result<Scenario, String> {
        let ids = client.ids(&format!("{}?limit=500", self.path))?;
        let paths = ids.into_iter().map(|id| format!("{}/{id}", self.path));
        Ok(reads(name, paths))
    }

    /// The usual page of a list, from different places of the resource.
    pub fn list(&self, name: &str) -> Scenario {
        let pages = (0..PAGES).map(|at| format!("{}?offset={}&limit=25", self.path, at * 25));
        reads(name, pages)
    }

    /// Writes many documents, each with a date of its own.
    pub fn write_many(bodies: &[String], count: usize, file: &Path) -> Done {
        use std::io::Write as _;

        let folder = file.parent().ok_or("the file has no folder")?;
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        let out = std::fs::File::create(file).map_err(|e| e.to_string())?;
        let mut out = std::io::BufWriter::new(out);
        for at in 0..count {
            let day = at / bodies.len();
            let (year, month, day) = (1900 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
            let date = format!("{year:04}-{month:02}-{day:02}");
            writeln!(out, "{}", bodies[at % bodies.len()].replace("%s", &date))
                .map_err(|e| e.to_string())?;
        }
        out.flush().map_err(|e| e.to_string())
    }
}

/// A scenario that reads paths at random.
fn reads(name: &str, paths: impl Iterator<Item = String>) -> Scenario {
    let mut scenario = Scenario::new(name);
    scenario.pool("stored", paths.map(|path| json!({"path": path})).collect());
    scenario.step(json!({
        "name": "read", "path": "${path}", "from": {"pool": "stored"}, "expect": 200,
    }));
    scenario
}

/// Documents of every resource: made from the model, stored, and ready to be sent anew.
pub struct Every {
    makers: Vec<Maker>,
    /// Files of what they refer to.
    setup: PathBuf,
}

/// A line of the file that the example `every_resource` writes.
struct Maker {
    path: String,
    /// The value that makes its documents differ; none where only references do.
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

    /// Puts what they need into the store of `data`, which no server has open.
    pub fn load(&self, build: &Build, data: &Path) -> Done {
        build.run(&["load", text(&self.setup), "--data-dir", text(data)])
    }

    /// How many resources there are, how many of them can be created anew, how many updated.
    pub fn counts(&self) -> [usize; 3] {
        let count = |is: &dyn Fn(&Maker) -> bool| self.makers.iter().filter(|m| is(m)).count();
        [self.makers.len(), count(&|m| m.fresh.is_some()), count(&|m| m.changed.is_some())]
    }

    /// 60 % read, 20 % create, 15 % update, 5 % delete; reads are of up to 100 stored documents of
    /// each resource.
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
            // 201: another client has deleted it meanwhile.
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
            // No other resource gets the same, so that subclasses of one base never meet.
            "number" => Some("1${serial}"),
            "date" => Some("${serial:date}"),
            "-" => None,
            _ => return None,
        };
        let changed = (changed != "-").then(|| changed.to_owned());
        Some(Self { path: path.to_owned(), fresh, body: body.to_owned(), changed })
    }
}

/// Makes a claim set that grants resources within a strategy.
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

/// A client for whom assessments' results are authorized by namespace.
pub fn by_namespace(folder: &Path, server: &Server) -> Result<Client, String> {
    claim_set(folder, server, "ByNamespace", "NamespaceBased", &["studentAssessment"])?;
    server.client(&["--claim-set", "ByNamespace", "--namespace-prefixes", "uri://"])
}

/// A client for whom attendance is authorized by relationships with a district's agency.
pub fn by_relationship(folder: &Path, server: &Server, district: &Path) -> Result<Client, String> {
    let resources = ["studentSchoolAttendanceEvent"];
    claim_set(folder, server, "ByRelationship", RELATIONSHIPS, &resources)?;
    let agency = first(district, "localEducationAgencies")?["localEducationAgencyId"].to_string();
    server.client(&["--claim-set", "ByRelationship", "--education-organizations", &agency])
}

/// The strategy of most vendors for what is about students.
pub const RELATIONSHIPS: &str = "RelationshipsWithEdOrgsAndPeople";

/// The first document of a resource in a folder of JSON lines.
pub fn first(district: &Path, endpoint: &str) -> Result<Value, String> {
    let file = district.join(format!("{endpoint}.jsonl"));
    let lines = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(lines.lines().next().unwrap_or_default()).map_err(|e| e.to_string())
}
