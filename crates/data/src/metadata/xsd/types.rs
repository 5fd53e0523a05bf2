//! Complex types: records, references, identities.

use std::fmt::Write as _;

use homeroom_model::xml::{Content, Step, XmlElement, reference_shape, xml_shape};
use homeroom_model::{Abstract, Model, Resource, ResourceKind, Target};

use super::super::markup::escaped;
use super::simple::SimpleTypes;

/// Writes complex types and collects the simple types that they need.
pub struct Writer<'m> {
    model: &'m Model,
    simple: SimpleTypes,
    /// Content of the first descriptor's record; descriptors with the same content share a type.
    descriptor: Option<Vec<XmlElement>>,
    out: String,
}

/// How often an element may occur in its parent.
#[derive(Clone, Copy)]
enum Occurs {
    /// Exactly once.
    Once,
    /// As often as the enclosing group allows.
    AsGrouped,
    /// At most once.
    AtMostOnce,
}

impl<'m> Writer<'m> {
    /// Makes a writer of a model's types, with the base types of all records and references.
    pub fn new(model: &'m Model) -> Self {
        let id = "    <xs:attribute name=\"id\" type=\"xs:ID\"/>\n";
        let reference = "    <xs:attribute name=\"ref\" type=\"xs:IDREF\"/>\n";
        let out = format!(
            "  <xs:complexType name=\"ComplexObjectType\" abstract=\"true\">\n{id}  </xs:complexType>\n  \
               <xs:complexType name=\"ReferenceType\">\n{id}{reference}  </xs:complexType>\n"
        );
        Self { model, simple: SimpleTypes::default(), descriptor: None, out }
    }

    /// Returns everything that was written.
    pub fn finish(self) -> String {
        self.out + &self.simple.write()
    }

    /// Writes the type of a resource's record.
    pub fn record(&mut self, resource: &Resource) {
        let children = joined(&xml_shape(self.model, resource).children);
        let name = self.model.xml_name(Target::Resource(resource.id));
        if resource.kind == ResourceKind::Descriptor {
            if self.descriptor.is_none() {
                self.extension("DescriptorType", "ComplexObjectType", &children);
                self.descriptor = Some(children.clone());
            }
            if self.descriptor.as_ref() == Some(&children) {
                return self.extension(&name, "DescriptorType", &[]);
            }
        }
        self.extension(&name, "ComplexObjectType", &children);
    }

    /// Writes the types of a reference to a target: by identity, by lookup or by the attribute
    /// `ref`.
    pub fn reference(&mut self, target: Target) {
        let shape = reference_shape(self.model, target);
        if !matches!(shape.content, Content::Reference { .. }) {
            return;
        }
        let name = self.model.target_name(target).to_owned();
        let kind = self.model.xml_name(target);
        let Some(identity) = shape.child(&format!("{name}Identity")) else { return };
        self.open(1, "complexType", &format!(" name=\"{}\"", escaped(&identity_type(&kind))));
        self.open(2, "all", "");
        for child in joined(&identity.children) {
            self.element(3, &child, Occurs::Once);
        }
        self.close(2, "all");
        self.close(1, "complexType");

        let lookup = self.lookup_type(target);
        if let Target::Abstract(base) = target {
            self.base_lookup(&lookup, self.model.base(base));
        }
        let parts = [("Identity", identity_type(&kind)), ("Lookup", lookup)];
        self.open(1, "complexType", &format!(" name=\"{}ReferenceType\"", escaped(&kind)));
        self.open(2, "complexContent", "");
        self.open(3, "extension", " base=\"ReferenceType\"");
        self.open(4, "sequence", "");
        for (ending, kind) in parts {
            let name = escaped(&format!("{name}{ending}"));
            self.line(
                5,
                &format!(
                    "<xs:element name=\"{name}\" type=\"{}\" minOccurs=\"0\"/>",
                    escaped(&kind)
                ),
            );
        }
        self.close(4, "sequence");
        self.close(3, "extension");
        self.close(2, "complexContent");
        self.close(1, "complexType");
    }

