//! By each strategy, a record of an operation and a line of a batch get what a POST by the same key gets.

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use homeroom_testkit::documents::{
    agency, course, descriptor, descriptor_path, enrolment, on_each_store, school, student, uri,
    with,
};
use homeroom_testkit::{Client, TestApp};
use http::Method;
use serde_json::{Value, json};

use crate::support::{ended, exceptions, runner, upload};

/// Claim sets: which strategies they grant, and on which resources.
const SETS: [(&str, &[&str], &[&str]); 18] = [
    ("Organizations", &["RelationshipsWithEdOrgsOnly"], EVERYTHING),
    ("OrganizationsAndPeople", &["RelationshipsWithEdOrgsAndPeople"], EVERYTHING),
    ("People", &["RelationshipsWithPeopleOnly"], EVERYTHING),
    ("Students", &["RelationshipsWithStudentsOnly"], EVERYTHING),
    ("Responsible", &["RelationshipsWithStudentsOnlyThroughResponsibility"], EVERYTHING),
    ("OrganizationsAbove", &["RelationshipsWithEdOrgsOnlyInverted"], EVERYTHING),
    ("OrganizationsAboveAndPeople", &["RelationshipsWithEdOrgsAndPeopleInverted"], EVERYTHING),
    ("PeoplePast", &["RelationshipsWithEdOrgsAndPeopleIncludingDeletes"], EVERYTHING),
    ("StudentsPast", &["RelationshipsWithStudentsOnlyIncludingDeletes"], EVERYTHING),
    (
        "ResponsiblePast",
        &["RelationshipsWithStudentsOnlyThroughResponsibilityIncludingDeletes"],
        EVERYTHING,
    ),
    ("View", &[VIEW], OF_STUDENTS),
    ("Namespaces", &["NamespaceBased"], &["learningStandard", "gradeLevelDescriptor", "student"]),
    ("Owners", &["OwnershipBased"], EVERYTHING),
    // One of the relationships must hold.
    (
        "EitherRelationship",
        &["RelationshipsWithEdOrgsOnly", "RelationshipsWithStudentsOnly"],
        EVERYTHING,
    ),
    // Of different kinds all must hold.
    ("OwnPeople", &["RelationshipsWithEdOrgsAndPeople", "OwnershipBased"], EVERYTHING),
    ("OwnNamespaces", &["NamespaceBased", "OwnershipBased"], &["learningStandard"]),
    ("Everything", &["NoFurtherAuthorizationRequired"], &["student", "contact", "course"]),
    ("Nothing", &["NoFurtherAuthorizationRequired"], &[]),
];

/// A custom view: students for whom some organization is responsible.
const VIEW: &str = "StudentWithResponsibility";

/// Resources that lead to a student.
const OF_STUDENTS: &[&str] = &[
    "student",
    "studentSchoolAssociation",
    "studentEducationOrganizationAssociation",
    "studentContactAssociation",
];

const EVERYTHING: &[&str] = &[
    "student",
    "contact",
    "staff",
    "course",
    "studentSchoolAssociation",
    "studentEducationOrganizationAssociation",
    "studentContactAssociation",
    "staffEducationOrganizationAssignmentAssociation",
    "learningStandard",
];

fn person(kind: &str, id: &str) -> Value {
    json!({format!("{kind}UniqueId"): id, "firstName": "Grace", "lastSurname": "Hopper"})
}

fn about(student: &str, organization: i64) -> Value {
    json!({
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "studentReference": {"studentUniqueId": student},
    })
}

fn responsibility(student: &str, organization: i64) -> Value {
    let responsibility = uri("ResponsibilityDescriptor", "Accountability");
    let about = with(about(student, organization), "beginDate", "2025-08-01");
    with(about, "responsibilityDescriptor", responsibility)
}

fn contact_of(contact: &str, student: &str) -> Value {
    json!({
        "contactReference": {"contactUniqueId": contact},
        "studentReference": {"studentUniqueId": student},
    })
}

fn assignment(staff: &str, organization: i64) -> Value {
    json!({
        "educationOrganizationReference": {"educationOrganizationId": organization},
        "staffReference": {"staffUniqueId": staff},
        "beginDate": "2025-08-01",
        "staffClassificationDescriptor": uri("StaffClassificationDescriptor", "Teacher"),
    })
}

