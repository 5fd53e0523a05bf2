//! Compiles definitions against the model: every name is resolved before the first request.

use std::collections::BTreeSet;

use homeroom_model::{Model, PropertyKind, Resource, Target};

use super::definition::{self, Element};
use super::error::CompositeError;
use super::member::{Member, Node, Parameter, Step};
use super::names::{self, Owner, camel, there_are};
use super::served::{Category, Composite, RouteTemplate, Segment};

/// Most segments of a route template after the category.
pub(super) const SEGMENTS_MAX: usize = 5;
/// Query parameters of every composite, which no parameter of a definition may have as its name.
const RESERVED: &[&str] = &[
    "q",
    "queryExpression",
    "fields",
    "limit",
    "offset",
    "totalCount",
    "pageSize",
    "pageToken",
    "minChangeVersion",
    "maxChangeVersion",
    "correlationId",
];
/// Most members of one composite.
const MEMBERS_MAX: usize = 2_000;

/// Compiles a file of definitions. Returns its categories with their lines. If the file is shipped,
/// parts that the model does not have are left out and noted.
pub(super) fn file(
    model: &Model,
    file: &str,
    text: &str,
    is_shipped: bool,
) -> Result<Vec<(usize, Category)>, CompositeError> {
    let root = definition::read(file, text)?;
    let organization = root.required("organizationCode");
    let mut compiler = Compiler { model, file, is_shipped, left_out: vec![], members: 0 };
    if !is_segment(organization) {
        return Err(compiler.error(
            &root,
            "organizationCode is a segment of an address: letters, digits and hyphens",
        ));
    }
    let mut categories: Vec<(usize, Category)> = vec![];
    for element in root.all("Category") {
        let category = compiler.category(organization, element)?;
        if categories.iter().any(|(_, there)| there.is_at(&category)) {
            return Err(compiler.error(element, &format!("the file has {} twice", category.name)));
        }
        categories.push((element.line, category));
    }
    Ok(categories)
}

/// Returns whether a text has only letters, digits and hyphens, which need no escaping in an address.
fn is_segment(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

struct Compiler<'a> {
    model: &'a Model,
    file: &'a str,
    is_shipped: bool,
    left_out: Vec<CompositeError>,
    members: usize,
}

