//! Damage to every table and column that is derived from documents is reported by `doctor`.

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::support::{Client, Database, Place, STUDENTS, Server, student};

/// Each row damages a store: its name, SQL for both databases, and a word that `doctor` must say.
///
/// `refs` begins with the numbers of links and of marks, two bytes each; each mark has eight bytes.
/// The newest document has two marks and two links of thirty bytes. Then follow the positions of
/// its empty collections: six bytes, and eight for each position, beginning with the offset and the
/// first one's number.
const DAMAGE: &[(&str, &str, &str)] = &[
    ("all edges gone", "DELETE FROM ref", "edges"),
    ("edges of one kind gone", "DELETE FROM ref WHERE kind = (SELECT max(kind) FROM ref)", "edges"),
    (
        "an edge to another",
        "UPDATE ref SET target = (SELECT min(id) FROM doc) WHERE source = (SELECT max(source) FROM \
         ref) AND target = (SELECT max(r.target) FROM ref r WHERE r.source = (SELECT max(source) \
         FROM ref))",
        "edges",
    ),
    (
        "an edge more",
        "INSERT INTO ref (target, kind, source) SELECT min(id), (SELECT kind FROM doc WHERE id = \
         (SELECT max(id) FROM doc)), (SELECT max(id) FROM doc) FROM doc",
        "edges",
    ),
    (
        "an edge of a wrong kind",
        "UPDATE ref SET kind = (SELECT min(id) FROM kind) WHERE source = (SELECT max(source) FROM ref)",
        "edges",
    ),
    ("all base identities gone", "DELETE FROM alias", "identities under abstract bases"),
    (
        "a base identity of another",
        "UPDATE alias SET key = (SELECT key FROM tomb LIMIT 1) WHERE id = (SELECT max(id) FROM alias)",
        "identities under abstract bases",
    ),
    (
        "a base identity more",
        "INSERT INTO alias (id, key) SELECT min(id), (SELECT key FROM tomb LIMIT 1) FROM doc",
        "identities under abstract bases",
    ),
    ("all tombstones gone", "DELETE FROM tomb", "tombstones"),
    ("a tombstone gone", "DELETE FROM tomb WHERE cv = (SELECT max(cv) FROM tomb)", "tombstones"),
    (
        "a tombstone with other values",
        "UPDATE tomb SET key_values = '{\"studentUniqueId\":\"z\"}'",
        "tombstone",
    ),
    (
        "a tombstone with another identity",
        "UPDATE tomb SET key = (SELECT key FROM alias LIMIT 1)",
        "tombstone",
    ),
    (
        "a tombstone of another kind",
        "UPDATE tomb SET kind = (SELECT kind FROM doc WHERE id = 1) WHERE cv = (SELECT max(cv) FROM \
         tomb)",
        "tombstone",
    ),
    (
        "a tombstone of a document that is there",
        "UPDATE tomb SET uuid = (SELECT uuid FROM doc WHERE id = (SELECT max(id) FROM doc)) WHERE cv = \
         (SELECT max(cv) FROM tomb)",
        "a deleted document exists",
    ),
    (
        "an identity",
        "UPDATE doc SET key = (SELECT key FROM tomb LIMIT 1) WHERE id = (SELECT max(id) FROM doc)",
        "an identity that differs",
    ),
    (
        "texts of one kind swapped",
        "UPDATE doc SET body = (SELECT e.body FROM doc e WHERE e.kind = doc.kind AND e.id <> doc.id \
         ORDER BY e.id DESC LIMIT 1) WHERE id = (SELECT max(id) FROM doc)",
        "an identity that differs",
    ),
    (
        "a text of another kind",
        "UPDATE doc SET body = (SELECT e.body FROM doc e WHERE e.id = 1) WHERE id = (SELECT max(id) \
         FROM doc)",
        "do not fit the model",
    ),
    (
        "a text that is not that of its identity",
        "UPDATE doc SET body = (SELECT e.body FROM doc e WHERE e.id = 1) WHERE id = (SELECT max(id) \
         FROM doc)",
        "an identity that differs",
    ),
    ("texts without anything", "UPDATE doc SET body = '{}'", "an identity that differs"),
    (
        "a text that lacks its key",
        "UPDATE doc SET body = replace(body, '\"schoolId\":1,', '')",
        "an identity that differs",
    ),
    (
        "a text with a blank",
        "UPDATE doc SET body = '{ ' || substr(body, 2) WHERE id = (SELECT max(id) FROM doc)",
        "canonical",
    ),
    (
        "a text with another value of its key",
        "UPDATE doc SET body = replace(body, '2026-08-20', '2026-08-21')",
        "an identity that differs",
    ),
    (
        "a text that refers to another",
        "UPDATE doc SET body = replace(body, '\"schoolId\":1}', '\"schoolId\":2}')",
        "references",
    ),
    (
        "a text that is not JSON",
        "UPDATE doc SET body = '{' WHERE id = (SELECT max(id) FROM doc)",
        "JSON",
    ),
    (
        "a text with another descriptor",
        "UPDATE doc SET body = replace(body, '#Ninth grade', '#Tenth grade')",
        "descriptors",
    ),
    (
        "a text with a descriptor as an older version spelled it",
        "UPDATE doc SET body = replace(body, '#Ninth grade', '#NINTH grade') WHERE id = (SELECT \
         max(id) FROM doc)",
        "spell descriptors differently",
    ),
    (
        "a public id",
        "UPDATE doc SET uuid = (SELECT uuid FROM tomb LIMIT 1) WHERE id = (SELECT min(target) \
      FROM ref WHERE source = (SELECT max(source) FROM ref))",
        "a deleted document exists",
    ),
    (
        "packed references of another",
        "UPDATE doc SET refs = (SELECT e.refs FROM doc e WHERE e.id = 1) WHERE id = (SELECT max(id) FROM doc)",
        "references",
    ),
    ("a tie gone", "DELETE FROM tie WHERE via = (SELECT max(via) FROM tie)", "ties"),
    ("all ties gone", "DELETE FROM tie", "ties"),
    (
        "a tie more",
        "INSERT INTO tie (label, item, holder, via) SELECT label, 77, 78, via FROM tie \
      WHERE via = (SELECT max(via) FROM tie)",
        "ties",
    ),
    ("a tie of nobody", "UPDATE tie SET via = 1 WHERE via = (SELECT max(via) FROM tie)", "ties"),
    ("past ties gone", "DELETE FROM past_tie", "ties of deleted documents"),
    (
        "a past tie more",
        "INSERT INTO past_tie (label, item, holder, via) SELECT max(label), 1, 2, 3 FROM \
      tie",
        "tie of a deleted document",
    ),
    ("a count", "UPDATE tally SET n = n + 1 WHERE kind = (SELECT max(kind) FROM tally)", "counts"),
    ("counts gone", "DELETE FROM tally WHERE kind = (SELECT max(kind) FROM tally)", "counts"),
    (
        "counts in another block",
        "UPDATE tally SET block = block + 1 WHERE kind = (SELECT max(kind) FROM tally)",
        "count",
    ),
    ("a kind without a name", "DELETE FROM kind WHERE id = (SELECT max(kind) FROM doc)", "no name"),
    (
        "a document of another kind",
        "UPDATE doc SET kind = (SELECT e.kind FROM doc e WHERE e.id = 1) WHERE id = (SELECT max(id) FROM doc)",
        "count",
    ),
    ("a document gone", "DELETE FROM doc WHERE id = (SELECT max(id) FROM doc)", "count"),
];

