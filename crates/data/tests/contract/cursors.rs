//! Paging by token, and partitions.

use std::collections::HashSet;

use serde_json::json;

use crate::app::Client;
use crate::app::documents::{on_each_store, student};

const PARAMETER: &str = "bad-request:parameter-validation-failed";

/// Writes students with ids in a range to the store directly.
async fn students(client: &Client, from: usize, upto: usize) {
    let lines: Vec<String> = (from..upto)
        .map(|id| {
            json!({"resource": "ed-fi/students", "document": student(&id.to_string())}).to_string()
        })
        .collect();
    client.app.seed(&lines.join("\n")).await;
}

/// Follows the tokens from the first page, or from a token, to the last page.
async fn walk(client: &Client, token: Option<&str>, size: usize) -> Vec<Vec<String>> {
    let mut pages = vec![];
    let mut token = token.map(str::to_owned);
    loop {
        let page = match token {
            Some(token) => format!("pageSize={size}&pageToken={token}"),
            None => format!("limit={size}"),
        };
        let answer = client.get(&format!("/ed-fi/students?{page}")).await;
        let ids = answer.ids();
        token = answer.headers.get("next-page-token").map(|t| t.to_str().unwrap().to_owned());
        assert_eq!(token.is_some(), !ids.is_empty(), "a token comes with documents");
        if ids.is_empty() {
            return pages;
        }
        assert!(ids.len() <= size);
        pages.push(ids);
    }
}

#[tokio::test]
async fn paging_by_tokens_returns_each_document_once_in_order_of_creation() {
    for client in on_each_store().await {
        students(&client, 0, 37).await;
        let all = client.ids("/ed-fi/students").await;

        for size in [1, 5, 36, 37, 38, 500] {
            let pages = walk(&client, None, size).await;
            assert_eq!(pages.concat(), all, "{size}");
            assert!(pages[..pages.len() - 1].iter().all(|page| page.len() == size), "{size}");
        }
    }
}

#[tokio::test]
async fn paging_by_tokens_is_stable_under_concurrent_changes() {
    for client in on_each_store().await {
        students(&client, 0, 20).await;
        let all = client.ids("/ed-fi/students").await;
        let first = client.get("/ed-fi/students?limit=10").await;

        // Deletes a document already seen, the last one seen, and one not yet seen, and adds a new
        // one.
        for at in [2, 9, 15] {
            let answer = client.delete(&format!("/ed-fi/students/{}", all[at])).await;
            assert_eq!(answer.status, 204);
        }
        students(&client, 20, 21).await;
        let rest = walk(&client, Some(first.header("next-page-token")), 4).await.concat();

        let newest = client.ids("/ed-fi/students?studentUniqueId=20").await;
        let mut expected: Vec<String> = all[10..].to_vec();
        expected.remove(5);
        expected.extend(newest);
        assert_eq!(rest, expected);
    }
}

#[tokio::test]
async fn paging_by_tokens_keeps_filters_that_are_sent_again() {
    for client in on_each_store().await {
        students(&client, 0, 30).await;
        let filter = "lastSurname=Byron&birthDate=2010-12-10";

        let first = client.get(&format!("/ed-fi/students?limit=20&{filter}")).await;
        let token = first.header("next-page-token").to_owned();
        let second =
            client.ids(&format!("/ed-fi/students?pageToken={token}&pageSize=20&{filter}")).await;
        let other =
            client.ids(&format!("/ed-fi/students?pageToken={token}&lastSurname=Lovelace")).await;

        assert_eq!((first.ids().len(), second.len(), other.len()), (20, 10, 0));
    }
}

#[tokio::test]
async fn a_total_is_available_on_every_page() {
    for client in on_each_store().await {
        students(&client, 0, 30).await;
        let first = client.get("/ed-fi/students?limit=20&totalCount=true").await;
        let token = first.header("next-page-token");

        let second = client.get("/ed-fi/students?limit=20&offset=20&totalCount=true").await;
        let by_token = format!("/ed-fi/students?pageToken={token}&pageSize=20&totalCount=true");

        assert_eq!((first.header("total-count"), second.header("total-count")), ("30", "30"));
        let third = client.get(&by_token).await;
        assert_eq!((third.ids().len(), third.header("total-count")), (10, "30"));
    }
}

#[tokio::test]
async fn a_page_token_cannot_be_combined_with_offset_paging() {
    for client in on_each_store().await {
        students(&client, 0, 3).await;
        let first = client.get("/ed-fi/students?limit=1").await;
        let token = first.header("next-page-token");

        for more in ["limit=1", "offset=0", "limit=1&offset=1"] {
            let path = format!("/ed-fi/students?pageToken={token}&{more}");
            client.get(&path).await.problem(400, PARAMETER);
        }
        let without = client.ids(&format!("/ed-fi/students?pageToken={token}")).await;
        assert_eq!(without.len(), 2);
        let none = client.ids(&format!("/ed-fi/students?pageToken={token}&pageSize=0")).await;
        assert!(none.is_empty());
        let none = client.ids(&format!("/ed-fi/students?pageToken={token}&limit=0")).await;
        assert!(none.is_empty());
        client.get("/ed-fi/students?pageSize=1").await.problem(400, PARAMETER);
    }
}

