//! A descriptor is answered in its own document's spelling, however it was sent.

use homeroom_model::{Resource, ResourceKind, Scalar};
use serde_json::Value;

use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::filled::{filled, without_additions};
use crate::app::places::walk;
use crate::app::samples::{Extent, Sample, Samples};
use crate::app::world::World;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Returns the document with each of its descriptors in another case, including those within
/// references, and the number of descriptors.
fn shouted(resource: &Resource, document: &Value) -> (Value, usize) {
    let mut shouted = document.clone();
    let mut count = 0;
    for found in walk(resource, document) {
        if let Some(Scalar::Descriptor(_)) = found.scalar() {
            let uri = found.spot.get(document).as_str().unwrap().to_uppercase();
            found.spot.set(&mut shouted, uri.into());
            count += 1;
        }
    }
    (shouted, count)
}

async fn keeps_spelling(world: &World, sample: &Sample, sent: &Value) -> Result<(), String> {
    let (client, resource) = (&world.client, world.resource(sample));
    let shown = filled(&resource.properties, &sample.body);

    let created = client.post(&resource.path(), sent).await.expect(201)?;
    let location = created.location();
    let found = client.get(&location).await.expect(200)?.json();
    ensure(without_additions(&found) == shown, || format!("sent {sent}, got {found}"))?;

    // In any case, it is the same document.
    let newest = client.newest().await;
    for answer in [
        client.post(&resource.path(), &sample.body).await.expect(200)?,
        client.post(&resource.path(), sent).await.expect(200)?,
        client.put(&location, sent).await.expect(204)?,
    ] {
        ensure(answer.etag() == created.etag(), || format!("written again: {answer:?}"))?;
    }
    ensure(client.newest().await == newest, || "something was written".into())
}

#[tokio::test]
async fn every_descriptor_value_is_returned_as_its_own_document_spells_it() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a descriptor has its own spelling");
        let mut places = 0;
        for sample in &world.samples {
            let resource = world.resource(sample);
            let (sent, count) = shouted(resource, &sample.body);
            places += count;
            if count > 0 {
                failures.check(&resource.endpoint, keeps_spelling(&world, sample, &sent).await);
            }
        }
        failures.assert_none(90);
        assert!(places > 300, "only {places} places have descriptors");
    }
}

/// Returns the members of a descriptor's identity in another case.
fn shouted_identity(document: &Value) -> Value {
    let mut shouted = document.clone();
    for name in ["namespace", "codeValue"] {
        shouted[name] = document[name].as_str().unwrap().to_uppercase().into();
    }
    shouted
}

async fn stays_as_first_stored(world: &World, sample: &Sample) -> Result<(), String> {
    let (client, resource) = (&world.client, world.resource(sample));
    let created = client.post(&resource.path(), &sample.body).await.expect(201)?;
    let location = created.location();
    let mut sent = shouted_identity(&sample.body);
    for answer in [
        client.post(&resource.path(), &sent).await.expect(200)?,
        client.put(&location, &sent).await.expect(204)?,
    ] {
        ensure(answer.etag() == created.etag(), || format!("written again: {answer:?}"))?;
    }

    // With another description, the document is written, but its spelling stays.
    sent["description"] = "in another case".into();
    client.post(&resource.path(), &sent).await.expect(200)?;
    let found = client.get(&location).await.expect(200)?.json();
    for name in ["namespace", "codeValue"] {
        let (found, first) = (&found[name], &sample.body[name]);
        ensure(found == first, || format!("{name} became {found}"))?;
    }
    ensure(found["description"] == "in another case", || format!("it is {found}"))
}

#[tokio::test]
async fn a_descriptor_sent_in_another_case_keeps_the_spelling_that_was_stored_first() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Smallest).await;
        let mut failures = Failures::of("a descriptor keeps its spelling");
        for sample in &world.samples {
            let resource = world.resource(sample);
            if resource.kind == ResourceKind::Descriptor {
                failures.check(&resource.endpoint, stays_as_first_stored(&world, sample).await);
            }
        }
        failures.assert_none(180);
    }
}