/// Damage that is only possible in one of the databases.
const OF_SQLITE: &[(&str, &str, &str)] = &[
    ("a number that is given again", "DELETE FROM high_water", "will be issued again"),
    ("a number too low", "UPDATE high_water SET id = 1", "will be issued again"),
    (
        "a reference in another place",
        "UPDATE doc SET refs = CAST(substr(refs, 1, 20) || x'ff' || substr(refs, 22) AS BLOB) WHERE id = \
         (SELECT max(id) FROM doc)",
        "references",
    ),
    (
        "a mark of another",
        "UPDATE doc SET refs = CAST(substr(refs, 1, 4) || x'ff' || substr(refs, 6) AS BLOB) WHERE id = \
         (SELECT max(id) FROM doc)",
        "marks that differ",
    ),
    (
        "empty collections in another place",
        "UPDATE doc SET refs = CAST(substr(refs, 1, 86) || x'ff' || substr(refs, 88) AS BLOB) WHERE id = \
         (SELECT max(id) FROM doc)",
        "empty collections",
    ),
    (
        "other empty collections",
        "UPDATE doc SET refs = CAST(substr(refs, 1, 90) || x'ff' || substr(refs, 92) AS BLOB) WHERE id = \
         (SELECT max(id) FROM doc)",
        "empty collections",
    ),
];

