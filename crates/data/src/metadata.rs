//! Everything that a client reads before it sends data: discovery, OpenAPI documents, the
//! dependency order, XML schemas.
//!
//! Pure functions derive all of it from the model. The large documents are written once, at the
//! first request, away from the workers that answer requests.

mod dependencies;
mod discovery;
mod docs;
mod here;
mod markup;
mod openapi;
mod page;
mod shelf;
mod sources;
mod turns;
mod xsd;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use homeroom_http::openapi::{Listed, asked_tags};
use homeroom_http::{
    Both, BudgetFigures, Call, Copy, Guard, Handler, JSON, Kind, Problem, Response, Route,
    coded_answer, coding_of, handler, json_answer, names_media, prefers, text_answer,
};
use homeroom_model::Model;
use http::{HeaderName, HeaderValue, Method, header};

pub use dependencies::{graph as dependency_graph, order as dependency_order};
pub use discovery::{CONTRACT_VERSION, discovery, listing, specifications};
pub use here::{Hidden, PageRequest, check as asked_here};
pub use openapi::{Section, change_queries, document, part, tags};
pub use page::{CONTENT_SECURITY_POLICY, Credentials, Shown, render as browser_page};
pub use xsd::{SchemaFile, files as schema_files, schemas};

use crate::composites::Composites;
use docs::{Docs, Indexed};
use shelf::{Document, OpenApi, Part, Shelf};
use sources::Sources;
use turns::Turns;

const GRAPHML: &str = "application/graphml; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

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
    sources: Sources,
    shelf: Arc<Shelf>,
    /// The tags of the OpenAPI documents.
    tags: Arc<OnceLock<HashMap<OpenApi, Vec<String>>>>,
    schema_files: Arc<OnceLock<Arc<BTreeMap<String, Both>>>>,
    docs: Arc<OnceLock<Docs>>,
    others: Arc<[Listed]>,
    page: BrowserPage,
    turns: Turns,
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
        Self {
            sources: Sources { model, composites: Arc::default() },
            shelf: Arc::default(),
            tags: Arc::default(),
            schema_files: Arc::default(),
            docs: Arc::default(),
            page,
            others: Arc::default(),
            turns: Turns::default(),
        }
    }

    /// Returns the same metadata with composites.
    #[must_use]
    pub fn with_composites(self, composites: Arc<Composites>) -> Self {
        let sources = Sources { composites, ..self.sources };
        let (tags, docs) = (Arc::default(), Arc::default());
        Self { sources, shelf: Arc::default(), tags, docs, ..self }
    }

    /// Returns the same metadata, whose list names OpenAPI documents of other parts, too.
    #[must_use]
    pub fn with_others(self, others: &[Listed]) -> Self {
        Self { others: others.into(), docs: Arc::default(), ..self }
    }

    /// Returns the same metadata, for whose documents at most `size` requests wait.
    #[must_use]
    pub fn with_waiting_max(self, size: usize) -> Self {
        Self { turns: Turns::new(size), ..self }
    }

    /// Returns the figures of the requests that wait until a document is written.
    pub fn queue(&self) -> BudgetFigures {
        self.turns.figures()
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
    let openapi = |template, document| {
        route(
            template,
            handler(state, move |state: Metadata, call: Call<C>| async move {
                state.openapi(document, &call).await
            }),
        )
    };
    let (resources, descriptors) =
        (OpenApi::Section(Section::Resources), OpenApi::Section(Section::Descriptors));
    vec![
        route("/", handler(state, root)),
        route("/docs", handler(state, docs_page)),
        route("/docs/reference.js", handler(state, docs_script)),
        route("/docs/reference.css", handler(state, docs_style)),
        route("/metadata", handler(state, list)),
        openapi("/metadata/data/v3/resources/swagger.json", resources),
        openapi("/metadata/data/v3/descriptors/swagger.json", descriptors),
        openapi("/metadata/data/v3/swagger.json", OpenApi::Section(Section::All)),
        route("/metadata/data/v3/{schema}/swagger.json", handler(state, project)),
        route("/metadata/data/v3/dependencies", handler(state, dependencies)),
        // The same documents at the addresses of Ed-Fi's newer server.
        route("/metadata/dependencies", handler(state, dependencies)),
        route("/metadata/specifications", handler(state, list_specifications)),
        openapi("/metadata/specifications/resources-spec.json", resources),
        openapi("/metadata/specifications/descriptors-spec.json", descriptors),
        openapi("/metadata/specifications/discovery-spec.json", OpenApi::Discovery),
        openapi("/metadata/specifications/change-queries-spec.json", OpenApi::ChangeQueries),
        openapi("/metadata/batch/v1/swagger.json", OpenApi::Batch),
        openapi("/metadata/changequeries/v1/swagger.json", OpenApi::ChangeQueries),
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
    let mut response = if prefers(call.header("accept"), "text/html", "application/json") {
        let request =
            PageRequest { base_url: &call.base_url, host: &call.host, headers: &call.headers };
        let mut response = text_answer(&call, &Copy::of((state.page)(&request)), HTML)?;
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
        json_answer(&call, &discovery(&state.sources.model, &call.base_url))?
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

async fn docs_page<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let mut response = coded_answer(&call, state.docs().page.get(coding_of(&call)), HTML)?;
    let policy = HeaderValue::from_static(docs::CONTENT_SECURITY_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(guarded(response))
}

async fn docs_script<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    coded_answer(&call, state.docs().script.get(coding_of(&call)), SCRIPT).map(guarded)
}

async fn docs_style<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    coded_answer(&call, state.docs().style.get(coding_of(&call)), STYLE).map(guarded)
}

/// Adds the headers that keep a page and its files to their own site; caches may keep them.
fn guarded(mut response: Response) -> Response {
    for (name, value) in PAGE_HEADERS.into_iter().filter(|(name, _)| name != header::CACHE_CONTROL)
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn dependencies<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let graph = names_media(call.header("accept"), "application/graphml", "application/json");
    let document = if graph { Document::DependencyGraph } else { Document::Dependencies };
    let mut response = state.kept(document, &call).await?;
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

async fn list<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let sdk = call.query()?.get("sdk").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let Sources { model, composites } = &state.sources;
    json_answer(&call, &listing(model, composites, &state.others, sdk, &call.base_url))
}

async fn project<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let asked = call.params.get("schema");
    let mut projects = state.sources.model.projects.iter();
    let at = projects.position(|project| project.schema.eq_ignore_ascii_case(asked));
    let at = at.ok_or_else(|| {
        Problem::of(Kind::NotFound)
            .detail("There is no such standard or extension.")
            .hint("/metadata?sdk=true lists the documents.")
    })?;
    state.openapi(OpenApi::Section(Section::Project(at)), &call).await
}

