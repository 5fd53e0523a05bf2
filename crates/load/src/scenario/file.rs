//! The format of a scenario file (TOML).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A scenario as it is written.
///
/// With weights, each request is a step chosen by weight among those that can be done; without
/// weights, each modelled client does the steps in order, over and over. Texts may contain
/// placeholders:
///
/// | in a text | stands for |
/// |---|---|
/// | `${name}` | a variable of the file, or a value from an earlier answer to this client or from a
/// pool |
/// | `${serial}` | a whole number that is unique in the run and the same within a step |
/// | `${serial:date}` | the same number as a date, one day each from 1900-01-01 |
/// | `${client}` | the number of the modelled client |
/// | `${random:A..B}` | a random whole number from A to B |
/// | `${uuid}` | a random UUID |
/// | `${now}` | the current time (RFC 3339, UTC) |
/// | `$${` | the two characters `${` |
///
/// A placeholder always stands for a single value. A value from an answer or a pool is
/// percent-encoded in a path (except unreserved characters and `/`), escaped within the quotes of a
/// JSON body, and stripped of line ends in a header. At the very beginning of a path it is a whole
/// path with its query, with or without the target's path. Variables of the file are inserted
/// unchanged.
///
/// A step that needs a value which no earlier answer gave is skipped and counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// The scenario's name.
    pub name: String,
    /// Its purpose, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Variables and their values; the command line may set others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepFile>,
    /// The rows that pools hold before the run begins: values by variable. Rows that steps remove
    /// are divided among the sending threads instead of copied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    /// Replaces the steps: they are derived from the target's own API description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edfi: Option<EdfiFile>,
}

/// A step as it is written in the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// The step's name.
    pub name: String,
    /// What it belongs to in the report, such as a resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its HTTP method; the default is `GET`.
    #[serde(default = "get")]
    pub method: String,
    /// The path and query.
    pub path: String,
    /// Headers by name. If `Authorization` is among them, the token is not sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The request body; with one, `Content-Type` is `application/json` unless a header says
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether the token is sent; the default is yes.
    #[serde(default = "yes")]
    pub auth: bool,
    /// Its frequency relative to other steps. Either all steps have a weight or none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The expected statuses; the default is any from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// How long a modelled client pauses afterwards: `2s`, or `1s..3s` for a random time between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// The variables that an expected answer sets: `header:NAME`, `json:/POINTER`, or `body`.
    /// `header:location` gives the last segment of its path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub take: BTreeMap<String, String>,
    /// What an expected answer must contain beyond its status: `json:/POINTER`,
    /// `json:/POINTER == VALUE`, `header:NAME`, `header:NAME == VALUE`, `body contains TEXT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// Takes values for variables from a pool before the step; the step is not done while the pool
    /// is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Pick>,
    /// Puts values into a pool after an expected answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Values by variable. Each request of this step has another combination of them, and none
    /// occurs twice in a run, over all clients; the first variable changes fastest. When all
    /// combinations are used up, the step is no longer done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub each: BTreeMap<String, Vec<String>>,
}

/// The expected statuses: `200`, `"2xx"`, or a list of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expect {
    /// One status.
    Status(u16),
    /// A status or a class, such as `2xx`.
    Class(String),
    /// Any of several.
    Any(Vec<Expect>),
}

/// What a step takes from a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// The pool's name.
    pub pool: String,
    /// Whether what is taken is removed from the pool, as for a step that deletes.
    #[serde(default)]
    pub remove: bool,
}

/// What a step puts into a pool. Pools are kept small by dropping random entries. All steps that
/// fill the same pool must give the same variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// The pool's name.
    pub pool: String,
    /// The values by variable; texts as in a body.
    pub values: BTreeMap<String, String>,
}

/// Steps over every resource of an Ed-Fi API, derived from its own description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdfiFile {
    /// The share of creates, relative to the other shares.
    pub create: f64,
    /// The share of reads by id.
    pub read: f64,
    /// The share of updates.
    pub update: f64,
    /// The share of deletes.
    pub delete: f64,
    /// The share of reads of a list.
    #[serde(default)]
    pub list: f64,
    /// Weights of resources by endpoint; `*Descriptors` stands for all names with this ending. An
    /// exact name has precedence, then the longest ending; other resources have weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// If not empty, only these resources are used, by endpoint or ending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// The resources that are left out, by endpoint or ending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

fn get() -> String {
    "GET".into()
}

fn yes() -> bool {
    true
}
