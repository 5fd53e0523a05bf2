//! Checks of the samples themselves, on which all laws depend.

use std::collections::HashSet;

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{ColumnSource, Place};

use crate::app::failures::Failures;
use crate::app::samples::Extent;
use crate::app::world::sample;
use crate::app::{TestApp, model};

#[tokio::test]
async fn samples_are_valid_differ_by_seed_and_come_in_an_order_that_a_store_can_take() {
    for app in TestApp::on_each_standard().await {
        let mut failures = Failures::of("samples can be used");
        for resource in &app.model().resources {
            let mut subjects = HashSet::new();
            for (extent, seed) in
                [(Extent::Smallest, 1), (Extent::Smallest, 2), (Extent::Fullest, 3)]
            {
                let made = sample(&app, resource.id, extent, seed);
                let mut known = HashSet::new();
                let outcome = made.iter().try_for_each(|sample| {
                    let text = sample.body.to_string();
                    let json = Json::read(text.as_bytes()).map_err(|error| error.to_string())?;
                    let resource = app.model().resource(sample.resource);
                    let document = validate(&app.data.catalog, resource, &json)
                        .map_err(|found| format!("{} {text}: {found:?}", resource.name))?;
                    known.extend([document.key].into_iter().chain(document.alias));
                    Ok(())
                });
                let last = made.last().map(|sample| sample.body.to_string());
                let outcome = outcome.and_then(|()| {
                    if subjects.insert(last) { Ok(()) } else { Err("the seeds meet".into()) }
                });
                failures.check(&resource.endpoint, outcome);
            }
        }
        failures.assert_none(app.resources() * 3);
    }
}

#[test]
fn columns_of_one_name_are_unified() {
    let model = model();
    let mut failures = Failures::of("root values of one name are one column of the standard");
    for resource in &model.resources {
        for field in resource.query_fields.iter().filter(|field| field.sources.len() > 1) {
            let places: Vec<Place> = field
                .sources
                .iter()
                .map(|source| match *source {
                    ColumnSource::Scalar(at) => Place { steps: vec![at], part: None },
                    ColumnSource::Part(at, part) => Place { steps: vec![at], part: Some(part) },
                })
                .collect();
            let together = |group: &Vec<Place>| places.iter().all(|place| group.contains(place));
            let outcome = resource.unified.iter().any(together);
            let what = || format!("{:?} stand in no unified group", field.sources);
            failures.check(
                format!("{}.{}", resource.name, field.name),
                if outcome { Ok(()) } else { Err(what()) },
            );
        }
    }
    failures.assert_none(20);
}