fn learning_standard(id: &str, namespace: &str) -> Value {
    json!({
        "learningStandardId": id, "namespace": namespace, "description": "It is learned.",
        "contentStandard": {"title": "T"},
        "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}],
        "academicSubjects":
            [{"academicSubjectDescriptor": uri("AcademicSubjectDescriptor", "Mathematics")}],
    })
}

/// Fills a store: an organization of the key, 11, and another one, 12, with people at each.
async fn fill(owner: &Client) {
    for (name, code) in [
        ("ResponsibilityDescriptor", "Accountability"),
        ("StaffClassificationDescriptor", "Teacher"),
    ] {
        owner.create(&descriptor_path(name), &descriptor(name, code)).await;
    }
    owner.create("/ed-fi/localEducationAgencies", &agency(1)).await;
    let agency = json!({"localEducationAgencyId": 1});
    owner
        .create("/ed-fi/schools", &with(school(11), "localEducationAgencyReference", agency))
        .await;
    owner.create("/ed-fi/schools", &school(12)).await;
    for id in ["s-in", "s-out", "s-none", "s-charge", "s-past"] {
        owner.create("/ed-fi/students", &student(id)).await;
    }
    for id in ["c-in", "c-out"] {
        owner.create("/ed-fi/contacts", &person("contact", id)).await;
    }
    for id in ["t-in", "t-out"] {
        owner.create("/ed-fi/staffs", &person("staff", id)).await;
    }
    for (path, body) in [
        ("studentSchoolAssociations", enrolment("s-in", 11, "2025-08-20")),
        ("studentSchoolAssociations", enrolment("s-out", 12, "2025-08-20")),
        ("studentEducationOrganizationResponsibilityAssociations", responsibility("s-charge", 11)),
        ("studentContactAssociations", contact_of("c-in", "s-in")),
        ("studentContactAssociations", contact_of("c-out", "s-out")),
        ("staffEducationOrganizationAssignmentAssociations", assignment("t-in", 11)),
        ("staffEducationOrganizationAssignmentAssociations", assignment("t-out", 12)),
        ("learningStandards", learning_standard("theirs", "uri://theirs.org")),
        ("learningStandards", learning_standard("ours", "uri://ours.org/x")),
    ] {
        owner.create(&format!("/ed-fi/{path}"), &body).await;
    }
    // They were at the key's school, and it was responsible for them.
    for (path, body) in [
        ("studentSchoolAssociations", enrolment("s-past", 11, "2024-08-20")),
        ("studentEducationOrganizationResponsibilityAssociations", responsibility("s-past", 11)),
    ] {
        let path = owner.create(&format!("/ed-fi/{path}"), &body).await;
        assert_eq!(owner.delete(&path).await.status, 204);
    }
    let rule = json!({"exists": "studentEducationOrganizationResponsibilityAssociations"});
    let put = Manage::PutStrategy { name: VIEW.into(), definition: json!({ "where": rule }) };
    owner.app.access.manage(put, Timestamp::now()).await.unwrap();
    let own = key(&owner.app, "FullAccess", Some(7)).await;
    own.create("/ed-fi/students", &student("s-own")).await;
    own.create("/ed-fi/studentSchoolAssociations", &enrolment("s-own", 11, "2025-08-20")).await;
    own.create("/ed-fi/learningStandards", &learning_standard("own", "uri://ours.org/x")).await;
}

