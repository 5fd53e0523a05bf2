//! Writes a [`Source`] as text.

use std::fmt::Write as _;

use crate::source::{
    ExtensionSource, Presence, PropertySource, ResourceKind, ResourceSource, Source, Type,
};

/// Writes a model file; [`read`](super::read) turns it back into the same source.
pub fn write(source: &Source) -> String {
    let mut out = format!("standard {} {} {}\n", source.project, source.schema, source.version);
    if let Some((schema, version)) = &source.extends {
        _ = writeln!(out, "extends {schema} {version}");
    }
    if let (Some(first), Some(last)) = (source.school_years.first(), source.school_years.last()) {
        _ = writeln!(out, "school-years {first}..{last}");
    }
    if let Some(common) = &source.descriptor {
        out.push_str("\ndescriptors\n");
        write_body(&mut out, common);
    }
    let mut after_plain = false;
    for resource in &source.resources {
        let plain = is_plain(resource);
        if !(plain && after_plain) {
            out.push('\n');
        }
        put_resource(&mut out, resource);
        after_plain = plain;
    }
    for extension in &source.extensions {
        out.push('\n');
        put_extension(&mut out, extension);
    }
    out
}

/// Whether a descriptor states nothing beyond its name; such descriptors stand on consecutive
/// lines.
fn is_plain(resource: &ResourceSource) -> bool {
    resource.kind == ResourceKind::Descriptor
        && resource.properties.is_empty()
        && resource.domains.is_empty()
        && resource.interchanges.is_empty()
        && resource.element.is_none()
        && resource.subjects.is_empty()
}

/// Writes one resource in the form of a model file.
pub fn write_resource(resource: &ResourceSource) -> String {
    let mut out = String::new();
    put_resource(&mut out, resource);
    out
}

/// Writes what an extension adds to a resource in the form of a model file.
pub fn write_extension(extension: &ExtensionSource) -> String {
    let mut out = String::new();
    put_extension(&mut out, extension);
    out
}

fn put_extension(out: &mut String, extension: &ExtensionSource) {
    _ = writeln!(out, "extension {}", extension.target);
    if extension.required {
        out.push_str("  required\n");
    }
    for group in &extension.unified {
        _ = writeln!(out, "  unified {}", group.join(" "));
    }
    for part in &extension.parts {
        if part.within.is_empty() {
            write_properties(out, &part.properties, 1);
        } else {
            _ = writeln!(out, "  in {}", part.within);
            write_properties(out, &part.properties, 2);
        }
    }
}

fn put_resource(out: &mut String, resource: &ResourceSource) {
    let word = match resource.kind {
        ResourceKind::Abstract => "abstract",
        ResourceKind::Descriptor => "descriptor",
        ResourceKind::Entity => "resource",
        ResourceKind::Enumeration => "enumeration",
    };
    out.push_str([word, " ", &resource.name, " ", &resource.endpoint].concat().trim_end());
    out.push('\n');
    write_body(out, resource);
}

fn write_body(out: &mut String, resource: &ResourceSource) {
    let mut line = |text: String| {
        out.push_str("  ");
        out.push_str(&text);
        out.push('\n');
    };
    if let Some((base, map)) = &resource.base {
        let map: Vec<String> = map.iter().map(|m| format!(" {}={}", m.base, m.own)).collect();
        line(format!("base {base}{}", map.concat()));
    }
    if resource.updatable_key {
        line("key-updatable".into());
    }
    if !resource.domains.is_empty() {
        line(format!("domains {}", resource.domains.join(" ")));
    }
    if !resource.interchanges.is_empty() {
        line(format!("interchanges {}", resource.interchanges.join(" ")));
    }
    if let Some(element) = &resource.element {
        line(format!("element {element}"));
    }
    if !resource.ignored_elements.is_empty() {
        line(format!("ignored-elements {}", resource.ignored_elements.join(" ")));
    }
    for subject in &resource.subjects {
        line(format!("subject {} {}", subject.kind, subject.column));
    }
    if !resource.access_through.is_empty() {
        line(format!("access-through {}", resource.access_through.join(" ")));
    }
    for (name, through) in &resource.access_by {
        line(format!("access-by {name} {}", through.join(" ")));
    }
    for group in &resource.unified {
        line(format!("unified {}", group.join(" ")));
    }
    write_properties(out, &resource.properties, 1);
}

fn write_properties(out: &mut String, properties: &[PropertySource], depth: usize) {
    for property in properties {
        let mark = match property.presence {
            Presence::Key => '@',
            Presence::Required => '!',
            Presence::Optional => '?',
        };
        _ = write!(out, "{:1$}{mark} {2} ", "", depth * 2, property.name);
        write_type(out, &property.kind);
        if let Some(xml) = &property.xml {
            _ = write!(out, " <{xml}>");
        }
        out.push('\n');
        if let Type::Object(inner) | Type::List(inner) = &property.kind {
            write_properties(out, inner, depth + 1);
        }
    }
}

fn write_type(out: &mut String, kind: &Type) {
    let range = |min: &Option<String>, max: &Option<String>| {
        format!("{}..{}", min.as_deref().unwrap_or(""), max.as_deref().unwrap_or(""))
    };
    match kind {
        Type::Text { min, max: Some(max) } => _ = write!(out, "text({min}..{max})"),
        Type::Text { min, max: None } => _ = write!(out, "text({min}..)"),
        Type::Integer { bits, min: None, max: None } => _ = write!(out, "int{bits}"),
        Type::Integer { bits, min, max } => _ = write!(out, "int{bits}({})", range(min, max)),
        Type::Decimal { precision, scale, min: None, max: None } => {
            _ = write!(out, "decimal({precision},{scale})");
        }
        Type::Decimal { precision, scale, min, max } => {
            _ = write!(out, "decimal({precision},{scale}; {})", range(min, max));
        }
        Type::Boolean => out.push_str("boolean"),
        Type::Date => out.push_str("date"),
        Type::DateTime => out.push_str("datetime"),
        Type::Time => out.push_str("time"),
        Type::Descriptor(name) => _ = write!(out, "descriptor {name}"),
        Type::Object(_) => out.push_str("{}"),
        Type::List(_) => out.push_str("[]"),
        Type::Reference { target, parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| {
                    let mut text = part.name.clone();
                    if let Some(key) = &part.key {
                        _ = write!(text, "={key}");
                    }
                    if let Some(column) = &part.column {
                        _ = write!(text, " as {column}");
                    }
                    text
                })
                .collect();
            _ = write!(out, "-> {target}({})", parts.join(", "));
        }
    }
}
