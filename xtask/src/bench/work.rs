//! What the loads send: bodies, paths, the documents of every resource.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::{Client, Server};
use super::{homeroom, text, write};
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
}

/// Three references and a descriptor; the date is new each time.
pub const ATTENDANCE: Made = Made {
    path: "/data/v3/ed-fi/studentSchoolAttendanceEvents",
    references: &["schoolReference", "sessionReference", "studentReference"],
    scalars: &["attendanceEventCategoryDescriptor"],
    fresh: "eventDate",
};

/// Three references, a namespace in one of them; the identifier is new each time.
pub const ASSESSMENT: Made = Made {
    path: "/data/v3/ed-fi/studentAssessments",
    references: &["assessmentReference", "studentReference", "schoolYearTypeReference"],
    scalars: &[],
    fresh: "studentAssessmentIdentifier",
};

impl Made {
    /// Bodies made of stored documents, `%s` for the value that is new each time.
    pub fn templates(&self, client: &Client) -> Result<Vec<String>, String> {
        let page = client.get(&format!("{}?limit=500", self.path))?;
        let found: serde_json::Value = serde_json::from_str(&page).map_err(|e| e.to_string())?;
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
            let text = serde_json::Value::Object(body).to_string();
            if !bodies.contains(&text) {
                bodies.push(text);
            }
        }
        if bodies.is_empty() { Err(format!("there are no {}", self.path)) } else { Ok(bodies) }
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

/// Documents of every resource: made from the model, stored, and ready to be sent anew.
pub struct Every {
    /// A line a resource: see the example `every_resource`.
    pub templates: PathBuf,
    /// Paths of stored documents of all resources.
    pub paths: PathBuf,
    /// How many resources there are, how many of them can be created anew, how many updated.
    pub counts: [usize; 3],
}

impl Every {
    /// Makes the documents and puts what they need into the store of `data`, which no server has
    /// open.
    pub fn load(folder: &Path, data: &Path) -> Result<Self, String> {
        let folder = folder.join("every");
        let done = Command::new("cargo")
            .args(["run", "--quiet", "--locked", "-p", "homeroom-data"])
            .args(["--example", "every_resource", "--", text(&folder)])
            .status()
            .map_err(|e| e.to_string())?;
        if !done.success() {
            return Err("the documents of every resource could not be made".into());
        }
        homeroom(&["load", text(&folder.join("setup")), "--data-dir", text(data)])?;
        let templates = folder.join("every.tsv");
        let lines = std::fs::read_to_string(&templates).map_err(|e| e.to_string())?;
        let count = |test: &dyn Fn(&str) -> bool| lines.lines().filter(|line| test(line)).count();
        let counts = [
            count(&|_| true),
            count(&|line| !line.contains("\t-\t")),
            count(&|line| !line.ends_with("\t-")),
        ];
        Ok(Self { templates, paths: folder.join("paths"), counts })
    }

    /// Notes the paths of up to 100 stored documents of each resource.
    pub fn find(&self, client: &Client) -> Done {
        let lines = std::fs::read_to_string(&self.templates).map_err(|e| e.to_string())?;
        let mut paths = String::new();
        for path in lines.lines().filter_map(|line| line.split('\t').next()) {
            for id in client.ids(&format!("{path}?limit=100"))? {
                _ = writeln!(paths, "{path}/{id}");
            }
        }
        write(&self.paths, &paths)
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
    let actions: Vec<serde_json::Value> = ["Create", "Read", "Update", "Delete"]
        .iter()
        .map(|name| serde_json::json!({"name": name, "authorizationStrategies": [strategy]}))
        .collect();
    let claims: Vec<serde_json::Value> = resources
        .iter()
        .map(|resource| {
            let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
            serde_json::json!({"claim": claim, "actions": actions})
        })
        .collect();
    let set = serde_json::json!({"name": name, "resourceClaims": claims});
    write(&file, &set.to_string())?;
    let data = text(&server.data);
    homeroom(&["claim-sets", "put", name, "--file", text(&file), "--data-dir", data])
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
pub fn first(district: &Path, endpoint: &str) -> Result<serde_json::Value, String> {
    let file = district.join(format!("{endpoint}.jsonl"));
    let lines = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(lines.lines().next().unwrap_or_default()).map_err(|e| e.to_string())
}
