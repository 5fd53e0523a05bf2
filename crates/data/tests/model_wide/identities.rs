//! References accept exactly the texts that documents can have in their identities.

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{ColumnSource, Place, Resource, ResourceKind, Scalar, Target};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::places::{Found, What, walk};
use crate::app::samples::{Extent, Sample};
use crate::app::world::sample;

/// Returns texts that some places may accept and others not.
fn odd_texts(max: usize) -> Vec<String> {
    let odd = [
        "a\tb",
        "a\nb",
        "a\rb",
        "a\u{0}b",
        "a\u{1f}b",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{9f}b",
        "a\u{2028}b",
        " a",
        "a ",
        "\ta",
        "a\n",
        "\u{a0}a",
        "a\u{3000}",
        "\u{feff}a",
        "\u{200b}a",
        "",
        " ",
        "\u{a0}",
        "a#b",
        "#a",
        "a#",
        "#",
        "é",
        "e\u{301}",
        "İ",
        "ß",
        "a'b",
        "a\"b",
        "a\\b",
        "%23",
        "a\u{1F600}b",
    ];
    let long = [max - 1, max, max + 1].map(|length| "é".repeat(length));
    odd.map(str::to_owned).into_iter().chain(long).collect()
}

/// Checks whether a document with another value at a place is valid.
fn takes(app: &TestApp, of: &Sample, place: &Found<'_>, value: &str) -> Result<(), String> {
    let text = of.with(&place.spot, &json!(value)).to_string();
    let json = Json::read(text.as_bytes()).map_err(|error| error.to_string())?;
    let resource = app.model().resource(of.resource);
    let valid = validate(&app.data.catalog, resource, &json);
    valid.map(|_| ()).map_err(|violations| format!("{violations:?}"))
}

/// Returns the place in a document with the value of a key column.
fn place_of<'f, 'm>(found: &'f [Found<'m>], source: ColumnSource) -> &'f Found<'m> {
    let place = match source {
        ColumnSource::Scalar(at) => Place { steps: vec![at], part: None },
        ColumnSource::Part(at, part) => Place { steps: vec![at], part: Some(part) },
    };
    found.iter().find(|found| found.place == place).expect("a sample has its whole key")
}

fn agree(one: &Result<(), String>, other: &Result<(), String>) -> Result<(), String> {
    if one.is_ok() == other.is_ok() {
        Ok(())
    } else {
        Err(format!("the document itself: {one:?}, a reference to it: {other:?}"))
    }
}

#[tokio::test]
async fn references_accept_exactly_the_texts_that_their_targets_identity_accepts() {
    for app in TestApp::on_each_standard().await {
        let mut failures = Failures::of("identities and references take the same texts");
        for resource in &app.model().resources {
            let from = sample(&app, resource.id, Extent::Fullest, 1).pop().unwrap();
            let found = walk(resource, &from.body);
            for place in &found {
                let What::Reference(reference) = place.what else { continue };
                let target = match reference.target {
                    Target::Resource(id) => id,
                    Target::Abstract(id) => app.model().base(id).subclasses[0],
                };
                let target = app.model().resource(target);
                let to = sample(&app, target.id, Extent::Fullest, 1).pop().unwrap();
                let own = walk(target, &to.body);
                for (at, part) in reference.parts.iter().enumerate() {
                    let Scalar::Text { max, .. } = part.scalar else { continue };
                    let column = match (&reference.target, &target.base) {
                        (Target::Abstract(_), Some(base)) => base.columns[at],
                        _ => at,
                    };
                    let own = place_of(&own, target.key[column].source);
                    let steps = &place.place.steps;
                    let there = found
                        .iter()
                        .find(|found| found.place.steps == *steps && found.place.part == Some(at));
                    let there = there.expect("a reference has its members");
                    for text in odd_texts(max as usize) {
                        let outcome =
                            agree(&takes(&app, &to, own, &text), &takes(&app, &from, there, &text));
                        let what = format!("{} {} {text:?}", resource.endpoint, there.spot);
                        failures.check(what, outcome);
                    }
                }
            }
        }
        failures.assert_none(5_000);
    }
}

/// Returns a document that uses a descriptor, and the index of the place.
fn user_of<'s>(
    samples: &'s [(Sample, &Resource)],
    descriptor: &Resource,
) -> Option<(&'s Sample, usize)> {
    samples.iter().find_map(|(sample, resource)| {
        let is_it = |found: &Found<'_>| match found.what {
            What::Scalar(Scalar::Descriptor(id)) => id == descriptor.id,
            _ => false,
        };
        walk(resource, &sample.body).iter().position(is_it).map(|at| (sample, at))
    })
}

#[tokio::test]
async fn references_accept_exactly_the_descriptors_that_can_be_created() {
    for app in TestApp::on_each_standard().await {
        let resources = &app.model().resources;
        let fullest = |resource: &Resource| {
            sample(&app, resource.id, Extent::Fullest, 1).pop().expect("it comes last")
        };
        let samples: Vec<(Sample, &Resource)> =
            resources.iter().map(|resource| (fullest(resource), resource)).collect();
        let mut failures = Failures::of("descriptors and their URIs take the same texts");
        for descriptor in resources.iter().filter(|r| r.kind == ResourceKind::Descriptor) {
            let Some((user, at)) = user_of(&samples, descriptor) else { continue };
            let (resource, made) = (app.model().resource(user.resource), fullest(descriptor));
            let (there, own) = (walk(resource, &user.body), walk(descriptor, &made.body));
            let member = |name: &str| {
                let column = descriptor.key.iter().find(|column| column.name == name).unwrap();
                place_of(&own, column.source)
            };
            let cases = odd_texts(255).into_iter().map(|text| (text, "Code".to_owned()));
            let codes =
                odd_texts(50).into_iter().map(|text| ("uri://a.example/A".to_owned(), text));
            for (namespace, code) in cases.chain(codes) {
                let uri = format!("{namespace}#{code}");
                // References do not check the minimum length of a namespace.
                let is_split_so = uri.split_once('#') == Some((&*namespace, &*code));
                if !is_split_so || (1..5).contains(&namespace.chars().count()) {
                    continue;
                }
                let mut body = made.body.clone();
                member("namespace").spot.set(&mut body, Value::from(namespace.as_str()));
                let whole = Sample { body, ..made.clone() };
                let made = takes(&app, &whole, member("codeValue"), &code);
                let referred = takes(&app, user, &there[at], &uri);
                failures.check(format!("{} {uri:?}", descriptor.name), agree(&made, &referred));
            }
        }
        failures.assert_none(5_000);
    }
}

#[tokio::test]
async fn a_descriptor_with_a_control_character_is_refused_at_its_place() {
    for app in TestApp::on_each_standard().await {
        let client = app.client(crate::app::FULL_ACCESS).await;
        for control in ["\t", "\n", "\r", "\u{7}"] {
            for name in ["namespace", "codeValue"] {
                let mut body = json!({
                    "namespace": "uri://a.example/A", "codeValue": "Code", "shortDescription": "S",
                });
                body[name] = json!(format!("uri://a{control}b"));

                let answer = client.post("/ed-fi/gradeLevelDescriptors", &body).await;

                let problem = answer.problem(400, "bad-request:data-validation-failed");
                let said = problem["validationErrors"][format!("$.{name}")].as_array();
                assert_eq!(said.map(Vec::len), Some(1), "{control:?} {name}: {problem}");
            }
        }
    }
}
