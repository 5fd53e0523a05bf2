//! Values: conversion, dropping, refusal, and exact numbers.

use serde_json::{Value, json};

use crate::app::answer::violated;
use crate::app::documents::{on_each_store, school, student, uri, with};
use crate::app::{Client, encoded};

const VALIDATION: &str = "bad-request:data-validation-failed";

/// Stores a document and returns it as it is read.
async fn stored(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.post(path, body).await;
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    client.get(&answer.location()).await.json()
}

#[tokio::test]
async fn values_sent_as_text_are_converted_to_their_type() {
    for client in on_each_store().await {
        client.create("/ed-fi/schools", &school(1)).await;
        let calendar = json!({
            "schoolReference": {"schoolId": "1"},
            "weekIdentifier": "2026-08",
            "beginDate": "8/3/2026",
            "endDate": "2026-08-07T00:00:00",
            "totalInstructionalDays": "5",
        });

        let week = stored(&client, "/ed-fi/academicWeeks", &calendar).await;

        assert_eq!(week["schoolReference"]["schoolId"], 1);
        assert_eq!(week["beginDate"], "2026-08-03");
        assert_eq!(week["endDate"], "2026-08-07");
        assert_eq!(week["totalInstructionalDays"], 5);

        let period = json!({
            "schoolReference": {"schoolId": 1.0},
            "classPeriodName": "First",
            "officialAttendancePeriod": 1,
            "meetingTimes": [{"startTime": "08:30", "endTime": "09:15:00"}],
        });

        let period = stored(&client, "/ed-fi/classPeriods", &period).await;

        assert_eq!(period["schoolReference"]["schoolId"], 1);
        assert_eq!(period["officialAttendancePeriod"], true);
        assert_eq!(period["meetingTimes"][0]["startTime"], "08:30:00");
    }
}

#[tokio::test]
async fn date_times_are_converted_to_utc() {
    for client in on_each_store().await {
        let plain = client.app.model().resources.iter().find_map(|resource| {
            let fields = &resource.query_fields;
            let at = fields.iter().position(|f| f.scalar == homeroom_model::Scalar::DateTime)?;
            Some((resource, fields[at].name.clone()))
        });
        let (resource, name) = plain.expect("the standard has moments");
        let made = crate::app::world::sample(
            &client.app,
            resource.id,
            crate::app::samples::Extent::Fullest,
            1,
        );
        let descriptors = crate::app::samples::Samples::descriptors(client.app.model());
        let chains = descriptors.into_iter().map(|sample| vec![sample]).collect();
        crate::app::world::send_all(&client, chains).await;
        let (sample, needed) = made.split_last().unwrap();
        crate::app::world::send_all(&client, vec![needed.to_vec()]).await;

        for (sent, expected) in [
            ("2026-08-01T23:30:00-05:00", "2026-08-02T04:30:00Z"),
            ("2026-08-01T23:30:00", "2026-08-01T23:30:00Z"),
            ("2026-08-01 08:30:15.5+0000", "2026-08-01T08:30:15.5Z"),
            ("8/1/2026", "2026-08-01T00:00:00Z"),
            ("2026/8/1", "2026-08-01T00:00:00Z"),
            ("2026-08-01", "2026-08-01T00:00:00Z"),
            ("8/1/2026 3:05 PM", "2026-08-01T15:05:00Z"),
            ("2026/08/01 12:00:30 am", "2026-08-01T00:00:30Z"),
            ("08/01/2026 8:30:15.5 PM -05:00", "2026-08-02T01:30:15.5Z"),
        ] {
            let body = with(sample.body.clone(), &name, sent);
            let found = stored(&client, &resource.path(), &body).await;
            assert_eq!(found[&name], expected, "{}.{name}", resource.name);
        }
    }
}

#[tokio::test]
async fn numbers_keep_every_digit() {
    for client in on_each_store().await {
        let largest = i64::MAX;
        let location = client.create("/ed-fi/schools", &school(largest)).await;

        let found = client.get(&location).await;

        let text = String::from_utf8(found.body.to_vec()).unwrap();
        assert!(text.contains(&format!("\"schoolId\":{largest},")), "{text}");
        assert_eq!(client.ids(&format!("/ed-fi/schools?schoolId={largest}")).await.len(), 1);
        let before = largest - 1;
        assert!(client.ids(&format!("/ed-fi/schools?schoolId={before}")).await.is_empty());
    }
}

