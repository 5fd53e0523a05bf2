use homeroom_model::{PropertyKind, format, link, shipped};
use serde_json::json;

use super::*;
use crate::custom_view::SharedValue;

fn model() -> Model {
    link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
}

#[test]
fn a_definition_describes_its_condition_and_hints_at_what_is_missing() {
    let model = model();
    let code = "uri://ed-fi.org/StudentCharacteristicDescriptor#Homeless";
    for (name, definition, asks, hint) in [
        (
            "StudentWithTitleI",
            json!({"where": {"exists": "studentTitleIPartAProgramAssociations"}}),
            "a 'Student' with a 'StudentTitleIPartAProgramAssociation'",
            "You may need to create the corresponding 'StudentTitleIPartAProgramAssociation'.",
        ),
        (
            "StudentWithActiveCohort",
            json!({"basis": "ed-fi/Student", "where": {"any": [
                {"exists": "/ed-fi/studentCohortAssociations", "where": {"all": [
                    {"member": "endDate", "present": false},
                    {"member": "cohortReference.educationOrganizationId", "in": [1, 2]},
                ]}},
                {"exists": "StudentEducationOrganizationAssociation", "where": {
                    "member": "studentCharacteristics.studentCharacteristicDescriptor",
                    "in": [code],
                }},
            ]}}),
            "a 'Student' with a 'StudentCohortAssociation' that has (no 'endDate' and \
             'cohortReference.educationOrganizationId' '1' or '2') or a \
             'StudentEducationOrganizationAssociation' that has \
             'studentCharacteristics.studentCharacteristicDescriptor' \
             'uri://ed-fi.org/StudentCharacteristicDescriptor#Homeless'",
            "You may need to create the corresponding 'StudentCohortAssociation' or \
             'StudentEducationOrganizationAssociation'.",
        ),
        (
            "SchoolWithWebSite",
            json!({"where": {"member": "webSite", "present": true}}),
            "a 'School' with a 'webSite'",
            "A key that has the right to must change the 'School' first.",
        ),
    ] {
        let view = CustomView::read(name, &definition, &model).unwrap();

        assert_eq!(view.asks, asks);
        assert_eq!(view.hint, hint);
    }
}

#[test]
fn an_association_with_several_references_is_matched_by_the_named_one() {
    let model = model();
    let same = |name: &str, definition: &Value| -> Vec<SharedValue> {
        match CustomView::read(name, definition, &model).unwrap().rule {
            ViewRule::Exists { same, .. } => same,
            other => panic!("{other:?}"),
        }
    };
    let exists = |name: &str| json!({"where": {"exists": name}});
    let by = |name: &str, by: &str| json!({"where": {"exists": name, "by": by}});

    assert_eq!(same("SchoolWithSessions", &exists("sessions")), []);
    assert_eq!(same("StudentWithSchool", &exists("studentSchoolAssociations")), []);
    let next =
        same("SchoolWithNextYear", &by("studentSchoolAssociations", "nextYearSchoolReference"));
    let school = model.by_endpoint("ed-fi", "schools").unwrap().id;
    let shared = SharedValue {
        theirs: "$.nextYearSchoolReference.schoolId".into(),
        own: vec![(school, "$.schoolId".into())],
        fold: false,
    };
    assert_eq!(next, [shared]);
}

/// Defines a view of the basis by each root reference that may lead to it.
fn defined(model: &Model, basis: Target) -> Vec<(String, Result<CustomView, Vec<String>>)> {
    let word = model.target_name(basis);
    let mut defined = vec![];
    for resource in &model.resources {
        for property in &resource.properties {
            let PropertyKind::Reference(to) = &property.kind else { continue };
            if !find::is_related(model, to.target, basis) {
                continue;
            }
            let by = json!({"where": {"exists": resource.path(), "by": property.name}});
            let view = CustomView::read(&format!("{word}WithText"), &by, model);
            defined.push((format!("{word} {} {}", resource.name, property.name), view));
        }
    }
    defined
}

