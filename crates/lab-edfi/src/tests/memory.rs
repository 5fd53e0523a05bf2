//! A target in memory: it accepts every request except those that it was told to refuse.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Access, Api, ApiError, ApiRequest, Reply};

const DATA: &str = "/data/v3";

pub struct Memory {
    access: Access,
    description: Value,
    /// Documents by path; the same body is the same document.
    documents: BTreeMap<String, Vec<(String, Value)>>,
    refusals: Vec<(&'static str, &'static str, u16, &'static str)>,
    count: usize,
    /// The organizations that the key is bound to.
    pub organizations: Vec<i64>,
}

impl Memory {
    pub fn new(description: Value) -> Self {
        let mut memory = Self {
            access: Access::default(),
            description,
            documents: BTreeMap::new(),
            refusals: vec![],
            count: 0,
            organizations: vec![],
        };
        memory.put("/ed-fi/schoolYearTypes", &json!({"schoolYear": 2026}));
        memory
    }

    /// Serves from now on under this path, whatever the target calls itself.
    pub fn move_to(&mut self, root: &str) {
        self.access.root = root.to_owned();
    }

    /// Answers every such request whose path begins with this with a problem.
    pub fn refuse(
        &mut self,
        method: &'static str,
        path: &'static str,
        status: u16,
        why: &'static str,
    ) {
        self.refusals.push((method, path, status, why));
    }

    /// Stores a document. Returns its id and whether it is new.
    pub fn put(&mut self, path: &str, body: &Value) -> (String, bool) {
        let all = self.documents.entry(path.to_owned()).or_default();
        if let Some((id, _)) = all.iter().find(|(_, known)| known == body) {
            return (id.clone(), false);
        }
        self.count += 1;
        let id = format!("{:032x}", self.count);
        all.push((id.clone(), body.clone()));
        (id, true)
    }

    fn data(&mut self, method: &str, path: &str, body: &Value) -> Reply {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (folder, id) = match path.matches('/').count() {
            2 => (path, ""),
            _ => path.rsplit_once('/').unwrap(),
        };
        let known = self.documents.get(folder).cloned().unwrap_or_default();
        let found = known.iter().position(|(known, _)| known == id);
        match (method, found) {
            ("POST", _) => {
                let (id, is_new) = self.put(folder, body);
                let location = Some(format!("http://elsewhere{DATA}{folder}/{id}"));
                Reply { status: if is_new { 201 } else { 200 }, location, ..Reply::default() }
            }
            ("GET", None) if id.is_empty() => {
                let fits = |body: &Value| {
                    query.split('&').filter_map(|pair| pair.split_once('=')).all(|(name, value)| {
                        name == "limit" || body[name].to_string().trim_matches('"') == value
                    })
                };
                let all = known.iter().filter(|(_, body)| fits(body)).map(|(id, body)| {
                    let mut body = body.clone();
                    body["id"] = id.clone().into();
                    body
                });
                json_reply(&Value::Array(all.collect()))
            }
            ("GET", Some(at)) => json_reply(&known[at].1),
            ("PUT", Some(at)) => {
                self.documents.get_mut(folder).unwrap()[at].1 = body.clone();
                Reply { status: 204, ..Reply::default() }
            }
            ("DELETE", Some(at)) => {
                self.documents.get_mut(folder).unwrap().remove(at);
                Reply { status: 204, ..Reply::default() }
            }
            _ => problem(404, "not here"),
        }
    }
}

impl Api for Memory {
    fn access(&self) -> &Access {
        &self.access
    }

    fn send(&mut self, ask: &ApiRequest<'_>) -> Result<Reply, ApiError> {
        let body: Value = serde_json::from_slice(ask.body).unwrap_or_default();
        if let Some(path) = ask.path.strip_prefix(DATA) {
            assert_eq!(ask.authorization, "Bearer t");
            let fits = |(method, begins, ..): &&(&str, &str, u16, &str)| {
                *method == ask.method && path.starts_with(begins)
            };
            if let Some((_, _, status, why)) = self.refusals.iter().find(fits) {
                return Ok(problem(*status, why));
            }
            return Ok(self.data(ask.method, path, &body));
        }
        let front = format!("{}/", self.access.root);
        Ok(match ask.path {
            path if path == front => json_reply(&json!({"urls": {
                "oauth": "http://elsewhere/oauth/token",
                "openApiMetadata": "http://elsewhere/metadata/",
                "dataManagementApi": "http://elsewhere/data/v3/",
            }})),
            "/oauth/token" => json_reply(&json!({"access_token": "t"})),
            "/oauth/token_info" => {
                let ids = self.organizations.iter();
                let ids: Vec<Value> =
                    ids.map(|id| json!({"education_organization_id": id})).collect();
                json_reply(&json!({"education_organizations": ids, "namespace_prefixes": []}))
            }
            "/metadata/" => json_reply(&json!([
                {"name": "Resources", "endpointUri": "http://elsewhere/r.json", "prefix": ""},
            ])),
            "/r.json" => json_reply(&self.description),
            _ => problem(404, "not here"),
        })
    }

    fn wait(&mut self, _: Duration) {}
}

fn json_reply(body: &Value) -> Reply {
    Reply { status: 200, body: body.to_string().into_bytes(), ..Reply::default() }
}

fn problem(status: u16, detail: &str) -> Reply {
    let body = json!({"status": status, "detail": detail}).to_string().into_bytes();
    Reply { status, body, ..Reply::default() }
}