#[tokio::test]
async fn decimals_keep_every_digit_and_can_be_filtered_by_it() {
    for client in on_each_store().await {
        client.create("/ed-fi/schools", &school(1)).await;
        let path = "/ed-fi/disciplineIncidents";
        let cost = "123456789012345.6789";
        let body = format!(
            r#"{{"schoolReference": {{"schoolId": 1}}, "incidentIdentifier": "i",
                "incidentDate": "2026-09-01", "incidentCost": {cost}}}"#
        );

        let answer = client.send(http::Method::POST, path, &[], body).await;

        assert_eq!(answer.status, 201, "{answer:?}");
        let found = client.get(&answer.location()).await;
        let text = String::from_utf8(found.body.to_vec()).unwrap();
        assert!(text.contains(&format!("\"incidentCost\":{cost}")), "{text}");
        assert_eq!(client.ids(&format!("{path}?incidentCost={cost}")).await.len(), 1);
        assert!(client.ids(&format!("{path}?incidentCost=123456789012344.6789")).await.is_empty());
    }
}

#[tokio::test]
async fn text_comes_back_as_it_was_sent() {
    for client in on_each_store().await {
        for name in ["Zoë", "李小龍", "O'Brien \"Bob\" \\ / <b>&amp;", "👩‍🏫", "a\tb\nc", "e\u{301}"]
        {
            let found =
                stored(&client, "/ed-fi/students", &with(student("1"), "firstName", name)).await;

            assert_eq!(found["firstName"], name);
            let query = format!("/ed-fi/students?firstName={}", crate::app::encoded(name));
            assert_eq!(client.ids(&query).await.len(), 1, "{name}");
        }
    }
}

#[tokio::test]
async fn unknown_members_are_dropped() {
    for client in on_each_store().await {
        let mut body = with(school(1), "shoeSize", 42);
        body["gradeLevels"][0]["favourite"] = json!(true);
        body["_ext"] = json!({"sample": {"x": 1}});

        let found = stored(&client, "/ed-fi/schools", &body).await;

        assert_eq!(found.get("shoeSize"), None);
        assert_eq!(found.get("_ext"), None);
        let grades = json!([{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}]);
        assert_eq!(found["gradeLevels"], grades);
    }
}

