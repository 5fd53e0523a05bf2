//! Everything that a client reads before it sends data: discovery, OpenAPI documents, the
//! dependency order, XML schemas.
//!
//! Pure functions derive all of it from the model. The large documents are written once, at the
//! first request, away from the workers that answer requests.

mod dependencies;
mod discovery;
mod gzip;
mod here;
mod markup;
mod media;
mod openapi;
mod page;
mod shelf;
mod xsd;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use homeroom_http::{
    Body, Call, EntityTags, Guard, Handler, Kind, Problem, Response, Route, empty_response, handler,
};
use homeroom_model::Model;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use tokio::sync::Semaphore;

pub use dependencies::{graph as dependency_graph, order as dependency_order};
pub use discovery::{CONTRACT_VERSION, discovery, listing, specifications};
pub use here::{Hidden, PageRequest, check as asked_here};
pub use openapi::{Section, change_queries, document};
pub use page::{CONTENT_SECURITY_POLICY, Credentials, Shown, render as browser_page};
pub use shelf::BASE_URL;
pub use xsd::{SchemaFile, files as schema_files, schemas};

use crate::composites::Composites;
use shelf::{Both, Coding, Copy, Document, Shelf};

/// Most requests that wait for a large document to be written for their host.
const WAITING_MAX: usize = 32;

const JSON: &str = "application/json; charset=utf-8";
const GRAPHML: &str = "application/graphml; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Headers that keep the page private to its reader: no cache stores it, and no other site embeds
/// it or learns its address.
const PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// A function that writes the page for browsers at `/`.
pub type BrowserPage = Arc<dyn Fn(&PageRequest<'_>) -> String + Send + Sync>;

/// The metadata of a model, and the parts of it that have been written so far.
#[derive(Clone)]
pub struct Metadata {
    model: Arc<Model>,
    composites: Arc<Composites>,
    /// The OpenAPI documents of the categories of composites, in order.
    composite_texts: Arc<OnceLock<Vec<String>>>,
    shelf: Arc<Shelf>,
    schema_files: Arc<OnceLock<BTreeMap<String, Both>>>,
    page: BrowserPage,
    /// Lets one large document be written or copied at a time: a client that names a new host each
    /// time causes many copies, and one that hangs up leaves the work behind.
    copying: Arc<Semaphore>,
    /// Places for requests that wait for that.
    waiting: Arc<Semaphore>,
}

impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metadata").field("shelf", &self.shelf).finish_non_exhaustive()
    }
}

impl Metadata {
    /// Creates the metadata of a model, with the usual page for browsers.
    pub fn new(model: Arc<Model>) -> Self {
        let page = {
            let model = Arc::clone(&model);
            Arc::new(move |request: &PageRequest<'_>| {
                browser_page(&model, request.base_url, Shown::Nothing)
            })
        };
        let copying = Arc::new(Semaphore::new(1));
        let waiting = Arc::new(Semaphore::new(WAITING_MAX));
        Self {
            model,
            composites: Arc::default(),
            composite_texts: Arc::default(),
            shelf: Arc::default(),
            schema_files: Arc::default(),
            page,
            copying,
            waiting,
        }
    }

    /// Returns the same metadata with composites.
    #[must_use]
    pub fn with_composites(mut self, composites: Arc<Composites>) -> Self {
        self.composites = composites;
        self.composite_texts = Arc::default();
        self
    }

    /// Returns the same metadata with another page for browsers.
    #[must_use]
    pub fn with_browser_page(mut self, page: BrowserPage) -> Self {
        self.page = page;
        self
    }
}

/// Returns the routes of this part; all are public.
pub fn routes<C: Send + Sync + 'static>(state: &Metadata) -> Vec<Route<C>> {
    let route = |template: &'static str, handler: Handler<C>| {
        Route::new(Method::GET, template, Guard::Public, handler)
    };
    let kept = |template, document| {
        route(
            template,
            handler(state, move |state: Metadata, call: Call<C>| async move {
                state.kept(document, &call).await
            }),
        )
    };
    vec![
        route("/", handler(state, root)),
        route("/metadata", handler(state, list)),
        kept("/metadata/data/v3/resources/swagger.json", Document::Resources),
        kept("/metadata/data/v3/descriptors/swagger.json", Document::Descriptors),
        route("/metadata/data/v3/dependencies", handler(state, dependencies)),
        // The same documents at the addresses of Ed-Fi's newer server.
        route("/metadata/dependencies", handler(state, dependencies)),
        route("/metadata/specifications", handler(state, list_specifications)),
        kept("/metadata/specifications/resources-spec.json", Document::Resources),
        kept("/metadata/specifications/descriptors-spec.json", Document::Descriptors),
        kept("/metadata/specifications/discovery-spec.json", Document::Discovery),
        kept("/metadata/specifications/change-queries-spec.json", Document::ChangeQueries),
        kept("/metadata/changequeries/v1/swagger.json", Document::ChangeQueries),
        route(
            "/metadata/composites/v1/{organization}/{category}/swagger.json",
            handler(state, composites),
        ),
        route("/metadata/xsd", handler(state, list_schemas)),
        route("/metadata/xsd/{schema}/files", handler(state, list_schema_files)),
        route("/metadata/xsd/{schema}/{file}", handler(state, schema_file)),
    ]
}

