//! Finds the names of a definition in the model, all by one derivation.
//!
//! Definitions use the names of the ODS: `EducationOrganizationAddresses`, `SchoolReference` or
//! `School`, `StudentSchoolAssociations`. The model has the names of the JSON. A collection is named
//! with or without its owner in front; a reference by its property, with or without `Reference`, or by
//! its target. Resources that refer to a document are named in the plural, with the reference's role
//! in front if they have several such references. Case does not matter.

use homeroom_model::{
    Model, Property, PropertyKind, Reference, Resource, ResourceId, Scalar, Target, capitalized,
    singulars,
};

/// An object whose members are looked up.
pub(super) struct Owner<'m> {
    /// Its properties.
    pub(super) properties: &'m [Property],
    /// Prefixes that the names of its collections may have.
    pub(super) prefixes: Vec<String>,
}

impl<'m> Owner<'m> {
    /// Returns the owner for a document of a resource.
    pub(super) fn of(model: &Model, resource: &'m Resource) -> Self {
        let base = resource.base.as_ref().map(|base| model.base(base.id).name.clone());
        let prefixes = [resource.name.clone()].into_iter().chain(base).collect();
        Self { properties: &resource.properties, prefixes }
    }

    /// Returns the owner for an item of a collection, or for an object, inside this one.
    pub(super) fn inside(&self, property: &str, properties: &'m [Property]) -> Self {
        let name = capitalized(property);
        let single = singulars(&name).into_iter().next().unwrap_or(name);
        let mut prefixes: Vec<String> =
            self.prefixes.iter().map(|prefix| format!("{prefix}{single}")).collect();
        prefixes.extend(self.prefixes.iter().cloned());
        Self { properties, prefixes }
    }

    /// Finds a collection or an object by name.
    pub(super) fn part(
        &self,
        name: &str,
        fits: impl Fn(&PropertyKind) -> bool,
    ) -> Result<&'m Property, String> {
        let all = self.properties.iter().filter(|property| fits(&property.kind));
        let prefixes = [""].into_iter().chain(self.prefixes.iter().map(String::as_str));
        for prefix in prefixes {
            let found = all.clone().find(|property| {
                name.len() == prefix.len() + property.name.len()
                    && starts_with(name, prefix)
                    && name
                        .get(prefix.len()..)
                        .is_some_and(|rest| rest.eq_ignore_ascii_case(&property.name))
            });
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(there_are(all.map(|property| property.name.as_str())))
    }

    /// Finds a reference by name.
    pub(super) fn reference(
        &self,
        model: &Model,
        name: &str,
    ) -> Result<(&'m Property, &'m Reference), String> {
        let all = self.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Reference(reference) => Some((property, reference)),
            _ => None,
        });
        let named = format!("{}Reference", without_reference(name));
        if let Some(found) =
            all.clone().find(|(property, _)| property.name.eq_ignore_ascii_case(&named))
        {
            return Ok(found);
        }
        let target = without_reference(name);
        let mut by_target = all.clone().filter(|(_, reference)| {
            model.target_name(reference.target).eq_ignore_ascii_case(target)
        });
        match (by_target.next(), by_target.next()) {
            (Some(found), None) => Ok(found),
            _ => Err(there_are(all.map(|(property, _)| property.name.as_str()))),
        }
    }
}

/// Finds the resource, by its name in the plural, that refers to documents of another one, and the
/// reference by which it does.
pub(super) fn linked<'m>(
    model: &'m Model,
    schema: &str,
    name: &str,
    to: &Resource,
) -> Result<(&'m Resource, &'m Property), String> {
    let whole = model.by_endpoint(schema, name).map(|resource| ("", resource));
    let with_role = || {
        // The shortest role leaves the longest name.
        let of_schema = model.resources.iter().filter(|resource| resource.schema == schema);
        let fits = |resource: &&Resource| ends_with(name, &resource.endpoint);
        let found = of_schema.filter(fits).max_by_key(|resource| resource.endpoint.len());
        found.map(|resource| (&name[..name.len() - resource.endpoint.len()], resource))
    };
    let (role, resource) = whole
        .or_else(with_role)
        .ok_or_else(|| format!("no resource of {schema} is called {name}"))?;
    let leads = |reference: &Reference| match reference.target {
        Target::Resource(id) => id == to.id,
        Target::Abstract(base) => to.base.as_ref().is_some_and(|own| own.id == base),
    };
    let all = resource.properties.iter().filter(
        |property| matches!(&property.kind, PropertyKind::Reference(reference) if leads(reference)),
    );
    let base = to.base.as_ref().map(|base| model.base(base.id).name.as_str());
    let names = [Some(to.name.as_str()), base];
    for target in names.into_iter().flatten() {
        let wanted = format!("{role}{target}Reference");
        if let Some(found) =
            all.clone().find(|property| property.name.eq_ignore_ascii_case(&wanted))
        {
            return Ok((resource, found));
        }
    }
    let mut found = all.clone();
    match (found.next(), found.next()) {
        (Some(only), None) if role.is_empty() => Ok((resource, only)),
        (None, _) => Err(format!("{} do not refer to {}", resource.endpoint, to.endpoint)),
        _ => Err(format!(
            "{} refer to {} in several ways; put the role in front of the name: {}",
            resource.endpoint,
            to.endpoint,
            there_are(all.map(|property| property.name.as_str()))
        )),
    }
}

