//! The form of a scenario file (TOML).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A scenario as it is written.
///
/// With weights, each request is a step chosen by weight among those that can be done; without,
/// each modelled client does the steps in order, over and over. Texts may name values:
///
/// | in a text | is |
/// |---|---|
/// | `${name}` | a variable of the file, or what an earlier answer of this client, or a pool, gave |
/// | `${serial}` | a whole number that no other request of the run has, the same within a step |
/// | `${serial:date}` | the same as a date, one a day from 1900-01-01 |
/// | `${client}` | the number of the modelled client |
/// | `${random:A..B}` | a random whole number from A to B |
/// | `${uuid}` | a random UUID |
/// | `${now}` | the moment (RFC 3339, UTC) |
/// | `$${` | the two characters `${` |
///
/// A value stays one value: what an answer or a pool gave is percent-encoded in a path (but for
/// unreserved characters and `/`), is escaped within the quotes of a JSON body, and loses its line
/// ends in a header. At the very beginning of a path it is a path of its own, with its query, be it
/// written with the target's path or without.
/// Variables of the file are part of its text, as they are.
///
/// A step that names what an earlier answer should have given and did not is skipped, and counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Its name.
    pub name: String,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Variables and their values; the command line may set others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepFile>,
    /// What stands in pools before the run begins: rows of values by variable. Where a step takes
    /// rows away, they are shared out among the sending threads, never copied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    /// Instead of steps: they are made from the target's own API description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edfi: Option<EdfiFile>,
}

/// A step as it is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// Its name.
    pub name: String,
    /// What it belongs to in the report, for instance a resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its method; `GET` unless given.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers by name. With `Authorization` among them, the token does not go with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body; with one, `Content-Type` is `application/json` unless a header says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether the token goes with it; yes unless given.
    #[serde(default = "yes")]
    pub auth: bool,
    /// How often, relative to the others'. All steps have one, or none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The statuses that are right; any from 200 to 399 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// How long a modelled client thinks afterwards: `2s`, or `1s..3s` for a random time between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// What a right answer gives to variables: `header:NAME`, `json:/POINTER`, or `body`. Of a
    /// `header:location`, what is taken is the last segment of its path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub take: BTreeMap<String, String>,
    /// What a right answer must be, beyond its status: `json:/POINTER`, `json:/POINTER == VALUE`,
    /// `header:NAME`, `header:NAME == VALUE`, `body contains TEXT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// Takes values for variables out of a pool before the step; it is not done while the pool is
    /// empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Pick>,
    /// Puts values into a pool after a right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Values by variable, of which each request of this step has another combination, none twice
    /// in a run, over all clients; the first variable changes fastest. When all combinations are
    /// used, the step is not done any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub each: BTreeMap<String, Vec<String>>,
}

/// The statuses that are right: `200`, `"2xx"`, or a list of such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expect {
    /// One status.
    Status(u16),
    /// A status or a class, such as `2xx`.
    Class(String),
    /// Any of these.
    Any(Vec<Expect>),
}

/// What a step takes from a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// The pool's name.
    pub pool: String,
    /// Whether what is taken leaves the pool: for a step that deletes.
    #[serde(default)]
    pub remove: bool,
}

/// What a step puts into a pool; pools are kept small by forgetting at random. All steps that put
/// something into the same pool give the same variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// The pool's name.
    pub pool: String,
    /// The values, by variable; texts as in a body.
    pub values: BTreeMap<String, String>,
}

/// Steps over every resource of an Ed-Fi API, made from its own description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdfiFile {
    /// Shares of creating, reading, updating and deleting; they need not sum to anything.
    pub create: f64,
    /// See `create`: by id.
    pub read: f64,
    /// See `create`.
    pub update: f64,
    /// See `create`.
    pub delete: f64,
    /// Shares of reading a list.
    #[serde(default)]
    pub list: f64,
    /// Resources with a share of their own, by endpoint, or all whose names end so: `*Descriptors`.
    /// What is named whole comes first, then the longest end; all others have 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// If not empty, only these resources, by endpoint or by its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Resources that are left out, by endpoint or by its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

fn get() -> String {
    "GET".into()
}

fn yes() -> bool {
    true
}
