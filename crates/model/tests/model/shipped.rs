//! The shipped model file links and matches Data Standard 5.2.

use homeroom_model::{
    EXTENSIONS_SHIPPED, Model, Operations, PropertyKind, Resource, ResourceKind, Target, VERSIONS,
    dependency_graph, dependency_order, format, link, shipped,
};

fn model() -> Model {
    let source = format::read(shipped("5.2.0").unwrap()).unwrap();
    link(&[source]).unwrap()
}

fn resource<'a>(model: &'a Model, endpoint: &str) -> &'a Resource {
    model.by_endpoint("ed-fi", endpoint).unwrap()
}

fn key(resource: &Resource) -> Vec<&str> {
    resource.key.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn each_shipped_file_survives_a_round_trip() {
    let standards = VERSIONS.iter().map(|version| shipped(version).unwrap());
    let extensions = EXTENSIONS_SHIPPED.iter().map(|(.., text)| *text);
    for text in standards.chain(extensions) {
        let source = format::read(text).unwrap();

        assert_eq!(format::write(&source), text);
    }
}

#[test]
fn all_resources_of_the_older_standard_are_shipped() {
    let source = format::read(shipped("4.0.0").unwrap()).unwrap();

    let model = link(&[source]).unwrap();

    assert_eq!(model.resources.len(), 314);
    assert_eq!(model.projects[0].version, "4.0.0");
    assert!(model.by_endpoint("ed-fi", "parents").is_some());
}

#[test]
fn extensions_are_linked_beside_their_standard() {
    let mut sources = vec![format::read(shipped("5.2.0").unwrap()).unwrap()];
    sources.extend(EXTENSIONS_SHIPPED.iter().map(|(.., text)| format::read(text).unwrap()));

    let model = link(&sources).unwrap();

    assert_eq!(model.resources.len(), 349 + 7 + 7 + 33);
    let program = model.by_endpoint("sample", "studentArtProgramAssociations").unwrap();
    assert_eq!(model.base(program.base.as_ref().unwrap().id).subclasses.len(), 11);
    for (name, schema) in [("School", "ed-fi"), ("homograph/School", "homograph")] {
        let Some(Target::Resource(id)) = model.by_name(name) else { panic!("{name}") };
        assert_eq!(model.resource(id).schema, schema);
    }
    for (element, path) in [
        ("School", "/ed-fi/schools"),
        ("TPDM-SchoolExtension", "/ed-fi/schools"),
        ("HOMOGRAPH-School", "/homograph/schools"),
        ("Bus", "/sample/buses"),
        ("SAMPLE-Bus", "/sample/buses"),
    ] {
        assert_eq!(model.resource(model.by_element(element).unwrap()).path(), path);
    }
}

#[test]
fn all_resources_of_the_standard_are_shipped() {
    let model = model();

    let of = |kind| model.resources.iter().filter(|found| found.kind == kind).count();
    assert_eq!(model.resources.len(), 349);
    assert_eq!(of(ResourceKind::Descriptor), 211);
    assert_eq!(of(ResourceKind::Enumeration), 1);
    assert_eq!(of(ResourceKind::Entity), 137);
    let bases: Vec<(&str, usize)> =
        model.abstracts.iter().map(|base| (base.name.as_str(), base.subclasses.len())).collect();
    assert_eq!(bases, [("EducationOrganization", 9), ("GeneralStudentProgramAssociation", 10)]);
    assert_eq!((model.school_years[0], model.school_years.len()), (1991, 60));
}

#[test]
fn a_section_has_the_key_of_its_course_offering_and_its_own() {
    let model = model();
    let sections = resource(&model, "sections");

    assert_eq!(
        key(sections),
        ["localCourseCode", "schoolId", "schoolYear", "sessionName", "sectionIdentifier"]
    );
    assert!(sections.updatable_key);
    assert_eq!(sections.unified.len(), 2);
}

#[test]
fn a_subclass_renames_its_base_key() {
    let model = model();
    let schools = resource(&model, "schools");

    assert_eq!(key(schools), ["schoolId"]);
    let base = schools.base.as_ref().unwrap();
    assert_eq!(model.base(base.id).key[base.columns[0]].name, "educationOrganizationId");
}

#[test]
fn a_grade_keeps_the_school_year_of_its_grading_period_separate() {
    let model = model();
    let grades = resource(&model, "grades");

    assert!(key(grades).contains(&"gradingPeriodSchoolYear"));
    assert!(key(grades).contains(&"schoolYear"));
}

#[test]
fn eight_resources_allow_key_changes() {
    let model = model();

    let found: Vec<&str> = model
        .resources
        .iter()
        .filter(|found| found.updatable_key)
        .map(|found| found.endpoint.as_str())
        .collect();

    assert_eq!(
        found,
        [
            "classPeriods",
            "grades",
            "gradebookEntries",
            "locations",
            "sections",
            "sessions",
            "studentSchoolAssociations",
            "studentSectionAssociations"
        ]
    );
}

#[test]
fn every_collection_has_an_identity() {
    fn check(owner: &str, properties: &[homeroom_model::Property]) {
        for property in properties {
            let place = format!("{owner}.{}", property.name);
            match &property.kind {
                PropertyKind::List(inner) => {
                    let key =
                        |p: &homeroom_model::Property| p.presence == homeroom_model::Presence::Key;
                    assert!(inner.iter().any(key), "{place}");
                    check(&place, inner);
                }
                PropertyKind::Object(inner) => check(&place, inner),
                PropertyKind::Scalar(_) | PropertyKind::Reference(_) => {}
            }
        }
    }
    for resource in &model().resources {
        check(&resource.name, &resource.properties);
    }
}

#[test]
fn resources_come_after_the_resources_that_they_refer_to() {
    let model = model();

    let order = dependency_order(&model);

    let level = |endpoint: &str, operations: Operations| {
        let path = format!("/ed-fi/{endpoint}");
        let found = order.iter().find(|d| d.path(&model) == path && d.operations == operations);
        found.unwrap_or_else(|| panic!("{path}")).order
    };
    let both = Operations::CreateAndUpdate;
    assert_eq!(order.len(), 351);
    assert_eq!(level("absenceEventCategoryDescriptors", both), 1);
    assert!(level("localEducationAgencies", both) < level("schools", both));
    assert!(level("schools", both) < level("courses", both));
    assert!(level("students", Operations::Create) < level("studentSchoolAssociations", both));
    assert!(level("studentSchoolAssociations", both) < level("students", Operations::Update));
    assert!(level("studentSchoolAssociations", both) < level("studentProgramAssociations", both));
    assert!(dependency_graph(&model).given_up.is_empty());
}
