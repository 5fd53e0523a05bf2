//! Runs the lab's scenarios over an Ed-Fi API against this server. Every resource is created, read,
//! changed, deleted and listed as far as the key allows, and every answer is as expected.

use std::sync::Arc;
use std::time::Duration;

use homeroom_lab_edfi::{Api, ApiRequest, Operation, Prepared, SHIPPED};
use homeroom_load::client::Caller;
use homeroom_load::engine::{Answer, Request, Source, Target};
use homeroom_load::outcome::Outcome;
use homeroom_load::scenario::{
    EdfiFile, Program, ScenarioFile, ScenarioSource, Setup, ThreadShare,
};
use httparse::Header;

use crate::support::{Place, Server};

/// The greatest serial number with which a run over an Ed-Fi API begins.
const FIRST_SERIAL: u64 = 999_001;

/// The number of times that every step is done.
const ROUNDS: usize = 2;

/// Returns a shipped scenario that covers every resource.
fn every_resource() -> EdfiFile {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "edfi-day-to-day").unwrap();
    let mut file = ScenarioFile::read(shipped.text).unwrap().edfi.unwrap();
    // Weights only make the set-up longer.
    file.weights.clear();
    file
}

struct Run {
    prepared: Prepared,
    /// The number of requests sent.
    done: usize,
    /// The answers that were not as expected.
    wrong: Vec<String>,
}

/// Sets up a scenario and does every step in order, for some rounds.
fn run(server: &Server, (key, secret): &(String, String), file: &EdfiFile) -> Run {
    let target = Target::parse(&format!("http://{}", server.api)).unwrap();
    let caller = Caller { target, tls: None, timeout: Duration::from_mins(1) };
    let mut client = homeroom_lab_edfi::HttpApi::new(caller, key, secret, Arc::default());
    let prepared = homeroom_lab_edfi::prepare(&mut client, file, 1).unwrap();
    let mut steps = prepared.steps.clone();
    for step in &mut steps {
        step.weight = None;
    }
    let pools = prepared.pools.clone();
    let file = ScenarioFile { name: "every".into(), steps, pools, ..ScenarioFile::default() };
    let program = Arc::new(Program::compile(&file, &Setup::default()).unwrap());
    let share = ThreadShare { thread: 0, threads: 1, seed: 1, first_serial: FIRST_SERIAL };
    let mut source = ScenarioSource::new(&program, share);
    let mut modelled = source.client(0);
    let authorization = token(&mut client, &prepared.token_path, (key.as_str(), secret.as_str()));
    let mut run = Run { prepared, done: 0, wrong: vec![] };
    for _ in 0..ROUNDS * file.steps.len() {
        let mut request = Request::default();
        let step = source.next(&mut modelled, &mut request);
        let facts = &program.facts()[step];
        let ask = ApiRequest {
            method: &facts.method,
            path: std::str::from_utf8(&request.path).unwrap(),
            authorization: &authorization,
            content_type: if request.body.is_empty() { "" } else { "application/json" },
            body: &request.body,
        };
        let reply = client.send(&ask).unwrap();
        let location = reply.location.clone().unwrap_or_default();
        let headers = [Header { name: "location", value: location.as_bytes() }];
        let headers = if location.is_empty() { &headers[..0] } else { &headers[..] };
        let outcome = Outcome::Status(reply.status);
        let length = reply.body.len() as u64;
        let answer = Answer { outcome, headers, body: &reply.body, length };
        if !source.answered(&mut modelled, step, &answer).ok {
            run.wrong.push(format!("{}: {}", facts.name, reply.complaint()));
        }
        run.done += 1;
    }
    run
}

fn token(
    client: &mut homeroom_lab_edfi::HttpApi,
    path: &str,
    (key, secret): (&str, &str),
) -> String {
    let form = format!("grant_type=client_credentials&client_id={key}&client_secret={secret}");
    let ask = ApiRequest {
        method: "POST",
        path,
        authorization: "",
        content_type: "application/x-www-form-urlencoded",
        body: form.as_bytes(),
    };
    let reply = client.send(&ask).unwrap();
    format!("Bearer {}", reply.json()["access_token"].as_str().unwrap())
}

/// Returns what is left out of one operation, with the reasons.
fn left_out(prepared: &Prepared, operation: Operation) -> Vec<(&str, &str)> {
    let out = prepared.coverage.left_out.iter().filter(|out| out.operation == operation);
    out.map(|out| (out.resource.as_str(), out.why.as_str())).collect()
}

#[test]
fn the_lab_performs_every_operation_on_every_resource_with_full_access() {
    let place = Place::new();
    let server = Server::start(&place);

    let run = run(&server, &place.key("FullAccess"), &every_resource());

    assert_eq!(run.prepared.coverage.resources, 348);
    assert!(run.prepared.coverage.left_out.is_empty(), "{}", run.prepared.coverage);
    assert!(run.wrong.is_empty(), "{} of {}: {:#?}", run.wrong.len(), run.done, run.wrong);
}

#[test]
fn the_lab_covers_the_older_standard_and_extensions_as_fully() {
    for (version, extensions) in
        [("4.0.0", &[][..]), ("5.2.0", &["tpdm", "sample", "homograph"][..])]
    {
        let place = Place::new();
        place.write(
            "homeroom.toml",
            format!("[standard]\nversion = \"{version}\"\nextensions = {extensions:?}\n"),
        );
        let server = Server::start(&place);

        let run = run(&server, &place.key("FullAccess"), &every_resource());

        let report = &run.prepared.coverage;
        assert!(report.left_out.is_empty(), "{version}: {report}");
        assert!(run.wrong.is_empty(), "{version}: {:#?}", run.wrong);
    }
}

#[test]
fn the_lab_does_all_that_relationships_permit_a_restricted_key() {
    let place = Place::new();
    let server = Server::start(&place);
    let made = place.json(&[
        "keys",
        "create",
        "--claim-set",
        "EdFiSandbox",
        "--education-organizations",
        "255901",
        "--namespace-prefixes",
        "uri://acme.org",
        "--json",
    ]);
    let key = ["key", "secret"].map(|name| made[name].as_str().unwrap().to_owned());

    let run = run(&server, &key.into(), &every_resource());

    // Organizations without a parent, and what the claim set does not grant.
    let out = left_out(&run.prepared, Operation::Create);
    let refused = |(_, why): &(&str, &str)| why.starts_with("403");
    assert!(out.iter().all(refused) && out.len() <= 8, "{out:#?}");
    assert!(run.wrong.is_empty(), "{} of {}: {:#?}", run.wrong.len(), run.done, run.wrong);
}
