//! Resolves references and descriptor values to resources. A description names a reference's target
//! by schema, and a descriptor's by the end of a property's name.

use std::collections::HashMap;

use super::shape::{
    Form, Property, Reference, Resource, Scalar, Shapes, Takes, strip_suffix_any_case,
};

/// Fills in the targets and roles of references and the resources of descriptor values.
pub fn join(shapes: &mut Shapes) {
    add_undescribed(&mut shapes.resources);
    let index = Index::of(&shapes.resources);
    for resource in &mut shapes.resources {
        let project = project(&resource.schema).to_owned();
        each(&mut resource.properties, &mut |property| match &mut property.form {
            Form::Reference(reference) => index.link(&property.name, reference, &project),
            Form::Descriptor(found) => *found = index.descriptor(&property.name, &project),
            _ => {}
        });
    }
}

/// Adds resources that are referenced but not described, unless they stand for a described
/// resource: some descriptions leave school years out. Such a resource can at most be read.
fn add_undescribed(resources: &mut Vec<Resource>) {
    let index = Index::of(resources);
    let mut wanted: Vec<(String, Vec<(String, Form)>)> = index
        .abstracts
        .iter()
        .filter(|(_, fitting)| fitting.is_empty())
        .map(|(name, _)| (name.clone(), members(resources, name)))
        .collect();
    wanted.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (schema, members) in wanted {
        let folder =
            resources.iter().find(|resource| project(&resource.schema) == project(&schema));
        let folder = folder.and_then(|resource| resource.path.rsplit_once('/'));
        let Some((folder, _)) = folder else { continue };
        let name = format!("{}s", singular(&schema));
        let identity: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
        let property = |(name, form)| Property { name, is_required: true, is_identity: true, form };
        resources.push(Resource {
            path: format!("{folder}/{name}"),
            name,
            schema,
            properties: members.into_iter().map(property).collect(),
            query: identity.clone(),
            identity,
            takes: Takes::default(),
        });
    }
}

fn members(resources: &[Resource], name: &str) -> Vec<(String, Form)> {
    let mut wanted = HashMap::new();
    for resource in resources {
        count(&resource.properties, &HashMap::new(), &mut [], &mut wanted);
    }
    wanted.remove(name).unwrap_or_default()
}

/// Returns the part of a schema's name that names its project: `edFi` of `edFi_school`.
fn project(schema: &str) -> &str {
    schema.split_once('_').map_or("", |(project, _)| project)
}

/// Returns a schema's name without its project.
pub fn singular(schema: &str) -> &str {
    schema.split_once('_').map_or(schema, |(_, name)| name)
}

fn each(properties: &mut [Property], visit: &mut dyn FnMut(&mut Property)) {
    for property in properties {
        visit(property);
        if let Form::Object(inner) | Form::List(inner) = &mut property.form {
            each(inner, visit);
        }
    }
}

/// Lookup tables for finding targets.
struct Index {
    /// Resources by the name of their schema in lower case.
    by_schema: HashMap<String, usize>,
    /// Descriptors' projects and names in lower case, with their resources.
    descriptors: Vec<(String, String, usize)>,
    /// The resources that can stand for an abstract resource, by its name; the likeliest first.
    abstracts: HashMap<String, Vec<usize>>,
}

impl Index {
    fn of(resources: &[Resource]) -> Self {
        let schemas = resources.iter().enumerate();
        let by_schema: HashMap<String, usize> =
            schemas.clone().map(|(at, resource)| (resource.schema.to_lowercase(), at)).collect();
        let descriptors = schemas
            .filter(|(_, resource)| resource.is_descriptor())
            .map(|(at, resource)| {
                let (project, name) = (project(&resource.schema), singular(&resource.schema));
                (project.to_lowercase(), name.to_lowercase(), at)
            })
            .collect();
        Self { abstracts: abstracts(resources, &by_schema), by_schema, descriptors }
    }

    fn link(&self, property: &str, reference: &mut Reference, project: &str) {
        let name = format!("{}Reference", singular(&reference.to));
        reference.role = strip_suffix_any_case(property, &name).unwrap_or_default().into();
        reference.targets = match self.by_schema.get(&reference.to.to_lowercase()) {
            Some(at) => vec![*at],
            None => self.abstracts.get(&reference.to).cloned().unwrap_or_default(),
        };
        for (name, form) in &mut reference.members {
            if let Form::Descriptor(found) = form {
                *found = self.descriptor(name, project);
            }
        }
    }

