//! Every strategy on every kind of subject, for every action: allowed, refused, or without a
//! subject.

use homeroom_access::Manage;
use homeroom_model::Presence;
use http::Method;

use super::town::define_for;
use super::village::{
    Fresh, OURS, OWN, OWN_TOKEN, Paper, Shelf, Village, department, prescription, result,
};
use crate::app::documents::with;
use crate::app::failures::Failures;
use crate::app::{Answer, Client};

/// The cells of a row, with a letter for each document of the shelf: `y` access is granted; `n` it
/// is refused; `0` the document has no subject; `x` the strategy does not apply to any of its
/// subjects, which is a fault of the claim set.
type Row = (&'static str, [&'static str; 10]);

/// Endpoints of the village, and the documents in each.
const SHELVES: [(&str, &str); 10] = [
    ("localEducationAgency", "above"),
    ("school", "own; other"),
    ("student", "here; elsewhere; gone; charge; former; here too; elsewhere too"),
    ("contact", "here; elsewhere; gone"),
    ("staff", "assigned; hired; elsewhere; gone"),
    ("course", "above; own; other"),
    (
        "studentEducationOrganizationAssociation",
        "own, here; own, elsewhere; other, here; above, here; own, charge; own, gone",
    ),
    ("studentContactAssociation", "here, here; here, elsewhere; elsewhere, elsewhere"),
    ("studentAssessment", "own, here; other, here; own, elsewhere; none, here; none, elsewhere"),
    ("organizationDepartment", "own; other; above; none"),
];

#[rustfmt::skip]
const TABLE: [Row; 10] = [
    //                       agency school student    contact staff   course papers    family result   department
    ("EdOrgsOnly",          ["n",  "yn",  "xxxxxxx", "xxx",  "xxxx", "nyn", "yynnyy", "xxx", "yny00", "ynn0"]),
    ("EdOrgsAndPeople",     ["n",  "yn",  "ynnnnyn", "ynn",  "yynn", "nyn", "ynnnnn", "ynn", "ynn00", "ynn0"]),
    ("PeopleOnly",          ["x",  "xx",  "ynnnnyn", "ynn",  "yynn", "xxx", "ynyynn", "ynn", "yynyn", "xxxx"]),
    ("StudentsOnly",        ["x",  "xx",  "ynnnnyn", "xxx",  "xxxx", "xxx", "ynyynn", "ynn", "yynyn", "xxxx"]),
    ("StudentsOnlyThroughResponsibility",
                            ["x",  "xx",  "nnnynnn", "xxx",  "xxxx", "xxx", "nnnnyn", "nnn", "nnnnn", "xxxx"]),
    ("EdOrgsOnlyInverted",  ["y",  "yn",  "xxxxxxx", "xxx",  "xxxx", "yyn", "yynyyy", "xxx", "yny00", "yny0"]),
    ("EdOrgsAndPeopleInverted",
                            ["y",  "yn",  "ynnnnyn", "ynn",  "yynn", "yyn", "ynnynn", "ynn", "ynn00", "yny0"]),
    ("EdOrgsAndPeopleIncludingDeletes",
                            ["n",  "yn",  "ynynnyn", "yny",  "yyny", "nyn", "ynnnny", "ynn", "ynn00", "ynn0"]),
    ("StudentsOnlyIncludingDeletes",
                            ["x",  "xx",  "ynynnyn", "xxx",  "xxxx", "xxx", "ynyyny", "ynn", "yynyn", "xxxx"]),
    ("StudentsOnlyThroughResponsibilityIncludingDeletes",
                            ["x",  "xx",  "nnnyynn", "xxx",  "xxxx", "xxx", "nnnnyn", "nnn", "nnnnn", "xxxx"]),
];

/// How strategies of a family refuse.
struct Family {
    refused: &'static str,
    /// Problem type for a stored document without a subject; the next one is for a sent document.
    uninitialized: &'static str,
    required: &'static str,
    /// Whether any new document may be created.
    creates_all: bool,
    /// Whether a deletion keeps the subject that the strategy uses, if that is not part of the
    /// identity.
    is_kept: bool,
}

const RELATIONSHIPS: Family = Family {
    refused: "security:authorization",
    uninitialized: "security:authorization:relationships:invalid-data:element-uninitialized",
    required: "security:authorization:relationships:access-denied:element-required",
    creates_all: false,
    is_kept: true,
};
const NAMESPACE: Family = Family {
    refused: "security:authorization:namespace:access-denied:namespace-mismatch",
    uninitialized: "security:authorization:namespace:invalid-data:namespace-uninitialized",
    required: "security:authorization:namespace:access-denied:namespace-required",
    creates_all: false,
    is_kept: false,
};
const OWNERSHIP: Family = Family {
    refused: "security:authorization:ownership:access-denied:ownership-mismatch",
    uninitialized: "security:authorization:ownership:invalid-data:ownership-uninitialized",
    required: "",
    creates_all: true,
    is_kept: true,
};
const MISCONFIGURED: &str = "system:configuration:security";
const STALE: [(&str, &str); 1] = [("if-match", "\"0\"")];