async fn root<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let mut response = if media::prefers(call.header("accept"), "text/html", "application/json") {
        let request =
            PageRequest { base_url: &call.base_url, host: &call.host, headers: &call.headers };
        let mut response = answer(&call, &Copy::of((state.page)(&request)), HTML)?;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(CONTENT_SECURITY_POLICY),
        );
        // A demonstration's page contains its secret.
        for (name, value) in PAGE_HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    } else {
        small(&call, &discovery(&state.model, &call.base_url))?
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

async fn dependencies<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let graph = media::names(call.header("accept"), "application/graphml", "application/json");
    let document = if graph { Document::DependencyGraph } else { Document::Dependencies };
    let mut response = state.kept(document, &call).await?;
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

async fn list<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    small(&call, &listing(&state.composites, &call.base_url))
}

async fn composites<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let (organization, category) = (call.params.get("organization"), call.params.get("category"));
    let all = &state.composites.categories;
    let found = state.composites.category(organization, category);
    let at = found.and_then(|found| all.iter().position(|own| std::ptr::eq(own, found)));
    let texts = state.composite_texts.get_or_init(|| {
        all.iter().map(|own| openapi::composites(&state.model, own).to_string()).collect()
    });
    let text = at.and_then(|at| texts.get(at)).ok_or_else(|| {
        Problem::of(Kind::NotFound)
            .detail("There is no such category of composites.")
            .hint("/metadata lists the documents.")
    })?;
    answer(&call, &Copy::of(text.replace(BASE_URL, &shelf::escaped(&call.base_url))), JSON)
}

async fn list_specifications<C>(_: Metadata, call: Call<C>) -> Result<Response, Problem> {
    small(&call, &specifications(&call.base_url))
}

async fn list_schemas<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    small(&call, &schemas(&state.model, &call.base_url))
}

async fn list_schema_files<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let schema = state.set_of_schemas(call.params.get("schema"))?;
    small(&call, &xsd::urls_of_set(&state.model, schema, &call.base_url))
}

async fn schema_file<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let schema = state.set_of_schemas(call.params.get("schema"))?;
    let name = call.params.get("file");
    let is_of_set = xsd::names_of_set(&state.model, schema).contains(name);
    let files = state.schema_files().await?;
    let copies = files.get(name).filter(|_| is_of_set).ok_or_else(|| {
        Problem::of(Kind::NotFound)
            .detail("There is no such schema file.")
            .hint(format!("/metadata/xsd/{schema}/files lists the files."))
    })?;
    coded(&call, copies.get(coding(&call)), XML)
}

impl Metadata {
    /// Returns the path segment of the requested set of schema files.
    fn set_of_schemas(&self, asked: &str) -> Result<&str, Problem> {
        let mut sets = self.model.projects.iter().map(|project| project.schema.as_str());
        sets.find(|schema| schema.eq_ignore_ascii_case(asked)).ok_or_else(|| {
            Problem::of(Kind::NotFound)
                .detail("There is no such set of schema files.")
                .hint("/metadata/xsd lists the sets.")
        })
    }

    /// Returns the schema files by name. The first request waits until they are written, in a turn
    /// that ends when they are complete, even if nobody waits for them any more.
    async fn schema_files(&self) -> Result<&BTreeMap<String, Both>, Problem> {
        if self.schema_files.get().is_none() {
            let turn = Arc::clone(&self.copying).acquire_owned().await;
            let turn = turn.map_err(Problem::internal)?;
            let (model, files) = (Arc::clone(&self.model), Arc::clone(&self.schema_files));
            tokio::task::spawn_blocking(move || {
                let _turn = turn;
                files.get_or_init(|| {
                    let written = schema_files(&model);
                    written.into_iter().map(|file| (file.name, Both::of(&file.text))).collect()
                });
            })
            .await
            .map_err(Problem::internal)?;
        }
        Ok(self.schema_files.get().expect("they were written just now"))
    }