const OF_POSTGRES: &[(&str, &str, &str)] = &[
    ("a number that is given again", "UPDATE counter SET id = 1", "will be issued again"),
    ("a version that is given again", "UPDATE counter SET cv = 1", "will be issued again"),
    (
        "a reference in another place",
        "UPDATE doc SET refs = set_byte(refs, 20, 255) WHERE id = (SELECT max(id) FROM doc)",
        "references",
    ),
    (
        "a mark of another",
        "UPDATE doc SET refs = set_byte(refs, 4, 255) WHERE id = (SELECT max(id) FROM doc)",
        "marks that differ",
    ),
    (
        "empty collections in another place",
        "UPDATE doc SET refs = set_byte(refs, 86, 255) WHERE id = (SELECT max(id) FROM doc)",
        "empty collections",
    ),
    (
        "other empty collections",
        "UPDATE doc SET refs = set_byte(refs, 90, 255) WHERE id = (SELECT max(id) FROM doc)",
        "empty collections",
    ),
];

fn uri(name: &str, code: &str) -> String {
    format!("uri://ed-fi.org/{name}#{code}")
}

fn create(client: &mut Client, endpoint: &str, body: &Value) -> String {
    let answer = client.post(&format!("/data/v3/ed-fi/{endpoint}"), body);
    assert_eq!(answer.status, 201, "{endpoint}: {answer:?}");
    answer.location()
}

/// Stores two schools, students, enrolments, and deletions of each; the newest document is an
/// enrolment.
fn fill(place: &Place) {
    let key = place.key("FullAccess");
    let server = Server::start(place);
    let mut client = server.client_of(&key);
    for grade in ["Ninth grade", "Tenth grade"] {
        let body = json!({
            "namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": grade,
            "shortDescription": grade,
        });
        _ = client.post("/data/v3/ed-fi/gradeLevelDescriptors", &body);
    }
    let category = json!({
        "namespace": "uri://ed-fi.org/EducationOrganizationCategoryDescriptor",
        "codeValue": "School", "shortDescription": "School",
    });
    _ = client.post("/data/v3/ed-fi/educationOrganizationCategoryDescriptors", &category);
    for school in [1, 2] {
        let category = uri("EducationOrganizationCategoryDescriptor", "School");
        let body = json!({
            "schoolId": school, "nameOfInstitution": format!("School {school}"),
            "educationOrganizationCategories":
                [{"educationOrganizationCategoryDescriptor": category}],
            "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}],
        });
        create(&mut client, "schools", &body);
    }
    let enrolment = |student: &str| {
        json!({
            "studentReference": {"studentUniqueId": student},
            "schoolReference": {"schoolId": 1},
            "entryDate": "2026-08-20",
            "entryGradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade"),
        })
    };
    for name in ["a", "b", "c"] {
        create(&mut client, "students", &student(name, "Ada"));
    }
    let associations = "studentSchoolAssociations";
    create(&mut client, associations, &enrolment("a"));
    create(&mut client, associations, &enrolment("b"));
    let last = create(&mut client, associations, &enrolment("c"));
    let gone = client.post(STUDENTS, &student("gone", "Ada")).location();
    for path in [gone, last] {
        assert_eq!(client.send("DELETE", &path, &[], None).unwrap().status, 204);
    }
    assert_eq!(server.stop().code, Some(0));
}

fn problems(place: &Place) -> Vec<String> {
    let ran = place.run(&["doctor", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let problems = told["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["problem"].as_str().unwrap().to_owned()).collect()
}

/// Returns the names of the damage that was not noticed.
fn unnoticed(
    place: &Place,
    damage: impl Fn(&str),
    mend: impl Fn(),
    all: impl Iterator<Item = &'static (&'static str, &'static str, &'static str)>,
) -> Vec<String> {
    let mut unnoticed = vec![];
    for (name, sql, word) in all {
        damage(sql);
        let found = problems(place);
        if !found.iter().any(|problem| problem.contains(word)) {
            unnoticed.push(format!("{name}: {found:?}"));
        }
        mend();
    }
    unnoticed
}

#[test]
fn doctor_reports_every_kind_of_damage() {
    let place = Place::new();
    fill(&place);
    let file = place.data().join("homeroom.db");
    let whole = place.path("whole.db");
    std::fs::copy(&file, &whole).unwrap();
    assert_eq!(problems(&place), [""; 0]);
    let damage = |sql: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
    };
    let mend = || _ = std::fs::copy(&whole, &file).unwrap();

    let unnoticed = unnoticed(&place, damage, mend, DAMAGE.iter().chain(OF_SQLITE));

    assert_eq!(unnoticed, [""; 0], "{}", unnoticed.join("\n"));
}

#[test]
fn doctor_reports_every_kind_of_damage_in_a_database_too() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        fill(&place);
        database.copy_to("whole");
        assert_eq!(problems(&place), [""; 0]);
        let url = database.url();
        let damage = |sql: &str| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
                let driver = tokio::spawn(connection);
                assert!(client.execute(sql, &[]).await.unwrap() > 0, "{sql}");
                drop(client);
                _ = driver.await;
            });
        };
        let mend = || database.fill_from("whole");

        let unnoticed = unnoticed(&place, damage, mend, DAMAGE.iter().chain(OF_POSTGRES));

        assert_eq!(unnoticed, [""; 0], "{}", unnoticed.join("\n"));
    }
}

