use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::Header;
use crate::scenario::program::Trouble;
use crate::scenario::{ScenarioFile, Setup};

fn program(text: &str) -> Arc<Program> {
    Arc::new(Program::read(&format!("name = 'test'\n{text}"), &Setup::default()).unwrap())
}

fn share(thread: u32, threads: u32) -> ThreadShare {
    ThreadShare { thread, threads, seed: 7, first_serial: 1_000 }
}

fn source(text: &str) -> ScenarioSource {
    ScenarioSource::new(&program(text), share(0, 1))
}

fn next(source: &mut ScenarioSource, client: &mut Client) -> (usize, Request) {
    let mut request = Request::default();
    let step = source.next(client, &mut request);
    (step, request)
}

fn path(request: &Request) -> &str {
    std::str::from_utf8(&request.path).unwrap()
}

fn answer<'a>(status: u16, headers: &'a [Header<'a>], body: &'a [u8]) -> Answer<'a> {
    Answer { outcome: Outcome::Status(status), headers, body, length: body.len() as u64 }
}

const SEQUENCE: &str = "
    [[steps]]
    name = 'create'
    method = 'post'
    path = '/x'
    body = '{\"n\": ${serial}}'
    take = { id = 'header:location' }
    [[steps]]
    name = 'read'
    path = '/x/${id}'
    check = ['json:/id == ${id}']";

const POOL: &str = "
    [[steps]]
    name = 'create'
    method = 'POST'
    path = '/x'
    weight = 1
    keep = { pool = 'x', values = { id = 'x${serial}' } }
    [[steps]]
    name = 'read'
    path = '/x/${id}'
    weight = 2
    from = { pool = 'x' }
    [[steps]]
    name = 'delete'
    method = 'DELETE'
    path = '/x/${id}'
    weight = 1
    from = { pool = 'x', remove = true }";

#[test]
fn a_step_has_each_header_once_and_its_own_override_the_defaults() {
    let mut source = source(
        "[[steps]]
         name = 'x'
         path = '/x'
         headers = { Accept = 'application/json', 'USER-AGENT' = 'me' }",
    );
    let mut client = source.client(0);

    let (_, request) = next(&mut source, &mut client);

    let lines = String::from_utf8_lossy(&request.headers);
    assert_eq!(lines, "Accept: application/json\r\nUSER-AGENT: me\r\n");
}

