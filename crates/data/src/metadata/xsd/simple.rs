//! Simple types, which constrain an element's text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use homeroom_model::{Model, ResourceKind, Scalar, Target};

use super::super::markup::escaped;

/// Length of a descriptor's longest URI: namespace, `#`, code value.
const DESCRIPTOR_URI_MAX: u32 = 306;

/// The simple types in use, by name.
#[derive(Debug, Default)]
pub struct SimpleTypes(BTreeMap<String, String>);

impl SimpleTypes {
    /// Returns the name of a value's type; [`SimpleTypes::write`] declares it.
    pub fn of(&mut self, model: &Model, scalar: Scalar) -> String {
        let facet = |name: &str, value: String| format!("<xs:{name} value=\"{value}\"/>");
        let (name, base, facets) = match scalar {
            Scalar::Text { min, max } => {
                let mut facets = vec![];
                if min > 0 {
                    facets.push(facet("minLength", min.to_string()));
                }
                facets.push(facet("maxLength", max.to_string()));
                (format!("Text{min}To{max}"), "xs:string", facets)
            }
            Scalar::Integer { bits, min, max } => {
                let base = if bits == 32 { "xs:int" } else { "xs:long" };
                let widest = if bits == 32 {
                    (i64::from(i32::MIN), i64::from(i32::MAX))
                } else {
                    (i64::MIN, i64::MAX)
                };
                if (min, max) == widest {
                    return base.into();
                }
                let facets = vec![
                    facet("minInclusive", min.to_string()),
                    facet("maxInclusive", max.to_string()),
                ];
                (format!("Integer{bits}.{min}To{max}"), base, facets)
            }
            Scalar::Decimal { precision, scale, min, max } => {
                let mut name = format!("Decimal{precision}.{scale}");
                let mut facets = vec![
                    facet("totalDigits", precision.to_string()),
                    facet("fractionDigits", scale.to_string()),
                ];
                if let Some(min) = min {
                    _ = write!(name, "From{min}");
                    facets.push(facet("minInclusive", min.to_string()));
                }
                if let Some(max) = max {
                    _ = write!(name, "To{max}");
                    facets.push(facet("maxInclusive", max.to_string()));
                }
                (name, "xs:decimal", facets)
            }
            Scalar::Boolean => return "xs:boolean".into(),
            Scalar::Date => return "xs:date".into(),
            Scalar::DateTime => return "xs:dateTime".into(),
            Scalar::Time => return "xs:time".into(),
            Scalar::Descriptor(id) => {
                let facets = vec![
                    facet("minLength", "1".into()),
                    facet("maxLength", DESCRIPTOR_URI_MAX.to_string()),
                ];
                (
                    format!("{}ReferenceType", model.xml_name(Target::Resource(id))),
                    "xs:string",
                    facets,
                )
            }
        };
        self.add(&name, base, &facets);
        name
    }

    /// Returns the type of a school year, `2021-2022`: one of those that the model knows, or any.
    /// It is named after the enumeration, the only resource to which elements refer by a school
    /// year.
    pub fn school_year(&mut self, model: &Model) -> String {
        let name = &model
            .resources
            .iter()
            .find(|resource| resource.kind == ResourceKind::Enumeration)
            .expect("an element is a school year because it refers to an enumeration")
            .name;
        let facets: Vec<String> = if model.school_years.is_empty() {
            vec!["<xs:pattern value=\"[0-9]{4}-[0-9]{4}\"/>".into()]
        } else {
            model
                .school_years
                .iter()
                .map(|year| {
                    format!("<xs:enumeration value=\"{}-{year}\"/>", year.saturating_sub(1))
                })
                .collect()
        };
        self.add(name, "xs:string", &facets);
        name.clone()
    }

    fn add(&mut self, name: &str, base: &str, facets: &[String]) {
        if self.0.contains_key(name) {
            return;
        }
        let mut text = format!("  <xs:simpleType name=\"{}\">\n", escaped(name));
        _ = writeln!(text, "    <xs:restriction base=\"{base}\">");
        for facet in facets {
            _ = writeln!(text, "      {facet}");
        }
        text.push_str("    </xs:restriction>\n  </xs:simpleType>\n");
        self.0.insert(name.to_owned(), text);
    }

    /// Declares every type in use.
    pub fn write(&self) -> String {
        self.0.values().map(String::as_str).collect()
    }
}
