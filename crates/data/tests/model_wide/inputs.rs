//! Spellings that are converted to the canonical one, and values that count as absent, at every
//! place of every resource.

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{Presence, Resource, Scalar};
use serde_json::{Value, json};

use super::violations::{each_is_refused_at, where_missing};
use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::places::{Found, What, walk};
use crate::app::samples::{Extent, Sample};
use crate::app::spellings::spellings;
use crate::app::world::World;

/// Returns the document with each value in another spelling: the one at `number` in the list of the
/// value's spellings, which is repeated cyclically.
fn respelled(resource: &Resource, document: &Value, number: usize) -> Value {
    let mut other = document.clone();
    for found in walk(resource, document) {
        let Some(scalar) = found.scalar() else { continue };
        let all = spellings(scalar, found.spot.get(document));
        if !all.is_empty() {
            found.spot.set(&mut other, all[number % all.len()].clone());
        }
    }
    other
}

/// Number of spellings tried for each document.
const SPELLINGS: usize = 12;

#[tokio::test]
async fn every_spelling_of_a_value_is_stored_alike() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("another spelling is the same document");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let path = resource.path();
            let created = world.client.post(&path, &respelled(resource, &sample.body, 0)).await;
            let outcome = async {
                let created = created.expect(201)?;
                let strict = world.client.post(&path, &sample.body).await.expect(200)?;
                if strict.etag() != created.etag() {
                    let stored = world.client.get(&created.location()).await.json();
                    return Err(format!("of {} was stored {stored}", sample.body));
                }
                for number in 1..SPELLINGS {
                    let other = respelled(resource, &sample.body, number);
                    let answer = world.client.put(&created.location(), &other).await.expect(204)?;
                    if answer.etag() != created.etag() {
                        return Err(format!("{other} is not {}", sample.body));
                    }
                }
                Ok(())
            };
            failures.check(&resource.endpoint, outcome.await);
        }
        failures.assert_none(world.app.resources());
    }
}

/// Returns the document with a blank text in each optional scalar member, and the document without
/// these members.
fn blanked(resource: &Resource, sample: &Sample) -> (Value, Value) {
    let (mut blank, mut without) = (sample.body.clone(), sample.body.clone());
    let mut number = 0;
    for found in walk(resource, &sample.body) {
        if let (What::Scalar(_), Presence::Optional) = (found.what, found.presence) {
            number += 1;
            found.spot.set(&mut blank, json!(["", "  ", "\t", "\u{2003}"][number % 4]));
            without = found.spot.without(&without);
        }
    }
    (blank, without)
}

#[tokio::test]
async fn every_blank_optional_value_counts_as_absent() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a blank text in an optional member is as if absent");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let (blank, without) = blanked(resource, sample);
            let path = resource.path();
            let created = world.client.post(&path, &blank).await;
            let outcome = async {
                let created = created.expect(201)?;
                let strict = world.client.post(&path, &without).await.expect(200)?;
                if strict.etag() == created.etag() { Ok(()) } else { Err(blank.to_string()) }
            };
            failures.check(&resource.endpoint, outcome.await);
        }
        failures.assert_none(world.app.resources());
    }
}

/// Returns the values of the type that count as missing in a required member.
fn nothing(found: &Found<'_>) -> Vec<Value> {
    let spot = found.spot.to_string();
    let (_, name) = spot.rsplit_once('.').unwrap();
    let name = format!("{}{}", name[..1].to_ascii_uppercase(), &name[1..]);
    let is_number = ["Id", "USI", "Year", "Number"].iter().any(|end| name.ends_with(end))
        || name.contains("Sequence")
        || name == "Version";
    let is_time = ["Start", "Begin", "End"].iter().any(|start| name.starts_with(start));
    match found.scalar() {
        Some(Scalar::Integer { bits: 32, min, max }) if is_number => {
            let is_whole = (min, max) == (i32::MIN.into(), i32::MAX.into());
            if is_whole { vec![json!(0), json!("0")] } else { vec![] }
        }
        Some(Scalar::Integer { min: i64::MIN, max: i64::MAX, .. }) if is_number => {
            vec![json!(0), json!("0.0")]
        }
        Some(Scalar::Date) => vec![json!("0001-01-01"), json!("1/1/0001")],
        Some(Scalar::DateTime) => vec![json!("0001-01-01T00:00:00"), json!("1/1/0001 12:00:00 AM")],
        Some(Scalar::Time) if is_time => vec![json!("00:00:00"), json!("00:00")],
        _ => vec![],
    }
}

#[tokio::test]
async fn every_required_value_without_content_counts_as_missing() {
    let law = "a value that says nothing is missing where one is required";
    each_is_refused_at(law, 4_000, where_missing, |sample, found| {
        if found.presence == Presence::Optional || found.scalar().is_none() {
            return vec![];
        }
        let blanks = ["", " ", "\u{2003}"].map(Value::from);
        let all = nothing(found).into_iter().chain(blanks);
        all.map(|value| sample.with(&found.spot, &value)).collect()
    })
    .await;
}

#[tokio::test]
async fn every_optional_zero_false_or_midnight_is_a_value() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("zero, false and midnight are values");
        for sample in &world.samples {
            let resource = world.resource(sample);
            for found in walk(resource, &sample.body) {
                let zero = match found.scalar() {
                    Some(Scalar::Integer { min, max, .. }) if (min..=max).contains(&0) => json!(0),
                    Some(Scalar::Decimal { min, .. }) if min.is_none_or(|min| min <= 0.0) => {
                        json!(0)
                    }
                    Some(Scalar::Boolean) => json!(false),
                    Some(Scalar::Time) => json!("00:00:00"),
                    _ => continue,
                };
                let group = sample.groups.iter().find(|group| group.contains(&found.spot)).unwrap();
                let all = walk(resource, &sample.body);
                let is_missing = all.iter().any(|other| {
                    let is_required = other.presence != Presence::Optional;
                    group.contains(&other.spot) && is_required && !nothing(other).is_empty()
                });
                if is_missing {
                    continue;
                }
                let text = sample.with(&found.spot, &zero).to_string();
                let json = Json::read(text.as_bytes()).unwrap();
                let outcome = validate(&world.app.data.catalog, resource, &json);
                let outcome = outcome.map(|_| ()).map_err(|violations| format!("{violations:?}"));
                failures.check(format!("{} {}", resource.endpoint, found.spot), outcome);
            }
        }
        failures.assert_none(100);
    }
}
