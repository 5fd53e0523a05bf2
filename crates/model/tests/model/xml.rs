//! The tree of elements that a reader of interchange files walks.

use std::collections::BTreeSet;

use homeroom_model::xml::{Content, Step, XmlElement, reference_shape, xml_shape};
use homeroom_model::{Model, Property, PropertyKind, format, link, shipped};

fn model() -> Model {
    link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
}

fn shape(endpoint: &str) -> XmlElement {
    let model = model();
    xml_shape(&model, model.by_endpoint("ed-fi", endpoint).unwrap())
}

fn at<'a>(shape: &'a XmlElement, path: &str) -> &'a XmlElement {
    path.split('/').fold(shape, |element, name| {
        element.child(name).unwrap_or_else(|| panic!("{} has no {name}", element.name))
    })
}

fn value(element: &XmlElement) -> &str {
    match &element.content {
        Content::Value(member, _) | Content::SchoolYear(member) => member,
        other => panic!("{} is {other:?}", element.name),
    }
}

#[test]
fn repeated_elements_become_items() {
    let section = shape("sections");

    let characteristic = at(&section, "SectionCharacteristic");
    assert_eq!(characteristic.into, [Step::Item("characteristics".into())]);
    assert_eq!(value(characteristic), "sectionCharacteristicDescriptor");
    let period = at(&section, "ClassPeriodReference");
    assert_eq!(
        period.into,
        [Step::Item("classPeriods".into()), Step::Member("classPeriodReference".into())]
    );
}

#[test]
fn the_identity_element_of_a_reference_fills_its_members() {
    let section = shape("sections");
    let offering = at(&section, "CourseOfferingReference");

    let session = at(offering, "CourseOfferingIdentity/SessionReference/SessionIdentity");
    assert_eq!(value(at(session, "SessionName")), "sessionName");
    assert_eq!(value(at(session, "SchoolYear")), "schoolYear");
    assert_eq!(value(at(session, "SchoolReference/SchoolIdentity/SchoolId")), "schoolId");
    let Content::Reference { members, .. } = &offering.content else { panic!("no reference") };
    assert_eq!(members, &["localCourseCode", "schoolId", "schoolYear", "sessionName"]);
}

#[test]
fn a_role_renames_the_members_of_a_nested_reference() {
    let evaluation = shape("programEvaluationObjectives");

    let program = at(
        &evaluation,
        "ProgramEvaluationReference/ProgramEvaluationIdentity/ProgramReference/ProgramIdentity",
    );
    let organization = at(program, "EducationOrganizationReference/EducationOrganizationIdentity");
    assert_eq!(
        value(at(organization, "EducationOrganizationId")),
        "programEducationOrganizationId"
    );
}

#[test]
fn a_school_year_becomes_a_reference() {
    let record = shape("studentAcademicRecords");

    let year = at(&record, "SchoolYear");
    assert_eq!(year.into, [Step::Member("schoolYearTypeReference".into())]);
    assert_eq!(year.content, Content::SchoolYear("schoolYear".into()));
}

#[test]
fn a_common_type_that_json_does_not_nest_adds_no_level() {
    let student = shape("students");

    assert!(at(&student, "Name").into.is_empty());
    assert_eq!(value(at(&student, "Name/FirstName")), "firstName");
    assert_eq!(at(&student, "Citizenship/Visa").into, [Step::Item("visas".into())]);
    let section = shape("sections");
    assert_eq!(value(at(&section, "AvailableCredits/CreditType")), "availableCreditTypeDescriptor");
}

#[test]
fn an_element_may_contain_a_child_of_its_own_name() {
    let program = shape("studentCTEProgramAssociations");

    let service = at(&program, "CTEProgramService");
    assert_eq!(service.content, Content::Children);
    assert_eq!(value(at(service, "CTEProgramService")), "cteProgramServiceDescriptor");
}

#[test]
fn a_predecessor_of_a_descriptor_is_ignored() {
    assert_eq!(at(&shape("termDescriptors"), "PriorDescriptor").content, Content::Ignored);
}

#[test]
fn a_reference_can_be_a_record_of_its_own() {
    let model = model();

    let section = reference_shape(&model, model.by_name("Section").unwrap());

    assert_eq!(section.name, "SectionReference");
    assert_eq!(value(at(&section, "SectionIdentity/SectionIdentifier")), "sectionIdentifier");
}

#[test]
fn every_value_of_every_document_has_an_element() {
    let model = model();
    for resource in &model.resources {
        let mut values = BTreeSet::new();
        collect_values(&resource.properties, "", &mut values);
        let shape = xml_shape(&model, resource);

        let mut reached = BTreeSet::new();
        collect_reached(&shape, "", &mut reached);

        assert_eq!(reached, values, "{}", resource.name);
    }
}

#[test]
fn the_children_of_an_element_have_unique_names() {
    fn check(element: &XmlElement) {
        let names: BTreeSet<&str> = element.children.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), element.children.len(), "{}", element.name);
        element.children.iter().for_each(check);
    }
    let model = model();
    for resource in &model.resources {
        check(&xml_shape(&model, resource));
    }
}

fn collect_values(properties: &[Property], prefix: &str, values: &mut BTreeSet<String>) {
    for property in properties {
        let place = format!("{prefix}.{}", property.name);
        match &property.kind {
            PropertyKind::Scalar(_) => {
                values.insert(place);
            }
            PropertyKind::Reference(reference) => {
                values.extend(reference.parts.iter().map(|part| format!("{place}.{}", part.name)));
            }
            PropertyKind::Object(inner) | PropertyKind::List(inner) => {
                collect_values(inner, &place, values);
            }
        }
    }
}

fn collect_reached(element: &XmlElement, place: &str, reached: &mut BTreeSet<String>) {
    let steps = element.into.iter().map(|step| match step {
        Step::Member(name) | Step::Item(name) => format!(".{name}"),
    });
    let place = format!("{place}{}", steps.collect::<String>());
    if let Content::Value(member, _) | Content::SchoolYear(member) = &element.content {
        reached.insert(format!("{place}.{member}"));
    }
    for child in &element.children {
        collect_reached(child, &place, reached);
    }
}
