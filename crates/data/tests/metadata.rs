//! The metadata that clients read before they send data, from the first byte to the last `$ref`.

#[path = "metadata/dependencies.rs"]
mod dependencies;
#[path = "metadata/docs.rs"]
mod docs;
#[path = "metadata/extensions.rs"]
mod extensions;
#[path = "metadata/parts.rs"]
mod parts;
#[path = "metadata/support.rs"]
mod support;
#[path = "metadata/whole_model.rs"]
mod whole_model;
#[path = "metadata/xsd.rs"]
mod xsd;

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use homeroom_access::{Access, AccessConfig};
use homeroom_data::DataApi;
use homeroom_data::metadata::{
    Credentials, Metadata, PageRequest, Section, Shown, browser_page, change_queries, discovery,
    document,
};
use homeroom_document::Catalog;
use homeroom_gateway::Router;
use homeroom_http::Timestamp;
use homeroom_store::Store;
use http::Method;
use serde_json::json;
use support::{ask, shipped, small, snapshot, text};

const NOW: Timestamp = Timestamp(1_795_250_901_000_000);

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn the_root_returns_the_discovery_document() {
    let (status, _, body) = ask(&Metadata::new(small()), "/", &[("accept", "*/*")]).await;

    assert_eq!(status, 200);
    snapshot("discovery", &serde_json::from_slice::<serde_json::Value>(&body).unwrap());
}

#[tokio::test]
async fn paths_of_the_newer_reference_server_are_served_too() {
    let state = Metadata::new(small());
    let get = async |path: &str, accept: &str| {
        let (status, headers, body) = ask(&state, path, &[("accept", accept)]).await;
        assert_eq!(status, 200, "{path}");
        (headers["content-type"].clone(), body)
    };

    for accept in ["application/json", "application/graphml"] {
        let ours = get("/metadata/data/v3/dependencies", accept).await;
        assert_eq!(get("/metadata/dependencies", accept).await, ours);
    }
    let (_, body) = get("/metadata/specifications", "*/*").await;
    let listed: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let mut names = vec![];
    for entry in listed.as_array().unwrap() {
        let url = entry["endpointUri"].as_str().unwrap();
        let path = url.strip_prefix("http://127.0.0.1:8080").unwrap();
        let (_, body) = get(path, "application/json").await;
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(document["openapi"].is_string() && document["paths"].is_object(), "{path}");
        names.push((entry["name"].as_str().unwrap(), entry["prefix"].as_str().unwrap()));
    }
    assert_eq!(
        names,
        [
            ("Resources", ""),
            ("Descriptors", ""),
            ("Discovery", "Other"),
            ("Change-Queries", "Other")
        ]
    );
    let resources = get("/metadata/data/v3/resources/swagger.json", "*/*").await;
    assert_eq!(get("/metadata/specifications/resources-spec.json", "*/*").await, resources);
}

#[tokio::test]
async fn published_urls_work_with_and_without_a_joining_slash() {
    let (model, store) = (small(), Store::temporary(&[]).unwrap());
    let catalog = Arc::new(Catalog::bind(Arc::clone(&model), &store).unwrap());
    let access = Access::open(store.clone(), shipped(), AccessConfig::default(), NOW);
    let access = access.await.unwrap();
    let routes = homeroom_data::routes(&DataApi::new(catalog, store), &access);
    let data = Router::new(routes).unwrap();
    let state = Metadata::new(Arc::clone(&model));
    let discovery = discovery(&model, "");
    let url = |name: &str| discovery["urls"][name].as_str().unwrap();

    for name in ["dependencies", "openApiMetadata", "xsdMetadata"] {
        let without = url(name).trim_end_matches('/');
        for path in [without, &format!("{without}/")] {
            assert_eq!(ask(&state, path, &[]).await.0, 200, "{path}");
        }
    }
    for (name, below) in [
        ("dataManagementApi", "ed-fi/schools"),
        ("dataManagementApi", "ed-fi/schools/0123"),
        ("dataManagementApi", "ed-fi/schools/deletes"),
        ("changeQueries", "availableChangeVersions"),
    ] {
        let base = url(name);
        // Some clients simply join the parts; most make sure that there is exactly one slash
        // between them.
        for path in [format!("{base}{below}"), format!("{}/{below}", base.trim_end_matches('/'))] {
            assert!(data.find(&Method::GET, &path).is_ok(), "{path}");
        }
    }
}

