//! Extensions in the metadata.

use homeroom_data::metadata::{
    Metadata, Section, dependency_order, discovery, document, schema_files,
};
use serde_json::{Value, json};

use crate::support::{ask, extended, snapshot};

#[test]
fn discovery_lists_every_data_model() {
    let found = discovery(&extended(&["tpdm", "sample"]), "");

    let models: Vec<(&str, &str)> = found["dataModels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["name"].as_str().unwrap(), model["version"].as_str().unwrap()))
        .collect();
    assert_eq!(models, [("Ed-Fi", "5.2.0"), ("TPDM", "1.1.0"), ("Sample", "1.0.0")]);
}

#[test]
fn extension_members_have_schemas_in_the_published_shape() {
    let document = document(&extended(&["tpdm", "sample", "homograph"]), Section::Resources);
    let schemas = &document["components"]["schemas"];

    let member = &schemas["edFi_school"]["properties"]["_ext"]["$ref"];
    assert_eq!(member, "#/components/schemas/schoolExtensions");
    assert_eq!(
        schemas["schoolExtensions"]["properties"],
        json!({
            "sample": {"$ref": "#/components/schemas/sample_schoolExtension"},
            "tpdm": {"$ref": "#/components/schemas/tpdm_schoolExtension"},
        })
    );
    let address = &schemas["edFi_contactAddress"]["properties"]["_ext"]["$ref"];
    assert_eq!(address, "#/components/schemas/contactAddressExtensions");
    for name in ["sample_bus", "sample_busReference", "tpdm_candidate", "homograph_school"] {
        assert_eq!(schemas[name]["type"], "object", "{name}");
    }
    snapshot("contact_extension", &schemas["sample_contactExtension"]);
}

#[test]
fn the_order_of_dependency_holds_for_extensions() {
    let order = dependency_order(&extended(&["sample"]));

    let level = |path: &str| {
        let place = |entry: &&Value| entry["resource"] == path;
        let found = order.as_array().unwrap().iter().find(place);
        found.unwrap_or_else(|| panic!("{path}"))["order"].as_u64().unwrap()
    };
    // A school may own buses, and a bus route needs a bus.
    assert!(level("/sample/buses") < level("/ed-fi/schools"));
    assert!(level("/sample/buses") < level("/sample/busRoutes"));
    assert!(level("/sample/artMediumDescriptors") < level("/ed-fi/students"));
}

#[tokio::test]
async fn generators_find_documents_of_everything_and_of_each_project() {
    let model = extended(&["tpdm", "sample"]);
    let state = Metadata::new(model.clone());
    let get = async |path: &str| {
        let (status, _, body) = ask(&state, path, &[]).await;
        assert_eq!(status, 200, "{path}");
        serde_json::from_slice::<Value>(&body).unwrap()
    };

    let listed = get("/metadata?sdk=true").await;

    let listed: Vec<(&str, &str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| ["name", "prefix", "endpointUri"].map(|name| entry[name].as_str().unwrap()))
        .map(|[name, prefix, url]| (name, prefix, url.split_once(":8080").unwrap().1))
        .filter(|(_, _, path)| path.starts_with("/metadata/data/v3"))
        .collect();
    assert_eq!(
        listed,
        [
            ("All", "", "/metadata/data/v3/swagger.json"),
            ("Ed-Fi", "", "/metadata/data/v3/ed-fi/swagger.json"),
            ("TPDM", "Extensions", "/metadata/data/v3/tpdm/swagger.json"),
            ("Sample", "Extensions", "/metadata/data/v3/sample/swagger.json"),
        ]
    );
    let usual = get("/metadata?sdk=false").await;
    assert!(usual.as_array().unwrap().iter().all(|entry| entry["name"] != "All"), "{usual}");
    for (name, _, path) in listed {
        let document = get(path).await;
        let paths: Vec<&str> =
            document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        for resource in &model.resources {
            let project = &model.projects[resource.project].name;
            let is_there = paths.contains(&resource.path().as_str());
            assert_eq!(is_there, name == "All" || name == project, "{path}: {}", resource.path());
        }
        let tag = document["tags"][0]["name"].as_str().unwrap();
        let tagged = get(&format!("{path}?tags={tag}")).await;
        assert_eq!(tagged["tags"].as_array().unwrap().len(), 1, "{path}");
    }
    assert_eq!(ask(&state, "/metadata/data/v3/nope/swagger.json", &[]).await.0, 404);
}

#[tokio::test]
async fn each_extension_has_its_set_of_schema_files() {
    let state = Metadata::new(extended(&["sample", "homograph"]));

    let (_, _, sets) = ask(&state, "/metadata/xsd", &[]).await;
    let (_, _, files) = ask(&state, "/metadata/xsd/sample/files", &[]).await;
    let sets: Value = serde_json::from_slice(&sets).unwrap();
    let files: Value = serde_json::from_slice(&files).unwrap();
    let (status, _, text) = ask(&state, "/metadata/xsd/sample/Interchange-Sample.xsd", &[]).await;

    assert_eq!(sets.as_array().unwrap().len(), 3);
    let base = "http://127.0.0.1:8080/metadata/xsd/sample";
    let is_own = |file: &&Value| file.as_str().unwrap().starts_with(base);
    assert_eq!(
        files.as_array().unwrap().iter().filter(is_own).cloned().collect::<Value>(),
        json!([format!("{base}/Interchange-Sample.xsd")])
    );
    assert_eq!(status, 200);
    let text = std::str::from_utf8(&text).unwrap();
    assert!(text.contains("<xs:element name=\"BusRoute\" type=\"BusRoute\"/>"), "{text}");
    let other = ask(&state, "/metadata/xsd/sample/Interchange-Homograph.xsd", &[]).await;
    assert_eq!(other.0, 404);
}

#[test]
fn extension_elements_appear_in_the_elements_that_they_extend() {
    let files = schema_files(&extended(&["sample", "homograph"]));

    let core = &files.iter().find(|file| file.name == "Ed-Fi-Core.xsd").unwrap().text;

    assert!(core.contains("<xs:element name=\"OnBusRoute\" type=\"xs:boolean\""));
    assert!(core.contains("<xs:complexType name=\"HOMOGRAPH-School\">"));
}
