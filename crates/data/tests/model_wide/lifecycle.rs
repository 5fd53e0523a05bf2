//! From the first POST to the 404 after DELETE.

use homeroom_model::{Presence, Resource};
use serde_json::Value;

use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::filled::{filled, without_additions};
use crate::app::places::{Spot, What, walk};
use crate::app::samples::{Extent, Sample, other};
use crate::app::world::World;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks POST: 201 with `Location` and `ETag`, no body.
async fn create(world: &World, sample: &Sample) -> Result<String, String> {
    let path = world.resource(sample).path();
    let answer = world.client.post(&path, &sample.body).await.expect(201)?;
    ensure(answer.body.is_empty(), || format!("a body: {answer:?}"))?;
    ensure(answer.headers.contains_key("etag"), || "no ETag".into())?;
    let location = answer.location();
    let id = location.strip_prefix(&format!("{path}/")).unwrap_or("").to_owned();
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure(is_id, || format!("the location is {location}"))?;
    Ok(location)
}

/// Checks GET: the sent document with id, ETag, time of change, and a link in each reference.
async fn read_back(world: &World, sample: &Sample, location: &str) -> Result<(), String> {
    let answer = world.client.get(location).await.expect(200)?;
    let found = answer.json();
    let shown = filled(&world.resource(sample).properties, &sample.body);
    ensure(without_additions(&found) == shown, || format!("sent {}, got {found}", sample.body))?;
    ensure(location.ends_with(found["id"].as_str().unwrap_or("-")), || "another id".into())?;
    let etag = found["_etag"].as_str().unwrap_or("-");
    ensure(answer.etag() == format!("\"{etag}\""), || format!("ETag {}", answer.etag()))?;
    let moment = found["_lastModifiedDate"].as_str().unwrap_or("");
    let is_moment = moment.len() == 24 && moment.starts_with("20") && moment.ends_with('Z');
    ensure(is_moment, || format!("_lastModifiedDate is {moment:?}"))?;
    for place in walk(world.resource(sample), &found) {
        let What::Reference(_) = place.what else { continue };
        let link = &place.spot.get(&found)["link"];
        let (rel, href) = (link["rel"].as_str(), link["href"].as_str());
        let (Some(rel), Some(href)) = (rel, href) else {
            return Err(format!("{} has no link", place.spot));
        };
        let target = world.client.get(href).await.expect(200)?;
        let named = world.app.model().resources.iter().any(|resource| {
            resource.name == rel && href.starts_with(&format!("{}/", resource.path()))
        });
        ensure(named, || format!("{rel} does not stand at {href}: {target:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn every_resource_keeps_its_smallest_document() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Smallest).await;
        let mut failures = Failures::of("a smallest document is created and read back");
        for sample in &world.samples {
            let outcome = match create(&world, sample).await {
                Ok(location) => read_back(&world, sample, &location).await,
                Err(what) => Err(format!("{what}: {}", sample.body)),
            };
            failures.check(&world.resource(sample).endpoint, outcome);
        }
        failures.assert_none(world.app.resources());
        assert_eq!(world.app.wrongly_derived(), [""; 0], "{}", world.app);
    }
}

#[tokio::test]
async fn every_resource_keeps_its_fullest_document() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a fullest document is created and read back");
        for sample in &world.samples {
            let outcome = match create(&world, sample).await {
                Ok(location) => read_back(&world, sample, &location).await,
                Err(what) => Err(format!("{what}: {}", sample.body)),
            };
            failures.check(&world.resource(sample).endpoint, outcome);
        }
        failures.assert_none(world.app.resources());
        assert_eq!(world.app.wrongly_derived(), [""; 0], "{}", world.app);
    }
}

/// Returns the document with another value in one property that is not part of its key, or without
/// an optional one; [`None`] if there is neither.
fn changed(resource: &Resource, sample: &Sample) -> Option<Value> {
    let found = walk(resource, &sample.body);
    let found: Vec<_> = found
        .iter()
        .filter(|found| found.place.steps.len() == 1 && found.place.part.is_none())
        .filter(|found| found.presence != Presence::Key)
        .collect();
    let alone = |spot: &Spot| sample.groups.iter().any(|group| group == std::slice::from_ref(spot));
    let other_value = found.iter().find_map(|found| match found.what {
        What::Scalar(scalar) if alone(&found.spot) => {
            Some(sample.with(&found.spot, &other(scalar, found.spot.get(&sample.body))))
        }
        _ => None,
    });
    let absent = || {
        let optional = found.iter().find(|found| found.presence == Presence::Optional)?;
        Some(optional.spot.without(&sample.body))
    };
    other_value.or_else(absent)
}

