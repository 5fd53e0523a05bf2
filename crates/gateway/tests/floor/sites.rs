//! Listeners that serve different sites.

use homeroom_client::{Request, Url, WholeAnswer};
use homeroom_http::Site;
use http::Method;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::live::api;
use crate::support::{Server, client};

/// Asks the listener of content.
async fn ask(server: &Server, method: &Method, path: &str) -> WholeAnswer {
    let url = Url::parse(&format!("http://{}{path}", server.content)).unwrap();
    let request = Request::new(method.clone(), url);
    client().send(request).await.unwrap().whole(1 << 20).await.unwrap()
}

/// A path that a template matches.
fn path_of(template: &str) -> String {
    template.replace("{bytes}", "10").replace("{launch}", "opensesame").replace("{*rest}", "a")
}

#[tokio::test]
async fn a_route_answers_at_the_listeners_of_its_sites_and_nowhere_else() {
    let server = Server::start().await;
    let mut found = [0; 3];
    for (method, route) in server.door.routes() {
        // An answer without its body, since one of the part's breaks off.
        let method = if method == Method::GET { &Method::HEAD } else { method };
        let path = path_of(&route.template);
        assert!(!path.contains('{'), "{path}: say what its placeholders stand for");

        let api = server.send(method.clone(), &path, &[], "").await;
        let content = ask(&server, method, &path).await;

        for (site, answer) in [(Site::Api, api), (Site::Content, content)] {
            let is_there = answer.status != 404;
            assert_eq!(is_there, route.served.on(site), "{method} {path} {site:?}: {answer:?}");
        }
        found[route.served as usize] += 1;
    }
    assert!(found.iter().all(|routes| *routes > 0), "{found:?}");
}

#[tokio::test]
async fn a_published_api_is_not_served_with_content() {
    let server = Server::start().await;
    server.door.live().publish(api("/apis/pay/v1", 1, "1")).unwrap();
    let path = "/apis/pay/v1/operation0/1";

    assert_eq!(server.send(Method::GET, path, &[], "").await.status, 200);
    assert_eq!(ask(&server, &Method::GET, path).await.status, 404);
}

#[tokio::test]
async fn content_is_told_its_own_origin() {
    let server = Server::start().await;

    let answer = ask(&server, &Method::GET, "/floor/page").await;

    assert_eq!(answer.body, format!("\"http://{}\"", server.content));
}

#[tokio::test]
async fn connections_of_all_listeners_count_together() {
    let server = Server::start().await;
    let used = || server.metric("homeroom_budget_used{budget=\"connections\"}");
    let before = used();

    let api = TcpStream::connect(server.address).await.unwrap();
    let mut content = TcpStream::connect(server.content).await.unwrap();
    while used() < before + 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }

    drop(api);
    while used() > before + 1 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    server.stop().await;
    assert_eq!(content.read(&mut [0; 8]).await.unwrap(), 0, "both listeners stop");
}