async fn composites<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let (organization, category) = (call.params.get("organization"), call.params.get("category"));
    let all = &state.sources.composites.categories;
    let found = state.sources.composites.category(organization, category);
    let at = found.and_then(|found| all.iter().position(|own| std::ptr::eq(own, found)));
    let at = at.ok_or_else(|| {
        Problem::of(Kind::NotFound)
            .detail("There is no such category of composites.")
            .hint("/metadata lists the documents.")
    })?;
    state.openapi(OpenApi::Composites(at), &call).await
}

async fn list_specifications<C>(_: Metadata, call: Call<C>) -> Result<Response, Problem> {
    json_answer(&call, &specifications(&call.base_url))
}

async fn list_schemas<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    json_answer(&call, &schemas(&state.sources.model, &call.base_url))
}

async fn list_schema_files<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    // An unknown set has no files, as in the Ed-Fi ODS/API.
    let Ok(schema) = state.set_of_schemas(call.params.get("schema")) else {
        return json_answer(&call, &serde_json::json!([]));
    };
    json_answer(&call, &xsd::urls_of_set(&state.sources.model, schema, &call.base_url))
}

async fn schema_file<C>(state: Metadata, call: Call<C>) -> Result<Response, Problem> {
    let schema = state.set_of_schemas(call.params.get("schema"))?;
    let name = call.params.get("file");
    let is_of_set = xsd::names_of_set(&state.sources.model, schema).contains(name);
    let files = state.schema_files().await?;
    let copies = files.get(name).filter(|_| is_of_set).ok_or_else(|| {
        Problem::of(Kind::NotFound)
            .detail("There is no such schema file.")
            .hint(format!("/metadata/xsd/{schema}/files lists the files."))
    })?;
    coded_answer(&call, copies.get(coding_of(&call)), XML)
}

