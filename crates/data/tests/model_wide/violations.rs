//! Documents that break one rule: refused with the place of the breach.

use homeroom_data::json::Json;
use homeroom_data::validate::validate;
use homeroom_http::Violations;
use homeroom_model::{Presence, Resource, Scalar};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::app::document::{Found, Spot, What, walk};
use crate::app::failures::Failures;
use crate::app::samples::{Extent, Sample};
use crate::app::world::World;

/// Sends each broken form of each fullest document; `broken` gives them for one of its places.
async fn each_is_refused_at_its_place(
    law: &'static str,
    least: usize,
    broken: impl Fn(&Sample, &Found<'_>) -> Vec<Value>,
) {
    each_is_refused_at(law, least, |found| found.spot.clone(), broken).await;
}

/// What is missing in a reference is told at the reference.
pub fn where_missing(found: &Found<'_>) -> Spot {
    if let What::Part(_) = found.what { found.spot.owner() } else { found.spot.clone() }
}

/// The same for breaches that are told elsewhere.
pub async fn each_is_refused_at(
    law: &'static str,
    least: usize,
    at: fn(&Found<'_>) -> Spot,
    broken: impl Fn(&Sample, &Found<'_>) -> Vec<Value>,
) {
    for app in TestApp::on_each_standard().await {
        // Nothing is stored: what breaks a rule is refused before the store is asked.
        let world = World::alone(app, Extent::Fullest).await;
        let before = world.client.newest().await;
        let mut failures = Failures::of(law);
        for sample in &world.samples {
            let resource = world.resource(sample);
            for place in walk(resource, &sample.body) {
                for body in broken(sample, &place) {
                    let outcome = refused(&world, resource, &body, &at(&place)).await;
                    failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
                }
            }
        }
        failures.assert_none(least);
        assert_eq!(world.client.newest().await, before, "something was written");
    }
}

async fn refused(
    world: &World,
    resource: &Resource,
    body: &Value,
    at: &Spot,
) -> Result<(), String> {
    let answer = world.client.post(&resource.path(), body).await;
    let problem = answer.try_problem(400, "bad-request:data-validation-failed")?;
    match &problem["validationErrors"][at.to_string()] {
        Value::Null => Err(format!("not named at its place: {problem}")),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn every_required_property_is_missed() {
    let law = "a document without a required property is refused";
    each_is_refused_at(law, 3_000, where_missing, |sample, place| {
        if place.presence == Presence::Optional {
            return vec![];
        }
        // A null and an empty collection are as if absent.
        let mut broken = vec![place.spot.without(&sample.body)];
        broken.push(place.spot.with(&sample.body, Value::Null));
        if matches!(place.what, What::List) {
            broken.push(place.spot.with(&sample.body, json!([])));
        }
        broken
    })
    .await;
}

#[tokio::test]
async fn every_text_that_is_too_long_or_too_short_is_refused() {
    let law = "a text outside its length is refused";
    each_is_refused_at_its_place(law, 1_000, |sample, place| {
        let Some(Scalar::Text { min, max }) = place.scalar() else { return vec![] };
        let mut broken = vec![sample.with(&place.spot, &json!("é".repeat(max as usize + 1)))];
        // No character at all is no value.
        if min > 1 {
            broken.push(sample.with(&place.spot, &json!("é".repeat(min as usize - 1))));
        }
        broken
    })
    .await;
}

#[tokio::test]
async fn every_number_out_of_its_range_is_refused() {
    let law = "a number outside its range is refused";
    each_is_refused_at_its_place(law, 400, |sample, place| {
        let beyond: Vec<Value> = match place.scalar() {
            Some(Scalar::Integer { min, max, .. }) => {
                let numbers = [min.checked_sub(1), max.checked_add(1)];
                let mut beyond: Vec<Value> = numbers.iter().flatten().map(|n| json!(n)).collect();
                beyond.extend([json!(9_223_372_036_854_775_808_u64), json!(1e300), json!(0.5)]);
                beyond
            }
            Some(Scalar::Decimal { precision, scale, min, max }) => {
                let digits = 10f64.powi(i32::from(precision - scale));
                let mut beyond = vec![json!(digits), json!(-digits), json!("1e2000000000")];
                beyond.extend(min.map(|min| json!(min - 1.0)));
                beyond.extend(max.map(|max| json!(max + 1.0)));
                beyond
            }
            _ => vec![],
        };
        beyond.iter().map(|value| sample.with(&place.spot, value)).collect()
    })
    .await;
}

#[tokio::test]
async fn every_value_of_another_type_is_refused() {
    let law = "a value of another type is refused";
    each_is_refused_at_its_place(law, 12_000, |sample, place| {
        let others = match place.what {
            What::Scalar(scalar) | What::Part(&homeroom_model::ReferencePart { scalar, .. }) => {
                let text = matches!(scalar, Scalar::Text { .. });
                // A number stands for its text.
                let word = if text { json!(true) } else { json!("so-called") };
                vec![word, json!({}), json!([1])]
            }
            What::Reference(_) | What::Object => vec![json!("x"), json!(1), json!([{}])],
            What::List => vec![json!("x"), json!(true), json!({"a": 1})],
        };
        let change = |value: &Value| match place.scalar() {
            Some(_) => sample.with(&place.spot, value),
            None => place.spot.with(&sample.body, value.clone()),
        };
        others.iter().map(change).collect()
    })
    .await;
}

#[tokio::test]
async fn every_collection_refuses_an_item_that_stands_twice_at_its_own_place() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("an item that stands twice is refused, and told which");
        for sample in &world.samples {
            let resource = world.resource(sample);
            for place in walk(resource, &sample.body) {
                let What::List = place.what else { continue };
                let item = place.spot.get(&sample.body)[0].clone();
                let body = place.spot.with(&sample.body, json!([item, item]));
                let answer = world.client.post(&resource.path(), &body).await;
                let kind = "bad-request:data-validation-failed";
                let outcome = answer.try_problem(400, kind).and_then(|problem| {
                    let said = problem["validationErrors"][place.spot.to_string()][0].as_str();
                    match said {
                        Some(said) if said.contains("index 1") && said.contains("index 0") => {
                            Ok(())
                        }
                        _ => Err(format!("not named at its place: {problem}")),
                    }
                });
                failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
            }
        }
        failures.assert_none(300);
    }
}

#[tokio::test]
async fn every_pair_of_places_that_must_agree_is_refused_on_both_when_they_do_not() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("places that must agree do");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let found = walk(resource, &sample.body);
            for unified in &resource.unified {
                let places: Vec<&Found<'_>> =
                    found.iter().filter(|found| unified.contains(&found.place)).collect();
                // The first stands in the root, which all others are compared with.
                let [first, others @ ..] = &places[..] else { continue };
                for place in others {
                    let value = match place.scalar().unwrap() {
                        Scalar::Descriptor(_) => json!("uri://homeroom.test/x#Else"),
                        scalar => crate::app::samples::other(scalar, place.spot.get(&sample.body)),
                    };
                    let body = place.spot.with(&sample.body, value);
                    let outcome = match refused(&world, resource, &body, &place.spot).await {
                        Ok(()) => refused(&world, resource, &body, &first.spot).await,
                        Err(what) => Err(what),
                    };
                    let case = format!("{} {} {}", resource.endpoint, first.spot, place.spot);
                    failures.check(case, outcome);
                }
            }
        }
        failures.assert_none(60);
    }
}