/// Restores what older versions stored: descriptors as they were sent, here with a code in lower
/// case.
const AS_SENT: &str = r#"UPDATE doc SET body =
    replace(replace(body, '#Shared"', '#shared"'), '#Other"', '#other"')"#;

async fn is_mended_by_sending_it_again(
    world: &World,
    sample: &Sample,
    location: &str,
    by_put: bool,
) -> Result<(), String> {
    let (client, resource) = (&world.client, world.resource(sample));
    let before = client.get(location).await.expect(200)?;
    let as_stored = before.json();
    let shown = filled(&resource.properties, &sample.body);
    ensure(without_additions(&as_stored) != shown, || format!("it was right: {as_stored}"))?;

    // The document is sent as stored, or in the right spelling.
    let answer = if by_put {
        client.put(location, &as_stored).await.expect(204)?
    } else {
        client.post(&resource.path(), &sample.body).await.expect(200)?
    };
    ensure(answer.etag() != before.etag(), || format!("nothing was written: {answer:?}"))?;
    let found = client.get(location).await.expect(200)?;
    ensure(without_additions(&found.json()) == shown, || format!("it became {found:?}"))?;

    let again = client.put(location, &as_stored).await.expect(204)?;
    ensure(again.etag() == answer.etag(), || format!("written twice: {again:?}"))
}

#[tokio::test]
async fn descriptors_spelled_by_an_older_version_are_reported_and_mended_by_resending() {
    for app in TestApp::on_each_store().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut of_old = vec![];
        for sample in &world.samples {
            let resource = world.resource(sample);
            if shouted(resource, &sample.body).1 > 0 {
                let location = world.client.create(&resource.path(), &sample.body).await;
                of_old.push((sample, location));
            }
        }
        assert_eq!(world.app.wrongly_derived(), [""; 0]);

        world.app.damage(AS_SENT, vec![]).await;

        let told = world.app.wrongly_derived();
        let says = "spell descriptors differently from the descriptors' own documents";
        assert!(told.iter().all(|problem| problem.contains(says)), "{told:?}");
        for (sample, _) in &of_old {
            let path = format!(" of {} ", world.resource(sample).path());
            assert!(told.iter().any(|problem| problem.contains(&path)), "{path}: {told:?}");
        }
        let mut failures = Failures::of("a document sent again is spelled anew");
        for (at, (sample, location)) in of_old.iter().enumerate() {
            let by_put = at % 2 == 0;
            let outcome = is_mended_by_sending_it_again(&world, sample, location, by_put).await;
            failures.check(&world.resource(sample).endpoint, outcome);
        }
        failures.assert_none(70);
    }
}

#[tokio::test]
async fn a_descriptor_recreated_in_another_case_gives_later_documents_its_new_spelling() {
    for app in TestApp::on_each_store().await {
        let client = app.client(crate::app::FULL_ACCESS).await;
        let samples = Samples::descriptors(app.model());
        let of = |name: &str| {
            let is = |s: &&Sample| app.model().resource(s.resource).name == name;
            samples.iter().find(is).unwrap()
        };
        let sex = of("SexDescriptor");
        let path = app.model().resource(sex.resource).path();
        let uri = |d: &Value| {
            format!("{}#{}", d["namespace"].as_str().unwrap(), d["codeValue"].as_str().unwrap())
        };
        let location = client.create(&path, &sex.body).await;
        let student = |id: &str| {
            serde_json::json!({
                "studentUniqueId": id, "firstName": "Ada", "lastSurname": "Byron",
                "birthDate": "2010-12-10", "birthSexDescriptor": uri(&sex.body).to_lowercase(),
            })
        };
        let first = client.create("/ed-fi/students", &student("1")).await;
        assert_eq!(client.get(&first).await.json()["birthSexDescriptor"], uri(&sex.body));

        assert_eq!(client.delete(&first).await.status, 204);
        assert_eq!(client.delete(&location).await.status, 204);
        let anew = shouted_identity(&sex.body);
        client.create(&path, &anew).await;
        let second = client.create("/ed-fi/students", &student("2")).await;

        assert_eq!(client.get(&second).await.json()["birthSexDescriptor"], uri(&anew));
    }
}