#[tokio::test]
async fn a_browser_gets_a_self_contained_page() {
    let (status, headers, body) = ask(&Metadata::new(small()), "/", &[("accept", BROWSER)]).await;

    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert!(headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    assert_eq!(headers["vary"], "Accept");
    let page = text(&body);
    for part in ["<script", "src=", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("curl -s -u KEY:SECRET"));
}

#[test]
fn the_page_shows_the_demo_key_and_escapes_its_values() {
    let credentials = Credentials { key: "demo-key".into(), secret: "<demo>".into() };

    let page = browser_page(&small(), "http://h/\"<", Shown::Credentials(&credentials));

    assert!(page.contains("curl -s -u demo-key:&lt;demo&gt;"));
    assert!(page.contains("http://h/&quot;&lt;/oauth/token"));
    assert!(page.contains("/data/v3/ed-fi/schools?limit=5"));
    assert!(page.contains("/data/v3/ed-fi/gradeLevelDescriptors"));
}

#[tokio::test]
async fn the_page_can_be_replaced() {
    let page = |request: &PageRequest<'_>| format!("<p>{}", request.base_url);
    let state = Metadata::new(small()).with_browser_page(Arc::new(page));

    let (_, _, body) = ask(&state, "/", &[("accept", BROWSER)]).await;

    assert_eq!(text(&body), "<p>http://127.0.0.1:8080");
}

#[tokio::test]
async fn every_listed_openapi_document_is_served() {
    let state = Metadata::new(small());
    let (_, _, body) = ask(&state, "/metadata", &[]).await;
    let list: serde_json::Value = serde_json::from_slice(&body).unwrap();

    let list = list.as_array().unwrap();
    assert!(!list.is_empty());
    for entry in list {
        let url = entry["endpointUri"].as_str().unwrap();
        let path = url.strip_prefix("http://127.0.0.1:8080").unwrap();

        let (status, _, body) = ask(&state, path, &[]).await;

        assert_eq!(status, 200, "{path}");
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(document["openapi"], "3.0.1", "{path}");
        let server = document["servers"][0]["url"].as_str().unwrap();
        assert!(server.starts_with("http://127.0.0.1:8080/"), "{server}");
    }
    snapshot("listing", &list);
}

#[tokio::test]
async fn a_document_that_the_caller_already_has_gets_304() {
    let state = Metadata::new(small());
    let path = "/metadata/data/v3/resources/swagger.json";
    let (_, headers, _) = ask(&state, path, &[]).await;
    let etag = headers["etag"].to_str().unwrap();

    let (status, again, body) = ask(&state, path, &[("if-none-match", etag)]).await;

    assert_eq!((status, body.len()), (304, 0));
    assert_eq!(again["etag"], etag);
    let (status, _, _) = ask(&state, path, &[("if-none-match", "\"other\"")]).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_caller_who_takes_gzip_gets_the_same_document_compressed() {
    let (few, all) = (Metadata::new(small()), Metadata::new(shipped()));
    for (state, path) in [
        (&few, "/metadata/data/v3/resources/swagger.json"),
        (&few, "/metadata/data/v3/descriptors/swagger.json"),
        (&few, "/metadata/xsd/ed-fi/Ed-Fi-Core.xsd"),
        (&all, "/metadata/data/v3/dependencies"),
    ] {
        let (_, plain_headers, plain) = ask(state, path, &[("accept-encoding", "gzip;q=0")]).await;

        let (status, headers, body) = ask(state, path, &[("accept-encoding", "br, gzip")]).await;

        assert_eq!(status, 200, "{path}");
        assert_eq!(headers["content-encoding"], "gzip", "{path}");
        assert_eq!(headers["content-type"], plain_headers["content-type"], "{path}");
        assert!(!plain_headers.contains_key("content-encoding"), "{path}");
        assert_ne!(headers["etag"], plain_headers["etag"], "{path}");
        for headers in [&headers, &plain_headers] {
            assert!(headers["vary"].to_str().unwrap().ends_with("Accept-Encoding"), "{path}");
        }
        assert!(body.len() < plain.len(), "{path}");
        let mut read = vec![];
        GzDecoder::new(&body[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain, "{path}");
    }
}

#[tokio::test]
async fn each_content_coding_has_its_own_etag() {
    let state = Metadata::new(small());
    let path = "/metadata/data/v3/resources/swagger.json";
    let (_, headers, _) = ask(&state, path, &[("accept-encoding", "gzip")]).await;
    let known = ("if-none-match", headers["etag"].to_str().unwrap());

    let (with_gzip, again, body) = ask(&state, path, &[known, ("accept-encoding", "gzip")]).await;
    let (without, _, _) = ask(&state, path, &[known]).await;

    assert_eq!((with_gzip, without, body.len()), (304, 200, 0));
    assert_eq!(again["vary"], "Accept-Encoding");
    assert_eq!(again["etag"], headers["etag"]);
}

#[test]
fn the_openapi_document_of_a_small_model_matches_its_snapshot() {
    let mut resources = document(&small(), Section::Resources);
    let mut descriptors = document(&small(), Section::Descriptors);

    // The snapshot has the paths of one resource only.
    let paths = resources["paths"].as_object_mut().unwrap();
    paths.retain(|path, _| path.starts_with("/ed-fi/sessions"));
    for shared in ["parameters", "responses", "headers", "securitySchemes"] {
        assert_eq!(descriptors["components"][shared], resources["components"][shared]);
    }
    descriptors["components"].as_object_mut().unwrap().retain(|name, _| name == "schemas");
    descriptors["paths"].as_object_mut().unwrap().retain(|path, _| path.ends_with("Descriptors"));
    snapshot("resources", &resources);
    snapshot("descriptors", &descriptors);
    snapshot("change_queries", &change_queries());
}

#[tokio::test]
async fn the_discovery_document_states_the_versions_of_the_shipped_model() {
    let (_, _, body) = ask(&Metadata::new(shipped()), "/", &[]).await;

    let discovery: serde_json::Value = serde_json::from_slice(&body).unwrap();

    assert_eq!(
        discovery["dataModels"],
        json!([{
            "name": "Ed-Fi",
            "version": "5.2.0",
            "informationalVersion": "The Ed-Fi Data Model 5.2.0",
        }])
    );
}