#[tokio::test]
async fn every_pair_that_must_agree_is_told_also_when_one_value_is_out_of_bounds() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("a conflict is told beside a value out of its bounds");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let found = walk(resource, &sample.body);
            for unified in &resource.unified {
                let places: Vec<&Found<'_>> =
                    found.iter().filter(|found| unified.contains(&found.place)).collect();
                let [first, others @ ..] = &places[..] else { continue };
                for place in others {
                    let value = match place.scalar().unwrap() {
                        Scalar::Text { max, .. } => json!("é".repeat(max as usize + 1)),
                        Scalar::Integer { max, .. } if max < i64::MAX => json!(max + 1),
                        _ => continue,
                    };
                    let body = place.spot.with(&sample.body, value);
                    let answer = world.client.post(&resource.path(), &body).await;
                    let problem = answer.problem(400, "bad-request:data-validation-failed");
                    let told = |spot: &Spot| {
                        let told = problem["validationErrors"][spot.to_string()].as_array();
                        told.map_or(0, Vec::len)
                    };
                    let outcome = match (told(&first.spot), told(&place.spot)) {
                        (1.., 2..) => Ok(()),
                        _ => Err(format!("not both are told: {problem}")),
                    };
                    let case = format!("{} {} {}", resource.endpoint, first.spot, place.spot);
                    failures.check(case, outcome);
                }
            }
        }
        failures.assert_none(40);
    }
}

#[tokio::test]
async fn every_reference_that_lacks_parts_is_one_violation() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("a reference without its parts is one violation");
        for sample in &world.samples {
            let resource = world.resource(sample);
            for place in walk(resource, &sample.body) {
                let What::Reference(_) = place.what else { continue };
                let text = place.spot.with(&sample.body, json!({})).to_string();
                let json = Json::read(text.as_bytes()).unwrap();
                let outcome = match validate(&world.app.data.catalog, resource, &json) {
                    Err(violations) if told(&violations) == [(&*place.spot.to_string(), 1)] => {
                        Ok(())
                    }
                    other => Err(format!("not one violation there: {other:?}")),
                };
                failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
            }
        }
        failures.assert_none(250);
    }
}

/// The places of violations, and how many there are at each.
fn told(violations: &Violations) -> Vec<(&str, usize)> {
    violations.iter().map(|(path, messages)| (path.as_str(), messages.len())).collect()
}
