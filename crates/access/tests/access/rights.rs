//! Claim evaluation: what a set grants on a resource, and by which strategies.

use std::sync::Arc;

use homeroom_access::{
    Action, ApiClient, By, Claims, Denial, Grant, Permission, Phase, Relationships, Rights, Scope,
    Status, Strategy, authorize, authorize_upsert, namespace_subject,
};
use homeroom_http::{Problem, Timestamp};
use homeroom_model::{Model, Resource, format, link, shipped};

const MODEL: &str = "\
standard Ed-Fi ed-fi 5.2.0

abstract EducationOrganization
  @ educationOrganizationId int64

resource Assessment assessments
  subject Namespace namespace
  @ assessmentIdentifier text(1..60)
  @ namespace text(5..255)

resource Contact contacts
  @ contactUniqueId text(1..32)

resource Parent parents
  @ parentUniqueId text(1..32)

resource Snapshot snapshots
  @ snapshotIdentifier text(1..32)

resource Student students
  @ studentUniqueId text(1..32)
";

const CLAIMS: &str = r#"
[tree]
"*" = ["domains/top", "services/identity"]
"domains/top" = ["domains/people", "ed-fi/assessment"]
"domains/people" = ["ed-fi/contact", "ed-fi/student"]

[successors]
"ed-fi/parent" = "ed-fi/contact"

[defaults]
"domains/top" = "Create Read Update: NoFurtherAuthorizationRequired"
"domains/people" = "Read: RelationshipsWithEdOrgsAndPeople; Update: NamespaceBased OwnershipBased"
"ed-fi/assessment" = "Create: NamespaceBased"
"ed-fi/student" = "Update: RelationshipsWithStudentsOnly"

[claim-sets.Everything]
"*" = "Create Read Update Delete ReadChanges: NoFurtherAuthorizationRequired"

[claim-sets.Top]
"domains/top" = "Create Read Delete"

[claim-sets.Overridden]
"domains/top" = "Create Read Update: OwnershipBased"
"domains/people" = "Read: NamespaceBased"
"ed-fi/student" = "Read; Create: RelationshipsWithEdOrgsOnly"

[claim-sets.LeafOnly]
"ed-fi/student" = "Read Update"
"services/identity" = "Read: NoFurtherAuthorizationRequired"
"#;

fn model() -> Model {
    link(&[format::read(MODEL).unwrap()]).unwrap()
}

fn rights(set: &str) -> (Model, Rights) {
    let model = model();
    let claims = Claims::read(CLAIMS, &model).unwrap();
    let set = claims.shipped().iter().find(|known| known.name == set).unwrap();
    let rights = Rights::compile(&claims, set);
    (model, rights)
}

fn resource<'a>(model: &'a Model, endpoint: &str) -> &'a Resource {
    model.by_endpoint("ed-fi", endpoint).unwrap()
}

fn client(rights: Rights, prefixes: &[&str]) -> ApiClient {
    ApiClient {
        key: "key".into(),
        application: "a test".into(),
        claim_set: Some("Test".into()),
        rights: Arc::new(rights),
        views: Arc::default(),
        education_organizations: [].into(),
        namespace_prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect(),
        profiles: [].into(),
        ownership_tokens: [7].into(),
        creator_token: Some(7),
        scopes: vec![Scope::Data],
        held_to: None,
        status: Status::Active,
        created: Timestamp(0),
    }
}

