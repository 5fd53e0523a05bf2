//! Courses are written beside documents, uploads and jobs.

use std::time::Duration;

use homeroom_blobs::{BlobPlace, Blobs, Limits};
use homeroom_course::Courses;
use homeroom_jobs::{Jobs, Limits as JobLimits};
use homeroom_store::Lane;
use homeroom_testkit::{Folder, trial};

#[tokio::test]
async fn a_course_with_its_files_and_a_registration_waits_for_neither_documents_nor_uploads() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let folder = Folder::new();
        let place = BlobPlace::folder(&folder.path().join("blobs"));
        let blobs = Blobs::new(place, store.clone(), Limits::default());
        let jobs = Jobs::new(store.clone(), JobLimits::default());
        let courses = Courses::new(store.clone(), jobs, blobs);
        let others = [None, Some(Lane::new("bulk")), Some(Lane::new("job"))];
        let held = trial::hold(&store, &others);

        let launched = tokio::time::timeout(Duration::from_secs(4), courses.launch_sample()).await;

        let path = launched.expect(&name).unwrap();
        assert!(path.starts_with("/play/"), "{name}: {path}");
        drop(held);
    }
}
