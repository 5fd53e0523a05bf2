//! Vendors, profiles, the instance: created, read, listed, changed, deleted, and refused.

use crate::support::{
    Client, DATA, application, assert_invalid, client_of, id_of, manager, vendor, violations,
};
use homeroom_testkit::TestApp;
use http::Method;
use serde_json::{Value, json};

const PROFILE: &str = "<Profile name=\"Small\"><Resource name=\"School\">\
    <ReadContentType memberSelection=\"IncludeOnly\"><Property name=\"webSite\"/>\
    </ReadContentType></Resource></Profile>";

fn profile(name: &str) -> Value {
    json!({"name": name, "definition": PROFILE.replace("Small", name)})
}

/// A resource: its path, a valid item, how the item is shown, and another one to replace it with.
struct Case {
    path: &'static str,
    first: Value,
    shown: Value,
    other: Value,
}

fn cases() -> Vec<Case> {
    let with = |mut value: Value, name: &str, new: Value| {
        value[name] = new;
        value
    };
    let context = json!({"odsInstanceId": 1, "contextKey": "schoolYear", "contextValue": "2026"});
    let derivative =
        json!({"odsInstanceId": 1, "derivativeType": "ReadReplica", "connectionString": "secret"});
    vec![
        Case {
            path: "/vendors",
            first: vendor(),
            shown: vendor(),
            other: with(vendor(), "company", json!("Acme & Sons")),
        },
        Case {
            path: "/profiles",
            first: profile("Small"),
            shown: profile("Small"),
            other: profile("Smaller"),
        },
        Case {
            path: "/odsInstanceContexts",
            first: context.clone(),
            shown: context.clone(),
            other: with(context, "contextValue", json!("2027")),
        },
        Case {
            path: "/odsInstanceDerivatives",
            first: derivative.clone(),
            shown: json!({"odsInstanceId": 1, "derivativeType": "ReadReplica"}),
            other: with(derivative, "derivativeType", json!("Snapshot")),
        },
    ]
}

#[tokio::test]
async fn each_resource_can_be_created_read_updated_and_deleted() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        for Case { path, first, shown, other } in cases() {
            let made = admin.post(path, &first).await;
            let id = id_of(&made);
            let one = format!("{path}/{id}");
            if path.starts_with("/odsInstance") {
                let title = made.json()["title"].as_str().unwrap().to_owned();
                assert!(title.contains("no effect"), "{app} {path}: {title}");
            }
            let location = made.headers["location"].to_str().unwrap();
            assert_eq!(location, format!("{path}/{id}"));
            let mut expected = shown.clone();
            expected["id"] = id.into();
            assert_eq!(admin.read(&one).await, expected, "{app} {path}");

            assert_eq!(admin.put(&one, &other).await.status, 200, "{app} {path}");

            assert_ne!(admin.read(&one).await, expected, "{app} {path}");
            let gone = admin.delete(&one).await;
            assert_eq!(gone.status, 200, "{app} {path}: {gone:?}");
            for (method, body) in
                [(Method::GET, ""), (Method::PUT, &*first.to_string()), (Method::DELETE, "")]
            {
                let answer = admin.send(method.clone(), &one, body).await;
                assert_eq!(answer.status, 404, "{app} {method} {one}");
                let detail = answer.json()["detail"].as_str().unwrap().to_owned();
                assert!(detail.starts_with("Not found"), "{detail}");
            }
            let next = admin.create(path, &first).await;
            assert!(next > id, "{app} {path}: an id is not used twice");
        }
    }
}

