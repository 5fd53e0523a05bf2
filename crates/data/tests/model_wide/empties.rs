//! Every answer has every collection of its resource, at every level of the document.

use homeroom_document::text::{self, write_document};
use homeroom_model::{Presence, PropertyKind, Resource};
use homeroom_store::{References, Row, Uuid};
use serde_json::Value;

use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::filled::{filled, without_additions};
use crate::app::places::{What, walk};
use crate::app::samples::{Extent, Sample};
use crate::app::world::World;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Returns the fullest document, and the same without one of its optional collections, objects with
/// collections, or extensions at a time.
fn variants(resource: &Resource, sample: &Sample) -> Vec<Value> {
    let found = walk(resource, &sample.body);
    let optional = found.iter().filter(|found| found.presence == Presence::Optional);
    let lists = optional.filter(|found| matches!(found.what, What::List | What::Object));
    let without = lists.map(|found| found.spot.without(&sample.body));
    std::iter::once(sample.body.clone()).chain(without).collect()
}

async fn stored(world: &World, location: &str) -> Row {
    let id = location.rsplit('/').next().and_then(Uuid::read).unwrap();
    world.app.data.store.document(id).await.unwrap().unwrap()
}

/// Returns the row as it was written before gaps were noted.
fn of_old(row: &Row) -> Row {
    let references = References {
        links: References::links(&row.references).collect(),
        marks: References::marks(&row.references).collect(),
        ..References::default()
    };
    Row { references: references.pack(), ..row.clone() }
}

/// Returns the row with gaps that were noted for another model.
fn of_another_model(row: &Row) -> Row {
    let (shape, places) = References::gaps(&row.references).unwrap();
    let mut places: Vec<_> = places.collect();
    for gap in &mut places {
        gap.first = 0;
    }
    let gaps = homeroom_store::Gaps { shape: !shape, places };
    let references = References {
        links: References::links(&row.references).collect(),
        marks: References::marks(&row.references).collect(),
        gaps: Some(gaps),
        ..References::default()
    };
    Row { references: references.pack(), ..row.clone() }
}

async fn shows_all(
    world: &World,
    resource: &Resource,
    location: &str,
    sent: &Value,
) -> Result<(), String> {
    let put = world.client.put(location, sent).await.expect(204)?;
    let shown = filled(&resource.properties, sent);

    let answer = world.client.get(location).await.expect(200)?;
    ensure(without_additions(&answer.json()) == shown, || format!("{sent}: {answer:?}"))?;

    // Noted gaps and gaps found in the text are the same.
    let row = stored(world, location).await;
    ensure(!row.body.contains("[]"), || format!("empty collections are stored: {}", row.body))?;
    let has_lists = resource.properties.iter().any(|p| matches!(p.kind, PropertyKind::List(_)));
    let mut others = vec![of_old(&row)];
    if has_lists {
        let noted = References::gaps(&row.references).map(|(_, places)| places.collect::<Vec<_>>());
        let found = text::gaps(&world.app.data.catalog, resource.id, &row.body);
        ensure(noted.as_ref() == Some(&found), || format!("{noted:?} are noted, not {found:?}"))?;
        others.push(of_another_model(&row));
    }
    for other in others {
        let mut out = vec![];
        write_document(&mut out, &world.app.data.catalog, &other);
        ensure(out == answer.body, || format!("{:?}", String::from_utf8_lossy(&out)))?;
    }

    // Sending the answer back does not change the document.
    let again = world.client.put(location, &answer.json()).await.expect(204)?;
    ensure(again.etag() == put.etag(), || "the answer sent back was written".into())
}

#[tokio::test]
async fn every_answer_contains_every_collection_of_its_resource() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("an answer has every collection");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let location = world.client.create(&resource.path(), &sample.body).await;
            for sent in variants(resource, sample) {
                let outcome = shows_all(&world, resource, &location, &sent).await;
                failures.check(&resource.endpoint, outcome);
            }
        }
        failures.assert_none(world.app.resources());
    }
}

#[tokio::test]
async fn the_smallest_document_shows_every_collection_by_id_and_in_a_list() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Smallest).await;
        let mut failures = Failures::of("an answer has every collection");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let location = world.client.create(&resource.path(), &sample.body).await;
            let by_id = world.client.get(&location).await.json();
            let listed = world.client.get(&resource.path()).await.json();
            let shown = filled(&resource.properties, &sample.body);
            let outcome = ensure(without_additions(&by_id) == shown, || format!("{by_id}"))
                .and_then(|()| {
                    let is_listed = listed.as_array().unwrap().contains(&by_id);
                    ensure(is_listed, || format!("{listed} has not {by_id}"))
                });
            failures.check(&resource.endpoint, outcome);
        }
        failures.assert_none(world.app.resources());
    }
}
