//! The served standard and its extensions can be chosen without a rebuild.

use serde_json::json;

use crate::support::{Place, Ran, Server};

/// An extension in the format that its modelling tool writes.
const SCHEMA: &str = r#"{"projectSchema": {
    "isExtensionProject": true, "projectName": "Mine", "projectEndpointName": "mine",
    "projectVersion": "1.0.0",
    "resourceSchemas": {
        "buses": {
            "resourceName": "Bus", "identityJsonPaths": ["$.busId"],
            "jsonSchemaForInsert": {
                "properties": {"busId": {"type": "string", "maxLength": 60}},
                "required": ["busId"]
            }
        },
        "students": {
            "resourceName": "Student", "isResourceExtension": true,
            "jsonSchemaForInsert": {"properties": {"_ext": {"properties": {"mine": {
                "properties": {"nickname": {"type": "string", "maxLength": 20}}
            }}}}}
        }
    }
}}"#;

#[test]
fn a_custom_extension_is_imported_listed_and_served() {
    let place = Place::new();
    let schema = place.write("mine.json", SCHEMA).display().to_string();
    let model = place.path("mine.model").display().to_string();

    place.done(&["model", "import", "--extension", &schema, "--out", &model]);
    let shown = place.done(&["model", "show", "students", "--extensions", &model]);
    let key = place.key("FullAccess");
    let extensions = format!("sample, {model}");
    let server = Server::start_with(&place, &[("HOMEROOM_STANDARD__EXTENSIONS", &extensions)]);
    let mut client = server.client_of(&key);

    assert!(shown.contains("# Mine\nextension Student\n  ? nickname text(0..20)"), "{shown}");
    let models = client.get("/").json()["dataModels"].clone();
    let names: Vec<&str> =
        models.as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Ed-Fi", "Sample", "Mine"]);
    let bus = client.post("/data/v3/mine/buses", &json!({"busId": "1"}));
    assert_eq!(bus.status, 201);
    let student = json!({
        "studentUniqueId": "1", "firstName": "A", "lastSurname": "B", "birthDate": "2010-01-01",
        "_ext": {"mine": {"nickname": "Al"}},
    });
    let created = client.post("/data/v3/ed-fi/students", &student);
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(client.get(&created.location()).json()["_ext"]["mine"]["nickname"], "Al");
}

#[test]
fn the_older_standard_is_served_if_configured() {
    let place = Place::new();
    place.write("homeroom.toml", "[standard]\nversion = \"4.0.0\"\n");
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut client = server.client_of(&key);

    assert_eq!(client.get("/").json()["dataModels"][0]["version"], "4.0.0");
    assert_eq!(client.get("/data/v3/ed-fi/parents").status, 200);
    assert_eq!(client.get("/data/v3/ed-fi/contacts").status, 404);
}

#[test]
fn a_store_of_another_standard_version_needs_permission_to_be_opened() {
    let place = Place::new();
    place.key("FullAccess");
    let other = ["keys", "list", "--standard-version", "4.0.0"];

    let refused = place.run(&other);
    let changed = Ran::of(place.command(&other).env("HOMEROOM_STANDARD__CHANGE_STORE", "true"));
    let before = place.run(&["keys", "list"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    for words in ["of ed-fi 5.2.0", "standard.version is ed-fi 4.0.0", "standard.change_store"] {
        assert!(refused.stderr.contains(words), "no `{words}`: {refused:?}");
    }
    assert_eq!(changed.code, Some(0), "{changed:?}");
    assert!(before.stderr.contains("of ed-fi 4.0.0"), "{before:?}");
}

#[test]
fn the_sample_district_exists_for_one_version() {
    let place = Place::new();

    let ran = place.run(&["demo", "--standard-version", "4.0.0"]);

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("exists only for Data Standard 5.2.0"), "{ran:?}");
    assert!(!place.data().exists(), "a store was made");
}

#[test]
fn an_invalid_model_prevents_the_start_and_is_reported_with_its_place() {
    let place = Place::new();
    let head = "standard Mine mine 1.0.0\nextends ed-fi 5.2.0\n";
    let broken = place.write("broken.model", format!("{head}resource Bus\n"));
    let dangling = place.write("dangling.model", format!("{head}resource A as\n  @ b -> B(c)\n"));
    for (version, extension, code, words) in [
        ("5.2.0", broken.display().to_string(), 2, vec!["broken.model", "line 3"]),
        ("5.2.0", dangling.display().to_string(), 2, vec!["mine/A", "nothing is named `B`"]),
        ("5.2.0", place.path("none.model").display().to_string(), 2, vec!["none.model"]),
        ("5.2.0", "tpdn".into(), 2, vec!["tpdn", "homograph, sample, tpdm"]),
        ("4.0.0", "tpdm".into(), 2, vec!["tpdm", "4.0.0"]),
        ("5.2.0", "tpdm,tpdm".into(), 2, vec!["tpdm", "loaded once"]),
        ("5.9", String::new(), 2, vec!["standard.version", "4.0.0, 5.2.0"]),
    ] {
        let ran = place.run(&[
            "serve",
            "--standard-version",
            version,
            "--extensions",
            &extension,
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ]);

        assert_eq!(ran.code, Some(code), "{extension}: {ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "no `{word}`: {ran:?}");
        }
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    }
}

/// Definitions of composites with one that shows a value of sections.
fn composites(value: &str) -> String {
    format!(
        "<CompositeMetadata organizationCode=\"mine\">\n\
         <Category name=\"views\" displayName=\"Mine\"><Composites><Composite name=\"Roster\">\n\
         <BaseResource name=\"Section\"><Property name=\"{value}\"/></BaseResource>\n\
         </Composite></Composites></Category></CompositeMetadata>"
    )
}

#[test]
fn custom_composites_are_served_beside_the_shipped_ones() {
    let place = Place::new();
    let file = place.write("own.xml", composites("SectionIdentifier")).display().to_string();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_STANDARD__COMPOSITES", &file)]);
    let mut client = server.client_of(&key);

    assert_eq!(client.get("/composites/v1/mine/views/rosters").json(), json!([]));
    assert_eq!(client.get("/composites/v1/ed-fi/enrollment/students").json(), json!([]));
    assert_eq!(client.get("/composites/v1/mine/views/students").status, 404);
    let listed = client.get("/metadata").json();
    let of_composites =
        listed.as_array().unwrap().iter().filter(|entry| entry["prefix"] == "Composites").count();
    assert_eq!(of_composites, 2);
}

#[test]
fn invalid_composites_prevent_the_start_and_are_reported_with_their_line() {
    let place = Place::new();
    let wrong = place.write("wrong.xml", composites("Pets")).display().to_string();
    let none = place.path("none.xml").display().to_string();
    for (file, words) in [
        (&wrong, vec!["standard.composites", "wrong.xml:3", "no such value of Section"]),
        (&none, vec!["standard.composites", "none.xml"]),
    ] {
        let ran = place.run(&["serve", "--composites", file, "--listen", "127.0.0.1:0"]);

        assert_eq!(ran.code, Some(2), "{ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "no `{word}`: {ran:?}");
        }
        assert!(!place.data().exists(), "a store was made");
    }
}
