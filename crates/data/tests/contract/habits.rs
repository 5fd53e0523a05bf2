//! General behaviour of the API that clients rely on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::Method;

use crate::app::documents::{descriptor, on_each_store, school, student, uri};
use crate::app::{FULL_ACCESS, TestApp, encoded};

#[tokio::test]
async fn endpoint_names_match_in_any_case() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let id = location.rsplit('/').next().unwrap();

        for path in ["/ed-fi/STUDENTS", "/ed-fi/Students", "/data/v3/Ed-Fi/students"] {
            assert_eq!(client.ids(path).await, [id], "{path}");
            let one = format!("{path}/{id}");
            assert_eq!(client.get(&one).await.status, 200, "{one}");
        }
        let answer = client.post("/ed-fi/StudentS", &student("1")).await;
        assert_eq!((answer.status, answer.location()), (200, location));
    }
}

#[tokio::test]
async fn query_parameter_names_match_in_any_case_and_unknown_ones_are_ignored() {
    for client in on_each_store().await {
        for id in ["1", "2", "3"] {
            client.create("/ed-fi/students", &student(id)).await;
        }

        let found = client.get("/ed-fi/students?STUDENTuniqueid=2&TOTALCOUNT=True").await;
        let limited = client.ids("/ed-fi/students?Limit=2&OFFSET=2").await;
        let unknown = client.ids("/ed-fi/students?shoeSize=42&_=1663").await;

        assert_eq!((found.ids().len(), found.header("total-count")), (1, "1"));
        assert_eq!(limited.len(), 1);
        assert_eq!(unknown.len(), 3);
    }
}

#[tokio::test]
async fn descriptor_uris_match_in_any_case() {
    for client in on_each_store().await {
        let mut body = school(1);
        let shouted = uri("GradeLevelDescriptor", "Ninth grade").to_uppercase();
        body["gradeLevels"][0]["gradeLevelDescriptor"] = shouted.clone().into();
        client.create("/ed-fi/schools", &body).await;
        client.create("/ed-fi/students", &student("1")).await;
        let enrolment = crate::app::documents::enrolment("1", 1, "2026-08-20");
        client.create("/ed-fi/studentSchoolAssociations", &enrolment).await;

        for asked in [shouted, uri("GradeLevelDescriptor", "ninth GRADE")] {
            let query = format!(
                "/ed-fi/studentSchoolAssociations?entryGradeLevelDescriptor={}",
                encoded(&asked)
            );
            assert_eq!(client.ids(&query).await.len(), 1, "{asked}");
        }
        let again = descriptor("GradeLevelDescriptor", "NINTH grade");
        let answer = client.post("/ed-fi/gradeLevelDescriptors", &again).await;
        assert_eq!(answer.status, 200, "the same descriptor in another case");
        let of_both = "/ed-fi/gradeLevelDescriptors?codeValue=NINTH%20GRADE&namespace=URI%3A%2F%2Fed-fi.org%2Fgradeleveldescriptor";
        assert_eq!(client.ids(of_both).await.len(), 1);
    }
}

#[tokio::test]
async fn an_answer_carries_the_correlation_id_of_its_request() {
    for client in on_each_store().await {
        let path = "/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";

        let headers = [("correlationid", "load-17/4")];
        let named = client.send(Method::GET, path, &headers, "").await;
        let found = client.send(Method::GET, "/ed-fi/students", &headers, "").await;
        let unnamed = client.get(path).await;

        assert_eq!(named.problem(404, "not-found")["correlationId"], "load-17/4");
        assert_eq!(named.header("correlationid"), "load-17/4");
        assert_eq!(found.header("correlationid"), "load-17/4");
        let own = unnamed.problem(404, "not-found")["correlationId"].clone();
        assert_eq!(own, unnamed.header("correlationid"));
        assert_ne!(own, client.get(path).await.header("correlationid"));
    }
}