    /// Writes the type of a base's lookup: the elements that all subclasses' records have.
    fn base_lookup(&mut self, name: &str, base: &Abstract) {
        let shape = |id| joined(&xml_shape(self.model, self.model.resource(id)).children);
        let mut subclasses = base.subclasses.iter().map(|id| shape(*id));
        let first = subclasses.next().unwrap_or_default();
        let common = subclasses.fold(first, |mut common, other| {
            common.retain(|element| other.contains(element));
            common
        });
        self.open(1, "complexType", &format!(" name=\"{}\"", escaped(name)));
        self.group(2, &common);
        self.close(1, "complexType");
    }

    /// Returns the type of a lookup, which is that of the target's record: any of its elements may
    /// occur.
    fn lookup_type(&self, target: Target) -> String {
        let name = self.model.xml_name(target);
        match target {
            Target::Resource(_) => name,
            Target::Abstract(_) => format!("{name}LookupType"),
        }
    }

    fn extension(&mut self, name: &str, base: &str, children: &[XmlElement]) {
        self.open(1, "complexType", &format!(" name=\"{}\"", escaped(name)));
        self.open(2, "complexContent", "");
        if children.is_empty() {
            self.line(3, &format!("<xs:extension base=\"{base}\"/>"));
        } else {
            self.open(3, "extension", &format!(" base=\"{base}\""));
            self.group(4, children);
            self.close(3, "extension");
        }
        self.close(2, "complexContent");
        self.close(1, "complexType");
    }

    /// Writes elements in any order: each at most once, unless one of them may repeat.
    fn group(&mut self, depth: usize, children: &[XmlElement]) {
        if children.is_empty() {
            return;
        }
        if children.iter().any(repeats) {
            self.open(depth, "choice", " minOccurs=\"0\" maxOccurs=\"unbounded\"");
            for child in children {
                self.element(depth + 1, child, Occurs::AsGrouped);
            }
            self.close(depth, "choice");
        } else {
            self.open(depth, "all", "");
            for child in children {
                self.element(depth + 1, child, Occurs::AtMostOnce);
            }
            self.close(depth, "all");
        }
    }

    fn element(&mut self, depth: usize, element: &XmlElement, occurs: Occurs) {
        let kind = match &element.content {
            Content::Children => None,
            Content::Value(_, scalar) => Some(self.simple.of(self.model, *scalar)),
            Content::SchoolYear(_) => Some(self.simple.school_year(self.model)),
            Content::Reference { target, .. } => {
                Some(format!("{}ReferenceType", self.model.xml_name(*target)))
            }
            Content::Lookup(target) => Some(self.lookup_type(*target)),
            Content::Ignored => Some("xs:anyType".into()),
        };
        let mut attributes = format!(" name=\"{}\"", escaped(&element.name));
        if let Some(kind) = &kind {
            _ = write!(attributes, " type=\"{}\"", escaped(kind));
        }
        if matches!(occurs, Occurs::AtMostOnce) {
            attributes.push_str(" minOccurs=\"0\"");
        }
        if kind.is_some() {
            return self.line(depth, &format!("<xs:element{attributes}/>"));
        }
        self.open(depth, "element", &attributes);
        self.open(depth + 1, "complexType", "");
        self.group(depth + 2, &element.children);
        self.close(depth + 1, "complexType");
        self.close(depth, "element");
    }

    fn open(&mut self, depth: usize, name: &str, attributes: &str) {
        self.line(depth, &format!("<xs:{name}{attributes}>"));
    }

    fn close(&mut self, depth: usize, name: &str) {
        self.line(depth, &format!("</xs:{name}>"));
    }

    fn line(&mut self, depth: usize, text: &str) {
        _ = writeln!(self.out, "{:1$}{text}", "", depth * 2);
    }
}

fn identity_type(name: &str) -> String {
    format!("{name}IdentityType")
}

fn repeats(element: &XmlElement) -> bool {
    element.into.iter().any(|step| matches!(step, Step::Item(_)))
}

/// Joins elements with the same name, because a schema allows one declaration per name.
fn joined(children: &[XmlElement]) -> Vec<XmlElement> {
    let mut all: Vec<XmlElement> = vec![];
    for child in children {
        if let Some(known) = all.iter_mut().find(|known| known.name == child.name) {
            known.children.extend(child.children.iter().cloned());
            known.into.extend(child.into.iter().cloned());
        } else {
            all.push(child.clone());
        }
    }
    for element in &mut all {
        element.children = joined(&element.children);
    }
    all
}