    /// Returns the resource of a descriptor value: the one whose name is the longest suffix of the
    /// property's name. Among equals, the same project is preferred, then the standard.
    fn descriptor(&self, property: &str, of: &str) -> Option<usize> {
        let (property, of) = (property.to_lowercase(), of.to_lowercase());
        let fits = self.descriptors.iter().filter(|(_, name, _)| property.ends_with(name.as_str()));
        let best = fits.max_by_key(|(project, name, at)| {
            (name.len(), *project == of, project == "edfi", std::cmp::Reverse(*at))
        });
        best.map(|(_, _, at)| *at)
    }
}

/// Returns, for each referenced schema without a path of its own, the resources that have its
/// identity.
fn abstracts(
    resources: &[Resource],
    by_schema: &HashMap<String, usize>,
) -> HashMap<String, Vec<usize>> {
    let mut uses = vec![0_usize; resources.len()];
    let mut wanted: HashMap<String, Vec<(String, Form)>> = HashMap::new();
    for resource in resources {
        count(&resource.properties, by_schema, &mut uses, &mut wanted);
    }
    let fits = |members: &[(String, Form)]| {
        let mut found: Vec<usize> = (0..resources.len())
            .filter(|at| !resources[*at].is_descriptor() && has_identity(&resources[*at], members))
            .collect();
        found.sort_by_key(|at| (std::cmp::Reverse(uses[*at]), required(&resources[*at]), *at));
        found
    };
    wanted.into_iter().map(|(name, members)| (name, fits(&members))).collect()
}

fn count(
    properties: &[Property],
    by_schema: &HashMap<String, usize>,
    uses: &mut [usize],
    wanted: &mut HashMap<String, Vec<(String, Form)>>,
) {
    for property in properties {
        match &property.form {
            Form::Reference(reference) => match by_schema.get(&reference.to.to_lowercase()) {
                Some(at) => uses[*at] += 1,
                None => {
                    wanted.entry(reference.to.clone()).or_insert_with(|| reference.members.clone());
                }
            },
            Form::Object(inner) | Form::List(inner) => count(inner, by_schema, uses, wanted),
            Form::Scalar(_) | Form::Descriptor(_) => {}
        }
    }
}

fn required(resource: &Resource) -> usize {
    resource.properties.iter().filter(|property| property.is_required).count()
}

/// Returns whether a resource's identity is that of an abstract resource: the same names or, if it
/// is a single numeric id, any name.
fn has_identity(resource: &Resource, members: &[(String, Form)]) -> bool {
    let is_number = |form: &Form| matches!(form, Form::Scalar(Scalar::Integer { .. }));
    if let [(name, form)] = members {
        let own = resource.properties.iter().filter(|property| property.is_identity);
        let mut own = own.filter(|property| resource.identity.len() <= 1 || property.name == *name);
        let (Some(only), None) = (own.next(), own.next()) else { return false };
        let alone = resource.identity.len() <= 1
            && !resource.properties.iter().any(|property| {
                matches!(&property.form, Form::Reference(to) if resource.identifies(property, to))
            });
        let is_id = |name: &str| name.ends_with("Id");
        return alone
            && is_number(form)
            && is_number(&only.form)
            && is_id(name) == is_id(&only.name)
            && is_id(name);
    }
    let told: Vec<String> =
        if resource.identity.is_empty() { marked(resource) } else { resource.identity.clone() };
    told.len() == members.len()
        && members.iter().all(|(name, _)| told.iter().any(|flat| flat == name))
}

/// Returns a resource's identity where only marks declare it: its own members and those of its
/// references.
fn marked(resource: &Resource) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for property in resource.properties.iter().filter(|property| property.is_identity) {
        match &property.form {
            Form::Reference(reference) => {
                let members = reference.members.iter().map(|(member, _)| member);
                let with_role = |member: &String| {
                    if names.contains(member) {
                        format!("{}{}", reference.role_or(&property.name), capital(member))
                    } else {
                        member.clone()
                    }
                };
                let flat: Vec<String> = members.map(with_role).collect();
                names.extend(flat);
            }
            _ => names.push(property.name.clone()),
        }
    }
    names
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
