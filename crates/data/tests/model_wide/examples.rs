//! The examples of the OpenAPI documents.

use homeroom_data::metadata::{Section, document};
use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use serde_json::Value;

use crate::app::TestApp;
use crate::app::failures::Failures;

#[tokio::test]
async fn every_resource_has_an_example_that_is_valid_and_a_description() {
    for app in TestApp::on_each_standard().await {
        let mut failures = Failures::of("examples are valid");
        for section in [Section::Resources, Section::Descriptors] {
            let api = document(app.model(), section);
            for resource in section.resources(app.model()) {
                let prefix = app.model().projects[resource.project].schema.replace('-', "");
                let schemas = api["components"]["schemas"].as_object().unwrap();
                let single =
                    format!("{}{}", resource.name[..1].to_ascii_lowercase(), &resource.name[1..]);
                let own = schemas.iter().find(|(name, schema)| {
                    let (first, rest) = name.split_once('_').unwrap_or_default();
                    first.eq_ignore_ascii_case(&prefix)
                        && rest.eq_ignore_ascii_case(&single)
                        && schema["example"].is_object()
                });
                let outcome = match own {
                    None => Err("it has no example".to_owned()),
                    Some((_, schema)) => {
                        let text = schema["example"].to_string();
                        let json = Json::read(text.as_bytes()).unwrap();
                        let about = schema["description"].as_str().unwrap_or_default();
                        match validate(&app.data.catalog, resource, &json) {
                            Ok(_) if about.len() > resource.name.len() + 20 => Ok(()),
                            Ok(_) => Err(format!("its description is {about:?}")),
                            Err(found) => Err(format!("{text}: {found:?}")),
                        }
                    }
                };
                failures.check(&resource.endpoint, outcome);
            }
        }
        failures.assert_none(app.resources());
    }
}

#[test]
fn the_examples_of_the_generated_district_are_of_most_resources() {
    let lines = homeroom_model::shipped_examples("5.2.0").unwrap().lines();
    let names: Vec<String> = lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["resource"].as_str().unwrap().to_owned())
        .collect();

    assert!(names.len() > 120, "{}", names.len());
    assert!(names.iter().any(|name| name == "Student"));
}
