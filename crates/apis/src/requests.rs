//! Checks requests by what an operation of an OpenAPI document says of its parameters and its body.
//!
//! Source: OpenAPI 3.0.4 and 3.1.1 (parameter object, style values, request body object, media type
//! object).

mod parameter;

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Query, RequestBody, Violations};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::{Map, Value};

use crate::document::Fault;
use crate::schema::{At, Compiler, Faults, Schemas, resolve};
use crate::unique_json;
use parameter::{Parameter, coerced};

/// Media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// What an operation says of requests.
#[derive(Debug)]
pub(crate) struct Checks {
    parameters: Vec<Parameter>,
    body: Option<Body>,
}

/// What an operation says of bodies.
#[derive(Debug)]
struct Body {
    is_required: bool,
    /// Media types, of which a part may be `*`, and the schemas of what they contain.
    media: Vec<(String, Option<At>)>,
}

impl Checks {
    /// Compiles what an operation says. `path` names its placeholders in their order.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or cannot be checked.
    pub(crate) fn compile<'a>(
        compiler: &mut Compiler<'a>,
        document: &'a Value,
        item: &'a Value,
        operation: &'a Value,
        path: &[String],
    ) -> Result<Self, Fault<'a>> {
        let mut parameters: Vec<Parameter> = vec![];
        let own = [item, operation].into_iter().filter_map(|of| of["parameters"].as_array());
        for stated in own.flatten() {
            let stated = resolve(document, stated)?;
            let parameter = Parameter::compile(compiler, stated, path);
            let parameter = parameter.map_err(|fault| fault.or_at(stated))?;
            let Some(parameter) = parameter else { continue };
            // What an operation says of a parameter replaces what its path says.
            parameters.retain(|known| !known.is_same(&parameter));
            parameters.push(parameter);
        }
        let body = match operation.get("requestBody") {
            None => None,
            Some(body) => Some(Body::compile(compiler, resolve(document, body)?)?),
        };
        Ok(Self { parameters, body })
    }

    /// Checks a request, and reads its body where that is checked.
    ///
    /// # Errors
    ///
    /// 400 with each fault by its path; 415 for a body of another media type.
    pub(crate) async fn check(
        &self,
        schemas: &Schemas,
        call: &mut Call,
        placeholders: &[&str],
    ) -> Result<(), Problem> {
        let mut faults = Faults::of(call.path.len() + call.query.len());
        let query = call.query()?;
        for parameter in &self.parameters {
            parameter.check(schemas, &call.headers, &query, placeholders, &mut faults);
        }
        if let Some(body) = self.body.as_ref().filter(|_| faults.is_empty()) {
            let media = body.media_of(&call.headers)?;
            if let Some((kind, schema)) = media {
                let bytes = call.read_body().await?;
                faults = Faults::of(bytes.len());
                body.check(schemas, kind, schema, &bytes, &mut faults);
                call.body_limits = homeroom_http::BodyLimits::of_bytes(usize::MAX);
                call.body = RequestBody::Bytes(bytes);
            } else if body.is_required && call.body.is_empty() {
                faults.add("$", "a body is required");
            } else if !call.body.is_empty() {
                return Err(body.unsupported());
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(refused(faults)) }
    }
}

fn refused(faults: Faults) -> Problem {
    let mut violations = Violations::new();
    for (path, message) in faults.found {
        violations.entry(path).or_default().push(message);
    }
    Problem::of(Kind::DataValidationFailed)
        .detail("The request is not as the API's OpenAPI document says; see validationErrors.")
        .violations(violations)
}

/// How a body is read to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Json,
    Form,
    /// As a text, or as what its schema says that the text is.
    Text,
    /// Only whether there is one.
    Not,
}

impl Body {
    fn compile<'a>(compiler: &mut Compiler<'a>, body: &'a Value) -> Result<Self, Fault<'a>> {
        let mut media = vec![];
        for (name, content) in body["content"].as_object().into_iter().flatten() {
            let schema = content.get("schema").map(|schema| compiler.schema(schema)).transpose()?;
            media.push((plain(name), schema));
        }
        Ok(Self { is_required: body["required"] == true, media })
    }