/// Finds a resource by name.
pub(super) fn resource<'m>(
    model: &'m Model,
    schema: &str,
    name: &str,
) -> Result<&'m Resource, String> {
    let mut all = model.resources.iter();
    all.find(|resource| resource.schema == schema && resource.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| format!("{schema} has no resource {name}"))
}

/// Returns the path segment of a project, which is named by that segment or by its name, `Ed-Fi`.
pub(super) fn schema<'m>(model: &'m Model, logical: Option<&str>) -> Result<&'m str, String> {
    let Some(logical) = logical else { return Ok(&model.projects[0].schema) };
    let is_it = |name: &str| name.eq_ignore_ascii_case(logical);
    let found = model.projects.iter().find(|p| is_it(&p.schema) || is_it(&p.name));
    found.map(|project| project.schema.as_str()).ok_or_else(|| {
        format!(
            "no schema {logical} is served; {}",
            there_are(model.projects.iter().map(|project| project.schema.as_str()))
        )
    })
}

/// Returns the name of a composite in addresses.
pub(super) fn plural(model: &Model, name: &str, base: ResourceId) -> String {
    let base = model.resource(base);
    if base.name.eq_ignore_ascii_case(name) {
        return base.endpoint.clone();
    }
    let name = camel(name);
    let last_two = name.get(name.len().saturating_sub(2)..).unwrap_or_default();
    match last_two {
        "ay" | "ey" | "oy" | "uy" => format!("{name}s"),
        "ch" | "sh" | "ss" => format!("{name}es"),
        _ if name.ends_with('y') => format!("{}ies", &name[..name.len() - 1]),
        _ if name.ends_with(['s', 'x']) => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

/// Returns the name with its first letter in lower case, as in JSON.
pub(super) fn camel(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

/// Lists the names that would have been right.
pub(super) fn there_are<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "there is none".into()
    } else {
        format!("there are {}", names.join(", "))
    }
}

pub(super) fn without_reference(name: &str) -> &str {
    const REFERENCE: &str = "Reference";
    if name.len() > REFERENCE.len() && ends_with(name, REFERENCE) {
        &name[..name.len() - REFERENCE.len()]
    } else {
        name
    }
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

fn ends_with(text: &str, end: &str) -> bool {
    let at = text.len().checked_sub(end.len());
    at.and_then(|at| text.get(at..)).is_some_and(|own| own.eq_ignore_ascii_case(end))
}

/// Finds a value of an object: its name, its type and the places where it can stand.
pub(super) fn value(
    owner: &Owner<'_>,
    given: &str,
    document: Option<&Resource>,
) -> Result<(String, Scalar, Vec<Vec<String>>), String> {
    for property in owner.properties {
        if let PropertyKind::Scalar(scalar) = &property.kind
            && property.name.eq_ignore_ascii_case(given)
        {
            return Ok((property.name.clone(), *scalar, vec![vec![property.name.clone()]]));
        }
    }
    let parts = owner.properties.iter().flat_map(|property| {
        let parts = match &property.kind {
            PropertyKind::Reference(reference) => &reference.parts[..],
            _ => &[],
        };
        parts.iter().map(move |part| (property, part))
    });
    let way = |(property, part): (&homeroom_model::Property, &homeroom_model::ReferencePart)| {
        vec![property.name.clone(), part.name.clone()]
    };
    // Unified values appear at several places and are equal.
    let flat: Vec<_> =
        parts.clone().filter(|(_, part)| part.column.eq_ignore_ascii_case(given)).collect();
    if let Some((_, part)) = flat.first() {
        return Ok((part.column.clone(), part.scalar, flat.iter().copied().map(way).collect()));
    }
    let inner: Vec<_> = parts.filter(|(_, part)| part.name.eq_ignore_ascii_case(given)).collect();
    if let [only] = inner[..] {
        return Ok((only.1.name.clone(), only.1.scalar, vec![way(only)]));
    }
    let known = owner.properties.iter().filter_map(|property| match property.kind {
        PropertyKind::Scalar(_) => Some(property.name.as_str()),
        _ => None,
    });
    let of = document.map(|resource| format!(" of {}", resource.name)).unwrap_or_default();
    Err(format!("there is no such value{of}; {}", there_are(known)))
}
