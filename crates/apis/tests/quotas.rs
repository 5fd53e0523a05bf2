//! The use of quotas, which the store keeps: after a restart, at several nodes, and for what is withdrawn.
#![expect(clippy::disallowed_methods, reason = "a node starts at a moment")]

use homeroom_apis::{Apis, Published};
use homeroom_http::Timestamp;
use homeroom_store::{Sql, Store};
use homeroom_testkit::TestApp;
use http::Method;
use serde_json::json;

/// A month, and the day for which its rows are kept.
const MONTH_SECONDS: i64 = 32 * 86_400;

/// An API of this server with ten calls in a month.
fn published(limits: serde_json::Value) -> Published {
    let api = json!({"name": "a", "context": "a", "version": "v1", "part": "metadata",
        "security": "none", "limits": limits});
    let all = json!({"definition": {"apis": [api]}, "documents": {}});
    serde_json::from_value(all).unwrap()
}

fn ten() -> Published {
    published(json!({"quota": "10/month"}))
}

/// A node that serves what is published.
struct Node {
    app: TestApp,
    apis: Apis,
}

impl Node {
    async fn on(app: TestApp) -> Self {
        let apis = Apis::new(app.data.store.clone());
        apis.serve_at(&app.front_door, Timestamp::now()).await.unwrap();
        Self { app, apis }
    }

    async fn another(&self) -> Self {
        Self::on(self.app.another_node().await).await
    }

    /// Makes so many calls, and returns how many were admitted.
    async fn admitted(&self, calls: usize) -> usize {
        let mut admitted = 0;
        for _ in 0..calls {
            let answer = self.app.send(Method::GET, "/apis/a/v1/", &[], "").await;
            assert!([200, 429].contains(&answer.status), "{}", answer.status);
            admitted += usize::from(answer.status == 200);
        }
        admitted
    }

    /// Calls one of several APIs.
    async fn status(&self, api: usize) -> u16 {
        self.app.send(Method::GET, &format!("/apis/a{api}/v1/"), &[], "").await.status
    }

    async fn keep(&self) {
        self.apis.keep_quotas(Timestamp::now()).await.unwrap();
    }
}

async fn stored(store: &Store) -> Vec<i64> {
    let text = "SELECT calls FROM quota_use ORDER BY calls";
    let rows = store.query(Sql::new(text, vec![])).await.unwrap();
    rows.iter().map(|row| row[0].as_integer().unwrap()).collect()
}

#[tokio::test]
async fn a_quota_goes_on_after_a_restart_but_for_the_calls_that_were_not_kept() {
    for app in TestApp::empty_on_each_store().await {
        let first = Node::on(app).await;
        first.apis.apply(ten()).await.unwrap();
        assert_eq!(first.admitted(4).await, 4);
        first.keep().await;
        first.keep().await;
        assert_eq!(first.admitted(3).await, 3);

        let after_a_kill = first.another().await;
        let forgotten = after_a_kill.admitted(12).await;
        after_a_kill.keep().await;
        let after_a_stop = first.another().await.admitted(12).await;

        assert_eq!(forgotten, 6, "{}: three calls were not kept", first.app);
        assert_eq!(after_a_stop, 0, "{}", first.app);
        assert_eq!(
            stored(&first.app.data.store).await,
            [10],
            "{}: refusals do not count",
            first.app
        );
    }
}

#[tokio::test]
async fn nodes_add_up_what_they_admit_and_know_the_sum() {
    for app in TestApp::empty_on_each_store().await {
        let one = Node::on(app).await;
        one.apis.apply(ten()).await.unwrap();
        let other = one.another().await;

        let before = (one.admitted(4).await, other.admitted(4).await);
        one.keep().await;
        other.keep().await;
        let at_other = other.admitted(5).await;
        other.keep().await;
        // It has not heard of these two, and admits a call of its own until it adds that one.
        let until_it_knows = one.admitted(1).await;
        one.keep().await;
        let after = one.admitted(5).await;

        assert_eq!((before, at_other), ((4, 4), 2), "{}", one.app);
        assert_eq!((until_it_knows, after), (1, 0), "{}", one.app);
        assert_eq!(stored(&one.app.data.store).await, [11], "{}", one.app);
    }
}

