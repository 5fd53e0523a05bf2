//! The XML schemas, as clients fetch them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use homeroom_data::metadata::{Metadata, schema_files};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

use crate::support::{ask, models, small, snapshot_text, text};

#[tokio::test]
async fn every_schema_file_is_listed() {
    let state = Metadata::new(small());
    let path = |url: &Value| {
        url.as_str().unwrap().strip_prefix("http://127.0.0.1:8080").unwrap().to_owned()
    };

    let (_, _, body) = ask(&state, "/metadata/xsd", &[]).await;
    let list: Value = serde_json::from_slice(&body).unwrap();
    let (_, _, body) = ask(&state, &path(&list[0]["files"]), &[]).await;
    let files: Value = serde_json::from_slice(&body).unwrap();

    assert_eq!(
        list,
        json!([{
            "description": "XML schemas of the interchange files of Ed-Fi 5.2.0.",
            "name": "Ed-Fi",
            "version": "5.2.0",
            "files": "http://127.0.0.1:8080/metadata/xsd/ed-fi/files",
        }])
    );
    let names: Vec<String> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|url| path(url).rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "Ed-Fi-Core.xsd",
            "Interchange-Descriptors.xsd",
            "Interchange-EducationOrganization.xsd",
            "Interchange-MasterSchedule.xsd",
            "SchemaAnnotation.xsd",
        ]
    );
    for (name, url) in names.iter().zip(files.as_array().unwrap()) {
        let (status, headers, body) = ask(&state, &path(url), &[]).await;
        assert_eq!(status, 200);
        assert_eq!(headers["content-type"], "application/xml; charset=utf-8");
        snapshot_text(name.trim_end_matches(".xsd"), text(&body));
    }
}

#[tokio::test]
async fn an_extensions_list_has_the_standards_files_in_the_published_order_and_its_own() {
    for model in models() {
        let state = Metadata::new(Arc::clone(&model));
        let files = async |schema: &str| -> Vec<String> {
            let (_, _, body) = ask(&state, &format!("/metadata/xsd/{schema}/files"), &[]).await;
            serde_json::from_slice(&body).unwrap()
        };
        let core = files("ed-fi").await;
        let names: Vec<&str> = core.iter().map(|url| url.rsplit('/').next().unwrap()).collect();
        let at = |name: &str| names.iter().position(|found| *found == name).unwrap();

        // The order is not by bytes, which would put upper-case letters before all others.
        let organization = at("Interchange-EducationOrganization.xsd");
        assert_eq!(organization + 1, at("Interchange-EducationOrgCalendar.xsd"));
        assert_eq!((at("Ed-Fi-Core.xsd"), at("SchemaAnnotation.xsd")), (0, names.len() - 1));
        for project in &model.projects[1..] {
            let (theirs, own): (Vec<_>, Vec<_>) = files(&project.schema)
                .await
                .into_iter()
                .partition(|url| url.contains("/xsd/ed-fi/"));
            assert_eq!(theirs, core, "{}", project.schema);
            assert!(!own.is_empty(), "{}", project.schema);
        }
    }
}

#[tokio::test]
async fn every_listed_file_can_be_fetched_and_none_is_listed_twice() {
    for model in models() {
        let state = Metadata::new(Arc::clone(&model));
        let path = |url: &str| url.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned();
        let (mut listed, all) = (BTreeSet::new(), schema_files(&model));
        for project in &model.projects {
            let (_, _, body) =
                ask(&state, &format!("/metadata/xsd/{}/files", project.schema), &[]).await;
            let urls: Vec<String> = serde_json::from_slice(&body).unwrap();
            let mut texts = BTreeMap::new();
            for url in &urls {
                let name = url.rsplit('/').next().unwrap().to_owned();
                let (status, _, body) = ask(&state, &path(url), &[]).await;
                assert_eq!(status, 200, "{url}");
                let before = texts.insert(name, text(&body).to_owned());
                assert!(before.is_none(), "{url} is listed twice for {}", project.schema);
            }
            // The set includes every file that its files include, for clients that keep them in one
            // folder and for those that follow the addresses.
            for url in &urls {
                let text = &texts[url.rsplit('/').next().unwrap()];
                for part in text.split("schemaLocation=\"").skip(1) {
                    let included = part.split('"').next().unwrap();
                    assert!(texts.contains_key(included), "{url} includes {included}");
                    let folder = url.rsplit_once('/').unwrap().0;
                    let beside = ask(&state, &path(&format!("{folder}/{included}")), &[]).await;
                    assert_eq!(beside.0, 200, "{url} includes {included}");
                }
            }
            listed.extend(texts);
        }
        let written: BTreeSet<(String, String)> =
            all.into_iter().map(|file| (file.name, file.text)).collect();
        assert_eq!(listed, written);
    }
}

#[tokio::test]
async fn an_unknown_schema_file_is_not_found() {
    let state = Metadata::new(small());

    let (status, _, body) = ask(&state, "/metadata/xsd/none/files", &[]).await;
    assert_eq!((status, &body[..]), (200, &b"[]"[..]));
    for path in ["/metadata/xsd/ed-fi/Interchange-None.xsd", "/metadata/xsd/none/Ed-Fi-Core.xsd"] {
        let (status, _, body) = ask(&state, path, &[]).await;

        assert_eq!(status, 404, "{path}");
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["type"], "urn:ed-fi:api:not-found", "{path}");
    }
}

#[test]
fn the_shipped_schema_files_are_well_formed_and_use_only_defined_types() {
    for (model, count) in models().iter().zip([24, 30]) {
        let files = schema_files(model);
        let mut declared: HashMap<String, usize> = HashMap::new();
        let mut used = vec![];
        for file in &files {
            let mut reader = Reader::from_str(&file.text);
            let mut depth = 0;
            loop {
                let (element, opens) = match reader.read_event().unwrap() {
                    Event::Start(element) => (element, true),
                    Event::Empty(element) => (element, false),
                    Event::End(_) => {
                        depth -= 1;
                        continue;
                    }
                    Event::Eof => break,
                    _ => continue,
                };
                if depth == 1
                    && matches!(element.name().as_ref(), "xs:complexType" | "xs:simpleType")
                {
                    *declared.entry(attribute(&element, "name").unwrap()).or_default() += 1;
                }
                used.extend(["type", "base"].iter().filter_map(|name| attribute(&element, name)));
                depth += usize::from(opens);
            }
            assert_eq!(depth, 0, "{}", file.name);
        }

        assert_eq!(files.len(), count);
        assert!(used.len() > 3000, "only {}", used.len());
        for (name, count) in &declared {
            assert_eq!(*count, 1, "{name}");
        }
        for name in used.iter().filter(|name| !name.starts_with("xs:")) {
            assert!(declared.contains_key(name), "{name}");
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).unwrap()?;
    Some(found.value.into_owned())
}