#[test]
fn a_client_carries_values_from_an_answer_to_its_next_request() {
    let mut source = source(SEQUENCE);
    let mut client = source.client(0);
    let location = [Header { name: "Location", value: b"/x/a7" }];

    let (first, created) = next(&mut source, &mut client);
    source.answered(&mut client, first, &answer(201, &location, b""));
    let (second, read) = next(&mut source, &mut client);
    let right = source.answered(&mut client, second, &answer(200, &[], br#"{"id": "a7"}"#));
    let wrong = source.answered(&mut client, second, &answer(200, &[], br#"{"id": "a8"}"#));

    assert_eq!((path(&created), &*created.body), ("/x", &b"{\"n\": 1000}"[..]));
    let lines = concat!(
        "user-agent: homeroom-lab/",
        env!("CARGO_PKG_VERSION"),
        "\r\naccept: */*\r\ncontent-type: application/json\r\n",
    );
    assert_eq!(String::from_utf8_lossy(&created.headers), lines);
    assert_eq!(path(&read), "/x/a7");
    assert_eq!((right.ok, wrong.ok), (true, false));
    let methods: Vec<&str> = source.steps().iter().map(|facts| &*facts.method).collect();
    let bodies: Vec<bool> = source.steps().iter().map(|facts| facts.keeps_body).collect();
    assert_eq!((methods, bodies), (vec!["POST", "GET"], vec![false, true]));
}

#[test]
fn a_step_without_its_value_is_skipped_and_counted() {
    let program = program(SEQUENCE);
    let mut source = ScenarioSource::new(&program, share(0, 1));
    let mut client = source.client(0);
    let location = [Header { name: "Location", value: b"/x/a7" }];

    // An answer with an id, an expected answer without one, and an unexpected one.
    for (status, headers) in [(201, &location[..]), (201, &[]), (400, &location)] {
        let (step, _) = next(&mut source, &mut client);
        if step == 1 {
            next(&mut source, &mut client);
        }
        source.answered(&mut client, 0, &answer(status, headers, b""));
    }
    let (step, _) = next(&mut source, &mut client);

    assert_eq!(step, 0);
    let counts: Vec<(u64, u64)> = program.trouble().map(|of| (of.skipped, of.untaken)).collect();
    assert_eq!(counts, [(0, 1), (2, 0)]);
    program.forget_trouble();
    assert!(program.trouble().all(|trouble| trouble == Trouble::default()));
}

#[test]
fn a_variable_keeps_its_initial_value_until_an_answer_replaces_it() {
    let mut source = source(
        "variables = { id = 'first' }\n[[steps]]\nname = 'x'\npath = '/${id}'\ntake = { id = \
         'body' }",
    );
    let mut client = source.client(0);

    let mut paths = vec![];
    for (status, body) in [(200, "second"), (500, "third"), (200, "fourth")] {
        let (step, request) = next(&mut source, &mut client);
        paths.push(path(&request).to_owned());
        source.answered(&mut client, step, &answer(status, &[], body.as_bytes()));
    }

    assert_eq!(paths, ["/first", "/second", "/first"]);
}

#[test]
fn serial_numbers_are_unique_across_threads() {
    let program = program("[[steps]]\nname = 'x'\npath = '/${serial}/${serial}'");
    let mut seen = BTreeSet::new();

    for thread in 0..3 {
        let mut source = ScenarioSource::new(&program, share(thread, 3));
        let mut clients = [source.client(thread), source.client(thread + 3)];
        for number in 0..100 {
            let (_, request) = next(&mut source, &mut clients[number % 2]);
            let [_, first, second] = path(&request).split('/').collect::<Vec<_>>()[..] else {
                panic!("{}", path(&request))
            };
            assert_eq!(first, second);
            assert!(seen.insert(first.to_owned()), "{first}");
        }
    }

    assert_eq!(seen.len(), 300);
    assert!(seen.contains("1000") && seen.contains("1299"));
}

#[test]
fn a_deleted_document_is_not_requested_again() {
    let mut source = source(POOL);
    let mut clients: Vec<Client> = (0..20).map(|number| source.client(number)).collect();
    let mut known = BTreeSet::new();
    let mut counts = [0; 3];

    for turn in 0..20_000 {
        let client = &mut clients[turn % 20];
        let (step, request) = next(&mut source, client);
        let id = path(&request).strip_prefix("/x/").unwrap_or_default().to_owned();
        match step {
            0 => _ = known.insert(format!("x{}", client.serial)),
            1 => assert!(known.contains(&id), "{id}"),
            _ => assert!(known.remove(&id), "{id}"),
        }
        counts[step] += 1;
        source.answered(client, step, &answer(200, &[], b""));
    }

    let shares = counts.map(|count| f64::from(count) / 20_000.0);
    assert!((0.2..0.4).contains(&shares[0]), "{shares:?}");
    assert!((0.4..0.6).contains(&shares[1]), "{shares:?}");
    assert!(source.program.trouble().all(|trouble| trouble == Trouble::default()));
}

#[test]
fn values_of_a_failed_answer_are_not_kept() {
    let mut source = source(POOL);
    let mut client = source.client(0);

    for _ in 0..100 {
        let (step, _) = next(&mut source, &mut client);
        assert_eq!(step, 0);
        source.answered(&mut client, step, &answer(503, &[], b""));
    }
}

#[test]
fn the_initial_rows_of_a_pool_are_divided_among_threads() {
    let program = program(
        "[pools]\nx = [{ id = 'a' }, { id = 'b' }, { id = 'c' }]
         [[steps]]\nname = 'always'\npath = '/'\nweight = 0.001
         [[steps]]\nname = 'delete'\npath = '/${id}'\nweight = 1\nfrom = { pool = 'x', remove = \
         true }",
    );
    let mut taken = vec![];

    for thread in 0..2 {
        let mut source = ScenarioSource::new(&program, share(thread, 2));
        let mut client = source.client(thread);
        taken.push(vec![]);
        for _ in 0..50 {
            let (step, request) = next(&mut source, &mut client);
            if step == 1 {
                taken.last_mut().unwrap().push(path(&request).to_owned());
            }
        }
        taken.last_mut().unwrap().sort();
    }

    assert_eq!(taken, [vec!["/a", "/c"], vec!["/b"]]);
}

#[test]
fn each_combination_is_sent_once_over_all_threads() {
    let program = program(
        "[[steps]]\nname = 'always'\npath = '/'\nweight = 0.01
         [[steps]]\nname = 'pair'\npath = '/${a}/${b}'\nweight = 1
         each = { a = ['1', '2', '3'], b = ['x', 'y'] }",
    );
    let mut sent = vec![];

    for thread in 0..2 {
        let mut source = ScenarioSource::new(&program, share(thread, 2));
        let mut client = source.client(thread);
        for _ in 0..100 {
            let (step, request) = next(&mut source, &mut client);
            if step == 1 {
                sent.push(path(&request).to_owned());
            }
        }
    }

    let used_up: Vec<bool> = program.trouble().map(|of| of.is_used_up).collect();
    assert_eq!(used_up, [false, true], "and it is told");
    assert_eq!(sent, ["/1/x", "/3/x", "/2/y", "/2/x", "/1/y", "/3/y"]);
}

#[test]
fn a_seed_gives_the_same_requests_again_and_threads_differ() {
    let program = program("[[steps]]\nname = 'x'\npath = '/${random:1..1000000}/${uuid}'");
    let requests = |thread: u32| {
        let mut source = ScenarioSource::new(&program, share(thread, 2));
        let mut client = source.client(0);
        (0..20).map(|_| next(&mut source, &mut client).1.path).collect::<Vec<_>>()
    };

    assert_eq!(requests(0), requests(0));
    assert_ne!(requests(0), requests(1));
}

#[test]
fn a_pause_is_as_long_as_the_step_says() {
    let mut source = source(
        "[[steps]]\nname = 'a'\npath = '/'\npause = '2s'\n[[steps]]\nname = 'b'\npath = \
         '/'\npause = '1s..3s'",
    );
    let mut client = source.client(0);

    let fixed = source.answered(&mut client, 0, &answer(200, &[], b"")).pause;
    let random: BTreeSet<u128> = (0..100)
        .map(|_| source.answered(&mut client, 1, &answer(200, &[], b"")).pause.as_millis())
        .collect();

    assert_eq!(fixed.as_secs(), 2);
    assert!(random.len() > 50 && random.iter().all(|ms| (1_000..=3_000).contains(ms)));
}

#[test]
fn an_impossible_scenario_is_refused_before_the_run() {
    let with = |more: &str| format!("[[steps]]\nname = 'a'\npath = '/'\n{more}");
    for (text, told) in [
        ("", "steps: there are none"),
        ("[[steps]]\nname = ''\npath = '/'", "step 1, name: it is empty"),
        ("[[steps]]\nname = 'a'\npath = 'x'", "does not begin with `/`"),
        ("[[steps]]\nname = 'a'\npath = 'x${serial}'", "does not begin with `/`"),
        ("[[steps]]\nname = 'a'\npath = '${serial}'", "does not begin with `/`"),
        ("[[steps]]\nname = 'a'\npath = '/a b'", "' ' is not allowed in a path"),
        ("[[steps]]\nname = 'a'\npath = '/é'", "is not allowed in a path"),
        ("[[steps]]\nname = 'a'\npath = '/${x}'", "unknown variable `x`; the known ones are none"),
        (
            "[[steps]]\nname = 'a'\npath = '/${x}'\ntake = { x = 'body' }",
            "no step is always possible",
        ),
        (
            &with("weight = 1\n[[steps]]\nname = 'b'\npath = '/'"),
            "step 2 (`b`), weight: this step has none",
        ),
        (&with("weight = 0"), "all weights are 0"),
        (&with("weight = -1"), "not a weight from 0"),
        (&with("method = 'GE T'"), "not a method"),
        (&with("headers = { 'a b' = 'x' }"), "not a header name"),
        (&with("headers = { Host = 'x' }"), "the engine sets `Host` itself"),
        (&with("headers = { a = \"b\\r\\nc: d\" }"), "contains control characters"),
        (&with("expect = '6xx'"), "not a status"),
        (&with("pause = '3s..1s'"), "ends before it begins"),
        (&with("pause = '3'"), "not a duration"),
        (&with("take = { serial = 'body' }"), "is reserved"),
        (&with("take = { 'a b' = 'body' }"), "not a valid name"),
        (&with("take = { a = 'foot' }"), "not a source of a value"),
        (&with("from = { pool = 'x' }"), "pool `x` is never filled"),
        (&with("keep = { pool = 'x', values = {} }"), "receives no values"),
        (&with("each = { a = [] }"), "`a` has no values"),
        (
            &with(
                "keep = { pool = 'x', values = { a = '1' } }\n[[steps]]\nname = 'b'\npath = \
                 '/'\nkeep = { pool = 'x', values = { b = '1' } }",
            ),
            "use the same variables",
        ),
    ] {
        let error = Program::read(&format!("name = 'test'\n{text}"), &Setup::default());

        let error = error.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn the_command_line_sets_variables_that_the_scenario_has() {
    let file = ScenarioFile::read(
        "name = 'x'\nvariables = { a = '1' }\n[[steps]]\nname = 'x'\npath = '/${a}/${b}'",
    )
    .unwrap();
    let set = |pairs: &[(&str, &str)]| {
        let set = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Program::compile(&file, &Setup { set, ..Setup::default() })
    };

    let mut source =
        ScenarioSource::new(&Arc::new(set(&[("a", "2"), ("b", "3")]).unwrap()), share(0, 1));
    let error = set(&[("b", "3"), ("c", "4")]).unwrap_err().to_string();

    let mut client = source.client(0);
    assert_eq!(path(&next(&mut source, &mut client).1), "/2/3");
    assert_eq!(error, "variables: the scenario has no `c` to set; it has: a");
}

#[test]
fn an_absolute_path_contains_the_targets_base_path_once() {
    let text = "name = 'x'\n[[steps]]\nname = 'x'\npath = '${next}'\ntake = { next = 'body' }\n\
                [[steps]]\nname = 'y'\npath = '/v7/z'";
    let setup = Setup { prefix: "/v7".into(), ..Setup::default() };
    let program = Arc::new(Program::read(text, &setup).unwrap());
    let mut source = ScenarioSource::new(&program, share(0, 1));

    for (given, sent) in [
        ("https://x/v7/a?b=c", "/a?b=c"),
        ("/v7/a", "/a"),
        ("/a", "/a"),
        ("/v77/a", "/v77/a"),
        ("/v7", ""),
        ("/v7?b=c", "?b=c"),
    ] {
        let mut client = source.client(0);
        // The file's own paths are relative to the target's, whatever they are called.
        assert_eq!(path(&next(&mut source, &mut client).1), "/v7/z");
        source.answered(&mut client, 0, &answer(200, &[], given.as_bytes()));
        assert_eq!(path(&next(&mut source, &mut client).1), sent, "{given}");
    }
}

#[test]
fn a_pool_that_no_step_consumes_is_available_to_every_thread() {
    let program = program(
        "pools = { x = [{ id = 'a' }] }
         [[steps]]
         name = 'read'
         path = '/${id}'
         from = { pool = 'x' }",
    );

    for thread in 0..3 {
        let mut source = ScenarioSource::new(&program, share(thread, 3));
        let mut client = source.client(0);
        assert_eq!(path(&next(&mut source, &mut client).1), "/a");
    }
}

proptest! {
    #[test]
    fn no_value_from_an_answer_can_break_a_request(value in "\\PC{0,8}|[\\x00-\\x7f]{0,12}") {
        let mut source = source(
            "[[steps]]
             name = 'x'
             method = 'POST'
             path = '/x/${v}/y?q=${v}&z=1'
             headers = { 'X-Value' = 'v ${v}', Accept = '*/*' }
             body = '{\"v\": \"${v}\", \"w\": [\"a${v}\", 1]}'
             [[steps]]
             name = 'take'
             path = '/'
             take = { v = 'json:/v' }",
        );
        let mut client = source.client(0);
        let body = json!({ "v": value }).to_string();
        source.answered(&mut client, 1, &answer(200, &[], body.as_bytes()));
        client.at = 0;

        let (step, request) = next(&mut source, &mut client);

        prop_assert_eq!(step, 0);
        let mut bytes = b"POST ".to_vec();
        bytes.extend(&request.path);
        bytes.extend(b" HTTP/1.1\r\n");
        bytes.extend(&request.headers);
        bytes.extend(b"\r\n");
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut parsed = httparse::Request::new(&mut headers);
        let end = parsed.parse(&bytes).unwrap();
        prop_assert_eq!(end, httparse::Status::Complete(bytes.len()));
        prop_assert_eq!(parsed.headers.len(), 4);
        let (path, query) = parsed.path.unwrap().split_once('?').unwrap();
        prop_assert!(path.starts_with("/x/") && path.ends_with("/y"));
        prop_assert_eq!(query.split('&').count(), 2);
        let sent: Value = serde_json::from_slice(&request.body).unwrap();
        prop_assert_eq!(sent, json!({ "v": value, "w": [format!("a{value}"), 1] }));
    }

    #[test]
    fn any_text_is_parsed_as_a_scenario_or_refused(text in "\\PC{0,40}", path in "/[ -~]{0,20}") {
        _ = ScenarioFile::read(&text);
        let file = format!("name = 'x'\n[[steps]]\nname = 'x'\npath = {path:?}");
        if let Ok(program) = Program::read(&file, &Setup::default()) {
            let mut source = ScenarioSource::new(&Arc::new(program), share(0, 1));
            let mut client = source.client(0);
            let (_, request) = next(&mut source, &mut client);
            prop_assert!(request.path.iter().all(u8::is_ascii_graphic));
        }
    }
}
