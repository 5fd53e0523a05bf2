//! Measures what many published APIs cost a server that starts: time until they are served, and memory.
//! Each has an OpenAPI document of its own and an upstream that nobody calls.
//!
//! `cargo run --release -p homeroom-apis --example published_apis -- [APIS] [OPERATIONS]`
#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use homeroom_apis::{Apis, Definition, Published};
use homeroom_http::RequestBody;
use homeroom_store::{Options, Store};
use homeroom_testkit::{Folder, TestApp, USUAL};
use http::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Failed = Box<dyn Error>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    if let [serve, file] = &arguments[..]
        && serve == "serve"
    {
        return runtime.block_on(serve_all(Path::new(file)));
    }
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (apis, operations): (usize, usize) = (number(0, 10_000)?, number(1, 10)?);
    let folder = Folder::new();
    let file = folder.path().join("homeroom.db");
    runtime.block_on(async {
        let store = Store::open(&Options::for_file(file.clone()))?;
        Apis::new(store).apply(published(apis, operations)?).await?;
        Ok::<_, Failed>(())
    })?;
    println!("| APIs of {operations} operations | {apis} |");
    println!("|---|---|");
    let served = Command::new(std::env::current_exe()?).arg("serve").arg(&file).status()?;
    if served.success() { Ok(()) } else { Err("the server has failed".into()) }
}

/// Serves what a store has, in a process that did nothing else.
async fn serve_all(file: &Path) -> Result<(), Failed> {
    let store = Store::open(&Options::for_file(file.to_owned()))?;
    let app = TestApp::on("file", USUAL, store.clone()).await;
    let apis = Apis::new(store);
    let before = resident();
    let begun = Instant::now();
    apis.serve_at(&app.front_door).await?;
    println!("| ready after, s | {:.2} |", begun.elapsed().as_secs_f64());
    println!("| memory of the process before, MiB | {} |", before >> 20);
    println!("| memory of the APIs, MiB | {} |", (resident() - before) >> 20);
    for (path, status) in [("things1/7", StatusCode::UNAUTHORIZED), ("", StatusCode::UNAUTHORIZED)]
    {
        let request = Request::builder().method(Method::GET).uri(format!("/apis/api7/v1/{path}"));
        let (head, ()) = request.body(())?.into_parts();
        let answer = app.front_door.answer(head, RequestBody::Bytes(Bytes::new())).await;
        assert_eq!(answer.status(), status, "it is served");
    }
    let live = Arc::clone(&app.front_door);
    println!("| APIs that are served | {} |", live.live().len());
    Ok(())
}

fn published(apis: usize, operations: usize) -> Result<Published, Failed> {
    let (mut all, mut documents) = (vec![], BTreeMap::new());
    for number in 0..apis {
        let name = format!("api{number}");
        all.push(json!({"name": name, "context": name, "version": "v1",
            "upstream": [format!("http://10.0.0.1:{}", 1 + number % 60_000)],
            "openapi": format!("{name}.json"), "scopes": [format!("{name}.read")]}));
        documents.insert(format!("{name}.json"), document(&name, operations));
    }
    let definition: Definition = serde_json::from_value(json!({"apis": all}))?;
    Ok(Published { definition, documents })
}

fn document(name: &str, operations: usize) -> String {
    let operation = |verb: &str, scope: &str| {
        json!({"summary": format!("{verb} one of the things of {name}"),
            "security": [{"o": [format!("{name}.{scope}")]}],
            "parameters": [{"name": "id", "in": "path", "required": true}],
            "responses": {"200": {"description": "It is there."}, "404": {"description": "It is not."}}})
    };
    let paths: Map<String, Value> = (0..operations.div_ceil(2))
        .map(|number| {
            let both =
                json!({"get": operation("Reads", "read"), "put": operation("Writes", "write")});
            (format!("/things{number}/{{id}}"), both)
        })
        .collect();
    let info = json!({"title": name, "version": "1"});
    json!({"openapi": "3.0.3", "info": info, "paths": paths}).to_string()
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let state = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = state.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * 4_096
}