fn expect(
    answer: &Answer,
    letter: char,
    allowed: &[u16],
    family: &Family,
    missing: &str,
) -> Result<(), String> {
    let problem = match letter {
        'y' if allowed.contains(&answer.status) => return Ok(()),
        'y' => return Err(format!("expected {allowed:?}, got {answer:?}")),
        'n' => answer.try_problem(403, family.refused)?,
        '0' => return answer.try_problem(403, missing).map(|_| ()),
        _ => return answer.try_problem(500, MISCONFIGURED).map(|_| ()),
    };
    let is_said = !problem["errors"].as_array().is_none_or(Vec::is_empty)
        || problem["hint"].as_str().is_some_and(|hint| !hint.is_empty())
        // A detail that names something was written for this case.
        || problem["detail"].as_str().is_some_and(|detail| detail.contains('\''));
    if is_said { Ok(()) } else { Err(format!("says nothing of why: {problem}")) }
}

/// Tries every action on one document, and records where the result differs from the letter.
async fn each_action(
    vendor: &Client,
    all: &str,
    paper: &Paper,
    letter: char,
    family: &Family,
    failures: &mut Failures,
) {
    let mut check = |action: &str, answer: &Answer, letter, allowed: &[u16], missing: &str| {
        let case = format!("{} {action} {all} '{}'", vendor.app, paper.what);
        failures.check(case, expect(answer, letter, allowed, family, missing));
    };
    let stored = family.uninitialized;
    check("Read", &vendor.get(&paper.path).await, letter, &[200], stored);
    check("Update", &vendor.put(&paper.path, &paper.body).await, letter, &[204], stored);
    check("Upsert", &vendor.post(all, &paper.body).await, letter, &[200], stored);
    // Only an authorized client is told of a stale version; in either case nothing is written.
    let deleted = vendor.send(Method::DELETE, &paper.path, &STALE, "").await;
    check("Delete", &deleted, letter, &[412], stored);
    let created = vendor.send(Method::POST, all, &STALE, paper.fresh.body().to_string()).await;
    let letter = match (&paper.fresh, letter) {
        (_, 'x') => 'x',
        _ if family.creates_all => 'y',
        (Fresh::Stranger(_), _) => 'n',
        (Fresh::Like(_), letter) => letter,
    };
    check("Create", &created, letter, &[412], family.required);
}

/// Tries lists, and records where the results differ from the letters.
async fn each_list(
    vendor: &Client,
    shelf: &Shelf,
    letters: &str,
    family: &Family,
    failures: &mut Failures,
) {
    let all = format!("/ed-fi/{}", shelf.endpoint);
    let id = |paper: &Paper| paper.path.rsplit('/').next().unwrap().to_owned();
    let of =
        |letter: char| shelf.papers.iter().zip(letters.chars()).filter(move |(_, l)| *l == letter);
    let listed = vendor.get(&format!("{all}?totalCount=true")).await;
    let deletes = vendor.get(&format!("{all}/deletes?totalCount=true")).await;
    let others = [format!("{all}/partitions"), format!("{all}/keyChanges")];
    if letters.contains('x') {
        for answer in [listed, deletes] {
            failures.check(&all, expect(&answer, 'x', &[], family, ""));
        }
        for path in others {
            failures.check(&path, expect(&vendor.get(&path).await, 'x', &[], family, ""));
        }
        return;
    }
    for path in others {
        failures.check(&path, vendor.get(&path).await.expect(200).map(|_| ()));
    }
    let expected: Vec<String> = of('y').map(|(paper, _)| id(paper)).collect();
    let found = (listed.ids(), listed.header("total-count").to_owned());
    failures.check(
        format!("{} List {all}", vendor.app),
        same(&found, &(expected.clone(), expected.len().to_string())),
    );
    if !family.is_kept {
        failures.check(&all, deletes.try_problem(501, "not-implemented").map(|_| ()));
        return;
    }
    let known: Vec<&String> = shelf.papers.iter().filter_map(|p| p.deleted.as_ref()).collect();
    let mut found = deletes.ids();
    failures.check(&all, same(&deletes.header("total-count"), &&*found.len().to_string()));
    found.retain(|id| known.contains(&id));
    let expected: Vec<String> = of('y').filter_map(|(paper, _)| paper.deleted.clone()).collect();
    failures.check(format!("{} ReadChanges {all}", vendor.app), same(&found, &expected));
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {found:?}")) }
}

async fn hold(
    village: &Village,
    vendor: &Client,
    (name, documents): (&str, &str),
    letters: &str,
    family: &Family,
    failures: &mut Failures,
) {
    let model = village.owner.app.model();
    let resource = model.resources.iter().find(|r| r.name.eq_ignore_ascii_case(name));
    let endpoint = &resource.unwrap().endpoint;
    let mut shelves = village.shelves.iter();
    let shelf = shelves.find(|shelf| shelf.endpoint == endpoint).unwrap();
    let whats: Vec<&str> = shelf.papers.iter().map(|paper| paper.what).collect();
    assert_eq!(whats.join("; "), documents, "{name}");
    assert_eq!(whats.len(), letters.len(), "{name}");
    each_list(vendor, shelf, letters, family, failures).await;
    for (paper, letter) in shelf.papers.iter().zip(letters.chars()) {
        let all = format!("/ed-fi/{endpoint}");
        each_action(vendor, &all, paper, letter, family, failures).await;
    }
}

