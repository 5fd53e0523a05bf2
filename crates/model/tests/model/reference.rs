//! Laws about the published artefacts, which are read from the folder that the environment variable
//! `HOMEROOM_REFERENCE` names.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use homeroom_model::check::{ARTEFACTS, Exceptions, Published, check};
use homeroom_model::import::{self, Inputs, Rules, Text};
use homeroom_model::xml::{Content, XmlElement, reference_shape, xml_shape};
use homeroom_model::{
    EXTENSIONS_SHIPPED, Model, Operations, Property, PropertyKind, dependency_graph, format, link,
    shipped, shipped_exceptions,
};
use quick_xml::events::Event;
use quick_xml::reader::Reader;

fn reference() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMEROOM_REFERENCE").map(|f| PathBuf::from(f).join("ed-fi"));
    if folder.is_none() {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
    }
    folder
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text<'a>(file: &'a str, text: &'a str) -> Text<'a> {
    Text { file, text }
}

/// Imports the artefacts of a version.
fn imported(folder: &Path, version: &str, openapi: &str) -> import::Imported {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ed-fi/import.toml");
    let rules = Rules::read(&read(&root)).unwrap();
    let resources = read(&folder.join(format!("openapi/resources-{openapi}.json")));
    let descriptors = read(&folder.join(format!("openapi/descriptors-{openapi}.json")));
    let domains = read(&folder.join("openapi/resources-ds-6.0.json"));
    let tables = read(&folder.join(format!("sql/{version}/0020-Tables.sql")));
    let foreign_keys = read(&folder.join(format!("sql/{version}/0030-ForeignKeys.sql")));
    let xsd: Vec<String> =
        files(&folder.join("xsd").join(version), "xsd").iter().map(|path| read(path)).collect();
    let inputs = Inputs {
        project: "Ed-Fi",
        schema: "ed-fi",
        resources: text("resources", &resources),
        descriptors: text("descriptors", &descriptors),
        domains: vec![text("domains", &domains)],
        tables: text("tables", &tables),
        foreign_keys: text("foreign keys", &foreign_keys),
        xsd: xsd.iter().map(|schema| text("xsd", schema)).collect(),
        rules: &rules,
    };
    import::import(&inputs).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// The `OpenAPI` documents of each shipped version.
const OPENAPI: [(&str, &str); 2] = [("4.0.0", "ds-4.0"), ("5.2.0", "ds-5.2-with-tpdm-dms")];

#[test]
fn importing_again_gives_the_shipped_files() {
    let Some(folder) = reference() else { return };

    for (version, openapi) in OPENAPI {
        let again = imported(&folder, version, openapi);
        let text = format::write(&again.source);
        assert!(text == shipped(version).unwrap(), "the shipped file of {version} is stale");
    }
}

#[test]
fn importing_an_extension_again_gives_the_shipped_file() {
    let Some(folder) = reference() else { return };

    for (name, version, shipped_text) in EXTENSIONS_SHIPPED {
        let core = format::read(shipped(version).unwrap()).unwrap();
        let file = folder.join(format!("model/ApiSchema-EXTENSION-{name}-for-ds-5.2.json"));
        let schema = read(&file);
        let again = import::import_extension(text(name, &schema), &[core])
            .unwrap_or_else(|problems| panic!("{problems:#?}"));
        assert!(
            format::write(&again.source) == *shipped_text,
            "the shipped file of {name} is stale"
        );
    }
}

#[test]
fn an_extension_requires_what_its_published_schema_requires() {
    let Some(folder) = reference() else { return };

    for (name, version, shipped_text) in EXTENSIONS_SHIPPED {
        let file = folder.join(format!("model/ApiSchema-EXTENSION-{name}-for-ds-5.2.json"));
        let schema: serde_json::Value = serde_json::from_str(&read(&file)).unwrap();
        let sources = [shipped(version).unwrap(), *shipped_text].map(|t| format::read(t).unwrap());
        let model = link(&sources).unwrap();
        for (endpoint, theirs) in schema["projectSchema"]["resourceSchemas"].as_object().unwrap() {
            let is_extension = theirs["isResourceExtension"] == true;
            let segment = if is_extension { "ed-fi" } else { name };
            let ours = model.by_endpoint(segment, endpoint);
            let ours = ours.unwrap_or_else(|| panic!("{segment}/{endpoint}"));
            let mut paths = BTreeSet::new();
            leaves(&ours.properties, "$", &mut paths);
            for path in theirs["documentPathsMapping"].as_object().unwrap().values() {
                let members = path["referenceJsonPaths"].as_array().into_iter().flatten();
                let members = members.map(|member| &member["referenceJsonPath"]);
                for path in members.chain([&path["path"]]).filter_map(|path| path.as_str()) {
                    assert!(paths.contains(path), "{name} {endpoint} {path}");
                }
            }
        }
    }
}

/// Collects the JSON paths of a document's values, `$.addresses[*].city`.
fn leaves(properties: &[Property], at: &str, out: &mut BTreeSet<String>) {
    for property in properties {
        let path = format!("{at}.{}", property.name);
        match &property.kind {
            PropertyKind::Scalar(_) => _ = out.insert(path),
            PropertyKind::Reference(reference) => {
                out.extend(reference.parts.iter().map(|part| format!("{path}.{}", part.name)));
            }
            PropertyKind::Object(inner) => leaves(inner, &path, out),
            PropertyKind::List(inner) => leaves(inner, &format!("{path}[*]"), out),
        }
    }
}

#[test]
fn the_query_fields_equal_the_published_parameters() {
    let Some(folder) = reference() else { return };
    let model = link(&[format::read(shipped("4.0.0").unwrap()).unwrap()]).unwrap();
    let document = read(&folder.join("openapi/resources-ds-4.0.json"));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();

    let mut compared = 0;
    for resource in &model.resources {
        let path = &document["paths"][resource.path()];
        let Some(parameters) = path["get"]["parameters"].as_array() else { continue };
        let named = parameters.iter().filter(|found| found["in"] == "query");
        let theirs: BTreeSet<&str> =
            named.filter_map(|found| found["name"].as_str()).filter(|name| *name != "id").collect();
        let ours: BTreeSet<&str> =
            resource.query_fields.iter().map(|field| field.name.as_str()).collect();
        let missing: Vec<_> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", resource.endpoint);
        // The published parameters leave out those that a subclass inherits.
        let more = ours.difference(&theirs).count();
        assert!(more == 0 || resource.base.is_some(), "{}: {ours:?} {theirs:?}", resource.endpoint);
        compared += 1;
    }
    assert!(compared > 100, "{compared} resources have parameters");
}

#[test]
fn the_dependency_graph_equals_the_published_one() {
    let Some(folder) = reference() else { return };
    let older = link(&[format::read(shipped("4.0.0").unwrap()).unwrap()]).unwrap();
    let shipped = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();

    for (version, model) in [("4.0.0", older), ("5.2.0", shipped)] {
        let file = format!("dependencies/dependencies-ds-{version}.graphml.xml");
        let theirs = read(&folder.join(file));
        let graph = dependency_graph(&model);
        let id = |node: usize| {
            let node = graph.nodes[node];
            let retry = if node.operations == Operations::Update { "#Retry" } else { "" };
            format!("{}{retry}", model.resource(node.resource).path())
        };
        let ours: BTreeSet<String> = graph
            .edges
            .iter()
            .map(|(from, to)| format!("<edge source=\"{}\" target=\"{}\"", id(*from), id(*to)))
            .collect();
        let edges = theirs.lines().filter(|line| line.trim_start().starts_with("<edge"));
        assert!(!ours.is_empty(), "{version}");
        assert_eq!(edges.clone().count(), ours.len(), "{version}");
        for edge in edges {
            let edge = edge.trim().trim_end_matches("/>").trim_end();
            assert!(ours.contains(edge), "{version} {edge}");
        }
    }
}

#[test]
fn every_difference_from_what_is_published_has_its_reason() {
    let Some(folder) = reference() else { return };

    for artefacts in ARTEFACTS {
        let version = artefacts.version;
        let model = link(&[format::read(shipped(version).unwrap()).unwrap()]).unwrap();
        let exceptions = Exceptions::read(shipped_exceptions(version).unwrap()).unwrap();
        let artefact = |path: &str| read(&folder.join(path));
        let (manifest, api_schema) =
            (artefacts.manifest.map(artefact), artefacts.api_schema.map(artefact));
        let published = Published {
            manifest: manifest.as_deref(),
            api_schema: api_schema.as_deref(),
            resources: &artefact(artefacts.resources),
            descriptors: &artefact(artefacts.descriptors),
            dependencies: &artefact(artefacts.dependencies),
        };

        let report = check(&model, &published, &exceptions).unwrap();

        assert!(report.is_clean(), "{version} {:?} {:?}", report.unexplained, report.idle);
        assert!(report.compared.iter().all(|(_, facts)| *facts > 300), "{:?}", report.compared);
    }
}

#[test]
fn every_element_of_the_published_samples_is_in_the_model() {
    let Some(folder) = reference() else { return };
    let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
    let shapes = shapes(&model);
    let (mut records, mut unknown) = (0, vec![]);

    let samples = files(&folder.join("samples/5.2.0"), "xml");
    let descriptors = files(&folder.join("descriptors/5.2.0"), "xml");
    for path in samples.iter().chain(&descriptors) {
        records += walk(&read(path), &shapes, &mut unknown);
    }

    assert!(records > 17_000, "{records} records");
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Returns the shape of every record that an interchange may hold, by element name.
fn shapes(model: &Model) -> HashMap<String, XmlElement> {
    let mut shapes = HashMap::new();
    for resource in &model.resources {
        let shape = xml_shape(model, resource);
        let target = model.by_name(&resource.name).unwrap();
        let reference = reference_shape(model, target);
        shapes.insert(reference.name.clone(), reference);
        shapes.insert(shape.name.clone(), shape);
    }
    shapes
}

/// Walks a file's elements along the shapes; counts records and collects elements without a place.
fn walk(text: &str, shapes: &HashMap<String, XmlElement>, unknown: &mut Vec<String>) -> usize {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Option<&XmlElement>> = vec![];
    let mut records = 0;
    loop {
        let (tag, empty) = match reader.read_event().unwrap() {
            Event::Start(tag) => (tag, false),
            Event::Empty(tag) => (tag, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Text(text) => {
                if let Some(Some(element)) = open.last()
                    && matches!(element.content, Content::Children | Content::Reference { .. })
                    && !text.trim().is_empty()
                {
                    unknown.push(format!("text in {}", element.name));
                }
                continue;
            }
            Event::Eof => return records,
            _ => continue,
        };
        let name = tag.local_name().as_ref().to_owned();
        let element = match open.len() {
            0 => None,
            1 => {
                records += 1;
                shapes.get(&name)
            }
            _ => open.last().unwrap().and_then(|parent| parent.child(&name)),
        };
        if !open.is_empty()
            && element.is_none()
            && (open.len() == 1 || open.last().unwrap().is_some())
        {
            let parent = open.last().unwrap().map_or("", |parent| &parent.name);
            unknown.push(format!("{parent}/{name}"));
        }
        if !empty {
            open.push(element);
        }
    }
}