#[tokio::test]
async fn a_correlation_id_comes_back_from_wherever_the_caller_puts_it() {
    for client in on_each_store().await {
        let missing = "/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";
        for (headers, query, expected) in [
            (&[("correlation-id", "a-1")][..], "", "a-1"),
            (&[("Correlation-Id", "a-2")], "", "a-2"),
            (&[], "?correlationId=a-3", "a-3"),
            (&[], "?CORRELATIONID=a-4&limit=1", "a-4"),
            (&[], "?limit=1&correlationid=a%2D5", "a-5"),
            (&[("correlation-id", "b")], "?correlationId=c", "b"),
            (&[("correlationid", "a"), ("correlation-id", "b")], "?correlationId=c", "a"),
        ] {
            let path = format!("{missing}{query}");
            let answer = client.send(Method::GET, &path, headers, "").await;
            let stranger = client.app.send(Method::GET, &path, headers, "").await;
            let nowhere =
                client.app.send(Method::GET, &format!("/nowhere{query}"), headers, "").await;

            for answer in [answer, stranger, nowhere] {
                assert_eq!(answer.json()["correlationId"], expected, "{path} {headers:?}");
                assert_eq!(answer.header("correlationid"), expected);
            }
        }
        // An id that could forge log lines is not repeated from a query either.
        let odd = client.get(&format!("{missing}?correlationId=a%0Ab")).await;
        assert_eq!(odd.header("correlationid").len(), 32);
    }
}

#[tokio::test]
async fn a_correlation_id_that_could_mislead_a_log_is_not_repeated() {
    for client in on_each_store().await {
        for odd in ["x".repeat(129), "a b".into(), "a\tb".into(), "é".into()] {
            let headers = [("correlationid", odd.as_str())];
            let answer = client.send(Method::GET, "/ed-fi/students", &headers, "").await;

            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("correlationid").len(), 32, "{odd}");
        }
    }
}

#[tokio::test]
async fn every_answer_forbids_content_sniffing_and_referrers() {
    for client in on_each_store().await {
        let created = client.post("/ed-fi/students", &student("1")).await;
        let location = created.location();
        let problem = client.get("/ed-fi/pupils").await;
        let list = client.get("/ed-fi/students").await;
        let one = client.get(&location).await;
        let stranger = client.app.send(Method::GET, "/data/v3/ed-fi/students", &[], "").await;
        let deleted = client.delete(&location).await;

        for answer in [&created, &problem, &list, &one, &stranger, &deleted] {
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
            assert_eq!(answer.header("referrer-policy"), "no-referrer", "{answer:?}");
        }
        for answer in [&list, &one] {
            assert!(answer.header("content-type").starts_with("application/json"));
        }
        assert!(created.headers.get("content-type").is_none());
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let got = client.get(&location).await;

        let answer = client.send(Method::HEAD, &location, &[], "").await;

        assert_eq!((answer.status, answer.body.len()), (200, 0));
        assert_eq!(answer.etag(), got.etag());
        assert_eq!(answer.header("content-length"), got.body.len().to_string());
    }
}

#[tokio::test]
async fn a_location_uses_the_address_by_which_the_caller_reached_the_server() {
    for client in on_each_store().await {
        let answer = client.post("/ed-fi/students", &student("1")).await;

        let location = answer.header("location");
        assert!(location.starts_with("http://homeroom.test/data/v3/ed-fi/students/"), "{location}");
        assert_eq!(client.get(location).await.status, 200);
    }
}

#[tokio::test]
async fn the_token_endpoint_works_with_and_without_a_trailing_slash() {
    for app in TestApp::on_each_store().await {
        let (key, secret) = app.key(FULL_ACCESS, &[]).await;
        let basic = format!("Basic {}", BASE64.encode(format!("{key}:{secret}")));
        let form = "application/x-www-form-urlencoded";
        let headers = [("content-type", form), ("authorization", basic.as_str())];

        for path in ["/oauth/token", "/oauth/token/"] {
            let answer =
                app.send(Method::POST, path, &headers, "grant_type=client_credentials").await;

            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            let body = answer.json();
            assert_eq!(
                (&body["token_type"], &body["expires_in"]),
                (&"bearer".into(), &1800.into())
            );
            let token = format!("Bearer {}", body["access_token"].as_str().unwrap());
            let headers = [("authorization", token.as_str())];
            let answer = app.send(Method::GET, "/data/v3/ed-fi/students", &headers, "").await;
            assert_eq!(answer.status, 200);
        }
    }
}

#[tokio::test]
async fn a_new_store_holds_the_school_years_of_the_standard() {
    for client in on_each_store().await {
        let years = client.get("/ed-fi/schoolYearTypes").await.json();

        let years: Vec<i64> = years
            .as_array()
            .unwrap()
            .iter()
            .map(|year| year["schoolYear"].as_i64().unwrap())
            .collect();
        let expected: Vec<i64> =
            client.app.model().school_years.iter().map(|year| i64::from(*year)).collect();
        assert_eq!(years, expected);
        assert_eq!(client.ids("/ed-fi/schoolYearTypes?schoolYear=2027").await.len(), 1);
    }
}