#[test]
fn every_reference_to_a_basis_can_be_used_in_a_definition() {
    let model = model();
    let bases = model.abstracts.iter().map(|base| Target::Abstract(base.id));
    let kinds = model.resources.iter().filter(|r| r.kind != ResourceKind::Descriptor);
    let mut count = 0;
    for basis in bases.chain(kinds.map(|resource| Target::Resource(resource.id))) {
        for (case, view) in defined(&model, basis) {
            assert!(view.is_ok(), "{case}: {view:?}");
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn each_subclass_of_a_basis_has_its_own_path_to_the_shared_value() {
    let model = model();
    let by = json!({"where": {
        "exists": "educationOrganizationPeerAssociations",
        "by": "peerEducationOrganizationReference",
    }});

    let view = CustomView::read("EducationOrganizationWithPeer", &by, &model).unwrap();

    let ViewRule::Exists { same, .. } = view.rule else { panic!("{:?}", view.rule) };
    let [shared] = &same[..] else { panic!("{same:?}") };
    assert_eq!(shared.theirs, "$.peerEducationOrganizationReference.educationOrganizationId");
    let path = |endpoint: &str| {
        let kind = model.by_endpoint("ed-fi", endpoint).unwrap().id;
        shared.own.iter().find(|(own, _)| *own == kind).map(|(_, path)| path.as_str())
    };
    assert_eq!(path("schools"), Some("$.schoolId"));
    assert_eq!(path("localEducationAgencies"), Some("$.localEducationAgencyId"));
    assert_eq!(shared.own.len(), 9);
}

#[test]
fn every_fault_of_a_view_is_reported_with_its_place_and_a_suggestion() {
    let model = model();
    let rule = |rule: Value| json!({ "where": rule });
    let deep = (0..9).fold(
        json!({"member": "firstName", "present": true}),
        |inner, _| json!({ "all": [inner] }),
    );
    let many: Vec<Value> =
        (0..100).map(|_| json!({"member": "firstName", "present": true})).collect();
    for (name, definition, expected) in [
        ("NamespaceBased", rule(json!({})), "name: `NamespaceBased` is a published strategy"),
        ("Student With X", rule(json!({})), "name: expected up to 200 letters and digits"),
        ("StudentWith", rule(json!({})), "name: `StudentWith` does not begin with the name"),
        ("StudnetWithX", rule(json!({})), "StudentWithText; did you mean Student"),
        (
            "GradeLevelDescriptorWithX",
            rule(json!({})),
            "basis: a view cannot be based on a descriptor",
        ),
        (
            "StudentWithX",
            json!({"basis": "Staff", "where": {}}),
            "basis: the name must begin with `StaffWith`",
        ),
        ("StudentWithX", json!({"basis": "Stud"}), "basis: `Stud` is not a resource"),
        (
            "StudentWithX",
            json!({"wher": {}}),
            "definition: `wher` is not one of name, basis, where; did you mean where?",
        ),
        ("StudentWithX", json!({"wher": {}}), "where: expected an object"),
        ("StudentWithX", rule(json!([])), "where: expected an object: `all`"),
        ("StudentWithX", rule(json!({"all": []})), "where.all: expected a list"),
        (
            "StudentWithX",
            rule(json!({"all": [{}], "any": [{}]})),
            "where: expected one of `all`, `any`, `member`, `exists`",
        ),
        (
            "StudentWithX",
            rule(json!({"any": [{"member": "fristName", "present": true}]})),
            "where.any[0].member: `fristName` is not a member there ('fristName' of Student); did \
             you mean firstName",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "firstName.x", "present": true})),
            "where.member: `x` is not a member there",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "firstName"})),
            "where: expected either `in`, a list, or `present`",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "firstName", "in": []})),
            "where.in: expected a list of 1 to 200 values",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "firstName", "in": [1]})),
            "where.in: expected texts",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "birthDate", "in": ["01.08.2010"]})),
            "where.in: expected dates",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "birthSexDescriptor", "in": ["Female"]})),
            "where.in: expected descriptors",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "visas", "in": ["x"]})),
            "where.in: the member holds no single value",
        ),
        (
            "StudentWithX",
            rule(json!({"member": "visas.visaDescriptor", "present": false})),
            "where: an absent member cannot be tested inside a list",
        ),
        (
            "StudentWithX",
            rule(json!({"exists": "studentSchoolAsociations"})),
            "where.exists: `studentSchoolAsociations` is not a resource of the model; did you mean",
        ),
        (
            "StudentWithX",
            rule(json!({"exists": "sessions"})),
            "where: a Session does not refer to a Student",
        ),
        (
            "SchoolWithX",
            rule(json!({"exists": "studentSchoolAssociations"})),
            "where: a StudentSchoolAssociation refers to a School from several places; say which",
        ),
        (
            "SchoolWithX",
            rule(json!({"exists": "studentSchoolAssociations", "by": "students"})),
            "where: `by`: `students` is not a reference of StudentSchoolAssociation to a School",
        ),
        (
            "StudentWithX",
            rule(json!({"exists": "studentSchoolAssociations", "where": {"exists": "schools"}})),
            "where.where: `exists` cannot be nested in `exists`",
        ),
        (
            "EducationOrganizationWithX",
            rule(json!({"member": "webSite", "present": true})),
            "where: the subclasses of EducationOrganization name their members",
        ),
        ("StudentWithX", rule(deep), "more than 100 rules, or rules nested deeper than 8"),
        (
            "StudentWithX",
            rule(json!({ "all": many })),
            "more than 100 rules, or rules nested deeper than 8",
        ),
    ] {
        let faults = CustomView::read(name, &definition, &model).unwrap_err();

        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:#?}");
    }
}
