//! XML schemas of the interchange files, derived from the model.
//!
//! They accept everything that the loader reads. Names, types, lengths, ranges and identities are
//! checked. Elements may be in any order, because the model does not hold their sequence. Required
//! elements are left to the loader, which gives better messages.
//!
//! Source: XML Schema 1.0 (W3C, 2004).

mod simple;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use homeroom_model::xml::{Content, XmlElement, xml_shape};
use homeroom_model::{Model, Resource, ResourceKind, Target};
use serde_json::{Value, json};

use super::markup::escaped;
use types::Writer;

/// The file with all types.
pub const CORE: &str = "Ed-Fi-Core.xsd";
/// The file with annotation elements, which describe types beyond what XML Schema can express.
pub const ANNOTATION: &str = "SchemaAnnotation.xsd";

/// A schema file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// Name of the file, `Interchange-MasterSchedule.xsd`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Returns the answer to `GET /metadata/xsd`: the sets of schema files.
pub fn schemas(model: &Model, base_url: &str) -> Value {
    model
        .projects
        .iter()
        .map(|project| {
            json!({
                "description": format!(
                    "XML schemas of the interchange files of {} {}.", project.name, project.version,
                ),
                "name": project.name,
                "version": project.version,
                "files": format!("{base_url}/metadata/xsd/{}/files", project.schema),
            })
        })
        .collect()
}

/// Returns the file names of one project's set: the file of all types, and the interchanges that
/// may carry its records.
pub fn names_of_set(model: &Model, schema: &str) -> BTreeSet<String> {
    let resources = model.resources.iter().filter(|r| r.schema.eq_ignore_ascii_case(schema));
    let interchanges = resources.flat_map(|resource| &resource.interchanges);
    let names = interchanges.map(|interchange| format!("Interchange-{interchange}.xsd"));
    let annotation = is_core(model, schema).then(|| ANNOTATION.to_owned());
    names.chain([CORE.to_owned()]).chain(annotation).collect()
}

/// Returns the addresses of the files that a project needs, each file once and in the published
/// order. For the standard, these are its own files; for an extension, the standard's files and
/// those that the extension adds. A set's files of the standard are also available below the set's
/// own address, because its interchanges include them.
///
/// Source: Ed-Fi ODS/API 7.3, `/metadata/xsd/{schema}/files`: sorted by address, ignoring case.
pub fn urls_of_set(model: &Model, schema: &str, base_url: &str) -> Value {
    let mut files: BTreeMap<String, &str> =
        names_of_set(model, schema).into_iter().map(|name| (name, schema)).collect();
    if let Some(core) = model.projects.first().filter(|_| !is_core(model, schema)) {
        let names = names_of_set(model, &core.schema).into_iter();
        files.extend(names.map(|name| (name, core.schema.as_str())));
    }
    let url = |(name, set)| format!("{base_url}/metadata/xsd/{set}/{name}");
    let mut urls: Vec<String> = files.into_iter().map(url).collect();
    urls.sort_by_key(|url| url.to_lowercase());
    urls.into()
}

fn is_core(model: &Model, schema: &str) -> bool {
    model.projects.first().is_some_and(|project| project.schema.eq_ignore_ascii_case(schema))
}

/// Returns every schema file, by name.
pub fn files(model: &Model) -> Vec<SchemaFile> {
    let mut all = vec![
        SchemaFile { name: CORE.into(), text: core(model) },
        SchemaFile { name: ANNOTATION.into(), text: annotation(model) },
    ];
    let interchanges: BTreeSet<&String> =
        model.resources.iter().flat_map(|resource| &resource.interchanges).collect();
    for interchange in interchanges {
        all.push(SchemaFile {
            name: format!("Interchange-{interchange}.xsd"),
            text: self::interchange(model, interchange),
        });
    }
    all
}

fn core(model: &Model) -> String {
    let mut writer = Writer::new(model);
    for resource in model.resources.iter().filter(|r| r.kind != ResourceKind::Enumeration) {
        writer.record(resource);
    }
    let entities = model.resources.iter().filter(|r| r.kind == ResourceKind::Entity);
    let resources = entities.map(|resource| Target::Resource(resource.id));
    let bases = model.abstracts.iter().map(|base| Target::Abstract(base.id));
    for target in bases.chain(resources) {
        writer.reference(target);
    }
    head(model) + &writer.finish() + "</xs:schema>\n"
}

/// Writes the elements for annotations: the kind of a type, and the descriptor that an element
/// names.
fn annotation(model: &Model) -> String {
    let namespace = "http://ed-fi.org/annotation";
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"{namespace}\" \
         targetNamespace=\"{namespace}\" elementFormDefault=\"qualified\" \
         attributeFormDefault=\"unqualified\">\n"
    );
    let descriptors = model.resources.iter().filter(|r| r.kind == ResourceKind::Descriptor);
    let mut names: Vec<&str> = descriptors.map(|resource| resource.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    out.push_str("  <xs:element name=\"TypeGroup\" type=\"xs:token\"/>\n");
    out.push_str("  <xs:element name=\"Descriptor\">\n    <xs:simpleType>\n");
    out.push_str("      <xs:restriction base=\"xs:token\">\n");
    for name in names {
        _ = writeln!(out, "        <xs:enumeration value=\"{}\"/>", escaped(name));
    }
    out + "      </xs:restriction>\n    </xs:simpleType>\n  </xs:element>\n</xs:schema>\n"
}

fn interchange(model: &Model, interchange: &str) -> String {
    let records: Vec<&Resource> = model
        .resources
        .iter()
        .filter(|resource| resource.interchanges.iter().any(|name| name == interchange))
        .collect();
    let mut out = head(model);
    _ = write!(
        out,
        "  <xs:include schemaLocation=\"{CORE}\"/>\n  \
           <xs:element name=\"Interchange{}\">\n    \
             <xs:complexType>\n      \
               <xs:choice maxOccurs=\"unbounded\">\n",
        escaped(interchange),
    );
    let mut element = |name: &str, kind: &str| {
        _ = writeln!(
            out,
            "        <xs:element name=\"{}\" type=\"{}\"/>",
            escaped(name),
            escaped(kind)
        );
    };
    let mut references = BTreeSet::new();
    for resource in records {
        element(&resource.element, &model.xml_name(Target::Resource(resource.id)));
        references_of(model, &xml_shape(model, resource), &mut references);
    }
    // A reference may stand as a record, so that other references can name its id.
    for name in references {
        element(&format!("{name}Reference"), &format!("{name}ReferenceType"));
    }
    out + "      </xs:choice>\n    </xs:complexType>\n  </xs:element>\n</xs:schema>\n"
}

fn references_of(model: &Model, element: &XmlElement, names: &mut BTreeSet<String>) {
    for child in &element.children {
        match &child.content {
            Content::Reference { target, .. } => _ = names.insert(model.xml_name(*target)),
            _ => references_of(model, child, names),
        }
    }
}

fn head(model: &Model) -> String {
    let namespace = format!(
        "http://ed-fi.org/{}",
        escaped(model.projects.first().map_or("", |project| &project.version))
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"{namespace}\" \
         targetNamespace=\"{namespace}\" elementFormDefault=\"qualified\" \
         attributeFormDefault=\"unqualified\">\n"
    )
}
