//! Snapshots of databases that are not stores.

use homeroom_store::{Snapshot, SnapshotOptions};
use homeroom_testkit::trial;

use crate::support::with_parameter;

#[test]
fn a_database_without_a_store_has_no_snapshot() {
    for options in trial::postgres().unwrap() {
        let elsewhere = with_parameter(&options, "options=-csearch_path%3Dhomeroom_nowhere");

        let refused = Snapshot::open(&elsewhere.url, &SnapshotOptions::default()).unwrap_err();

        assert!(refused.to_string().contains("contains no Homeroom store"), "{refused}");
    }
}