    /// Returns how a body of these headers is read, and its schema; [`None`] without a media type.
    fn media_of(&self, headers: &HeaderMap) -> Result<Option<(Reading, Option<At>)>, Problem> {
        let Some(sent) = headers.get(CONTENT_TYPE) else { return Ok(None) };
        let sent = sent.to_str().unwrap_or_default();
        let own = plain(sent);
        let group = own.split_once('/').map_or(String::new(), |(group, _)| format!("{group}/*"));
        let found = [own.as_str(), group.as_str(), "*/*"]
            .iter()
            .find_map(|wanted| self.media.iter().find(|(name, _)| name == wanted));
        let Some((_, schema)) = found else { return Err(self.unsupported()) };
        let reading = reading_of(&own);
        // A text without a schema may be in any charset.
        if reading == Reading::Not || (reading == Reading::Text && schema.is_none()) {
            return Ok(Some((Reading::Not, None)));
        }
        let charset = sent.to_ascii_lowercase();
        let charset = charset.split_once("charset=").map(|(_, rest)| rest.trim_matches('"'));
        if headers.contains_key(CONTENT_ENCODING)
            || charset.is_some_and(|own| !own.starts_with("utf-8"))
        {
            return Err(self.unsupported().detail(
                "This API checks bodies, which must be UTF-8 without a Content-Encoding.",
            ));
        }
        Ok(Some((reading, *schema)))
    }

    fn unsupported(&self) -> Problem {
        let names: Vec<&str> = self.media.iter().map(|(name, _)| name.as_str()).collect();
        Problem::of(Kind::UnsupportedMediaType)
            .detail(format!("This operation accepts: {}.", names.join(", ")))
    }

    fn check(
        &self,
        schemas: &Schemas,
        reading: Reading,
        schema: Option<At>,
        bytes: &[u8],
        faults: &mut Faults,
    ) {
        if bytes.is_empty() {
            if self.is_required {
                faults.add("$", "a body is required");
            }
            return;
        }
        let value = match reading {
            Reading::Not => return,
            Reading::Json => match unique_json::read(bytes) {
                Ok(value) => value,
                Err(error) => return faults.add("$", format!("it cannot be read: {error}")),
            },
            Reading::Text => match std::str::from_utf8(bytes) {
                Ok(text) => coerced(schemas, schema, text),
                Err(_) => return faults.add("$", "it is not UTF-8"),
            },
            Reading::Form => match form(schemas, schema, bytes) {
                Ok(value) => value,
                Err(message) => return faults.add("$", message),
            },
        };
        if let Some(schema) = schema {
            schemas.check(schema, &value, &mut "$".to_owned(), faults);
        }
    }
}

/// Returns how bodies of a media type in small letters are read.
fn reading_of(media: &str) -> Reading {
    if media == "application/json" || media.ends_with("+json") {
        Reading::Json
    } else if media == FORM {
        Reading::Form
    } else if media.starts_with("text/") {
        Reading::Text
    } else {
        Reading::Not
    }
}

/// Returns whether bodies of a media type of a document are checked. Which ones `*/*` means is not known before
/// they are sent.
pub(crate) fn is_checked(media: &str) -> bool {
    let media = plain(media);
    media.contains('*') || reading_of(&media) != Reading::Not
}

/// Returns a media type without parameters, in small letters.
fn plain(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads a form as an object, each member as its schema says.
fn form(schemas: &Schemas, schema: Option<At>, bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let query = Query::read(text).map_err(|error| error.to_string())?;
    let known = schema.map(|schema| schemas.properties(schema)).unwrap_or_default();
    let mut members: Map<String, Value> = Map::new();
    for (name, text) in query.iter() {
        let own = known.iter().find(|(known, _)| *known == name).map(|(_, own)| *own);
        let is_list = own.and_then(|own| schemas.types(own)) == Some(crate::schema::Types::ARRAY);
        if is_list {
            let items = own.and_then(|own| schemas.items(own));
            let item = coerced(schemas, items, text);
            match members.get_mut(name) {
                Some(Value::Array(all)) => all.push(item),
                _ => _ = members.insert(name.to_owned(), vec![item].into()),
            }
        } else if members.insert(name.to_owned(), coerced(schemas, own, text)).is_some() {
            return Err(format!("the member {name} is there twice"));
        }
    }
    Ok(Value::Object(members))
}

#[cfg(test)]
mod tests;
