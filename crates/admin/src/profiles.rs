//! Profiles: stored with their definition, which must be well-formed XML or JSON.

use homeroom_access::{Change, ItemKind, Registry, TEXT_MAX};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;

use crate::form::{Is, ids, needed};
use crate::list::{By, filter};
use crate::refusal::{Faults, Refusal};
use crate::resource::{Candidate, Resource, nothing_changed, nothing_created, nothing_derived};

/// Most profiles.
const PROFILES_MAX: usize = 500;

/// Most bytes of a definition.
const DEFINITION_BYTES_MAX: usize = 256 << 10;

/// Deepest nesting of a definition.
const DEPTH_MAX: usize = 64;

/// The resource of profiles.
pub(crate) static PROFILES: Resource = Resource {
    kind: ItemKind::Profile,
    noun: "profile",
    all: "/adminapi/v2/profiles",
    one: "/adminapi/v2/profiles/{id}",
    count_max: PROFILES_MAX,
    members: &[
        needed("name", Is::Text(TEXT_MAX)),
        needed("definition", Is::Document(DEFINITION_BYTES_MAX)),
    ],
    filters: &[filter("id", By::Number), filter("name", By::Text)],
    only_in_one: &["definition"],
    check,
    created: nothing_created,
    changed: nothing_changed,
    deleted,
    derived: nothing_derived,
};

fn check(registry: &Registry, profile: &mut Candidate<'_>) -> Result<(), Refusal> {
    profile.must_be_unique(registry, ItemKind::Profile, "name");
    let definition = profile.text("definition");
    if definition.is_empty() {
        return Ok(());
    }
    let own_name = if definition.starts_with('{') {
        name_in_json(definition)
    } else {
        name_in_xml(definition)
    };
    let name = profile.text("name");
    let message = match own_name {
        Ok(own) if own.eq_ignore_ascii_case(name) || name.is_empty() => return Ok(()),
        Ok(own) => format!("The definition is for the profile '{own}', not '{name}'."),
        Err(message) => message,
    };
    profile.faults.add("definition", message);
    Ok(())
}

/// Refuses to delete a profile that an application has.
fn deleted(change: &mut Change<'_>, id: i64) -> Result<(), Refusal> {
    let applications = change.look_up(|registry| {
        let applications = registry.items(ItemKind::Application);
        applications.filter(|(_, item)| ids(&item["profileIds"]).contains(&id)).count()
    });
    if applications == 0 {
        return Ok(());
    }
    let message =
        format!("{applications} application(s) have the profile; remove it from them first.");
    Err(Refusal::Invalid(Faults::of("id", message)))
}

/// Returns the name in a JSON definition.
fn name_in_json(definition: &str) -> Result<String, String> {
    let parsed: Value = serde_json::from_str(definition).map_err(|error| {
        format!(
            "The definition is not valid JSON at line {}, column {}.",
            error.line(),
            error.column()
        )
    })?;
    let name = parsed["name"].as_str();
    Ok(name.ok_or("The definition has no string `name`.")?.to_owned())
}

/// Returns the name in an XML definition: one element `Profile` that contains resources.
fn name_in_xml(definition: &str) -> Result<String, String> {
    let mut reader = Reader::from_str(definition);
    reader.config_mut().check_comments = true;
    let (mut depth, mut name, mut resources) = (0_usize, None, 0_usize);
    loop {
        let at = reader.buffer_position();
        let event = reader.read_event();
        let event = event.map_err(|_| {
            format!("The definition is not well-formed XML at byte {}.", reader.error_position())
        })?;
        match event {
            Event::Start(element) => {
                open(&element, depth, &mut name, &mut resources)?;
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(format!("The definition is nested deeper than {DEPTH_MAX}."));
                }
            }
            Event::Empty(element) => open(&element, depth, &mut name, &mut resources)?,
            Event::End(_) => depth -= 1,
            Event::Text(text) if depth == 0 && !text.trim_ascii().is_empty() => {
                return Err(format!("The definition has text outside its element at byte {at}."));
            }
            Event::DocType(_) => return Err("A definition must not have a DOCTYPE.".into()),
            Event::Eof => break,
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::GeneralRef(_) => {}
        }
    }
    if depth > 0 {
        return Err("The definition ends within an element.".into());
    }
    match name {
        Some(_) if resources == 0 => Err("The profile has no `Resource`.".into()),
        Some(name) => Ok(name),
        None => Err("The definition has no element `Profile`.".into()),
    }
}

/// Checks an element that begins at a depth.
fn open(
    element: &BytesStart<'_>,
    depth: usize,
    name: &mut Option<String>,
    resources: &mut usize,
) -> Result<(), String> {
    let wrong = |_| "An attribute of the definition is not well formed.".to_owned();
    let mut own_name = None;
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| wrong(error.to_string()))?;
        if attribute.key.as_ref() == "name" {
            let value = &attribute.value;
            let value = quick_xml::escape::unescape(value);
            own_name = Some(value.map_err(|error| wrong(error.to_string()))?.into_owned());
        }
    }
    match depth {
        0 if name.is_some() => Err("The definition has a second element beside `Profile`.".into()),
        0 if element.name().as_ref() != "Profile" => {
            Err("The definition begins with an element other than `Profile`.".into())
        }
        0 => {
            *name = Some(own_name.ok_or("The element `Profile` has no attribute `name`.")?);
            Ok(())
        }
        1 if element.name().as_ref() == "Resource" => {
            own_name.ok_or("A `Resource` of the profile has no attribute `name`.")?;
            *resources += 1;
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_read_from_either_form_of_a_definition() {
        for (definition, name) in [
            (r#"<Profile name="A &amp; B"><Resource name="School"/></Profile>"#, "A & B"),
            (
                "<?xml version=\"1.0\"?>\n<!-- x -->\n<Profile name='A'>\n <Resource name='School'>\
                 <ReadContentType memberSelection='IncludeOnly'/></Resource>\n</Profile>\n",
                "A",
            ),
        ] {
            assert_eq!(name_in_xml(definition).as_deref(), Ok(name), "{definition}");
        }
        assert_eq!(name_in_json(r#"{"name": "A", "resources": []}"#).as_deref(), Ok("A"));
    }

    #[test]
    fn a_definition_that_is_not_well_formed_is_refused() {
        let deep = format!("<Profile name='A'>{}", "<a>".repeat(10_000));
        for definition in [
            "x",
            "<Profile name='A'>",
            "<Profile name='A'></Profil>",
            "<Profile name='A'><Resource name='S'></Profile></Resource>",
            "<Profile name='A'><Resource/></Profile>",
            "<Profile name='A'/>",
            "<Profile><Resource name='S'/></Profile>",
            "<Profile name='A' name='B'><Resource name='S'/></Profile>",
            "<Profile name=A><Resource name='S'/></Profile>",
            "<Profiles><Profile name='A'/></Profiles>",
            "<Profile name='A'><Resource name='S'/></Profile><Profile name='A'/>",
            "<Profile name='A'><Resource name='S'/></Profile> text",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><Profile name='A'><Resource name='S'/></Profile>",
            "<Profile name='A'><!-- a -- b --><Resource name='S'/></Profile>",
            deep.as_str(),
        ] {
            assert!(name_in_xml(definition).is_err(), "{definition:.100}");
        }
        for definition in ["{", "{}", r#"{"name": 1}"#] {
            assert!(name_in_json(definition).is_err(), "{definition}");
        }
    }
}