/// Makes a client of school 11, with a namespace and an ownership token.
async fn key(app: &TestApp, claim_set: &str, creator_token: Option<i64>) -> Client {
    let create = Manage::CreateKey {
        claim_set: Some(claim_set.into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![11],
        namespace_prefixes: vec!["uri://ours.org".into()],
        ownership_tokens: vec![],
        creator_token,
    };
    app.client_with(create).await
}

async fn define(app: &TestApp, name: &str, strategies: &[&str], resources: &[&str]) {
    let action = |name: &str| json!({"name": name, "authorizationStrategies": strategies});
    let actions = ["Create", "Read", "Update", "Delete"].map(action);
    let claim = |resource: &&str| {
        let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
        json!({"claim": claim, "actions": actions})
    };
    let claims: Vec<Value> = resources.iter().map(claim).collect();
    let definition = json!({"name": name, "resourceClaims": claims});
    let put = Manage::PutClaimSet { name: name.into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

/// Documents to send, in the order of their dependencies: new ones, others that are stored already and
/// are changed, and some that cannot be stored whoever sends them. Those of a set have names of their own.
fn documents(set: &str) -> Vec<(&'static str, Vec<Value>)> {
    let named = |id: &str| with(student(id), "lastSurname", set);
    let new = |kind: &str| format!("{kind}-{set}");
    let changed = |kind: &str, id: &str| with(person(kind, id), "lastSurname", set);
    let learned =
        |id: &str, namespace: &str| with(learning_standard(id, namespace), "description", set);
    let enrolled = |student: &str, school| {
        // No two sets send the same enrolment.
        let day = 1 + SETS.iter().position(|(name, ..)| *name == set).unwrap();
        enrolment(student, school, &format!("2025-09-{day:02}"))
    };
    let assigned =
        |staff: &str, organization| with(assignment(staff, organization), "positionTitle", set);
    vec![
        (
            "gradeLevelDescriptors",
            ["uri://ours.org/x", "uri://theirs.org/x"]
                .map(|namespace| {
                    json!({
                        "namespace": namespace, "codeValue": set, "shortDescription": set
                    })
                })
                .to_vec(),
        ),
        (
            "students",
            ["s-in", "s-out", "s-none", "s-charge", "s-past", "s-own", &new("s")]
                .map(named)
                .to_vec(),
        ),
        ("contacts", ["c-in", "c-out", &new("c")].map(|id| changed("contact", id)).to_vec()),
        ("staffs", ["t-in", "t-out", &new("t")].map(|id| changed("staff", id)).to_vec()),
        (
            "courses",
            [(1, "a"), (11, "b"), (12, "c"), (99, "d")]
                .map(|(organization, code)| course(organization, &new(code)))
                .to_vec(),
        ),
        (
            "studentSchoolAssociations",
            vec![
                enrolled("s-in", 11),
                enrolled("s-in", 12),
                enrolled("s-out", 12),
                enrolled("s-none", 11),
                enrolled("nobody", 11),
                enrolled("s-own", 11),
                with(enrolled("s-in", 11), "entryDate", "never"),
            ],
        ),
        (
            "studentEducationOrganizationAssociations",
            [("s-in", 11), ("s-in", 12), ("s-out", 11), ("s-out", 12), ("s-charge", 11)]
                .map(|(student, organization)| with(about(student, organization), "loginId", set))
                .to_vec(),
        ),
        (
            "studentContactAssociations",
            [("c-in", "s-in"), ("c-out", "s-in"), ("c-out", "s-out"), ("c-in", "s-charge")]
                .map(|(contact, student)| {
                    with(contact_of(contact, student), "contactRestrictions", set)
                })
                .to_vec(),
        ),
        (
            "staffEducationOrganizationAssignmentAssociations",
            [("t-in", 11), ("t-in", 12), ("t-out", 11), ("t-out", 12)]
                .map(|(staff, organization)| assigned(staff, organization))
                .to_vec(),
        ),
        (
            "learningStandards",
            vec![
                learned("ours", "uri://ours.org/x"),
                learned("theirs", "uri://theirs.org"),
                learned("own", "uri://ours.org/x"),
                learned(&new("ours"), "uri://ours.org/x"),
                learned(&new("theirs"), "uri://theirs.org"),
            ],
        ),
    ]
}

/// Lines that name their resource.
fn lines(endpoint: &str, documents: &[Value]) -> String {
    let line = |document: &Value| {
        json!({"resource": format!("ed-fi/{endpoint}"), "document": document}).to_string() + "\n"
    };
    documents.iter().map(line).collect()
}

/// Returns the problems of the documents, each sent by a POST; none for those that are stored.
async fn by_posts(client: &Client, endpoint: &str, documents: &[Value]) -> Vec<Option<Value>> {
    let mut problems = vec![];
    for document in documents {
        let answer = client.post(&format!("/ed-fi/{endpoint}"), document).await;
        problems.push((answer.status >= 400).then(|| answer.json()));
    }
    problems
}

async fn by_batch(client: &Client, endpoint: &str, documents: &[Value]) -> Vec<Option<Value>> {
    let media = [("content-type", "application/x-ndjson")];
    let body = lines(endpoint, documents);
    let answer = client.send(Method::POST, "/data/v3/batch", &media, body).await;
    let problem = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.get("problem").cloned()
    };
    answer.text().lines().map(problem).collect()
}

async fn by_operation(client: &Client, endpoint: &str, documents: &[Value]) -> Vec<Option<Value>> {
    let text = lines(endpoint, documents);
    let operation = upload(client, &[("application/x-ndjson", "Documents", &text)]).await;
    let ended = ended(client, &operation).await;
    let told = exceptions(client, &operation, 0, "?limit=100").await.json();
    let mut found = vec![None; documents.len()];
    for exception in told.as_array().unwrap() {
        let line = exception["line"].as_u64().unwrap_or_else(|| panic!("{exception} {ended}"));
        found[usize::try_from(line).unwrap() - 1] = Some(exception.clone());
    }
    found
}

/// Returns what of a problem is the same in each request.
fn lasting(problem: &Value) -> Value {
    let mut problem = problem.clone();
    problem["correlationId"] = Value::Null;
    problem
}

/// Checks that an exception says what a problem says.
fn expect_same(exception: &Value, problem: &Value, context: &str) {
    assert_eq!(exception["type"], problem["type"], "{context}: {exception} {problem}");
    // Of what is wrong with a document itself, the loader says more.
    if !problem["type"].as_str().unwrap().contains(":security") {
        return;
    }
    let message = exception["message"].as_str().unwrap();
    let errors = problem["errors"].as_array().into_iter().flatten();
    let told: Vec<&str> = errors.map(|text| text.as_str().unwrap()).collect();
    for text in &told {
        assert!(message.contains(text), "{context}: {message} lacks {text}");
    }
    if told.is_empty() {
        let detail = problem["detail"].as_str().unwrap();
        assert!(message.contains(detail), "{context}: {message} lacks {detail}");
    }
    if problem["hint"].is_string() {
        assert_eq!(exception["hint"], problem["hint"], "{context}: {exception}");
    }
}

#[tokio::test]
async fn by_each_strategy_a_record_gets_what_a_post_by_the_same_key_gets() {
    let (one, two, three) = (on_each_store().await, on_each_store().await, on_each_store().await);
    for ((posting, batching), operating) in one.into_iter().zip(two).zip(three) {
        let owners = [posting, batching, operating];
        for owner in &owners {
            fill(owner).await;
        }
        let _runner = runner(&owners[2].app);
        let (mut stored, mut refused) = (0, std::collections::BTreeMap::<String, u32>::new());
        let mut reach_past = vec![];
        for (set, strategies, resources) in SETS {
            let mut keys = vec![];
            for owner in &owners {
                define(&owner.app, set, strategies, resources).await;
                keys.push(key(&owner.app, set, Some(7)).await);
            }
            for (endpoint, documents) in documents(set) {
                let posted = by_posts(&keys[0], endpoint, &documents).await;
                let batched = by_batch(&keys[1], endpoint, &documents).await;
                let operated = by_operation(&keys[2], endpoint, &documents).await;

                let past = documents.iter().position(|d| d["studentUniqueId"] == "s-past");
                if past.is_some_and(|past| posted[past].is_none()) {
                    reach_past.push(set);
                }
                for (at, posted) in posted.iter().enumerate() {
                    let context = format!("{set}, {endpoint} {at} on {}", owners[0].app);
                    let is_stored = posted.is_none();
                    let others = [batched[at].is_none(), operated[at].is_none()];
                    let told = (posted, &batched[at], &operated[at]);
                    assert_eq!(others, [is_stored; 2], "{context}: {told:?}");
                    let Some(posted) = posted else {
                        stored += 1;
                        continue;
                    };
                    let own = posted["type"].as_str().unwrap().to_owned();
                    *refused.entry(own).or_default() += 1;
                    let batched = batched[at].as_ref().unwrap();
                    assert_eq!(lasting(batched), lasting(posted), "{context}");
                    expect_same(operated[at].as_ref().unwrap(), posted, &context);
                }
            }
        }
        assert!(stored > 150, "{stored} {refused:?}");
        assert_eq!(reach_past, ["PeoplePast", "StudentsPast", "ResponsiblePast", "Everything"]);
        for kind in [
            "namespace:access-denied:namespace-mismatch",
            "ownership:invalid-data:ownership-uninitialized",
            "security:authorization",
            "data-validation-failed",
            "unresolved-reference",
        ] {
            let count: u32 =
                refused.iter().filter(|(own, _)| own.contains(kind)).map(|(_, n)| n).sum();
            assert!(count > 0, "no {kind} in {refused:?}");
        }
    }
}
