//! Lists that are compressed for callers who ask for it.

use std::io::Read as _;

use flate2::read::GzDecoder;
use http::Method;

use crate::app::documents::{on_each_store, student};
use crate::app::{Answer, Client};

const GZIP: [(&str, &str); 1] = [("accept-encoding", "gzip, deflate, br")];

async fn asked(client: &Client, path: &str) -> Answer {
    client.send(Method::GET, path, &GZIP, "").await
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    GzDecoder::new(&answer.body[..]).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_list_is_compressed_if_that_is_asked_for_and_is_otherwise_the_same() {
    for client in on_each_store().await {
        for id in 0..300 {
            client.create("/ed-fi/students", &student(&id.to_string())).await;
        }
        // Less than what is compressed at once, and more.
        for path in ["/ed-fi/students?limit=20", "/ed-fi/students?limit=300&totalCount=true"] {
            let plain = client.get(path).await;
            let compressed = asked(&client, path).await;

            assert_eq!(compressed.header("content-encoding"), "gzip", "{}", client.app);
            assert_eq!(text(&compressed), plain.text());
            assert!(compressed.body.len() * 3 < plain.body.len());
            assert!(!plain.headers.contains_key("content-encoding"));
            for name in ["vary", "content-type"] {
                assert_eq!(plain.header(name), compressed.header(name));
            }
            assert_eq!(plain.header("vary"), "Accept-Encoding");
            for name in ["total-count", "next-page-token", "link"] {
                assert_eq!(plain.headers.get(name), compressed.headers.get(name), "{name}");
            }
        }
        let few = asked(&client, "/ed-fi/students?limit=1").await;
        assert!(!few.headers.contains_key("content-encoding"), "short lists are not");
        assert_eq!(few.json().as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn deletions_are_compressed_and_single_documents_with_their_etags_are_not() {
    for client in on_each_store().await {
        for id in 0..30 {
            let location = client.create("/ed-fi/students", &student(&id.to_string())).await;
            client.delete(&location).await;
        }
        let long = crate::app::documents::with(student("long"), "middleName", "x".repeat(75));
        let location = client.create("/ed-fi/students", &long).await;

        let plain = client.get("/ed-fi/students/deletes").await;
        let compressed = asked(&client, "/ed-fi/students/deletes").await;
        let one = asked(&client, &location).await;

        assert_eq!(text(&compressed), plain.text());
        assert!(!one.headers.contains_key("content-encoding"), "{one:?}");
        let known = [GZIP[0], ("if-none-match", one.etag())];
        assert_eq!(client.send(Method::GET, &location, &known, "").await.status, 304);
        let wanted = [GZIP[0], ("if-match", one.etag())];
        let put = client.send(Method::PUT, &location, &wanted, long.to_string()).await;
        assert_eq!(put.status, 204, "{put:?}");
    }
}
