//! References and descriptors without a target, documents that others refer to, unchangeable keys.

use homeroom_model::Scalar;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::app::failures::Failures;
use crate::app::places::{What, walk};
use crate::app::samples::{Extent, other};
use crate::app::world::{World, sample};

#[tokio::test]
async fn every_dangling_reference_is_refused_with_its_targets_name() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a reference without target is a conflict");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let found = walk(resource, &sample.body);
            for place in &found {
                let What::Reference(reference) = place.what else { continue };
                let name = world.app.model().target_name(reference.target);
                // Prefer a member that no other reference shares, so that other references stay
                // valid.
                let members = found.iter().filter(|found| {
                    found.place.steps == place.place.steps && found.place.part.is_some()
                });
                let member = members.min_by_key(|found| {
                    let scalar = found.scalar().unwrap();
                    let group = sample.groups.iter().find(|group| group.contains(&found.spot));
                    // An unknown descriptor would be reported as a descriptor.
                    (matches!(scalar, Scalar::Descriptor(_)), group.map_or(0, Vec::len))
                });
                let member = member.expect("a reference has members");
                let value = other(member.scalar().unwrap(), member.spot.get(&sample.body));
                let body = sample.with(&member.spot, &value);
                let answer = world.client.post(&resource.path(), &body).await;
                let outcome = answer
                    .try_problem(409, "data-conflict:unresolved-reference")
                    .and_then(|problem| {
                        let said = &problem["validationErrors"][place.spot.to_string()];
                        let line = json!([format!("The referenced {name} does not exist.")]);
                        let detail = problem["detail"].as_str().unwrap();
                        let has_errors = problem.get("errors").is_some();
                        if *said == line && detail.contains(name) && !has_errors {
                            Ok(())
                        } else {
                            Err(format!("{name} is not named: {problem}"))
                        }
                    });
                failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
            }
        }
        failures.assert_none(250);
    }
}

#[tokio::test]
async fn every_unknown_descriptor_is_refused_at_its_place() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a descriptor that the store does not have is refused");
        let mut parts = 0;
        for sample in &world.samples {
            let resource = world.resource(sample);
            for place in walk(resource, &sample.body) {
                // A descriptor within a reference is also reported as a descriptor first.
                let Some(Scalar::Descriptor(descriptor)) = place.scalar() else { continue };
                parts += usize::from(matches!(place.what, What::Part(_)));
                let name = &world.app.model().resource(descriptor).name;
                let unknown = json!(format!("uri://homeroom.test/{name}#Unknown"));
                let body = sample.with(&place.spot, &unknown);
                let answer = world.client.post(&resource.path(), &body).await;
                let outcome = answer
                    .try_problem(400, "bad-request:data-validation-failed")
                    .and_then(|problem| {
                        let messages = &problem["validationErrors"][place.spot.to_string()];
                        if messages[0]
                            .as_str()
                            .is_some_and(|message| message.contains(name.as_str()))
                        {
                            Ok(())
                        } else {
                            Err(format!("not named at its place: {problem}"))
                        }
                    });
                failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
            }
        }
        failures.assert_none(500);
        assert!(parts > 30, "only {parts} descriptors are parts of references");
    }
}

#[tokio::test]
async fn every_deletion_of_a_referenced_document_is_refused_with_its_referrer() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        for sample in &world.samples {
            world.client.create(&world.resource(sample).path(), &sample.body).await;
        }
        let mut failures = Failures::of("what is referred to cannot be deleted");
        for sample in &world.samples {
            let resource = world.resource(sample);
            let query = resource.key.iter().map(|column| {
                let value = crate::app::samples::at(resource, &sample.body, column.source);
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{}={}", column.name, crate::app::encoded(&text))
            });
            let query = query.collect::<Vec<_>>().join("&");
            let found = world.client.get(&format!("{}?{query}", resource.path())).await.json();
            let stored = &found[0];
            for place in walk(resource, stored) {
                let What::Reference(_) = place.what else { continue };
                let href = place.spot.get(stored)["link"]["href"].as_str().unwrap();
                let answer = world.client.delete(href).await;
                let outcome = answer
                    .try_problem(409, "data-conflict:dependent-item-exists")
                    .and_then(|problem| {
                        let detail = problem["detail"].as_str().unwrap();
                        let names = detail.split([' ', ',', '.', ':']);
                        if names.into_iter().any(|name| name == resource.name) {
                            Ok(())
                        } else {
                            Err(format!("{} is not named: {detail}", resource.name))
                        }
                    });
                failures.check(format!("{} {}", resource.endpoint, place.spot), outcome);
            }
        }
        failures.assert_none(250);
    }
}

#[tokio::test]
async fn every_deletion_of_a_descriptor_in_use_is_refused() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut used = std::collections::BTreeSet::new();
        for sample in &world.samples {
            let resource = world.resource(sample);
            world.client.create(&resource.path(), &sample.body).await;
            for place in walk(resource, &sample.body) {
                if let What::Scalar(Scalar::Descriptor(descriptor)) = place.what {
                    let uri = place.spot.get(&sample.body).as_str().unwrap().to_owned();
                    used.insert((descriptor, uri));
                }
            }
        }
        let mut failures = Failures::of("a descriptor in use cannot be deleted");
        for (descriptor, uri) in &used {
            let path = world.app.model().resource(*descriptor).path();
            let (namespace, code) = uri.rsplit_once('#').unwrap();
            let query =
                format!("{path}?namespace={}&codeValue={code}", crate::app::encoded(namespace));
            let ids = world.client.ids(&query).await;
            let answer = world.client.delete(&format!("{path}/{}", ids[0])).await;
            let outcome = answer.try_problem(409, "data-conflict:dependent-item-exists");
            failures.check(uri, outcome.map(|_| ()));
        }
        failures.assert_none(180);
    }
}

#[tokio::test]
async fn every_key_stays_as_it_is_when_put_would_change_it() {
    for app in TestApp::on_each_standard().await {
        let world = World::with(app, Extent::Smallest).await;
        let mut failures = Failures::of("PUT does not change a key");
        for first in &world.samples {
            let resource = world.resource(first);
            let location = world.client.create(&resource.path(), &first.body).await;
            let second = sample(&world.app, resource.id, Extent::Smallest, 2).pop().unwrap();

            let answer = world.client.put(&location, &second.body).await;

            let kind = "bad-request:data-validation-failed:key-change-not-supported";
            let mut outcome = answer.try_problem(400, kind).map(|_| ());
            let kept = world.client.get(&location).await.json();
            let is_kept = resource.key.iter().all(|column| {
                let value = |body: &Value| crate::app::samples::at(resource, body, column.source);
                value(&kept) == value(&first.body)
            });
            if !is_kept {
                outcome = Err(format!("the key has changed: {kept}"));
            }
            failures.check(&resource.endpoint, outcome);
        }
        failures.assert_none(world.app.resources());
    }
}