/// `resource`, `action`, or strategies.
fn describe(permission: &Permission) -> String {
    match permission {
        Permission::NotGrantedOnResource => "resource".into(),
        Permission::NotGrantedForAction => "action".into(),
        Permission::NoStrategyConfigured => "none configured".into(),
        Permission::Granted(strategies) => {
            strategies.iter().map(Strategy::name).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn a_decision_follows_the_lineage_from_the_leaf_up() {
    let none = "NoFurtherAuthorizationRequired";
    for (set, endpoint, action, expected, clause) in [
        ("LeafOnly", "contacts", Action::Read, "resource", "§d.2: nothing granted on the lineage"),
        ("LeafOnly", "students", Action::Delete, "action", "§d.2: granted, but not this action"),
        (
            "LeafOnly",
            "students",
            Action::Update,
            "RelationshipsWithStudentsOnly",
            "§d.3: default of the leaf",
        ),
        (
            "LeafOnly",
            "students",
            Action::Read,
            "RelationshipsWithEdOrgsAndPeople",
            "§d.3: default of the nearest ancestor that has one",
        ),
        (
            "Top",
            "students",
            Action::Create,
            none,
            "§d.2: granted by an ancestor; §d.3: default two above",
        ),
        (
            "Top",
            "students",
            Action::Read,
            "RelationshipsWithEdOrgsAndPeople",
            "§d.3: the nearer default wins, above which it is granted",
        ),
        (
            "Top",
            "assessments",
            Action::Create,
            "NamespaceBased",
            "§d.3: default of the leaf over the ancestor's",
        ),
        (
            "Top",
            "assessments",
            Action::Read,
            none,
            "§d.3: a default for another action does not count",
        ),
        ("Top", "students", Action::Delete, "none configured", "§d.3: no default anywhere"),
        (
            "Top",
            "students",
            Action::ReadChanges,
            "action",
            "§d.2: ReadChanges is an action of its own",
        ),
        (
            "Overridden",
            "assessments",
            Action::Create,
            "OwnershipBased",
            "§d.3: the set's strategy over any default",
        ),
        (
            "Overridden",
            "contacts",
            Action::Read,
            "NamespaceBased",
            "§d.3: the set's strategy nearest to the leaf",
        ),
        (
            "Overridden",
            "students",
            Action::Read,
            "NamespaceBased",
            "§d.3: a grant without strategies hides none above",
        ),
        (
            "Overridden",
            "students",
            Action::Create,
            "RelationshipsWithEdOrgsOnly",
            "§d.3: the set's strategy on the leaf",
        ),
        (
            "Overridden",
            "students",
            Action::Update,
            "OwnershipBased",
            "§d.2: grants above a named leaf still count",
        ),
        ("Everything", "students", Action::ReadChanges, none, "own: `*` is above all claims"),
        (
            "Everything",
            "snapshots",
            Action::Delete,
            none,
            "own: also above what the tree does not have",
        ),
        (
            "Top",
            "snapshots",
            Action::Read,
            "resource",
            "own: what the tree does not have is nobody else's",
        ),
        (
            "Overridden",
            "parents",
            Action::Read,
            "NamespaceBased",
            "§h: an older kind stands below its successor",
        ),
        ("LeafOnly", "parents", Action::Read, "resource", "§h: … and is granted as it is"),
    ] {
        let (model, rights) = rights(set);

        let permission = rights.permission(resource(&model, endpoint).id, action);

        assert_eq!(describe(permission), expected, "{set} {endpoint} {action:?} ({clause})");
    }
}

#[test]
fn several_default_strategies_apply_together_in_order() {
    let model = model();
    let text = CLAIMS.replace("\"ed-fi/student\" = \"Update: RelationshipsWithStudentsOnly\"", "");
    let claims = Claims::read(&text, &model).unwrap();
    let set = claims.shipped().iter().find(|set| set.name == "LeafOnly").unwrap();

    let rights = Rights::compile(&claims, set);

    let permission = rights.permission(resource(&model, "students").id, Action::Update);
    assert_eq!(describe(permission), "NamespaceBased OwnershipBased");
}

#[test]
fn services_are_granted_like_resources() {
    let services = |set: &str| {
        let (_, rights) = rights(set);
        rights.services().map(|(name, actions)| (name.to_owned(), actions)).collect::<Vec<_>>()
    };

    assert_eq!(services("LeafOnly"), [("identity".to_owned(), vec![Action::Read])]);
    assert_eq!(services("Everything"), [("identity".to_owned(), Action::ALL.to_vec())]);
    assert_eq!(services("Top"), []);
}

#[test]
fn each_refusal_maps_to_its_problem_type() {
    for (set, endpoint, action, status, urn) in [
        (
            "LeafOnly",
            "contacts",
            Action::Read,
            403,
            "security:authorization:access-denied:resource",
        ),
        (
            "LeafOnly",
            "students",
            Action::Delete,
            403,
            "security:authorization:access-denied:action",
        ),
        ("Top", "students", Action::Delete, 500, "system:configuration:security"),
        ("LeafOnly", "students", Action::Read, 500, "system:configuration:security"),
        ("Overridden", "contacts", Action::Read, 500, "system:configuration:security"),
    ] {
        let (model, rights) = rights(set);
        let client = client(rights, &["uri://a"]);

        let denial = authorize(&client, resource(&model, endpoint), action).unwrap_err();
        let problem = Problem::from(denial);

        let found = (problem.kind.status().as_u16(), problem.kind.urn());
        assert_eq!(found, (status, format!("urn:ed-fi:api:{urn}").as_str()), "{set} {endpoint}");
    }
}

fn shipped_model() -> Model {
    link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
}

fn one_strategy(model: &Model, strategy: &str, organizations: &[i64]) -> ApiClient {
    let text = format!("[tree]\n\"*\" = []\n[claim-sets.One]\n\"*\" = \"Read: {strategy}\"\n");
    let claims = Claims::read(&text, model).unwrap();
    let rights = Rights::compile(&claims, &claims.shipped()[0]);
    ApiClient { education_organizations: organizations.into(), ..client(rights, &["uri://a"]) }
}

/// Returns what a strategy checks, as `subject by`, or the ending of the problem's type.
fn looks_at(resource: &Resource, outcome: Result<Grant, Denial>) -> String {
    let grant = match outcome {
        Ok(grant) => grant,
        Err(denial) => return denial.code().rsplit(':').next().unwrap_or_default().into(),
    };
    let relationships = grant.relationships.as_deref();
    let parts = relationships.into_iter().flat_map(Relationships::parts).map(|part| {
        let by = match part.by {
            By::Below => "below".to_owned(),
            By::Above => "above".to_owned(),
            By::Person { way, past } => {
                format!("{}{}", way.unwrap_or("person"), if past { " past" } else { "" })
            }
        };
        format!("{} {by}", resource.subjects[part.subject].kind)
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_strategy_checks_the_subjects_that_it_names() {
    let model = shipped_model();
    let section = |strategy: &str| format!("EducationOrganization {strategy}");
    for (strategy, on_attendance, on_sections, on_contacts) in [
        (
            "EdOrgsAndPeople",
            "EducationOrganization below, Student person",
            "below",
            "Contact person",
        ),
        ("EdOrgsOnly", "EducationOrganization below", "below", "security"),
        ("PeopleOnly", "Student person", "", "Contact person"),
        ("StudentsOnly", "Student person", "", "security"),
        ("StudentsOnlyThroughResponsibility", "Student Responsibility", "", "security"),
        ("EdOrgsOnlyInverted", "EducationOrganization above", "above", "security"),
        (
            "EdOrgsAndPeopleInverted",
            "EducationOrganization above, Student person",
            "above",
            "Contact person",
        ),
        (
            "EdOrgsAndPeopleIncludingDeletes",
            "EducationOrganization below, Student person past",
            "below",
            "Contact person past",
        ),
        ("StudentsOnlyIncludingDeletes", "Student person past", "", "security"),
        (
            "StudentsOnlyThroughResponsibilityIncludingDeletes",
            "Student Responsibility past",
            "",
            "security",
        ),
    ] {
        let client = one_strategy(&model, &format!("RelationshipsWith{strategy}"), &[1]);
        let on = |endpoint: &str| {
            let resource = resource(&model, endpoint);
            looks_at(resource, authorize(&client, resource, Action::Read))
        };

        assert_eq!(on("studentSchoolAttendanceEvents"), on_attendance, "{strategy}");
        let sections =
            if on_sections.is_empty() { "security".into() } else { section(on_sections) };
        assert_eq!(on("sections"), sections, "{strategy}");
        assert_eq!(on("contacts"), on_contacts, "{strategy}");
        assert_eq!(on("assessments"), "security", "{strategy}");
    }
}

#[test]
fn relationships_need_organizations_and_ownership_needs_tokens() {
    let model = shipped_model();
    let sections = resource(&model, "sections");
    let read = |client: &ApiClient| authorize(client, sections, Action::Read);

    let poor = one_strategy(&model, "RelationshipsWithEdOrgsOnly", &[]);
    let relationships = read(&poor).unwrap().relationships.unwrap();
    assert!(relationships.organizations.is_empty(), "lists are empty, documents out of reach");
    let owner = one_strategy(&model, "OwnershipBased", &[]);
    let grant = read(&owner).unwrap();
    assert_eq!(grant.ownership_tokens.as_deref(), Some(&[7][..]));
    for (borne, expected) in
        [(Some(7), ""), (Some(8), "ownership-mismatch"), (None, "ownership-uninitialized")]
    {
        let checked = grant.check_owner(borne).map(|()| Grant::default());
        assert_eq!(looks_at(sections, checked), expected, "{borne:?}");
    }
}

#[test]
fn a_namespace_must_begin_with_a_prefix_of_the_client() {
    let (model, rights) = rights("Top");
    let assessments = resource(&model, "assessments");
    assert_eq!(namespace_subject(assessments).unwrap().column, "namespace");
    let client = client(rights, &["uri://a.org", "uri://b.org/x"]);
    let grant = authorize(&client, assessments, Action::Create).unwrap();

    for (namespace, proposed, stored) in [
        (Some("uri://a.org/Assessment"), None, None),
        (Some("uri://b.org/xy"), None, None),
        (Some("uri://b.org/"), Some("namespace-mismatch"), Some("namespace-mismatch")),
        (Some("URI://A.ORG"), Some("namespace-mismatch"), Some("namespace-mismatch")),
        (Some(" "), Some("namespace-required"), Some("namespace-uninitialized")),
        (None, Some("namespace-required"), Some("namespace-uninitialized")),
    ] {
        for (phase, expected) in [(Phase::Proposed, proposed), (Phase::Stored, stored)] {
            let checked = grant.check_namespace(namespace, phase);
            let found = checked.err().map(|problem| {
                let problem = Problem::from(problem);
                assert_eq!(problem.kind.status(), 403);
                problem.kind.urn().rsplit(':').next().unwrap()
            });
            assert_eq!(found, expected, "{namespace:?}");
        }
    }
}

#[test]
fn a_refusal_does_not_reveal_the_stored_namespace() {
    let (model, rights) = rights("Top");
    let client = client(rights, &["uri://a.org"]);
    let grant = authorize(&client, resource(&model, "assessments"), Action::Create).unwrap();

    let denial = grant.check_namespace(Some("uri://secret.org"), Phase::Stored).unwrap_err();
    let problem = Problem::from(denial);

    let body = String::from_utf8(problem.body("c")).unwrap();
    assert!(!body.contains("secret"), "{body}");
    assert!(body.contains("uri://a.org"), "{body}");
}

#[test]
fn a_refusal_says_that_the_client_has_no_prefixes() {
    let (model, rights) = rights("Top");

    let denial = authorize(&client(rights, &[]), resource(&model, "assessments"), Action::Create)
        .unwrap_err();

    assert!(denial.code().ends_with("namespace:invalid-client:no-namespaces"));
}

#[test]
fn post_needs_create_or_update() {
    let (model, rights) = rights("Top");
    let top = client(rights.clone(), &["uri://a"]);
    let assessments = resource(&model, "assessments");

    let grant = authorize_upsert(&top, assessments).unwrap();
    assert!(grant.create.is_ok());
    assert!(grant.update.unwrap_err().code().ends_with("access-denied:action"));

    let (_, rights) = self::rights("LeafOnly");
    let refused = authorize_upsert(&client(rights, &[]), assessments).unwrap_err();
    assert!(refused.code().ends_with("access-denied:resource"));
}

#[test]
fn a_claims_file_that_contradicts_itself_is_refused_with_the_place() {
    let model = model();
    for (text, place) in [
        ("[tree]\n\"*\" = [\"a/b\", \"a/b\"]", "tree \"a/b\""),
        ("[tree]\n\"*\" = [\"a/b\"]\n\"a/c\" = [\"a/d\"]", "tree \"a/c\""),
        ("[tree]\n\"*\" = [\"a/b\"]\n\"a/b\" = [\"A/B\"]", "tree \"A/B\""),
        ("[tree]\n\"*\" = [\"ab\"]", "tree \"ab\""),
        ("[tree]\n\"*\" = []\n[defaults]\n\"a/b\" = \"Read: NamespaceBased\"", "defaults \"a/b\""),
        ("[tree]\n\"*\" = [\"a/b\"]\n[defaults]\n\"a/b\" = \"Read\"", "defaults \"a/b\""),
        (
            "[tree]\n\"*\" = []\n[successors]\n\"ed-fi/parent\" = \"a/b\"",
            "successors \"ed-fi/parent\"",
        ),
        ("[tree]\n\"*\" = []\n[claim-sets.A]\n\"a/b\" = \"Read\"", "claim-sets.A \"a/b\""),
        ("tree = 1", "the claims file"),
    ] {
        let error = Claims::read(text, &model).unwrap_err();

        assert_eq!(error.place, place, "{text}");
    }
}