async fn update(world: &World, sample: &Sample, changed: &Value) -> Result<(), String> {
    let resource = world.resource(sample);
    let location = create(world, sample).await?;
    let before = world.client.get(&location).await.expect(200)?;
    let answer = world.client.put(&location, changed).await.expect(204)?;
    ensure(answer.location() == location, || format!("PUT says {}", answer.location()))?;
    ensure(answer.etag() != before.etag(), || "the ETag stayed".into())?;
    let after = world.client.get(&location).await.expect(200)?;
    let shown = filled(&resource.properties, changed);
    ensure(without_additions(&after.json()) == shown, || format!("put {changed}, got {after:?}"))?;
    ensure(after.etag() == answer.etag(), || "GET has another ETag than PUT gave".into())?;

    let again = world.client.post(&resource.path(), &sample.body).await.expect(200)?;
    ensure(again.location() == location, || "POST updated another document".into())?;
    let found = world.client.get(&location).await.expect(200)?.json();
    let shown = filled(&resource.properties, &sample.body);
    ensure(without_additions(&found) == shown, || format!("posted {}, got {found}", sample.body))
}

#[tokio::test]
async fn every_resource_is_updated_by_put_and_by_post() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a change of what is no key is an update");
        let mut without = vec![];
        for sample in &world.samples {
            let resource = world.resource(sample);
            match changed(resource, sample) {
                Some(changed) => {
                    failures.check(&resource.endpoint, update(&world, sample, &changed).await);
                }
                None => without.push(resource.endpoint.as_str()),
            }
        }
        failures.assert_none(world.app.resources() - without.len());
        assert_eq!(world.app.wrongly_derived(), [""; 0], "{}", world.app);
        assert!(without.len() < 25, "resources with nothing to change: {without:?}");
    }
}

async fn resend(world: &World, sample: &Sample) -> Result<(), String> {
    let path = world.resource(sample).path();
    let created = world.client.post(&path, &sample.body).await.expect(201)?;
    let newest = world.client.newest().await;
    let posted = world.client.post(&path, &sample.body).await.expect(200)?;
    let put = world.client.put(&created.location(), &sample.body).await.expect(204)?;
    for (what, answer) in [("POST", &posted), ("PUT", &put)] {
        ensure(answer.etag() == created.etag(), || format!("{what} gave {}", answer.etag()))?;
        ensure(answer.location() == created.location(), || format!("{what}: another location"))?;
    }
    let now = world.client.newest().await;
    ensure(now == newest, || format!("the newest change version went from {newest} to {now}"))
}

#[tokio::test]
async fn every_resource_writes_nothing_when_an_unchanged_document_is_sent_again() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("an unchanged document is not written again");
        for sample in &world.samples {
            failures.check(&world.resource(sample).endpoint, resend(&world, sample).await);
        }
        failures.assert_none(world.app.resources());
        assert_eq!(world.app.wrongly_derived(), [""; 0], "{}", world.app);
    }
}

async fn delete(world: &World, sample: &Sample) -> Result<(), String> {
    let path = world.resource(sample).path();
    let location = create(world, sample).await?;
    let answer = world.client.delete(&location).await.expect(204)?;
    ensure(answer.body.is_empty(), || format!("a body: {answer:?}"))?;
    for answer in [
        world.client.get(&location).await,
        world.client.put(&location, &sample.body).await,
        world.client.delete(&location).await,
    ] {
        answer.try_problem(404, "not-found")?;
    }
    let id = location.rsplit('/').next().unwrap_or("").to_owned();
    let listed = world.client.get(&path).await.expect(200)?.ids();
    ensure(!listed.contains(&id), || "it is still listed".into())?;
    let anew = create(world, sample).await?;
    ensure(anew != location, || "the new document has the id of the old one".into())
}

#[tokio::test]
async fn every_resource_forgets_a_deleted_document_and_accepts_it_again() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a deleted document is gone, and can be created again");
        for sample in &world.samples {
            failures.check(&world.resource(sample).endpoint, delete(&world, sample).await);
        }
        failures.assert_none(world.app.resources());
        assert_eq!(world.app.wrongly_derived(), [""; 0], "{}", world.app);
    }
}
