//! Rights cannot be bypassed by repeated members, another case, escapes, or letters that look like
//! others.

use http::Method;
use serde_json::json;

use super::slips::{granted, key};
use crate::app::documents::{course, on_each_store, school, uri};
use crate::app::encoded;

const DENIED: &str = "security:authorization";
const MISMATCH: &str = "security:authorization:namespace:access-denied:namespace-mismatch";
const OURS: &str = "uri://ours.example";
const THEIRS: &str = "uri://theirs.example";

/// Returns assessments as an attacker would send them to bypass a prefix: with members repeated, in
/// another case or escaped, and with lookalike or invisible letters.
fn disguised() -> Vec<String> {
    let rest = format!(
        r#""assessmentIdentifier":"x","assessmentTitle":"x","academicSubjects":[
            {{"academicSubjectDescriptor":"{}"}}]"#,
        uri("AcademicSubjectDescriptor", "Mathematics")
    );
    let members = [
        format!(r#""namespace":"{THEIRS}""#),
        format!(r#""namespace":"{OURS}","namespace":"{THEIRS}""#),
        format!(r#""namespace":"{THEIRS}","namespace":"{OURS}""#),
        format!(r#""namespace":"{OURS}","Namespace":"{THEIRS}""#),
        format!(r#""Namespace":"{THEIRS}","namespace":"{OURS}""#),
        format!(r#""NAMESPACE":"{OURS}","Namespace":"{THEIRS}""#),
        format!(r#""Namespace":"{OURS}","NAMESPACE":"{THEIRS}""#),
        format!(r#""namesp\u0061ce":"{THEIRS}","namespace":"{OURS}""#),
        format!(r#""namespace":"{OURS}","namesp\u0061ce":"{THEIRS}""#),
        format!(r#""namespace":null,"Namespace":"{THEIRS}""#),
        format!(r#""namespace":["{OURS}","{THEIRS}"]"#),
        r#""namespace":"URI://OURS.EXAMPLE/x""#.into(),
        r#""namespace":"uri:\/\/ours.example""#.into(),
        r#""namespace":"uri:\/\/ours\u002eexample/x""#.into(),
        r#""namespace":"uri://ours.examp1e""#.into(),
        r#""namespace":"uri://ours\u2024example""#.into(),
        r#""namespace":"uri://ours\uff0eexample""#.into(),
        r#""namespace":"\u200buri://ours.example""#.into(),
        r#""namespace":"\ufeffuri://ours.example""#.into(),
        r#""namespace":"uri%3A%2F%2Fours.example""#.into(),
        r#""namespace":" uri://ours.example""#.into(),
        r#""namespace":"uri://theirs.example\u0000uri://ours.example""#.into(),
    ];
    members.iter().map(|member| format!("{{{member},{rest}}}")).collect()
}

#[tokio::test]
async fn a_prefix_cannot_be_bypassed_by_repeated_or_disguised_members() {
    for owner in on_each_store().await {
        let asked = key("Tests", &[], &[OURS]);
        let actions = ["Create", "Read", "Update", "Delete"];
        let vendor = granted(&owner.app, "Tests", "assessment", &actions, asked).await;
        let (mut taken, mut refused) = (0, 0);
        for body in disguised() {
            let answer = vendor.send(Method::POST, "/ed-fi/assessments", &[], body.clone()).await;

            match answer.status {
                201 => {
                    let path = answer.location();
                    let stored = owner.get(&path).await.json();
                    let namespace = stored["namespace"].as_str().unwrap();
                    assert!(namespace.starts_with(OURS), "{body}: {namespace}");
                    assert_eq!(vendor.delete(&path).await.status, 204, "{body}");
                    taken += 1;
                }
                400 | 403 => refused += 1,
                _ => panic!("{body}: {answer:?}"),
            }
        }
        assert!(taken >= 5 && refused >= 12, "{taken} {refused}");
        assert!(owner.ids("/ed-fi/assessments").await.is_empty());
    }
}

#[tokio::test]
async fn a_prefix_cannot_be_bypassed_by_the_spelling_of_a_path_or_query() {
    for owner in on_each_store().await {
        let asked = key("Tests", &[], &[OURS]);
        let actions = ["Create", "Read", "Update", "Delete"];
        let vendor = granted(&owner.app, "Tests", "assessment", &actions, asked).await;
        let body = json!({
            "assessmentIdentifier": "x", "namespace": THEIRS, "assessmentTitle": "x",
            "academicSubjects": [
                {"academicSubjectDescriptor": uri("AcademicSubjectDescriptor", "Mathematics")},
            ],
        });
        let path = owner.create("/ed-fi/assessments", &body).await;
        let id = path.rsplit('/').next().unwrap();
        let dashed =
            format!("{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]);
        for address in [
            path.clone(),
            format!("{path}/"),
            format!("/data/v3/ED-FI/Assessments/{}", id.to_uppercase()),
            format!("/data/v3/ed-fi/assessments/{dashed}"),
            format!("/data/v3/ed-fi/assessment%73/{id}"),
            format!("/data/v3/ed-fi/assessments/%{:02x}{}", id.as_bytes()[0], &id[1..]),
            format!("/Data/V3/ed%2Dfi/assessments/{id}?namespace={}", encoded(OURS)),
        ] {
            for (method, body) in [
                (Method::GET, String::new()),
                (Method::PUT, body.to_string()),
                (Method::DELETE, String::new()),
            ] {
                let answer = vendor.send(method, &address, &[], body).await;
                answer.problem(403, MISMATCH);
            }
        }
        let (ours, theirs) = (encoded(OURS), encoded(THEIRS));
        for query in [
            format!("namespace={theirs}"),
            format!("namespace={ours}&namespace={theirs}"),
            format!("namespace={theirs}&namespace={ours}"),
            format!("NAMESPACE={theirs}&namespace={ours}&Namespace={theirs}"),
            format!("namesp%61ce={theirs}"),
            format!("namespace={}", encoded(&theirs)),
            format!("id={id}"),
            format!("assessmentIdentifier=x&namespace={theirs}"),
            "namespace=".into(),
            "limit=500&offset=0&minChangeVersion=0&totalCount=true".into(),
        ] {
            let answer = vendor.get(&format!("/ed-fi/assessments?{query}")).await;
            assert!(answer.ids().is_empty(), "{query}: {answer:?}");
        }
        assert_eq!(owner.ids("/ed-fi/assessments").await.len(), 1);
    }
}

#[tokio::test]
async fn an_organization_cannot_be_bypassed_by_repeated_or_disguised_members() {
    for owner in on_each_store().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school(id)).await;
        }
        let asked = key("Courses", &[11], &[]);
        let actions = ["Create", "Read", "Delete"];
        let vendor = granted(&owner.app, "Courses", "course", &actions, asked).await;
        let whole = course(11, "x").to_string();
        let ours = r#""educationOrganizationReference":{"educationOrganizationId":11}"#;
        assert!(whole.contains(ours), "{whole}");
        let reference = |id: &str| ours.replace("11", id);
        let inner = |ids: &str| format!(r#""educationOrganizationReference":{{{ids}}}"#);
        let other =
            |name: &str| reference("12").replacen("educationOrganizationReference", name, 1);
        let (mut taken, mut refused) = (0, 0);
        for said in [
            reference("12"),
            format!("{ours},{}", reference("12")),
            format!("{},{ours}", reference("12")),
            format!("{ours},{}", other("EducationOrganizationReference")),
            format!("{},{ours}", other("EDUCATIONORGANIZATIONREFERENCE")),
            inner(r#""educationOrganizationId":11,"educationOrganizationId":12"#),
            inner(r#""educationOrganizationId":12,"EducationOrganizationId":11"#),
            inner(r#""EducationOrganizationID":11,"educationorganizationid":12"#),
            inner(r#""educationOrganizationId":11,"schoolId":12,"link":{"href":"/x"}"#),
            reference("\"11\""),
            reference("11.0"),
            reference("1.1e1"),
            reference("\"011\""),
            reference("\" 11\""),
            reference("\"１１\""),
            reference("18446744073709551627"),
            reference("-11"),
        ] {
            let body = whole.replace(ours, &said);
            let answer = vendor.send(Method::POST, "/ed-fi/courses", &[], body).await;

            match answer.status {
                201 => {
                    let path = answer.location();
                    let stored = owner.get(&path).await.json();
                    let id = &stored["educationOrganizationReference"]["educationOrganizationId"];
                    assert_eq!(id, 11, "{said}");
                    assert_eq!(vendor.delete(&path).await.status, 204, "{said}");
                    taken += 1;
                }
                400 => refused += 1,
                _ => {
                    answer.problem(403, DENIED);
                    refused += 1;
                }
            }
        }
        assert!(taken >= 4 && refused >= 6, "{taken} {refused}");
        assert!(owner.ids("/ed-fi/courses").await.is_empty());
    }
}