#[tokio::test]
async fn nulls_and_empty_collections_are_as_if_absent() {
    for client in on_each_store().await {
        let plain = stored(&client, "/ed-fi/students", &student("1")).await;
        let mut body = with(student("1"), "middleName", json!(null));
        body["otherNames"] = json!([]);
        body["personReference"] = json!(null);

        let answer = client.post("/ed-fi/students", &body).await;

        assert_eq!(answer.status, 200);
        assert_eq!(answer.etag(), format!("\"{}\"", plain["_etag"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn property_names_match_in_any_case_and_are_written_as_the_standard_does() {
    for client in on_each_store().await {
        let body = json!({
            "STUDENTUNIQUEID": "1", "firstname": "Ada", "LastSurname": "Byron",
            "birthDATE": "2010-12-10",
        });

        let found = stored(&client, "/ed-fi/students", &body).await;

        for (name, value) in student("1").as_object().unwrap() {
            assert_eq!(found[name], *value, "{name}");
        }
    }
}

#[tokio::test]
async fn the_last_non_null_value_of_a_repeated_member_wins() {
    for client in on_each_store().await {
        for (sent, expected) in [
            (r#""firstName":"Ada","FIRSTNAME":"Eve""#, "Eve"),
            (r#""FirstName":"Eve","firstName":"Ada""#, "Ada"),
            (r#""firstName":"Ada","firstname":null"#, "Ada"),
            (r#""firstName":null,"FIRSTNAME":"Eve","FirstName":null"#, "Eve"),
            (r#""firstName":"Ada","firstName":"Eve""#, "Eve"),
        ] {
            let body = format!(
                r#"{{"studentUniqueId":"1","lastSurname":"B","birthDate":"2010-12-10",{sent}}}"#
            );
            let answer = client.send(http::Method::POST, "/ed-fi/students", &[], body).await;
            assert!(matches!(answer.status, 200 | 201), "{sent}: {answer:?}");
            let found = client.get(&answer.location()).await.json();
            assert_eq!(found["firstName"], expected, "{sent}");
        }
    }
}

#[tokio::test]
async fn trailing_commas_are_accepted() {
    for client in on_each_store().await {
        let name = r#"{"otherNameTypeDescriptor":"uri://x#y","firstName":"A","lastSurname":"B",}"#;
        let with = |names: &str| {
            format!(
                r#"{{"studentUniqueId":"1","firstName":"A","lastSurname":"B",
                    "birthDate":"2010-12-10","otherNames":[{names}] , }}"#
            )
        };
        let type_of = json!({
            "namespace": "uri://x", "codeValue": "y", "shortDescription": "y"
        });
        client.create("/ed-fi/otherNameTypeDescriptors", &type_of).await;

        for (names, status) in
            [(format!("{name},"), 201), (String::new(), 200), (",".into(), 400), (",,".into(), 400)]
        {
            let answer =
                client.send(http::Method::POST, "/ed-fi/students", &[], with(&names)).await;
            assert_eq!(answer.status, status, "{names}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn blanks_around_a_code_value_are_kept_but_ignored_in_comparisons() {
    for client in on_each_store().await {
        let path = "/ed-fi/gradeLevelDescriptors";
        let grade = |code: &str| json!({"namespace": "uri://blank.org", "codeValue": code, "shortDescription": "G"});
        let location = client.create(path, &grade(" Blank ")).await;

        assert_eq!(client.get(&location).await.json()["codeValue"], " Blank ");
        for code in ["Blank", "blank ", "  Blank"] {
            let answer = client.post(path, &grade(code)).await;
            assert_eq!((answer.status, answer.location()), (200, location.clone()), "{code:?}");
        }
        for uri in ["uri://blank.org#Blank", "uri://blank.org# Blank ", "URI://blank.org#BLANK "] {
            let grades = json!([{ "gradeLevelDescriptor": uri }]);
            let body = with(school(1), "gradeLevels", grades);
            let answer = client.post("/ed-fi/schools", &body).await;
            assert!(matches!(answer.status, 200 | 201), "{uri:?}: {answer:?}");
        }
        client.delete(&location).await.problem(409, "data-conflict:dependent-item-exists");
        for namespace in [" uri://blank.org", "uri://blank.org "] {
            let body = with(grade("Other"), "namespace", namespace);
            let problem = client.post(path, &body).await.problem(400, VALIDATION);
            assert_eq!(violated(&problem), ["$.namespace"], "{namespace:?}");
        }
        let problem = client.post(path, &grade(" \t")).await.problem(400, VALIDATION);
        assert_eq!(violated(&problem), ["$.codeValue"]);
    }
}

#[tokio::test]
async fn a_descriptor_filter_finds_a_code_value_with_or_without_its_namespace() {
    for client in on_each_store().await {
        let path = "/ed-fi/gradeLevelDescriptors";
        let grade = |code: &str| json!({"namespace": "uri://blank.org", "codeValue": code, "shortDescription": "G"});
        let mut ids = vec![];
        for code in [" Blank ", "Plain", "\u{a0}Wide\u{3000}"] {
            let location = client.create(path, &grade(code)).await;
            ids.push(location.rsplit('/').next().unwrap().to_owned());
        }
        let found = |at: usize| ids[at..=at].to_vec();
        for (code, expected) in [
            ("Blank", found(0)),
            (" blank", found(0)),
            (" Blank ", found(0)),
            ("Plain", found(1)),
            ("  PLAIN ", found(1)),
            ("wide", found(2)),
            ("\u{2003}Wide", found(2)),
            ("Bla nk", vec![]),
            ("Pla", vec![]),
        ] {
            let alone = format!("{path}?codeValue={}", encoded(code));
            let whole = format!("{alone}&namespace={}", encoded("uri://blank.org"));
            for query in [alone, whole] {
                assert_eq!(client.ids(&query).await, expected, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn key_texts_have_no_outer_blanks_and_required_texts_are_not_blank() {
    for client in on_each_store().await {
        for id in [" 1", "1 ", "\t1", "  ", "", "1\u{a0}"] {
            let answer = client.post("/ed-fi/students", &student(id)).await;

            let problem = answer.problem(400, VALIDATION);
            assert_eq!(violated(&problem), ["$.studentUniqueId"], "{id:?}");
        }
        for name in ["   ", "\n", "\u{2003}"] {
            let answer =
                client.post("/ed-fi/students", &with(student("1"), "firstName", name)).await;
            assert_eq!(violated(&answer.problem(400, VALIDATION)), ["$.firstName"], "{name:?}");
        }
        for person in [" 1", "1\t"] {
            let person = json!({"personId": person, "sourceSystemDescriptor": "uri://x#y"});
            let body = with(student("1"), "personReference", person);
            let problem = client.post("/ed-fi/students", &body).await.problem(400, VALIDATION);
            assert_eq!(violated(&problem), ["$.personReference.personId"]);
        }
        let person = json!({"personId": " ", "sourceSystemDescriptor": "uri://x#y"});
        let body = with(student("1"), "personReference", person);
        let problem = client.post("/ed-fi/students", &body).await.problem(400, VALIDATION);
        assert_eq!(violated(&problem), ["$.personReference"], "a blank part is missing");
        let padded = with(student("1"), "firstName", " Ada ");
        assert_eq!(stored(&client, "/ed-fi/students", &padded).await["firstName"], " Ada ");
    }
}

#[tokio::test]
async fn control_characters_are_refused() {
    for client in on_each_store().await {
        for name in ["A\u{0}da", "A\u{7}da", "A\u{1b}[31mda", "A\u{85}da"] {
            let answer =
                client.post("/ed-fi/students", &with(student("1"), "firstName", name)).await;

            assert_eq!(violated(&answer.problem(400, VALIDATION)), ["$.firstName"], "{name:?}");
        }
    }
}

#[tokio::test]
async fn all_violations_of_a_document_are_reported_at_once() {
    for client in on_each_store().await {
        let body = json!({
            "firstName": "A".repeat(76),
            "lastSurname": null,
            "birthDate": "yesterday",
            "multipleBirthStatus": "perhaps",
            "personReference": {"personId": "p"},
            "otherNames": [
                {"otherNameTypeDescriptor": "uri://x#y", "firstName": "A", "lastSurname": "B"},
                {"otherNameTypeDescriptor": "uri://X#Y", "firstName": "C", "lastSurname": "D"},
                {"firstName": true},
            ],
        });

        let problem = client.post("/ed-fi/students", &body).await.problem(400, VALIDATION);

        assert_eq!(
            violated(&problem),
            [
                "$.birthDate",
                "$.firstName",
                "$.lastSurname",
                "$.multipleBirthStatus",
                "$.otherNames",
                "$.otherNames[0].otherNameTypeDescriptor",
                "$.otherNames[1].otherNameTypeDescriptor",
                "$.otherNames[2].firstName",
                "$.otherNames[2].lastSurname",
                "$.otherNames[2].otherNameTypeDescriptor",
                "$.personReference",
                "$.studentUniqueId",
            ]
        );
        let duplicate = problem["validationErrors"]["$.otherNames"][0].as_str().unwrap();
        assert!(duplicate.contains("index 1") && duplicate.contains("index 0"), "{duplicate}");
        let part = problem["validationErrors"]["$.personReference"][0].as_str().unwrap();
        assert!(part.contains("sourceSystemDescriptor is required"), "{part}");
    }
}

#[tokio::test]
async fn items_whose_descriptors_differ_only_in_case_are_duplicates() {
    for client in on_each_store().await {
        let visa = |code: &str| json!({"visaDescriptor": format!("uri://x.org/Visa#{code}")});
        for (first, second) in [("F-1", "f-1"), ("Été", "ÉTÉ")] {
            let body = with(student("1"), "visas", vec![visa(first), visa(second)]);

            let problem = client.post("/ed-fi/students", &body).await.problem(400, VALIDATION);

            assert!(violated(&problem).contains(&"$.visas"), "{first} {second}: {problem}");
        }
    }
}

#[tokio::test]
async fn a_document_of_many_bad_items_gets_an_answer_of_bounded_length() {
    for client in on_each_store().await {
        let items: Vec<Value> = (0..100_000).map(|at| json!({"firstName": at})).collect();
        let body = with(student("1"), "otherNames", items);

        let answer = client.post("/ed-fi/students", &body).await;

        let problem = answer.problem(400, VALIDATION);
        let count = violated(&problem).len();
        assert!((100..=200).contains(&count), "{count} violations");
    }
}
