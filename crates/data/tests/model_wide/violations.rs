//! Documents that break one rule are refused, with the place of the breach.

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_http::Violations;
use homeroom_model::{Presence, Resource, Scalar};
use serde_json::{Value, json};

use crate::app::failures::Failures;
use crate::app::places::{Found, Spot, What, walk};
use crate::app::samples::{Extent, Sample};
use crate::app::world::World;
use crate::app::{STANDARDS, TestApp};

/// Breaks each fullest document in each way; `broken` returns the broken documents for one place.
async fn each_is_refused_at_its_place(
    law: &'static str,
    least: usize,
    broken: impl Fn(&Sample, &Found<'_>) -> Vec<Value>,
) {
    each_is_refused_at(law, least, |found| found.spot.clone(), broken).await;
}

/// Returns the place that is reported for a missing value: in a reference, the reference itself.
pub fn where_missing(found: &Found<'_>) -> Spot {
    if let What::Part(_) = found.what { found.spot.owner() } else { found.spot.clone() }
}

/// Does the same for breaches that are reported elsewhere.
///
/// Invalid documents are refused before the store is asked. Every form is therefore only validated,
/// and for each resource the first and the last form are sent to each store: the answer must have
/// all violations that validation found.
pub async fn each_is_refused_at(
    law: &'static str,
    least: usize,
    at: fn(&Found<'_>) -> Spot,
    broken: impl Fn(&Sample, &Found<'_>) -> Vec<Value>,
) {
    for standard in STANDARDS {
        let mut worlds = vec![];
        for app in TestApp::serving(standard).await {
            // The store is empty.
            let world = World::alone(app, Extent::Fullest).await;
            worlds.push((world.client.newest().await, world));
        }
        let mut failures = Failures::of(law);
        let (_, world) = &worlds[0];
        for sample in &world.samples {
            let resource = world.resource(sample);
            let mut ends: Option<[(Value, Violations); 2]> = None;
            for place in walk(resource, &sample.body) {
                for body in broken(sample, &place) {
                    let violations = violations(world, resource, &body);
                    let path = at(&place).to_string();
                    let outcome = if violations.contains_key(&path) {
                        Ok(())
                    } else {
                        Err(format!("{body} is not refused there: {violations:?}"))
                    };
                    failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
                    let case = (body, violations);
                    match &mut ends {
                        Some([_, end]) => *end = case,
                        None => ends = Some([case.clone(), case]),
                    }
                }
            }
            for (body, violations) in ends.iter().flatten() {
                for (_, world) in &worlds {
                    let outcome = refused(world, resource, body, violations).await;
                    failures.check(format!("{} {}", world.app, resource.endpoint), outcome);
                }
            }
        }
        failures.assert_none(least);
        for (before, world) in &worlds {
            assert_eq!(world.client.newest().await, *before, "something was written");
        }
    }
}

/// Returns the violations of a document; empty if it is valid.
fn violations(world: &World, resource: &Resource, body: &Value) -> Violations {
    let text = body.to_string();
    let json = Json::read(text.as_bytes()).unwrap();
    validate(&world.app.data.catalog, resource, &json).err().unwrap_or_default()
}

/// Sends an invalid document and checks that it is refused with these violations; unknown
/// descriptors may be reported as well.
async fn refused(
    world: &World,
    resource: &Resource,
    body: &Value,
    violations: &Violations,
) -> Result<(), String> {
    let answer = world.client.post(&resource.path(), body).await;
    let problem = answer.try_problem(400, "bad-request:data-validation-failed")?;
    for (path, messages) in violations {
        let said = problem["validationErrors"][path].as_array();
        let is_said = |message: &String| said.is_some_and(|said| said.contains(&json!(message)));
        if !messages.iter().all(is_said) {
            return Err(format!("{path} is not told: {problem}"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn every_missing_required_property_is_reported() {
    let law = "a document without a required property is refused";
    each_is_refused_at(law, 3_000, where_missing, |sample, place| {
        if place.presence == Presence::Optional {
            return vec![];
        }
        // A null and an empty collection count as absent.
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
        // An empty text counts as absent.
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
                // A number is accepted as a text.
                let word = if text { json!(true) } else { json!("so-called") };
                vec![word, json!({}), json!([1]), json!([])]
            }
            What::Reference(_) | What::Object => vec![json!("x"), json!(1), json!([{}]), json!([])],
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
async fn every_collection_refuses_a_duplicate_item_with_its_path() {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of("an item that appears twice is refused, and told which");
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

/// Sends each document in which one of two places that must agree has another value. `are_told`
/// receives the number of messages at the first place, which is in the root and is compared with
/// all others, and at the other place.
async fn each_conflict_is_told_on_both_places(
    law: &'static str,
    least: usize,
    value: impl Fn(&Sample, &Found<'_>) -> Option<Value>,
    are_told: fn(usize, usize) -> bool,
) {
    for app in TestApp::on_each_standard().await {
        let world = World::alone(app, Extent::Fullest).await;
        let mut failures = Failures::of(law);
        for sample in &world.samples {
            let resource = world.resource(sample);
            let found = walk(resource, &sample.body);
            for unified in &resource.unified {
                let places: Vec<&Found<'_>> =
                    found.iter().filter(|found| unified.contains(&found.place)).collect();
                let [first, others @ ..] = &places[..] else { continue };
                for place in others {
                    let Some(value) = value(sample, place) else { continue };
                    let body = place.spot.with(&sample.body, value);
                    let answer = world.client.post(&resource.path(), &body).await;
                    let told = answer.try_problem(400, "bad-request:data-validation-failed");
                    let outcome = told.and_then(|problem| {
                        let messages = |spot: &Spot| {
                            let told = problem["validationErrors"][spot.to_string()].as_array();
                            told.map_or(0, Vec::len)
                        };
                        if are_told(messages(&first.spot), messages(&place.spot)) {
                            Ok(())
                        } else {
                            Err(format!("not both are told: {problem}"))
                        }
                    });
                    let case = format!("{} {} {}", resource.endpoint, first.spot, place.spot);
                    failures.check(case, outcome);
                }
            }
        }
        failures.assert_none(least);
    }
}

#[tokio::test]
async fn every_pair_of_conflicting_values_is_reported_at_both_places() {
    let other = |sample: &Sample, place: &Found<'_>| {
        Some(match place.scalar().unwrap() {
            Scalar::Descriptor(_) => json!("uri://homeroom.test/x#Else"),
            scalar => crate::app::samples::other(scalar, place.spot.get(&sample.body)),
        })
    };
    let is_told = |first, other| first > 0 && other > 0;

    each_conflict_is_told_on_both_places("places that must agree do", 60, other, is_told).await;
}

#[tokio::test]
async fn every_conflict_is_reported_even_if_one_value_is_out_of_bounds() {
    let law = "a conflict is told beside a value out of its bounds";
    let beyond = |_: &Sample, place: &Found<'_>| match place.scalar().unwrap() {
        Scalar::Text { max, .. } => Some(json!("é".repeat(max as usize + 1))),
        Scalar::Integer { max, .. } if max < i64::MAX => Some(json!(max + 1)),
        _ => None,
    };

    each_conflict_is_told_on_both_places(law, 40, beyond, |first, other| first > 0 && other > 1)
        .await;
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

/// Returns the places of violations, and the number of violations at each.
fn told(violations: &Violations) -> Vec<(&str, usize)> {
    violations.iter().map(|(path, messages)| (path.as_str(), messages.len())).collect()
}