#[tokio::test]
async fn what_is_withdrawn_begins_anew_and_loses_its_rows() {
    for app in TestApp::empty_on_each_store().await {
        let node = Node::on(app).await;
        let other = node.another().await;
        node.apis.apply(ten()).await.unwrap();
        other.apis.follow().await.unwrap();
        assert_eq!((node.admitted(4).await, other.admitted(1).await), (4, 1));
        node.keep().await;
        let before = stored(&node.app.data.store).await;

        node.apis.apply(Published::default()).await.unwrap();
        node.keep().await;
        // This one has not noticed yet.
        other.keep().await;
        other.apis.follow().await.unwrap();
        node.apis.apply(ten()).await.unwrap();
        node.keep().await;
        let of_both = node.admitted(12).await;
        // A node that sweeps at its start, and removes the rows.
        node.another().await.keep().await;
        node.keep().await;

        assert_eq!((before, of_both), (vec![4], 10), "{}", node.app);
        assert_eq!(stored(&node.app.data.store).await, [10], "{}", node.app);
    }
}

#[tokio::test]
async fn many_counters_are_kept_and_read_together() {
    const APIS: usize = 300;
    for app in TestApp::empty_on_each_store().await {
        let node = Node::on(app).await;
        let api = |number: usize| {
            json!({"name": format!("a{number}"), "context": format!("a{number}"), "version": "v1",
                "part": "metadata", "security": "none", "limits": {"quota": "2/month"}})
        };
        let apis: Vec<_> = (0..APIS).map(api).collect();
        let all = json!({"definition": {"apis": apis}, "documents": {}});
        node.apis.apply(serde_json::from_value(all).unwrap()).await.unwrap();
        for number in (0..APIS).filter(|number| *number != 7) {
            assert_eq!(node.status(number).await, 200, "{}", node.app);
        }

        node.keep().await;
        let after_a_stop = node.another().await;

        assert_eq!(stored(&node.app.data.store).await, [1; APIS - 1], "{}", node.app);
        for (number, second) in [(0, 429), (7, 200), (8, 429), (99, 429), (APIS - 1, 429)] {
            assert_eq!(after_a_stop.status(number).await, 200, "{}: {number}", node.app);
            assert_eq!(after_a_stop.status(number).await, second, "{}: {number}", node.app);
        }
    }
}

#[tokio::test]
async fn rows_go_a_day_after_their_month_is_over_and_none_is_kept_of_a_minute() {
    for app in TestApp::empty_on_each_store().await {
        let node = Node::on(app).await;
        let both = json!([{"quota": "10/month"}, {"quota": "9/minute"}]);
        node.apis.apply(published(both)).await.unwrap();
        node.admitted(3).await;
        node.keep().await;
        let kept = stored(&node.app.data.store).await;
        node.admitted(2).await;

        let later = Timestamp::now().plus_seconds(MONTH_SECONDS);
        node.apis.keep_quotas(later).await.unwrap();

        assert_eq!(kept, [3], "{}", node.app);
        assert_eq!(stored(&node.app.data.store).await, [0; 0], "{}", node.app);
    }
}

#[tokio::test]
async fn a_limit_that_comes_back_goes_on_and_one_beside_it_does_not() {
    for app in TestApp::empty_on_each_store().await {
        let node = Node::on(app).await;
        node.apis.apply(ten()).await.unwrap();
        node.admitted(4).await;
        node.keep().await;

        let other = published(json!({"by": "address", "quota": "10/month"}));
        node.apis.apply(other).await.unwrap();
        node.keep().await;
        let of_other = node.admitted(12).await;
        node.apis.apply(ten()).await.unwrap();
        node.keep().await;

        assert_eq!(of_other, 10, "{}", node.app);
        assert_eq!(node.admitted(12).await, 6, "{}", node.app);
    }
}
