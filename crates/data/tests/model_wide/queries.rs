//! Lists filtered by each query field.

use homeroom_model::{PropertyKind, QueryField, Resource, Scalar};
use serde_json::Value;

use crate::app::failures::Failures;
use crate::app::places::walk;
use crate::app::samples::{Extent, Sample, at, other};
use crate::app::world::World;
use crate::app::{TestApp, encoded};

/// Returns a value as a query parameter.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a value that the document does not have.
fn another(field: &QueryField, value: &Value) -> Value {
    match (field.scalar, value) {
        (Scalar::Text { .. }, Value::String(text)) => Value::String(format!("{text}x")),
        (scalar, value) => other(scalar, value),
    }
}

async fn list(
    world: &World,
    resource: &Resource,
    field: &QueryField,
    value: &Value,
) -> Result<(Vec<String>, u64), String> {
    let (path, name) = (resource.path(), &field.name);
    let value = encoded(&text(value));
    let answer =
        world.client.get(&format!("{path}?{name}={value}&totalCount=true")).await.expect(200)?;
    let total = answer.header("total-count").parse().map_err(|_| "no number of all")?;
    Ok((answer.ids(), total))
}

async fn by_field(
    world: &World,
    sample: &Sample,
    id: &String,
    field: &QueryField,
) -> Result<(), String> {
    let resource = world.resource(sample);
    let value = at(resource, &sample.body, field.sources[0]);
    let (found, total) = list(world, resource, field, &value).await?;
    if !found.contains(id) || total != found.len() as u64 {
        return Err(format!("by {value} not found among {} of {total}", found.len()));
    }
    let without = another(field, &value);
    let (found, total) = list(world, resource, field, &without).await?;
    if found.contains(id) || total != found.len() as u64 {
        return Err(format!("by {without} found among {} of {total}", found.len()));
    }
    Ok(())
}

#[tokio::test]
async fn every_query_field_finds_the_documents_that_have_its_value_and_no_others() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a list has what its filter asks for");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let location = world.client.create(&resource.path(), &sample.body).await;
            let id = location.rsplit('/').next().unwrap().to_owned();
            for field in &resource.query_fields {
                let outcome = by_field(&world, sample, &id, field).await;
                failures.check(format!("{}?{}", resource.endpoint, field.name), outcome);
            }
            let by_id = world.client.ids(&format!("{}?id={id}", resource.path())).await;
            let outcome = if by_id == [id] { Ok(()) } else { Err(format!("{by_id:?}")) };
            failures.check(format!("{}?id", resource.endpoint), outcome);
        }
        failures.assert_none(2_000);
    }
}

/// Returns the document with only this one of its optional references.
fn with_one_reference(resource: &Resource, sample: &Sample, kept: usize) -> Value {
    let mut body = sample.body.clone();
    let required = walk(resource, &body);
    let members = body.as_object_mut().unwrap();
    for (at, property) in resource.properties.iter().enumerate() {
        let is_required = required.iter().any(|found| {
            found.place.steps == [at]
                && found.presence != homeroom_model::Presence::Optional
                && found.place.part.is_none()
        });
        if at != kept && !is_required {
            members.remove(&property.name);
        }
    }
    body
}

#[tokio::test]
async fn a_field_shared_by_several_references_matches_any_of_them() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("any of the places of a field may have its value");
        for sample in &world.samples {
            let resource = world.resource(sample);
            for field in resource.query_fields.iter().filter(|field| field.sources.len() > 1) {
                for (kept, property) in resource.properties.iter().enumerate() {
                    let PropertyKind::Reference(reference) = &property.kind else { continue };
                    if !reference.parts.iter().any(|part| part.column == field.name) {
                        continue;
                    }
                    let body = with_one_reference(resource, sample, kept);
                    let answer = world.client.post(&resource.path(), &body).await;
                    let location = answer.location();
                    let value = encoded(&text(&at(resource, &sample.body, field.sources[0])));
                    let path = format!("{}?{}={value}", resource.path(), field.name);
                    let found = world.client.ids(&path).await;
                    let id = location.rsplit('/').next().unwrap().to_owned();
                    let outcome =
                        if found.contains(&id) { Ok(()) } else { Err("not found".into()) };
                    failures.check(format!("{path} with {} only", property.name), outcome);
                }
            }
        }
        failures.assert_none(50);
    }
}
