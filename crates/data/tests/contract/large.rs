//! Documents so large that a page of them does not fit into one answer.

use std::collections::HashSet;

use homeroom_store::{Answer, Decision, NaturalKey, NewDocument, Plan, References, Uuid, Write};

use crate::app::Client;
use crate::app::documents::on_each_store;

/// Size of a large document in bytes; a page has room for only a few.
const LARGE: usize = 10 << 20;
/// Number of large documents.
const COUNT: usize = 9;
/// Number of large documents that fit on a page.
const FIT: usize = 6;

/// Writes students to the store that are as large as if their properties were that long.
async fn fill(client: &Client) {
    let data = &client.app.data;
    let kind = data.catalog.kind(data.catalog.model.by_endpoint("ed-fi", "students").unwrap().id);
    for number in 0..COUNT {
        let name = "x".repeat(LARGE);
        let mut new = Some(NewDocument {
            uuid: Uuid::new(),
            kind,
            key: NaturalKey::of("large", [number.to_string().as_bytes()]),
            alias: None,
            body: format!("{{\"studentUniqueId\":\"{number}\",\"firstName\":\"{name}\"}}"),
            references: References::default(),
            ties: vec![],
            modified: 7,
        });
        let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Create(new.take().expect("a plan is decided once"))], ())
        };
        data.store.run(Plan { ask: vec![], decide }).await.unwrap();
    }
}

/// A page: its students, and how to continue by token and by link.
struct Page {
    students: Vec<String>,
    token: Option<String>,
    link: Option<String>,
    total: Option<String>,
}

async fn page(client: &Client, query: &str) -> Page {
    let answer = client.get(&format!("/ed-fi/students?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {} bytes", answer.body.len());
    let header = |name| answer.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let text = std::str::from_utf8(&answer.body).unwrap();
    let students = text.split("\"studentUniqueId\":\"").skip(1);
    Page {
        students: students.map(|rest| rest.split('"').next().unwrap().to_owned()).collect(),
        token: header("next-page-token"),
        link: header("link"),
        total: header("total-count"),
    }
}

#[tokio::test]
async fn a_page_over_the_byte_limit_is_shorter_and_links_to_the_next() {
    for client in on_each_store().await {
        fill(&client).await;
        let all: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();

        for query in ["", "limit=500", "offset=0&limit=500", "minChangeVersion=0"] {
            let first = page(&client, &format!("{query}&totalCount=true")).await;
            let link = first.link.unwrap_or_else(|| panic!("{query}: no link"));
            let link = link.strip_prefix('<').and_then(|l| l.strip_suffix(">; rel=\"next\""));
            let (_, linked) = link.unwrap().split_once('?').unwrap();
            let by_link = page(&client, linked).await;
            let token = first.token.unwrap();
            let by_token = page(&client, &format!("pageToken={token}&pageSize=500")).await;

            assert_eq!(first.students, all[..FIT], "{query}");
            assert_eq!(first.total.as_deref(), Some("9"), "{query}");
            assert_eq!(by_link.students, all[FIT..], "{query}: {linked}");
            assert_eq!(by_token.students, all[FIT..], "{query}");
            assert!(by_link.link.is_none() && by_link.total.is_none(), "{query}");
            let is_kept = query.starts_with("min") == linked.contains("minChangeVersion=0");
            assert!(is_kept, "{query}: {linked}");
        }
        let rest = page(&client, &format!("offset={FIT}&limit=500")).await;
        assert_eq!(rest.students, all[FIT..]);
        let few = page(&client, "limit=2").await;
        assert_eq!((few.students.len(), few.link), (2, None), "it is as long as was asked for");
    }
}

#[tokio::test]
async fn partitions_contain_each_large_document_once() {
    for client in on_each_store().await {
        fill(&client).await;
        let parts = client.get("/ed-fi/students/partitions?number=3").await.json();

        let mut seen = vec![];
        for token in parts["pageTokens"].as_array().unwrap() {
            let mut token = token.as_str().map(str::to_owned);
            while let Some(at) = token {
                let page = page(&client, &format!("pageToken={at}&pageSize=500")).await;
                token = page.token;
                seen.extend(page.students);
            }
        }

        let distinct: HashSet<&String> = seen.iter().collect();
        assert_eq!((seen.len(), distinct.len()), (COUNT, COUNT), "{seen:?}");
    }
}