impl Compiler<'_> {
    fn error(&self, element: &Element, what: &str) -> CompositeError {
        let name = element.get("name").map(|name| format!(" {name}")).unwrap_or_default();
        CompositeError {
            file: self.file.into(),
            line: element.line,
            what: format!("{}{name}: {what}", element.name),
        }
    }

    /// Returns what was found. In a shipped file, turns an error into a note and [`None`].
    fn or_left_out<T>(
        &mut self,
        found: Result<T, CompositeError>,
    ) -> Result<Option<T>, CompositeError> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if self.is_shipped => {
                self.left_out.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn category(
        &mut self,
        organization: &str,
        element: &Element,
    ) -> Result<Category, CompositeError> {
        let name = element.required("name");
        if !is_segment(name) {
            return Err(self.error(
                element,
                "its name is a segment of an address: letters, digits and hyphens",
            ));
        }
        let mut composites: Vec<Composite> = vec![];
        for composite in element.all("Composites").flat_map(|all| all.all("Composite")) {
            let compiled = self.composite(composite);
            let Some(compiled) = self.or_left_out(compiled)? else { continue };
            if composites.iter().any(|there| there.plural.eq_ignore_ascii_case(&compiled.plural)) {
                return Err(
                    self.error(composite, &format!("the category has {} twice", compiled.plural))
                );
            }
            composites.push(compiled);
        }
        let mut routes = vec![];
        for route in element.all("Routes").flat_map(|all| all.all("Route")) {
            routes.push(self.route(route, &composites)?);
        }
        Ok(Category {
            organization: organization.into(),
            name: name.into(),
            display_name: element.required("displayName").into(),
            routes,
            composites,
            left_out: std::mem::take(&mut self.left_out),
        })
    }

    fn route(
        &self,
        element: &Element,
        composites: &[Composite],
    ) -> Result<RouteTemplate, CompositeError> {
        let template = element.required("relativeRouteTemplate");
        let wrong = |what: &str| self.error(element, &format!("{template}: {what}"));
        let mut segments = vec![];
        for text in template.trim_matches('/').split('/') {
            let segment = match text.strip_prefix('{').map(|rest| rest.strip_suffix('}')) {
                Some(Some("compositeName")) => Segment::Composite,
                Some(Some(name)) if !name.contains(['{', '}']) && !name.is_empty() => {
                    Segment::Parameter(name.into())
                }
                None if is_segment(text) => Segment::Fixed(text.into()),
                _ => return Err(wrong("a segment is text or one {Parameter}")),
            };
            segments.push(segment);
        }
        if segments.iter().filter(|segment| **segment == Segment::Composite).count() != 1 {
            return Err(wrong("it needs {compositeName} once"));
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(wrong(&format!("a route has at most {SEGMENTS_MAX} segments")));
        }
        let constraint = element.get("compositeNameConstraint").unwrap_or_default();
        let names = constraint.trim_start_matches('^').trim_end_matches('$');
        let names =
            names.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(names);
        let only: Vec<String> =
            names.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let is_known = |name: &String| {
            composites.iter().any(|composite| composite.plural.eq_ignore_ascii_case(name))
        };
        if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
            return Err(wrong(&format!(
                "compositeNameConstraint is names with | between them, and no composite is called \
                 {unknown}; {}",
                there_are(composites.iter().map(|composite| composite.plural.as_str()))
            )));
        }
        Ok(RouteTemplate { segments, only })
    }

    fn composite(&mut self, element: &Element) -> Result<Composite, CompositeError> {
        let name = element.required("name");
        if !is_segment(name) {
            return Err(self.error(
                element,
                "its name is a segment of an address: letters, digits and hyphens",
            ));
        }
        let base_element = element.all("BaseResource").next().expect("the reader demands one");
        let fail = |what: String| self.error(base_element, &what);
        let schema = names::schema(self.model, base_element.get("logicalSchema")).map_err(fail)?;
        let base =
            names::resource(self.model, schema, base_element.required("name")).map_err(fail)?;
        self.members = 0;
        let node = self.node_of(base_element, base)?;
        let mut parameters: Vec<Parameter> = vec![];
        for parameter in element.all("Specification").flat_map(|all| all.all("Parameter")) {
            let compiled = self.parameter(parameter, base);
            let Some(compiled) = self.or_left_out(compiled)? else { continue };
            if parameters.iter().any(|there| there.name.eq_ignore_ascii_case(&compiled.name)) {
                return Err(self.error(parameter, "the specification has it twice"));
            }
            parameters.push(compiled);
        }
        Ok(Composite {
            plural: names::plural(self.model, name, base.id),
            base: base.id,
            node,
            parameters,
        })
    }

    fn node_of(&mut self, element: &Element, resource: &Resource) -> Result<Node, CompositeError> {
        let owner = Owner::of(self.model, resource);
        self.node(element, &owner, Some(resource))
    }

    /// Compiles the members of an element; `document` is its resource if it stands for a whole
    /// document.
    fn node(
        &mut self,
        element: &Element,
        owner: &Owner<'_>,
        document: Option<&Resource>,
    ) -> Result<Node, CompositeError> {
        let mut members = vec![];
        for child in &element.children {
            self.members += 1;
            if self.members > MEMBERS_MAX {
                return Err(
                    self.error(child, &format!("a composite has at most {MEMBERS_MAX} members"))
                );
            }
            let member = self.member(child, owner, document);
            if let Some(member) = self.or_left_out(member)? {
                members.push(member);
            }
        }
        let node = Node { members };
        let mut seen = BTreeSet::new();
        if let Some(twice) = node.names().into_iter().find(|name| !seen.insert(*name)) {
            return Err(self.error(
                element,
                &format!("an answer would have {twice} twice; give one a displayName"),
            ));
        }
        Ok(node)
    }

    fn member(
        &mut self,
        element: &Element,
        owner: &Owner<'_>,
        document: Option<&Resource>,
    ) -> Result<Member, CompositeError> {
        let given = element.required("name");
        let fail = |what: String| self.error(element, &what);
        let shown =
            |usual: &str| element.get("displayName").map_or_else(|| usual.to_owned(), camel);
        match element.name.as_str() {
            "Property" => {
                if given.eq_ignore_ascii_case("id") && document.is_some() {
                    return Ok(Member::Id { name: shown("id") });
                }
                let (name, scalar, ways) = names::value(owner, given, document).map_err(fail)?;
                Ok(Member::Value { name: shown(&name), scalar, ways })
            }
            "Collection" => {
                let is_list = |kind: &PropertyKind| matches!(kind, PropertyKind::List(_));
                let property = owner
                    .part(given, is_list)
                    .map_err(|what| fail(format!("there is no such collection; {what}")))?;
                let PropertyKind::List(items) = &property.kind else {
                    return Err(fail("it is not a collection".into()));
                };
                let node = self.node(element, &owner.inside(&property.name, items), None)?;
                Ok(Member::Collection {
                    name: shown(&property.name),
                    property: property.name.clone(),
                    node,
                })
            }
            "EmbeddedObject" => {
                let is_object = |kind: &PropertyKind| matches!(kind, PropertyKind::Object(_));
                let property = owner
                    .part(given, is_object)
                    .map_err(|what| fail(format!("there is no such object; {what}")))?;
                let PropertyKind::Object(inner) = &property.kind else {
                    return Err(fail("it is not an object".into()));
                };
                let node = self.node(element, &owner.inside(&property.name, inner), None)?;
                let name = (!element.is("flatten")).then(|| shown(&property.name));
                Ok(Member::Object { name, property: property.name.clone(), node })
            }
            "ReferencedResource" => {
                let (property, reference) = owner
                    .reference(self.model, given)
                    .map_err(|what| fail(format!("there is no such reference; {what}")))?;
                let name = (!element.is("flatten")).then(|| shown(&property.name));
                let target = self.model.target_name(reference.target);
                let subtype =
                    element.is("includeResourceSubtype").then(|| format!("{}Type", camel(target)));
                let property = property.name.clone();
                match reference.target {
                    Target::Resource(to) => {
                        let node = self.node_of(element, self.model.resource(to))?;
                        Ok(Member::Reference { name, property, to, subtype, node })
                    }
                    Target::Abstract(_) => {
                        let node = self.base(element, reference)?;
                        Ok(Member::Base { name, property, node, subtype })
                    }
                }
            }
            "LinkedCollection" => {
                let Some(to) = document else {
                    return Err(fail("only a document can have documents that refer to it".into()));
                };
                let schema = element.get("logicalSchema");
                let schema = schema.map_or(Ok(to.schema.as_str()), |logical| {
                    names::schema(self.model, Some(logical))
                });
                let (resource, property) = schema
                    .and_then(|schema| names::linked(self.model, schema, given, to))
                    .map_err(fail)?;
                let node = self.node_of(element, resource)?;
                Ok(Member::Linked {
                    name: shown(&camel(given)),
                    resource: resource.id,
                    property: property.name.clone(),
                    node,
                })
            }
            _ => Err(fail("it is not allowed here".into())),
        }
    }

    /// Compiles a reference to an abstract base, of whose documents only the identity is known.
    fn base(
        &mut self,
        element: &Element,
        reference: &homeroom_model::Reference,
    ) -> Result<Node, CompositeError> {
        let mut members = vec![];
        for child in &element.children {
            let given = child.required("name");
            let mut parts = reference.parts.iter();
            let part = parts
                .find(|part| part.name.eq_ignore_ascii_case(given))
                .filter(|_| child.name == "Property");
            let found = part.ok_or_else(|| {
                let known = there_are(reference.parts.iter().map(|part| part.name.as_str()));
                self.error(child, &format!(
                    "{} is abstract, and only the identity of an abstract resource can be shown; \
                     {known}",
                    self.model.target_name(reference.target)
                ))
            });
            if let Some(part) = self.or_left_out(found)? {
                members.push(Member::Value {
                    name: child.get("displayName").map_or_else(|| part.name.clone(), camel),
                    scalar: part.scalar,
                    ways: vec![vec![part.name.clone()]],
                });
            }
        }
        Ok(Node { members })
    }

    fn parameter(&self, element: &Element, base: &Resource) -> Result<Parameter, CompositeError> {
        let path = element.required("filterPath");
        let fail = |what: String| self.error(element, &format!("{path}: {what}"));
        let names: Vec<&str> = path.split("->").flat_map(|part| part.split('.')).collect();
        let Some((field, names)) = names.split_last() else {
            return Err(fail("it is empty".into()));
        };
        let (mut at, mut steps) = (base, vec![]);
        for name in names {
            let step = self.step(at, name).map_err(fail)?;
            at = self.model.resource(step.to);
            steps.push(step);
        }
        let field = if field.eq_ignore_ascii_case("id") {
            "id".to_owned()
        } else {
            let mut fields = at.query_fields.iter();
            let found = fields.find(|known| known.name.eq_ignore_ascii_case(field));
            let known = || there_are(at.query_fields.iter().map(|field| field.name.as_str()));
            found
                .map(|field| field.name.clone())
                .ok_or_else(|| fail(format!("{} has no value {field}; {}", at.name, known())))?
        };
        let name = element.required("name");
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
            let what = format!("{name} is a parameter of every composite; choose another name");
            return Err(self.error(element, &what));
        }
        Ok(Parameter {
            name: name.into(),
            description: element.get("description").map(str::to_owned),
            is_queryable: element.get("queryable").is_none() || element.is("queryable"),
            steps,
            of: at.id,
            field,
        })
    }

    fn step(&self, from: &Resource, name: &str) -> Result<Step, String> {
        let owner = Owner::of(self.model, from);
        if let Ok((property, reference)) = owner.reference(self.model, name) {
            let Target::Resource(to) = reference.target else {
                return Err(format!(
                    "{name} leads to an abstract resource, and a path cannot go on from there"
                ));
            };
            return Ok(Step { from: from.id, to, property: property.name.clone(), forward: true });
        }
        let linked = names::linked(self.model, &from.schema, name, from);
        let (resource, property) =
            linked.map_err(|what| format!("{} has no reference {name}, and {what}", from.name))?;
        Ok(Step { from: from.id, to: resource.id, property: property.name.clone(), forward: false })
    }
}
