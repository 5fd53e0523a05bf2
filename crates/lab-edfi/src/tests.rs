//! Tests of the set-up with small descriptions, a target in memory, and the published descriptions.

mod description;
mod memory;
mod published;

use serde_json::{Value, json};

use super::coverage::Operation;
use super::document::{Anchors, Made, Missing, Wish, compose, members_of};
use super::shape::{Form, Property, Reference, Resource, Shapes};
use super::values::Values;
use super::{EdfiError, Prepared, openapi, prepare};
use description::{description, small_standard, swagger};
use homeroom_load::scenario::{EdfiFile, Program, ScenarioFile, Setup};
use memory::Memory;

fn shapes() -> Shapes {
    openapi::read(&[small_standard()])
}

fn resource<'s>(shapes: &'s Shapes, name: &str) -> &'s Resource {
    shapes
        .resources
        .iter()
        .find(|resource| resource.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn reference<'k>(resource: &'k Resource, name: &str) -> (&'k Property, &'k Reference) {
    let property = resource.properties.iter().find(|property| property.name == name).unwrap();
    let Form::Reference(reference) = &property.form else { panic!("{property:?}") };
    (property, reference)
}

fn targets(shapes: &Shapes, owner: &str, property: &str) -> Vec<String> {
    let (_, reference) = reference(resource(shapes, owner), property);
    reference.targets.iter().map(|at| shapes.resources[*at].name.clone()).collect()
}

/// One document of each resource, as if a target had accepted all of them.
struct All<'s> {
    shapes: &'s Shapes,
    made: Vec<Option<Made>>,
}

impl Anchors for All<'_> {
    fn anchor(&self, resource: usize) -> Option<&Made> {
        self.made[resource].as_ref()
    }

    fn target(&self, reference: &Reference) -> Result<usize, Missing> {
        let first = reference.targets.first().copied();
        let missing = || Missing { what: reference.to.clone() };
        first.filter(|at| self.made[*at].is_some()).ok_or_else(missing)
    }
}

impl<'s> All<'s> {
    /// Composes a document of each resource, over and over until no more can be composed.
    fn of(shapes: &'s Shapes) -> Self {
        let mut all = Self { shapes, made: vec![None; shapes.resources.len()] };
        let mut values = Values::new(1, None);
        loop {
            let before = all.made.iter().flatten().count();
            for at in 0..all.made.len() {
                if all.made[at].is_none() {
                    let wish = Wish::default();
                    let body = compose(shapes, &shapes.resources[at], &all, &mut values, &wish);
                    all.made[at] = body.ok().map(|body| Made { id: at.to_string(), body });
                }
            }
            if all.made.iter().flatten().count() == before {
                return all;
            }
        }
    }

    fn missing(&self) -> Vec<&str> {
        let resources = self.shapes.resources.iter().zip(&self.made);
        resources
            .filter(|(_, made)| made.is_none())
            .map(|(resource, _)| resource.name.as_str())
            .collect()
    }

    fn body(&self, name: &str) -> &Value {
        let at = self.shapes.resources.iter().position(|resource| resource.name == name).unwrap();
        &self.made[at].as_ref().unwrap().body
    }
}

fn file() -> EdfiFile {
    EdfiFile {
        create: 30.0,
        read: 30.0,
        update: 20.0,
        delete: 10.0,
        list: 10.0,
        weights: [("sections".to_owned(), 2.0)].into(),
        only: vec![],
        except: vec![],
    }
}

fn prepared(memory: &mut Memory) -> Prepared {
    prepare(memory, &file(), 7).unwrap()
}

#[test]
fn swagger_2_and_openapi_3_give_the_same_shapes() {
    let (new, old) = (shapes(), openapi::read(&[swagger(small_standard())]));

    assert_eq!(format!("{:?}", old.resources), format!("{:?}", new.resources));
}

#[test]
fn a_reference_with_or_without_a_role_targets_the_resource_of_its_schema() {
    let shapes = shapes();

    assert_eq!(targets(&shapes, "sections", "sessionReference"), ["sessions"]);
    let (_, feeder) = reference(resource(&shapes, "feeders"), "feederSchoolReference");
    assert_eq!((feeder.role.as_str(), feeder.targets.len()), ("feeder", 1));
}

#[test]
fn a_reference_to_an_abstract_type_targets_the_resources_with_its_identity() {
    let shapes = shapes();

    let found = targets(&shapes, "ratings", "educationOrganizationReference");

    assert_eq!(found, ["schools", "agencies"]);
}