impl Metadata {
    /// Returns the path segment of the requested set of schema files.
    fn set_of_schemas(&self, asked: &str) -> Result<&str, Problem> {
        let mut sets = self.sources.model.projects.iter().map(|project| project.schema.as_str());
        sets.find(|schema| schema.eq_ignore_ascii_case(asked)).ok_or_else(|| {
            Problem::of(Kind::NotFound)
                .detail("There is no such set of schema files.")
                .hint("/metadata/xsd lists the sets.")
        })
    }

    /// Returns the schema files by name; the first request waits until they are written.
    async fn schema_files(&self) -> Result<Arc<BTreeMap<String, Both>>, Problem> {
        let (model, files) = (Arc::clone(&self.sources.model), Arc::clone(&self.schema_files));
        let find = || self.schema_files.get().cloned();
        let make = move || {
            let written = schema_files(&model).into_iter();
            let written = written.map(|file| (file.name, Both::of(&file.text))).collect();
            Arc::clone(files.get_or_init(|| Arc::new(written)))
        };
        self.turns.found_or_made(find, make).await
    }

    /// Returns the files of the API reference; the first request waits until they are written.
    fn docs(&self) -> &Docs {
        self.docs.get_or_init(|| {
            let tags = self.tags.get_or_init(|| self.sources.tags());
            let composites = self.sources.composites.categories.iter().enumerate();
            let composites = composites.map(|(at, category)| {
                let path = format!(
                    "/metadata/composites/v1/{}/{}/swagger.json",
                    category.organization, category.name
                );
                (OpenApi::Composites(at), format!("Composites: {}", category.name), path)
            });
            let own = [
                (
                    OpenApi::Section(Section::Resources),
                    "Resources",
                    "/metadata/data/v3/resources/swagger.json",
                ),
                (
                    OpenApi::Section(Section::Descriptors),
                    "Descriptors",
                    "/metadata/data/v3/descriptors/swagger.json",
                ),
                (OpenApi::Batch, "Batch", "/metadata/batch/v1/swagger.json"),
                (
                    OpenApi::ChangeQueries,
                    "Change queries",
                    "/metadata/changequeries/v1/swagger.json",
                ),
            ];
            let own =
                own.map(|(document, name, path)| (document, name.to_owned(), path.to_owned()));
            let all: Vec<_> = own.into_iter().chain(composites).collect();
            let none = vec![];
            let indexed: Vec<Indexed<'_>> = all
                .iter()
                .map(|(document, name, path)| Indexed {
                    name,
                    path,
                    tags: tags.get(document).unwrap_or(&none),
                })
                .collect();
            Docs::of(&self.sources.model, &indexed, &self.others)
        })
    }

    /// Answers with an OpenAPI document, or with the part of it that the caller asks for.
    async fn openapi<C>(&self, document: OpenApi, call: &Call<C>) -> Result<Response, Problem> {
        let Some(part) = self.asked_part(document, call)? else {
            return self.kept(Document::OpenApi(document), call).await;
        };
        let find = || self.shelf.peek_part(&part);
        let make = {
            let (state, part) = (self.clone(), part.clone());
            move || {
                let text = state.sources.write_part(&part);
                state.shelf.keep_part(part, &text)
            }
        };
        let template = self.turns.found_or_made(find, make).await?;
        coded_answer(call, &template.copy(&call.base_url, coding_of(call)), JSON)
    }

    /// Answers with a document that is kept; the first request waits until it is written.
    async fn kept<C>(&self, document: Document, call: &Call<C>) -> Result<Response, Problem> {
        let coding = coding_of(call);
        let find = || self.shelf.peek(document, &call.base_url, coding);
        let make = {
            let (state, base_url) = (self.clone(), call.base_url.clone());
            move || state.shelf.get(document, &base_url, coding, || state.sources.write(document))
        };
        let copy = self.turns.found_or_made(find, make).await?;
        let media = if document == Document::DependencyGraph { GRAPHML } else { JSON };
        coded_answer(call, &copy, media)
    }

    /// Returns the part of a document that a request asks for; [`None`] where it asks for all of it.
    fn asked_part<C>(&self, document: OpenApi, call: &Call<C>) -> Result<Option<Part>, Problem> {
        if call.query.is_empty() {
            return Ok(None);
        }
        let query = call.query()?;
        let known = self.tags.get_or_init(|| self.sources.tags());
        let Some(known) = known.get(&document) else { return Ok(None) };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let tags = asked_tags(&query, &known)?;
        Ok(tags.map(|tags| Part { document, tags }))
    }
}