#[tokio::test]
async fn strict_handling_refuses_what_is_ignored_or_guessed_otherwise() {
    const STRICT: [(&str, &str); 1] = [("prefer", "handling=strict")];
    for client in on_each_store().await {
        let mut document = student("1");
        document["birthDate"] = "3/4/2015".into();
        document["lastSurnam"] = "B".into();
        let send = async |headers: &[(&str, &str)], document: &serde_json::Value| {
            client.send(Method::POST, "/ed-fi/students", headers, document.to_string()).await
        };

        let refused = send(&STRICT, &document).await;
        let accepted = send(&[], &document).await;
        let filtered = client.send(Method::GET, "/ed-fi/students?shoeSize=4", &STRICT, "").await;
        let mut right = client.get(&accepted.location()).await.json();
        right.as_object_mut().unwrap().remove("id");
        let sent_back = send(&STRICT, &right).await;
        let query = "/ed-fi/students?studentUniqueId=1&limit=5&totalCount=true";
        let listed = client.send(Method::GET, query, &STRICT, "").await;

        let problem = refused.problem(400, "bad-request:data-validation-failed");
        assert_eq!(crate::app::answer::violated(&problem), ["$.birthDate", "$.lastSurnam"]);
        assert_eq!(accepted.status, 201);
        let problem = filtered.problem(400, "bad-request:parameter-validation-failed");
        assert!(problem["errors"][0].as_str().unwrap().contains("shoeSize"), "{problem}");
        assert_eq!((sent_back.status, listed.status), (200, 200), "{sent_back:?}");
        assert_eq!(sent_back.header("preference-applied"), "handling=strict");
        assert_eq!(listed.header("preference-applied"), "handling=strict");
    }
}

#[tokio::test]
async fn strict_handling_is_strict_at_every_address() {
    const STRICT: [(&str, &str); 1] = [("prefer", "handling=strict")];
    for client in on_each_store().await {
        let one = client.create("/ed-fi/students", &student("1")).await;
        let document = student("2").to_string();
        let send = async |method: &Method, path: &str| {
            let body = if *method == Method::POST { &*document } else { "" };
            client.send(method.clone(), path, &STRICT, body.to_owned()).await
        };
        let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
        for (method, path, status) in [
            (&get, "/ed-fi/students?birthDate=2014-03-04", 200),
            (&get, "/ed-fi/students?birthDate=12/31/2014", 200),
            (&get, "/ed-fi/students/deletes?limit=5&totalCount=true&minChangeVersion=0", 200),
            (&get, "/ed-fi/students/keyChanges?offset=1", 200),
            (&get, &*one, 200),
            (&post, "/ed-fi/students?correlationId=x", 201),
        ] {
            let answer = send(method, path).await;

            assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
            assert_eq!(answer.header("preference-applied"), "handling=strict", "{path}");
        }
        for (method, path, word) in [
            (&get, "/ed-fi/students?birthDate=3/4/2014", "birthDate"),
            (&get, "/ed-fi/students/partitions?BirthDate=3%2F4%2F2014", "BirthDate"),
            (&get, "/ed-fi/students/partitions?shoeSize=4", "shoeSize"),
            (&get, "/ed-fi/students/deletes?studentUniqueId=1", "studentUniqueId"),
            (&get, "/ed-fi/students/keyChanges?id=1", "id is not"),
            (&get, &*format!("{one}?fields=id"), "fields"),
            (&post, "/ed-fi/students?foo=1", "foo"),
            (&delete, &*format!("{one}?force=true"), "force"),
        ] {
            let answer = send(method, path).await;

            let problem = answer.problem(400, "bad-request:parameter-validation-failed");
            assert!(problem["errors"][0].as_str().unwrap().contains(word), "{path}: {problem}");
        }
        let replaced = format!("{one}?foo=1");
        let put = client.send(Method::PUT, &replaced, &STRICT, student("1").to_string()).await;
        put.problem(400, "bad-request:parameter-validation-failed");
        assert_eq!(client.get(&one).await.status, 200);
        assert_eq!(client.get("/ed-fi/students?birthDate=3/4/2014&shoeSize=4").await.status, 200);
    }
}