#[test]
fn a_resource_that_is_not_described_is_expected_at_its_usual_path() {
    let shapes = shapes();

    assert_eq!(targets(&shapes, "sessions", "schoolYearTypeReference"), ["schoolYearTypes"]);
    let years = resource(&shapes, "schoolYearTypes");
    assert_eq!(years.path, "/ed-fi/schoolYearTypes");
    assert!(!years.takes.post);
}

#[test]
fn a_descriptor_with_a_role_is_matched_by_the_longest_suffix_of_its_name() {
    let shapes = shapes();
    let property = &resource(&shapes, "enrolments").properties;
    let of = |name: &str| {
        let found = property.iter().find(|property| property.name == name).unwrap();
        let Form::Descriptor(Some(at)) = found.form else { panic!("{found:?}") };
        shapes.resources[at].name.clone()
    };

    assert_eq!(of("entryGradeLevelDescriptor"), "gradeLevelDescriptors");
    assert_eq!(of("entryTypeDescriptor"), "entryTypeDescriptors");
}

#[test]
fn references_with_a_shared_key_part_agree() {
    let shapes = shapes();
    let all = All::of(&shapes);

    let attendance = all.body("attendances");

    let (section, student) = (&attendance["sectionReference"], &attendance["enrolmentReference"]);
    assert_eq!(section["schoolId"], student["schoolId"]);
    assert_eq!(section["sectionIdentifier"], all.body("sections")["sectionIdentifier"]);
    assert_eq!(all.body("budgets")["fiscalYear"], all.body("accounts")["fiscalYear"]);
    assert_eq!(
        all.body("budgets")["accountReference"]["fiscalYear"],
        all.body("budgets")["fiscalYear"]
    );
}

#[test]
fn a_key_member_with_a_role_prefix_belongs_to_the_reference_in_that_role() {
    let shapes = shapes();
    let feeders = resource(&shapes, "feeders");
    let body = json!({
        "schoolReference": {"schoolId": 1},
        "feederSchoolReference": {"schoolId": 2},
        "beginDate": "2026-01-01",
    });
    let integer = shapes.resources[0].properties[0].form.clone();
    let member = |name: &str| (name.to_owned(), integer.clone());
    let reference = Reference {
        to: "edFi_feeder".into(),
        role: String::new(),
        targets: vec![],
        members: vec![member("schoolId"), member("feederSchoolId"), member("beginDate")],
    };

    let members = members_of(&reference, feeders, &body).unwrap();

    let wanted = json!({"schoolId": 1, "feederSchoolId": 2, "beginDate": "2026-01-01"});
    assert_eq!(Value::Object(members), wanted);
}

#[test]
fn a_document_has_exactly_the_required_members() {
    let shapes = shapes();
    let all = All::of(&shapes);

    let school = all.body("schools");

    let members: Vec<&str> = school.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["schoolId", "nameOfInstitution", "gradeLevels"]);
    let levels = school["gradeLevels"].as_array().unwrap();
    assert!(levels[0]["gradeLevelDescriptor"].as_str().unwrap().contains('#'), "{school}");
}

#[test]
fn the_steps_include_every_operation_that_the_target_accepts() {
    let mut memory = Memory::new(small_standard());

    let prepared = prepared(&mut memory);

    let refused = |out: &&super::LeftOut| out.resource != "schoolYearTypes";
    let out: Vec<_> = prepared.coverage.left_out.iter().filter(refused).collect();
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(prepared.coverage.done["create"], prepared.coverage.resources - 1);
    let steps: Vec<&str> = prepared.steps.iter().map(|step| step.name.as_str()).collect();
    for name in ["create sections", "create sections to delete", "read sections", "list sections"] {
        assert!(steps.contains(&name), "{name}");
    }
}

#[test]
fn step_weights_are_shares_times_resource_weights() {
    let mut memory = Memory::new(small_standard());

    let prepared = prepared(&mut memory);

    let weight = |name: &str| {
        prepared.steps.iter().find(|step| step.name == name).and_then(|step| step.weight).unwrap()
    };
    let creates = weight("create sections") + weight("create sections to delete");
    let found = [weight("read sections"), weight("read schools"), creates];
    assert_eq!(found.map(|weight| format!("{weight:.3}")), ["60.000", "30.000", "60.000"]);
}

#[test]
fn a_key_of_references_only_uses_each_combination_once() {
    let mut memory = Memory::new(small_standard());

    let prepared = prepared(&mut memory);

    let each = |name: &str| &prepared.steps.iter().find(|step| step.name == name).unwrap().each;
    let (kept, doomed) = (each("create memberships"), each("create memberships to delete"));
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept["k0"].iter().all(|value| !doomed["k0"].contains(value)));
    assert!(kept["k0"].len() * kept["k1"].len() > 1_000);
}

