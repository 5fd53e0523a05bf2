//! A store that holds the documents that samples need.

use std::sync::{Arc, Mutex, PoisonError};

use homeroom_model::ResourceId;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::app::{Client, FULL_ACCESS, TestApp};
use crate::samples::{Extent, Sample, Samples};
use crate::standard::Standard;

/// Number of chains that are sent concurrently, so that the store writes their documents in groups.
const SIDE_BY_SIDE: usize = 32;

/// An app, a client with full access, and a sample of each resource.
pub struct World {
    /// The app.
    pub app: TestApp,
    /// A client with full access to it.
    pub client: Client,
    /// One sample of each resource, in the order of the model. The samples are not stored, but all
    /// documents that they refer to are.
    pub samples: Vec<Sample>,
    needed: Vec<Vec<Sample>>,
}

impl World {
    /// Fills a new store with the documents that one sample of each resource needs.
    pub async fn with(app: TestApp, extent: Extent) -> Self {
        let mut world = Self::alone(app, extent).await;
        let descriptors = Samples::descriptors(world.app.model()).into_iter();
        send_all(&world.client, descriptors.map(|sample| vec![sample]).collect()).await;
        send_all(&world.client, std::mem::take(&mut world.needed)).await;
        world
    }

    /// Makes the same world with a store that is still new.
    pub async fn alone(app: TestApp, extent: Extent) -> Self {
        let client = app.client(FULL_ACCESS).await;
        let made = chains(&app, extent);
        let (mut samples, mut needed) = (vec![], vec![]);
        for chain in made.iter() {
            let (last, before) = chain.split_last().expect("the sample itself comes last");
            samples.push(last.clone());
            needed.push(before.to_vec());
        }
        Self { app, client, samples, needed }
    }

    /// Returns the resource of a sample.
    pub fn resource(&self, sample: &Sample) -> &homeroom_model::Resource {
        self.app.model().resource(sample.resource)
    }
}

type Chains = Arc<Vec<Vec<Sample>>>;

/// Samples made before, which the tests of one file share on all stores.
static MADE: Mutex<Vec<((Standard, Extent), Chains)>> = Mutex::new(vec![]);

/// Returns, for each resource, the documents that a sample needs and then the sample.
fn chains(app: &TestApp, extent: Extent) -> Chains {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, chains)) = made.iter().find(|(of, _)| *of == (app.standard, extent)) {
        return Arc::clone(chains);
    }
    let resources = app.model().resources.iter();
    let chains: Chains =
        Arc::new(resources.map(|resource| sample(app, resource.id, extent, 1)).collect());
    made.push(((app.standard, extent), Arc::clone(&chains)));
    chains
}

/// Returns the documents that a sample of a resource needs, then the sample; they differ for each
/// resource and `seed`.
pub fn sample(app: &TestApp, resource: ResourceId, extent: Extent, seed: u64) -> Vec<Sample> {
    let resources = app.model().resources.len() as u64;
    Samples::new(app.model(), seed * resources + u64::from(resource.0)).of(resource, extent)
}

/// Creates documents: each chain in its order, the chains concurrently.
pub async fn send_all(client: &Client, chains: Vec<Vec<Sample>>) {
    let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut sent = JoinSet::new();
    for chain in chains.into_iter().filter(|chain| !chain.is_empty()) {
        let (client, places) = (client.clone(), Arc::clone(&places));
        sent.spawn(async move {
            let _place = places.acquire_owned().await.unwrap();
            for sample in chain {
                let path = client.app.model().resource(sample.resource).path();
                let answer = client.post(&path, &sample.body).await;
                if answer.status != 201 {
                    return Some(format!("{path} {}: {answer:?}", sample.body));
                }
            }
            None
        });
    }
    let failures: Vec<String> = sent.join_all().await.into_iter().flatten().collect();
    assert!(failures.is_empty(), "what samples need could not be sent:\n{}", failures.join("\n"));
}