#[tokio::test]
async fn every_violation_of_a_body_is_reported_at_once_with_its_member() {
    let long = "x".repeat(256);
    let many: Vec<i64> = (1..=10_001).collect();
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let own = admin.create("/vendors", &vendor()).await;
        admin.create("/profiles", &profile("Taken")).await;
        admin.create("/odsInstanceContexts", &cases()[2].first).await;
        let cases: Vec<(&str, Value, Vec<&str>)> = vec![
            ("/vendors", json!({}), vec!["Company", "ContactName", "ContactEmailAddress"]),
            (
                "/vendors",
                json!({"company": long, "contactName": 5, "contactEmailAddress": "nobody",
                    "namespacePrefixes": format!("{long},b"), "id": 1}),
                vec!["Company", "ContactName", "ContactEmailAddress", "NamespacePrefixes", "Id"],
            ),
            (
                "/vendors",
                json!({"company": "a\u{0}b", "contactName": " ", "contactEmailAddress": "a@b@c",
                    "namespacePrefixes": ["a"]}),
                vec!["Company", "ContactName", "ContactEmailAddress", "NamespacePrefixes"],
            ),
            (
                "/applications",
                json!({}),
                vec!["ApplicationName", "VendorId", "ClaimSetName", "EducationOrganizationIds"],
            ),
            (
                "/applications",
                json!({"applicationName": long, "vendorId": 9, "claimSetName": "None",
                    "educationOrganizationIds": [], "odsInstanceIds": [], "profileIds": [7],
                    "enabled": "yes"}),
                vec![
                    "ApplicationName",
                    "VendorId",
                    "ClaimSetName",
                    "EducationOrganizationIds",
                    "OdsInstanceIds",
                    "ProfileIds",
                    "Enabled",
                ],
            ),
            (
                "/applications",
                json!({"applicationName": "a", "vendorId": own, "claimSetName": "FullAccess",
                    "educationOrganizationIds": many, "odsInstanceIds": [2]}),
                vec!["EducationOrganizationIds", "OdsInstanceIds"],
            ),
            ("/profiles", json!({}), vec!["Name", "Definition"]),
            ("/profiles", profile("taken"), vec!["Name"]),
            ("/profiles", json!({"name": "a", "definition": "<Profile"}), vec!["Definition"]),
            ("/profiles", json!({"name": "a", "definition": PROFILE}), vec!["Definition"]),
            ("/odsInstances", json!({}), vec!["Name"]),
            (
                "/odsInstances",
                json!({"name": "Second", "instanceType": "x", "connectionString": "y"}),
                vec!["Name"],
            ),
            (
                "/odsInstanceContexts",
                json!({"odsInstanceId": 2, "contextKey": "SchoolYear"}),
                vec!["OdsInstanceId", "ContextKey", "ContextValue"],
            ),
            (
                "/odsInstanceDerivatives",
                json!({"odsInstanceId": "1", "derivativeType": "Copy"}),
                vec!["OdsInstanceId", "DerivativeType", "ConnectionString"],
            ),
            ("/apiclients", json!({}), vec!["Name", "ApplicationId"]),
            (
                "/apiclients",
                json!({"name": long, "applicationId": 99, "isApproved": 1, "odsInstanceIds": [5]}),
                vec!["Name", "ApplicationId", "IsApproved", "OdsInstanceIds"],
            ),
            ("/claimSets", json!({}), vec!["Name"]),
            ("/claimSets", json!({"name": "sis vendor"}), vec!["Name"]),
            ("/claimSets", json!({"name": "- -"}), vec!["Name"]),
            ("/claimSets/copy", json!({"name": long, "originalId": 1}), vec!["Name", "OriginalId"]),
            ("/claimSets/import", json!({}), vec!["Name", "ResourceClaims"]),
        ];
        for (path, body, members) in cases {
            let answer = admin.post(path, &body).await;

            assert_eq!(answer.status, 400, "{app} {path} {members:?}: {answer:?}");
            assert_invalid(&answer, &members);
        }
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_refused_before_anything_else() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let headers = |media: &'static str| {
            vec![("authorization", admin.authorization.as_str()), ("content-type", media)]
        };
        for (media, body, status) in [
            ("application/json", String::new(), 400),
            ("application/json", "{".into(), 400),
            ("application/json", "[]".into(), 400),
            ("application/json", "null".into(), 400),
            ("application/json", "[".repeat(100_000), 400),
            ("application/json", "{\"a\":".repeat(100_000), 400),
            ("text/plain", "{}".into(), 415),
            ("application/json", format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20)), 413),
        ] {
            for path in ["/adminapi/v2/vendors", "/adminapi/v2/claimSets/copy"] {
                let answer = app.send(Method::POST, path, &headers(media), body.clone()).await;
                assert_eq!(answer.status, status, "{app} {path} {body:.20}");
            }
        }
    }
}

