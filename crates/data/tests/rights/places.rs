//! Views through one of several references, for every resource with several references to one
//! basis.

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use homeroom_model::{PropertyKind, Reference, Resource, Target};
use serde_json::{Value, json};

use crate::app::failures::Failures;
use crate::app::samples::{Extent, Sample};
use crate::app::world::World;
use crate::app::{Client, TestApp};

/// Returns the references of the root, by name.
fn references(resource: &Resource) -> Vec<(&str, &Reference)> {
    let properties = resource.properties.iter();
    properties
        .filter_map(|property| match &property.kind {
            PropertyKind::Reference(reference) => Some((property.name.as_str(), reference)),
            _ => None,
        })
        .collect()
}

/// Whether a document at this address belongs to the basis.
fn is_of(app: &TestApp, href: &str, basis: Target) -> bool {
    let of = |resource: &&Resource| href.starts_with(&format!("{}/", resource.path()));
    let resource = app.model().resources.iter().find(of).unwrap();
    match basis {
        Target::Resource(id) => resource.id == id,
        Target::Abstract(base) => resource.base.as_ref().is_some_and(|own| own.id == base),
    }
}

/// Defines a view and a claim set that can read what the view contains.
async fn define(app: &TestApp, strategy: &str, rule: Value) {
    let put = Manage::PutStrategy { name: strategy.into(), definition: json!({"where": rule}) };
    app.access.manage(put, Timestamp::now()).await.unwrap();
    let read = json!({"name": "Read", "authorizationStrategies": [strategy]});
    let definition = json!({"resourceClaims": [{"claim": "*", "actions": [read]}]});
    let put = Manage::PutClaimSet { name: "Places".into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
}

/// Checks that the view through one reference contains its target, and not that of another
/// reference.
async fn tell(
    world: &World,
    vendor: &mut Option<Client>,
    resource: &Resource,
    (name, reference): (&str, &Reference),
    (own, others): (&str, &[&str]),
) -> Result<(), String> {
    let basis = world.app.model().target_name(reference.target);
    let strategy = format!("{basis}WithPlace");
    define(&world.app, &strategy, json!({"exists": resource.path(), "by": name})).await;
    if vendor.is_none() {
        *vendor = Some(world.app.client("Places").await);
    }
    let vendor = vendor.as_ref().unwrap();
    vendor.get(own).await.expect(200)?;
    for elsewhere in others {
        vendor.get(elsewhere).await.expect(403)?;
    }
    Ok(())
}

/// Returns the addresses in a stored document's links.
async fn hrefs(world: &World, sample: &Sample) -> Vec<(String, String)> {
    let resource = world.resource(sample);
    let location = world.client.create(&resource.path(), &sample.body).await;
    let stored = world.client.get(&location).await.json();
    let href = |(name, _): (&str, &Reference)| {
        let href = stored[name]["link"]["href"].as_str()?;
        Some((name.to_owned(), href.to_owned()))
    };
    references(resource).into_iter().filter_map(href).collect()
}

#[tokio::test]
async fn a_view_contains_exactly_the_targets_of_the_named_reference() {
    for app in TestApp::on_each_store().await {
        let world = World::with(app, Extent::Fullest).await;
        let mut failures = Failures::of("a view by one of several references");
        let mut vendor = None;
        for sample in &world.samples {
            let resource = world.resource(sample);
            if references(resource).len() < 2 {
                continue;
            }
            let hrefs = hrefs(&world, sample).await;
            for (name, reference) in references(resource) {
                let own = hrefs.iter().find(|(own, _)| own == name).map(|(_, href)| href.as_str());
                let Some(own) = own else { continue };
                let others: Vec<&str> = hrefs
                    .iter()
                    .map(|(_, href)| href.as_str())
                    .filter(|href| *href != own && is_of(&world.app, href, reference.target))
                    .collect();
                if !others.is_empty() {
                    let case = format!("{}.{name}", resource.name);
                    let told =
                        tell(&world, &mut vendor, resource, (name, reference), (own, &others));
                    failures.check(case, told.await);
                }
            }
        }
        failures.assert_none(15);
    }
}
