//! What belongs to nobody is swept, and nothing else.

use homeroom_blobs::{BlobId, Blobs, Limits, Swept};
use homeroom_store::{Answer, ChangedAt, Decision, Options, Plan, Store, StoreUrl};
use homeroom_testkit::trial::url_of;
use homeroom_testkit::victim::{self, Victim};

use crate::support::{LONG_US, Trial, name, on_each, read};

fn later() -> ChangedAt {
    ChangedAt(ChangedAt::now().0 + LONG_US)
}

#[tokio::test]
async fn what_no_row_names_is_swept_after_the_grace_period() {
    for trial in on_each() {
        let kept = trial.kept(b"kept").await;
        for _ in 0..3 {
            let mut writing = trial.blobs.begin("test").await.unwrap();
            writing.write(b"lost").await.unwrap();
            writing.finish(ChangedAt::now()).await.unwrap();
        }
        let mut unfinished = trial.blobs.begin("test").await.unwrap();
        unfinished.write(b"half").await.unwrap();
        std::mem::forget(unfinished);

        let early = trial.blobs.sweep(ChangedAt::now()).await.unwrap();
        let swept = trial.blobs.sweep(later()).await.unwrap();
        let again = trial.blobs.sweep(later()).await.unwrap();

        assert_eq!(early, Swept::default(), "{}", trial.name);
        // What is on its way to a bucket is in a file without a name.
        let unfinished = u64::from(trial.blobs.place().path().is_some());
        assert_eq!(swept, Swept { unfinished, unnamed: 3, removed: 0, bytes: 12 });
        assert_eq!(again, Swept::default(), "{}", trial.name);
        assert_eq!(trial.names(), [name(&kept, "blobs")], "{}", trial.name);
    }
}

#[tokio::test]
async fn a_removed_blob_is_gone_at_once_and_its_bytes_a_while_later() {
    for trial in on_each() {
        let (kept, blob) = (trial.kept(b"kept").await, trial.kept(b"removed").await);
        let reading = trial.blobs.read(blob.id, blob.bytes, 0..7).await;

        trial.blobs.remove(blob.id, ChangedAt::now()).await.unwrap();
        let found = trial.blobs.find(blob.id).await.unwrap();
        let early = trial.blobs.sweep(ChangedAt::now()).await.unwrap();
        let begun = read(&trial.blobs, &blob, 0..7).await;
        let swept = trial.blobs.sweep(later()).await.unwrap();

        assert_eq!((found, early), (None, Swept::default()), "{}", trial.name);
        assert_eq!((reading.is_ok(), begun.as_slice()), (true, &b"removed"[..]));
        assert_eq!(swept, Swept { removed: 1, bytes: 7, ..Swept::default() }, "{}", trial.name);
        assert_eq!(trial.names(), [name(&kept, "blobs")], "{}", trial.name);
        assert_eq!(trial.blobs.sweep(later()).await.unwrap(), Swept::default());
    }
}

#[tokio::test]
async fn a_refused_plan_leaves_nothing_that_a_sweep_does_not_remove() {
    for trial in on_each() {
        let written = trial.blobs.begin("test").await.unwrap().finish(ChangedAt::now()).await;
        let written = written.unwrap();
        let row = written.row(ChangedAt::now()).unwrap();
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<Answer>| -> Decision<(), &'static str> {
                _ = &row;
                Decision::Refuse("no")
            },
        };

        assert!(trial.store.run(plan).await.is_err());

        assert_eq!(trial.blobs.find(written.blob().id).await.unwrap(), None, "{}", trial.name);
        assert_eq!(trial.blobs.sweep(later()).await.unwrap().unnamed, 1, "{}", trial.name);
    }
}

/// Writes blobs, of which one gets its row and one is not finished, and waits to be killed.
/// `place` has the store's URL and the folder of the blobs.
async fn write_and_wait(place: &str) {
    let (url, address) = place.split_once('\n').unwrap();
    let store = Store::open(&Options::new(url.parse().unwrap())).unwrap();
    let blobs = Blobs::new(Trial::at_address(address), store, Limits::default());
    let mut ids = vec![];
    for is_kept in [true, false] {
        let mut writing = blobs.begin("test").await.unwrap();
        writing.write(b"bytes").await.unwrap();
        let written = writing.finish(ChangedAt::now()).await.unwrap();
        ids.push(written.blob().id.to_string());
        if is_kept {
            blobs.keep(written, ChangedAt::now()).await.unwrap();
        }
    }
    let mut half = blobs.begin("test").await.unwrap();
    half.write(&vec![1; 3_000_000]).await.unwrap();
    victim::say(&ids.join(" "));
    victim::wait();
}

#[tokio::test]
async fn a_process_killed_between_blob_and_row_leaves_only_what_is_swept() {
    if let Some(place) = victim::argument() {
        return write_and_wait(&place).await;
    }
    for trial in on_each() {
        // A file has one process at a time: the killed one has its own.
        let url = match trial.store.url() {
            StoreUrl::Sqlite(_) => {
                format!("sqlite:{}", trial.folder.path().join("killed.db").display())
            }
            StoreUrl::Postgres(_) => url_of(&trial.store, &trial.database),
        };
        let place = trial.place("killed");
        let test = "sweeps::a_process_killed_between_blob_and_row_leaves_only_what_is_swept";
        let mut killed = Victim::start(test, &format!("{url}\n{}", trial.address("killed")));
        let said = killed.line();
        killed.kill();

        let store = Store::open(&Options::new(url.parse().unwrap())).unwrap();
        let blobs = Blobs::new(place, store, Limits::default());
        let early = blobs.sweep(ChangedAt::now()).await.unwrap();
        let swept = blobs.sweep(later()).await.unwrap();

        let ids: Vec<BlobId> = said.split(' ').map(|id| BlobId::read(id).unwrap()).collect();
        assert_eq!(early, Swept::default(), "{}", trial.name);
        let unfinished = u64::from(blobs.place().path().is_some());
        assert_eq!(swept, Swept { unfinished, unnamed: 1, removed: 0, bytes: 5 });
        let kept = blobs.find(ids[0]).await.unwrap().expect("its row was committed");
        assert_eq!(read(&blobs, &kept, 0..5).await, b"bytes", "{}", trial.name);
        assert_eq!(blobs.find(ids[1]).await.unwrap(), None, "{}", trial.name);
    }
}