#[tokio::test]
async fn an_invalid_page_token_is_refused() {
    for client in on_each_store().await {
        for token in ["", "x", "AQ", "!!!!", "AQAAAAAAAAAAAA", "AgAAAAAAAAAA", "Af__________"] {
            let path = format!("/ed-fi/students?pageToken={token}");
            client.get(&path).await.problem(400, PARAMETER);
        }
    }
}

#[tokio::test]
async fn partitions_cover_every_document_exactly_once() {
    for client in on_each_store().await {
        // A partition but the last has at least five pages of 500 documents.
        for (from, upto, number, expected) in [
            (0, 0, 5, vec![]),
            (0, 10, 5, vec![10]),
            (10, 4_999, 5, vec![2_500, 2_499]),
            (4_999, 5_001, 5, vec![2_500, 2_500, 1]),
            (5_001, 7_700, 200, vec![2_500, 2_500, 2_500, 200]),
            (7_700, 7_701, 2, vec![3_851, 3_850]),
        ] {
            students(&client, from, upto).await;
            let path = format!("/ed-fi/students/partitions?number={number}");
            let tokens = client.get(&path).await.json()["pageTokens"].clone();

            let (mut seen, mut sizes) = (vec![], vec![]);
            for token in tokens.as_array().unwrap() {
                let part = walk(&client, token.as_str(), 500).await.concat();
                sizes.push(part.len());
                seen.extend(part);
            }

            assert_eq!(sizes, expected, "{number} of {upto}");
            assert_eq!(seen, walk(&client, None, 500).await.concat(), "{number} of {upto}");
            assert_eq!(seen.iter().collect::<HashSet<_>>().len(), upto);
        }
    }
}

#[tokio::test]
async fn documents_created_later_fall_into_the_last_partition() {
    for client in on_each_store().await {
        students(&client, 0, 5_200).await;
        let tokens = client.get("/ed-fi/students/partitions?number=2").await.json();
        let tokens = tokens["pageTokens"].as_array().unwrap().clone();
        students(&client, 5_200, 5_210).await;

        let first = walk(&client, tokens[0].as_str(), 500).await.concat();
        let second = walk(&client, tokens[1].as_str(), 500).await.concat();

        assert_eq!((first.len(), second.len()), (2_600, 2_610));
    }
}

#[tokio::test]
async fn an_invalid_number_of_partitions_is_refused() {
    for client in on_each_store().await {
        for number in ["0", "201", "-1", "x", ""] {
            let path = format!("/ed-fi/students/partitions?number={number}");
            client.get(&path).await.problem(400, PARAMETER);
        }
        assert_eq!(
            client.get("/ed-fi/students/partitions").await.json(),
            json!({"pageTokens": []})
        );
        students(&client, 0, 1).await;
        let unasked = client.get("/ed-fi/students/partitions").await.json();
        assert_eq!(unasked["pageTokens"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn partitions_respect_filters_and_change_windows() {
    for client in on_each_store().await {
        students(&client, 0, 2_600).await;
        let between = client.newest().await;
        students(&client, 2_600, 8_000).await;
        let newest = client.newest().await;
        let path = "/ed-fi/students/partitions";
        let cut = async |query: &str| client.get(&format!("{path}?{query}")).await.json();

        for (query, parts) in [
            ("number=3", 3),
            ("number=1", 1),
            ("number=200", 4),
            (&format!("number=3&maxChangeVersion={between}"), 2),
            (&format!("number=3&minChangeVersion={}", between + 1), 3),
            ("number=3&lastSurname=Byron", 3),
            ("number=3&studentUniqueId=7", 1),
            ("number=3&lastSurname=Nobody", 0),
            ("number=3&studentUniqueId=9000", 0),
            (&format!("number=3&minChangeVersion={}", newest + 1), 0),
        ] {
            let tokens = cut(query).await["pageTokens"].as_array().unwrap().clone();
            assert_eq!(tokens.len(), parts, "{query}");

            let filter = query.split_once('&').map(|(_, filter)| filter).unwrap_or_default();
            let mut seen = 0;
            for token in &tokens {
                let mut token = Some(token.as_str().unwrap().to_owned());
                while let Some(next) = token {
                    let page = format!("pageToken={next}&pageSize=500&{filter}");
                    let answer = client.get(&format!("/ed-fi/students?{page}")).await;
                    seen += answer.ids().len();
                    let next = answer.headers.get("next-page-token");
                    token = next.map(|token| token.to_str().unwrap().to_owned());
                }
            }
            let all =
                client.get(&format!("/ed-fi/students?limit=1&totalCount=true&{filter}")).await;
            assert_eq!(seen.to_string(), all.header("total-count"), "{query}");
        }
    }
}