    /// Answers with a document that is kept; the first request waits until it is written.
    async fn kept<C>(&self, document: Document, call: &Call<C>) -> Result<Response, Problem> {
        let coding = coding(call);
        let copy = match self.shelf.peek(document, &call.base_url, coding) {
            Some(copy) => copy,
            None => self.copied(document, &call.base_url, coding).await?,
        };
        let media = if document == Document::DependencyGraph { GRAPHML } else { JSON };
        coded(call, &copy, media)
    }

    /// Makes a copy that did not exist yet. The turn ends when the copy is complete, even if nobody
    /// waits for it any more.
    async fn copied(
        &self,
        document: Document,
        base_url: &str,
        coding: Coding,
    ) -> Result<Copy, Problem> {
        // Clients with a host name of their own each must not delay everybody else.
        let Ok(_waits) = self.waiting.try_acquire() else {
            return Err(Problem::busy(1)
                .detail("The server is already writing this document for many other host names."));
        };
        let turn = Arc::clone(&self.copying).acquire_owned().await.map_err(Problem::internal)?;
        if let Some(copy) = self.shelf.peek(document, base_url, coding) {
            return Ok(copy);
        }
        let (state, base_url) = (self.clone(), base_url.to_owned());
        let making = tokio::task::spawn_blocking(move || {
            (state.shelf.get(document, &base_url, coding, || state.write(document)), turn)
        });
        // The next turn begins once this copy has reserved its room in a budget.
        let (copy, _turn) = making.await.map_err(Problem::internal)?;
        Ok(copy)
    }

    fn write(&self, document: Document) -> String {
        match document {
            Document::Resources => openapi::document(&self.model, Section::Resources).to_string(),
            Document::Descriptors => {
                openapi::document(&self.model, Section::Descriptors).to_string()
            }
            Document::ChangeQueries => change_queries().to_string(),
            Document::Discovery => openapi::discovery().to_string(),
            Document::Dependencies => dependency_order(&self.model).to_string(),
            Document::DependencyGraph => dependency_graph(&self.model),
        }
    }
}

/// Answers with a document that is small enough to be written each time.
fn small<C>(call: &Call<C>, document: &Value) -> Result<Response, Problem> {
    answer(call, &Copy::of(document.to_string()), JSON)
}

/// Returns the coding that the caller prefers.
fn coding<C>(call: &Call<C>) -> Coding {
    let lines = call.headers.get_all(header::ACCEPT_ENCODING).iter();
    if media::takes_gzip(lines.filter_map(|line| line.to_str().ok())) {
        Coding::Gzip
    } else {
        Coding::Identity
    }
}

/// Answers with the copy that matches the caller's codings.
fn coded<C>(call: &Call<C>, copy: &Copy, media: &'static str) -> Result<Response, Problem> {
    let mut response = answer(call, copy, media)?;
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Ok(response)
}

/// Answers with a copy, or with 304 if the caller already has it.
fn answer<C>(call: &Call<C>, copy: &Copy, media: &'static str) -> Result<Response, Problem> {
    let tag = copy.etag.trim_matches('"');
    let wanted = EntityTags::read(&call.headers, &header::IF_MATCH)?;
    if wanted.is_some_and(|tags| !tags.match_strongly(tag)) {
        return Err(Problem::of(Kind::OptimisticLockFailed));
    }
    let known = EntityTags::read(&call.headers, &header::IF_NONE_MATCH)?
        .is_some_and(|tags| tags.match_weakly(tag));
    let mut response = if known {
        empty_response(StatusCode::NOT_MODIFIED)
    } else {
        let mut response = http::Response::new(Body::from(copy.bytes.clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        if copy.coding == Coding::Gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(
        header::ETAG,
        HeaderValue::from_str(&copy.etag).expect("a tag is hexadecimal digits in quotes"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use homeroom_model::{format, link, shipped};

    use super::*;

    #[tokio::test]
    async fn cancelled_requests_for_schema_files_write_nothing() {
        let source = format::read(shipped("5.2.0").unwrap()).unwrap();
        let metadata = Metadata::new(Arc::new(link(&[source]).unwrap()));
        let turn = Arc::clone(&metadata.copying).acquire_owned().await.unwrap();

        for _ in 0..3 {
            let given_up = metadata.schema_files();
            assert!(tokio::time::timeout(Duration::from_millis(50), given_up).await.is_err());
        }

        assert!(metadata.schema_files.get().is_none());
        drop(turn);
        assert!(!metadata.schema_files().await.unwrap().is_empty());
        assert_eq!(metadata.copying.available_permits(), 1);
    }
}