#[tokio::test]
async fn each_strategy_permits_exactly_what_its_row_says_for_every_action() {
    for village in Village::on_each_store().await {
        let mut failures = Failures::of("a strategy lets through what its row says");
        for (strategy, cells) in TABLE {
            let strategy = format!("RelationshipsWith{strategy}");
            let names = SHELVES.map(|(name, _)| name);
            define_for(&village.owner.app, "Row", &[&strategy], &names).await;
            let vendor = village.owner.app.client_of("Row", &[OWN]).await;
            for (shelf, letters) in SHELVES.into_iter().zip(cells) {
                hold(&village, &vendor, shelf, letters, &RELATIONSHIPS, &mut failures).await;
            }
        }
        failures.assert_none(1_800);
    }
}

#[tokio::test]
async fn the_namespace_strategy_permits_every_action_under_a_prefix_of_the_key() {
    let shelf = ("interventionPrescription", "ours; theirs; none");
    for village in Village::on_each_store().await {
        let app = &village.owner.app;
        define_for(app, "Row", &["NamespaceBased"], &[shelf.0]).await;
        let vendor = app.client_within("Row", &[OURS]).await;
        let mut failures = Failures::of("a namespace lets through what begins with a prefix");

        hold(&village, &vendor, shelf, "yn0", &NAMESPACE, &mut failures).await;

        failures.assert_none(18);
    }
}

#[tokio::test]
async fn the_ownership_strategy_permits_every_action_on_documents_with_the_keys_token() {
    let shelf = ("program", "own; other; none");
    for village in Village::on_each_store().await {
        let app = &village.owner.app;
        define_for(app, "Row", &["OwnershipBased"], &[shelf.0]).await;
        let asked = Manage::CreateKey {
            claim_set: Some("Row".into()),
            name: None,
            scopes: vec![],
            education_organizations: vec![],
            namespace_prefixes: vec![],
            ownership_tokens: vec![OWN_TOKEN],
            creator_token: None,
        };
        let vendor = app.client_with(asked).await;
        let mut failures = Failures::of("a token lets through what bears it");

        hold(&village, &vendor, shelf, "yn0", &OWNERSHIP, &mut failures).await;

        failures.assert_none(18);
    }
}

#[tokio::test]
async fn an_update_can_neither_remove_nor_gain_its_own_authorization() {
    for village in Village::on_each_store().await {
        let app = &village.owner.app;
        let claims = ["studentAssessment", "organizationDepartment"];
        define_for(app, "Row", &["RelationshipsWithEdOrgsOnly"], &claims).await;
        define_for(app, "Prefix", &["NamespaceBased"], &["interventionPrescription"]).await;
        let (related, named) =
            (app.client_of("Row", &[OWN]).await, app.client_within("Prefix", &[OURS]).await);
        let relating = |school| result("r", "here", school);
        let placed = |parent| with(department("9", parent), "organizationDepartmentId", 9);
        let spaced = |namespace| prescription("p", namespace);
        for (vendor, family, endpoint, full, blank) in [
            (&related, &RELATIONSHIPS, "studentAssessments", relating(Some(OWN)), relating(None)),
            (&related, &RELATIONSHIPS, "organizationDepartments", placed(Some(OWN)), placed(None)),
            (&named, &NAMESPACE, "interventionPrescriptions", spaced(Some(OURS)), spaced(None)),
        ] {
            let all = format!("/ed-fi/{endpoint}");
            let path = vendor.create(&all, &full).await;

            vendor.put(&path, &blank).await.problem(403, family.required);
            vendor.post(&all, &blank).await.problem(403, family.required);
            assert_eq!(village.owner.put(&path, &blank).await.status, 204, "{all}");
            vendor.put(&path, &full).await.problem(403, family.uninitialized);
            vendor.post(&all, &full).await.problem(403, family.uninitialized);
            vendor.delete(&path).await.problem(403, family.uninitialized);
            assert_eq!(village.owner.put(&path, &full).await.status, 204, "{all}");
            assert_eq!(vendor.delete(&path).await.status, 204, "{all}");
        }
    }
}

#[test]
fn the_optional_subjects_match_the_reviewed_list() {
    let model = crate::app::model();
    let mut found: Vec<String> = vec![];
    for resource in &model.resources {
        for subject in &resource.subjects {
            let property = &resource.properties[subject.place.steps[0]];
            if property.presence == Presence::Optional {
                found.push(format!("{} {}", resource.endpoint, subject.column));
            }
        }
    }

    // The table has at least one of each kind.
    let expected = [
        "interventionPrescriptions namespace",
        "interventions namespace",
        "organizationDepartments parentEducationOrganizationId",
        "studentAssessments reportedSchoolId",
    ];
    found.sort_unstable();
    assert_eq!(found, expected);
}