#[tokio::test]
async fn a_path_with_an_invalid_id_is_not_found() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        for id in ["0", "-1", "x", "99999999999999999999", "1.5", "%F0%9F%98%80"] {
            for path in [
                "vendors",
                "applications",
                "profiles",
                "odsInstances",
                "apiclients",
                "claimSets",
                "resourceClaims",
            ] {
                let answer = admin.get(&format!("/{path}/{id}")).await;
                assert_eq!(answer.status, 404, "{app} {path}/{id}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_list_is_filtered_sorted_and_cut() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        for (company, prefixes) in [("Beta", "uri://a"), ("alpha", "uri://a,uri://b"), ("Ceta", "")]
        {
            let mut body = vendor();
            body["company"] = company.into();
            body["namespacePrefixes"] = prefixes.into();
            admin.create("/vendors", &body).await;
        }
        for (query, expected) in [
            ("", vec!["Beta", "alpha", "Ceta"]),
            ("?limit=1&offset=1", vec!["alpha"]),
            ("?company=ALPHA", vec!["alpha"]),
            ("?id=3", vec!["Ceta"]),
            ("?namespacePrefixes=uri://a", vec!["Beta", "alpha"]),
            ("?namespacePrefixes=uri://b,uri://a", vec!["alpha"]),
            ("?orderBy=company", vec!["alpha", "Beta", "Ceta"]),
            ("?orderBy=company&direction=Descending&limit=2", vec!["Ceta", "Beta"]),
            ("?contactName=nobody", vec![]),
        ] {
            let listed = admin.read(&format!("/vendors{query}")).await;
            let companies = listed.as_array().unwrap().iter().map(|one| &one["company"]);
            assert_eq!(companies.collect::<Vec<_>>(), expected, "{app} {query}");
        }
        for query in
            ["?limit=-1", "?limit=10001", "?offset=x", "?orderBy=secret", "?direction=up", "?id=x"]
        {
            let answer = admin.get(&format!("/vendors{query}")).await;
            assert_eq!(answer.status, 400, "{app} {query}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_vendor_is_deleted_with_its_applications_and_their_keys_end_at_once() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("FullAccess").await;
        let caller = client_of(&app, &key, &secret).await;
        let owner = admin.read(&format!("/applications/{id}")).await["vendorId"].clone();
        let other = admin.create("/vendors", &vendor()).await;
        let kept = admin.create("/applications", &application(other, "FullAccess")).await;
        assert_eq!(caller.get(DATA).await.status, 200, "{app}");

        let gone = admin.delete(&format!("/vendors/{owner}")).await;

        assert_eq!(gone.status, 200, "{app}: {gone:?}");
        assert_eq!(caller.get(DATA).await.status, 401, "{app}");
        assert_eq!(admin.get(&format!("/vendors/{owner}")).await.status, 404, "{app}");
        assert_eq!(admin.get(&format!("/applications/{id}")).await.status, 404, "{app}");
        let keys = admin.read(&format!("/apiclients?applicationid={id}")).await;
        assert_eq!(keys, json!([]), "{app}");
        assert_eq!(admin.get(&format!("/applications/{kept}")).await.status, 200, "{app}");
    }
}

#[tokio::test]
async fn unknown_vendors_and_profiles_are_told_in_the_words_that_clients_look_for() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let mut asked = application(9_999, "FullAccess");
        asked["profileIds"] = json!([9_999]);

        let refused = admin.post("/applications", &asked).await;

        assert_invalid(&refused, &["VendorId", "ProfileIds"]);
        for member in ["VendorId", "ProfileIds"] {
            let message = refused.json()["errors"][member][0].as_str().unwrap().to_owned();
            assert!(message.contains("not found"), "{app}: {message}");
        }
    }
}

#[tokio::test]
async fn the_first_version_of_the_admin_api_is_refused_in_its_own_words() {
    for app in TestApp::empty_on_each_store().await {
        for (method, path) in [
            (Method::GET, "/adminapi/v1/vendors"),
            (Method::POST, "/adminapi/v1/vendors"),
            (Method::GET, "/adminapi/v1/odsInstances/1"),
        ] {
            let answer = app.send(method, path, &[], "").await;

            assert_eq!(answer.status, 400, "{app} {path}");
            let message = json!({"message": "wrong api version for this instance mode."});
            assert_eq!(answer.json(), message, "{app} {path}");
        }
    }
}

#[tokio::test]
async fn there_is_exactly_one_instance_and_no_second_can_be_created() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let listed = admin.read("/odsInstances").await;
        assert_eq!(listed, json!([{"id": 1, "name": "Homeroom", "instanceType": "OdsInstance"}]));

        let second = admin.post("/odsInstances", &json!({"name": "Second"})).await;
        let renamed = json!({"name": "District", "instanceType": "Production",
            "connectionString": "host=somewhere;password=secret"});
        assert_eq!(admin.put("/odsInstances/1", &renamed).await.status, 200);
        admin.create("/odsInstanceContexts", &cases()[2].first).await;

        assert_invalid(&second, &["Name"]);
        let message = &violations(&second)[0].1;
        assert!(message.contains("id 1"), "{message}");
        assert_invalid(&admin.delete("/odsInstances/1").await, &["Id"]);
        let shown = admin.read("/odsInstances/1").await;
        assert_eq!(shown["name"], "District");
        assert_eq!(shown["odsInstanceContexts"][0]["contextKey"], "schoolYear");
        assert_eq!(shown["odsInstanceDerivatives"], json!([]));
        assert!(!shown.to_string().contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_list_of_profiles_leaves_their_definitions_out() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let id = admin.create("/profiles", &profile("Small")).await;
        let json = json!({"name": "Json", "definition": "{\"name\": \"Json\", \"resources\": []}"});
        let other = admin.create("/profiles", &json).await;

        let listed = admin.read("/profiles").await;

        assert_eq!(listed, json!([{"id": id, "name": "Small"}, {"id": other, "name": "Json"}]));
    }
}

#[tokio::test]
async fn the_one_tenant_is_called_default() {
    for app in TestApp::empty_on_each_store().await {
        let admin: Client = manager(&app).await;

        assert_eq!(admin.read("/tenants").await, json!([{"tenantName": "default"}]));
        assert_eq!(admin.read("/tenants/Default").await["tenantName"], "default");
        assert_eq!(admin.get("/tenants/other").await.status, 404);
    }
}
