//! Parts of OpenAPI documents: `?tags=students,sections`.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use homeroom_data::Composites;
use homeroom_data::metadata::{Metadata, Section, document, part, tags};
use homeroom_http::openapi::{part as cut, tags_of};
use serde_json::Value;

use crate::support::{ask, models, shipped, small};

const RESOURCES: &str = "/metadata/data/v3/resources/swagger.json";

/// Returns the metadata of the shipped model, with the shipped composites.
fn all() -> Metadata {
    let model = shipped();
    let composites = Composites::compile(&model, &[]).unwrap();
    Metadata::new(model).with_composites(Arc::new(composites))
}

async fn json(state: &Metadata, path: &str) -> (u16, Value) {
    let (status, _, body) = ask(state, path, &[]).await;
    (status, serde_json::from_slice(&body).unwrap())
}

#[test]
fn the_part_of_each_tag_is_a_cut_of_the_whole_document() {
    for model in models() {
        for section in [Section::Resources, Section::Descriptors, Section::Project(0)] {
            let whole = document(&model, section);
            let tags = tags(&model, section);
            assert_eq!(tags, tags_of(&whole));

            for (at, tag) in tags.iter().enumerate() {
                assert!(part(&model, section, &[at]) == cut(&whole, &[tag]), "{tag}");
            }
        }
    }
}

#[test]
fn the_part_of_all_tags_is_the_whole_document() {
    for model in models() {
        for section in [Section::Resources, Section::Descriptors, Section::All] {
            let tags: Vec<usize> = (0..section.resources(&model).len()).collect();

            assert!(part(&model, section, &tags) == document(&model, section), "{section:?}");
        }
    }
}

#[tokio::test]
async fn every_openapi_document_is_served_in_parts() {
    let state = all();
    let (_, listed) = json(&state, "/metadata").await;
    let (_, newer) = json(&state, "/metadata/specifications").await;
    let (_, generators) = json(&state, "/metadata?sdk=true").await;
    let lists = [&listed, &newer, &generators].into_iter();
    let mut count = 0;

    for entry in lists.flat_map(|list| list.as_array().unwrap()) {
        let path = entry["endpointUri"].as_str().unwrap();
        let path = path.strip_prefix("http://127.0.0.1:8080").unwrap();
        let (_, whole) = json(&state, path).await;
        let tag = *tags_of(&whole).last().unwrap();

        let (status, part) = json(&state, &format!("{path}?tags={tag}")).await;

        assert_eq!(status, 200, "{path}");
        assert_eq!(part, cut(&whole, &[tag]), "{path}");
        let (status, problem) = json(&state, &format!("{path}?tags={tag}x")).await;
        assert_eq!(status, 400, "{path}");
        let error = problem["errors"][0].as_str().unwrap();
        assert!(error.contains("did you mean") && error.contains(tag), "{path}: {error}");
        count += 1;
    }

    assert_eq!(count, 14);
}

#[tokio::test]
async fn a_part_has_the_tags_asked_for_and_no_others() {
    let state = all();

    let (_, part) = json(&state, &format!("{RESOURCES}?tags=Students,sections,students")).await;

    assert_eq!(tags_of(&part), ["sections", "students"]);
    let mut paths = part["paths"].as_object().unwrap().keys();
    assert!(paths.all(|path| {
        path.starts_with("/ed-fi/sections") || path.starts_with("/ed-fi/students")
    }));
    assert!(part["components"]["schemas"]["edFi_student"].is_object());
    assert!(part["components"]["schemas"]["edFi_courseOfferingReference"].is_object());
    assert!(part["components"]["schemas"].get("edFi_school").is_none());
}

#[tokio::test]
async fn a_part_is_compressed_and_known_by_its_etag_like_the_whole() {
    let state = Metadata::new(small());
    let path = format!("{RESOURCES}?tags=schools");
    let (_, _, plain) = ask(&state, &path, &[]).await;
    let (_, headers, body) = ask(&state, &path, &[("accept-encoding", "gzip")]).await;
    let etag = headers["etag"].to_str().unwrap();

    let same = [("accept-encoding", "gzip"), ("if-none-match", etag)];
    let (status, again, _) = ask(&state, &path, &same).await;
    let (of_whole, _, _) = ask(&state, RESOURCES, &same).await;

    assert_eq!((status, of_whole), (304, 200));
    assert_eq!(again["etag"], headers["etag"]);
    assert_eq!(headers["content-encoding"], "gzip");
    assert_eq!(headers["vary"], "Accept-Encoding");
    let mut read = vec![];
    GzDecoder::new(&body[..]).read_to_end(&mut read).unwrap();
    assert_eq!(read, plain);
}

#[tokio::test]
async fn documents_without_tags_ignore_the_parameter() {
    let state = Metadata::new(small());

    let (_, _, with) = ask(&state, "/metadata/data/v3/dependencies?tags=no", &[]).await;
    let (_, _, without) = ask(&state, "/metadata/data/v3/dependencies", &[]).await;

    assert_eq!(with, without);
}