#[test]
fn a_damaged_store_is_neither_backed_up_nor_restored() {
    for sql in [
        "DELETE FROM ref",
        "DELETE FROM alias",
        "DELETE FROM tomb",
        "UPDATE doc SET body = '{}' WHERE id = (SELECT max(id) FROM doc)",
    ] {
        let place = Place::new();
        fill(&place);
        let (good, bad) = (place.path("good.db"), place.path("bad.db"));
        place.done(&["backup", good.to_str().unwrap()]);
        let file = place.data().join("homeroom.db");
        rusqlite::Connection::open(&file).unwrap().execute(sql, []).unwrap();
        std::fs::copy(&file, &bad).unwrap();

        let backup = place.run(&["backup", place.path("copy.db").to_str().unwrap()]);
        place.done(&["restore", good.to_str().unwrap(), "--yes"]);
        let restore = place.run(&["restore", bad.to_str().unwrap(), "--yes"]);

        assert_eq!(
            (backup.code, restore.code),
            (Some(1), Some(1)),
            "{sql}: {backup:?} {restore:?}"
        );
        assert!(backup.stderr.contains("damaged") && restore.stderr.contains("damaged"));
        assert!(!place.path("copy.db").exists());
        assert_eq!(problems(&place), [""; 0], "{sql}");
    }
}

/// Schools that this version would not store: one breaks its rules, one has an extension that is
/// not loaded.
const MISFITS: [&str; 2] = [
    "UPDATE doc SET body = replace(body, '\"nameOfInstitution\":\"School 1\"', '\"formerly\":\"S\"')",
    "UPDATE doc SET body = replace(body, '\"nameOfInstitution\":\"School 1\"', \
     '\"_ext\":{\"other\":{\"was\":1}}')",
];

#[test]
fn a_document_that_does_not_fit_the_model_does_not_prevent_backup_and_restore() {
    for sql in MISFITS {
        let place = Place::new();
        fill(&place);
        let file = place.data().join("homeroom.db");
        let connection = rusqlite::Connection::open(&file).unwrap();
        let changed =
            connection.execute(&format!("{sql} WHERE instr(body, 'School 1') > 0"), []).unwrap();
        assert_eq!(changed, 1, "{sql}");
        drop(connection);
        let copy = place.path("copy.db");

        let found = problems(&place);
        let backup = place.run(&["backup", copy.to_str().unwrap()]);
        let restore = place.run(&["restore", copy.to_str().unwrap(), "--yes"]);

        let codes = (backup.code, restore.code);
        assert_eq!(codes, (Some(0), Some(0)), "{sql}: {backup:?} {restore:?}");
        assert!(!found.iter().any(|problem| problem.contains("identit")), "{sql}: {found:?}");
        let told = restore.stdout + &restore.stderr;
        assert!(told.contains("schools"), "{sql}: {told}");
    }
}

#[test]
fn doctor_reports_the_checks_that_it_leaves_out() {
    let place = Place::new();
    fill(&place);
    let left_out = |arguments: &[&str]| {
        let told = place.json(&[&["doctor", "--json"], arguments].concat());
        told["leftOut"].as_array().unwrap().len()
    };

    assert_eq!(left_out(&[]), 0);
    assert_eq!(left_out(&["--quick"]), 1);
    assert!(left_out(&["--time-max", "0ms"]) > 0);
    assert!(place.done(&["doctor", "--quick"]).contains("not checked: identities"));
    let backup = place.path("hurried.db");
    let ran = place.run(&["backup", backup.to_str().unwrap(), "--time-max", "0ms"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("not checked completely"), "{ran:?}");
}
