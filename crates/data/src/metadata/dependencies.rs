//! The dependency order, as JSON and as GraphML.

use std::fmt::Write as _;

use homeroom_model::{Model, Node, Operations, dependency_graph, dependency_order};
use serde_json::{Value, json};

/// Returns the order in which resources are to be loaded, level by level.
pub fn order(model: &Model) -> Value {
    dependency_order(model)
        .iter()
        .map(|place| {
            json!({
                "resource": place.path(model),
                "order": place.order,
                "operations": place.operations.names(),
            })
        })
        .collect()
}

/// Returns the graph behind the order: an edge's source must exist before its target.
///
/// The second place of a person, for updates, is a node with `#Retry` after its path.
///
/// Source: GraphML 1.0.
pub fn graph(model: &Model) -> String {
    let graph = dependency_graph(model);
    let ids: Vec<String> = graph.nodes.iter().map(|node| node_id(model, *node)).collect();
    let mut nodes: Vec<&String> = ids.iter().collect();
    nodes.sort_by_cached_key(|id| id.to_ascii_lowercase());
    let mut edges: Vec<(&String, &String)> =
        graph.edges.iter().map(|(from, to)| (&ids[*from], &ids[*to])).collect();
    edges.sort_by_cached_key(|(from, to)| (from.to_ascii_lowercase(), to.to_ascii_lowercase()));

    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n<graph id=\"EdFi Dependencies\" edgedefault=\"directed\">\n",
    );
    for id in nodes {
        _ = writeln!(out, "<node id=\"{id}\"/>");
    }
    for (from, to) in edges {
        _ = writeln!(out, "<edge source=\"{from}\" target=\"{to}\"/>");
    }
    out.push_str("</graph>\n</graphml>\n");
    out
}

fn node_id(model: &Model, node: Node) -> String {
    let path = model.resource(node.resource).path();
    match node.operations {
        Operations::Update => path + "#Retry",
        Operations::Create | Operations::CreateAndUpdate => path,
    }
}