#[test]
fn refused_operations_are_left_out_with_the_targets_reason() {
    let mut memory = Memory::new(small_standard());
    memory.refuse("POST", "/ed-fi/students", 403, "not you");
    memory.refuse("DELETE", "/ed-fi/schools/", 409, "still needed");

    let prepared = prepared(&mut memory);

    let out = |resource: &str, operation: Operation| {
        let mut all = prepared.coverage.left_out.iter();
        all.find(|out| out.resource == resource && out.operation == operation).map(|out| &*out.why)
    };
    assert_eq!(out("students", Operation::Create), Some("403 | not you"));
    assert_eq!(out("enrolments", Operation::Create), Some("needs students"));
    assert_eq!(out("schools", Operation::Delete), Some("409 | still needed"));
    assert_eq!(out("schools", Operation::Create), None);
}

#[test]
fn a_second_run_with_the_same_seed_creates_different_documents() {
    let mut memory = Memory::new(small_standard());

    let first = prepared(&mut memory);
    let second = prepared(&mut memory);

    let body = |prepared: &Prepared| {
        let step = prepared.steps.iter().find(|step| step.name == "create students").unwrap();
        step.body.clone().unwrap()
    };
    assert_ne!(body(&first), body(&second));
}

#[test]
fn a_key_restricted_to_an_organization_works_within_it() {
    let mut memory = Memory::new(small_standard());
    memory.organizations = vec![255_901];

    let prepared = prepared(&mut memory);

    let step = prepared.steps.iter().find(|step| step.name == "create sections").unwrap();
    assert!(step.body.as_ref().unwrap().contains("\"schoolId\":255901"), "{step:?}");
}

#[test]
fn existing_documents_are_referenced_if_they_cannot_be_created() {
    let mut memory = Memory::new(small_standard());
    let level = json!({"namespace": "uri://old", "codeValue": "Ninth"});
    memory.put("/ed-fi/gradeLevelDescriptors", &level);
    memory.refuse("POST", "/ed-fi/gradeLevelDescriptors", 403, "managed");

    let prepared = prepared(&mut memory);

    let step = prepared.steps.iter().find(|step| step.name == "create schools").unwrap();
    assert!(step.body.as_ref().unwrap().contains("uri://old#Ninth"), "{step:?}");
    assert!(prepared.steps.iter().any(|step| step.name == "read gradeLevelDescriptors"));
}

#[test]
fn an_unknown_resource_is_reported() {
    let mut file = file();
    crate::set(&mut file, "only", "schools, skools").unwrap();

    let found = prepare(&mut Memory::new(small_standard()), &file, 1);

    assert!(matches!(found, Err(EdfiError::NoSuchResource { name }) if name == "skools"));
}

#[test]
fn any_mix_of_shares_gives_steps_that_can_run() {
    for (create, read, delete) in
        [(0.0, 30.0, 10.0), (10.0, 0.0, 30.0), (0.0, 30.0, 0.0), (10.0, 0.0, 0.0), (1.0, 1.0, 1.0)]
    {
        let file = EdfiFile { create, read, delete, ..file() };

        let prepared = prepare(&mut Memory::new(small_standard()), &file, 1).unwrap();

        let names: Vec<String> = prepared.steps.iter().map(|step| step.name.clone()).collect();
        let (steps, pools) = (prepared.steps, prepared.pools);
        let scenario = ScenarioFile { name: "x".into(), steps, pools, ..ScenarioFile::default() };
        let compiled = Program::compile(&scenario, &Setup::default()).map(|_| ());
        assert_eq!(compiled.map_err(|error| error.to_string()), Ok(()), "{create} {delete}");
        let deletes = names.iter().filter(|name| name.starts_with("delete ")).count();
        assert_eq!(deletes > 0, create > 0.0 && delete > 0.0, "{names:?}");
        assert_eq!(prepared.coverage.done["delete"], deletes);
        let is_told =
            prepared.coverage.to_string().contains("the run deletes only what it has created");
        assert_eq!(is_told, delete > create * 0.8, "{}", prepared.coverage);
    }
}

#[test]
fn a_description_of_another_base_path_is_refused() {
    let mut memory = Memory::new(small_standard());
    memory.move_to("/elsewhere");

    let found = prepare(&mut memory, &file(), 1).unwrap_err().to_string();

    assert!(found.contains("/elsewhere") && found.contains("/oauth/token"), "{found}");
}

#[test]
fn a_target_without_a_description_is_refused() {
    let found = prepare(&mut Memory::new(description(&[], &[])), &file(), 1);

    assert!(matches!(found, Err(EdfiError::Api(_))), "{found:?}");
}
