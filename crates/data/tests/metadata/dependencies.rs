//! The dependency order, as clients read it.

use std::collections::HashSet;

use homeroom_data::metadata::{Metadata, dependency_graph};
use serde_json::Value;

use crate::support::{ask, shipped, small, snapshot, snapshot_text, text};

const PATH: &str = "/metadata/data/v3/dependencies";

#[tokio::test]
async fn the_order_is_json_unless_graphml_is_asked_for() {
    let state = Metadata::new(small());

    let (_, headers, order) = ask(&state, PATH, &[("accept", "*/*")]).await;
    let (_, graph_headers, graph) = ask(&state, PATH, &[("accept", "application/graphml")]).await;

    assert_eq!(headers["content-type"], "application/json; charset=utf-8");
    assert_eq!(graph_headers["content-type"], "application/graphml; charset=utf-8");
    assert_eq!(
        (&headers["vary"], &graph_headers["vary"]),
        (&"Accept, Accept-Encoding".parse().unwrap(), &headers["vary"])
    );
    snapshot("dependencies", &serde_json::from_slice::<Value>(&order).unwrap());
    snapshot_text("dependency_graph", text(&graph));
}

#[tokio::test]
async fn every_resource_appears_in_the_dependency_order() {
    let model = shipped();
    let (_, _, body) = ask(&Metadata::new(model.clone()), PATH, &[]).await;
    let order: Vec<Value> = serde_json::from_slice(&body).unwrap();

    let creates: HashSet<&str> = order
        .iter()
        .filter(|place| place["operations"].as_array().unwrap().iter().any(|o| o == "Create"))
        .map(|place| place["resource"].as_str().unwrap())
        .collect();

    assert_eq!(order.len(), 351);
    assert!(order.iter().all(|place| place["order"].as_u64().is_some_and(|order| order > 0)));
    // Every new store has the school years.
    let missing: Vec<String> = model
        .resources
        .iter()
        .map(homeroom_model::Resource::path)
        .filter(|path| !creates.contains(path.as_str()))
        .collect();
    assert_eq!(missing, ["/ed-fi/schoolYearTypes"]);
}

#[test]
fn every_edge_joins_two_nodes() {
    let graph = dependency_graph(&shipped());
    let attribute = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let lines =
        |start: &str| graph.lines().filter(move |line| line.starts_with(start)).collect::<Vec<_>>();

    let nodes: HashSet<String> =
        lines("<node").into_iter().map(|line| attribute(line, "id")).collect();

    assert_eq!(nodes.len(), 351);
    assert!(nodes.contains("/ed-fi/students#Retry"));
    for edge in lines("<edge") {
        assert!(nodes.contains(&attribute(edge, "source")), "{edge}");
        assert!(nodes.contains(&attribute(edge, "target")), "{edge}");
    }
}
