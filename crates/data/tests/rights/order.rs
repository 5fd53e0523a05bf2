//! The order in which reasons for refusing a change are reported.

use serde_json::json;

use super::town::{define_for, owners, school_of, vendor};
use crate::app::documents::{course, uri};

const KEY: &str = "bad-request:data-validation-failed:key-change-not-supported";

#[tokio::test]
async fn a_key_change_is_refused_after_stored_rights_and_before_sent_rights_are_checked() {
    for owner in owners().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
        }
        let ours = owner.create("/ed-fi/courses", &course(11, "k")).await;
        let elsewhere = course(12, "k");

        let reaches = vendor(&owner.app, "EdOrgsOnly", &[11]).await;
        let problem = reaches.put(&ours, &elsewhere).await.problem(400, KEY);
        assert!(problem.get("errors").is_none(), "{problem}");
        assert!(problem.get("validationErrors").is_none(), "{problem}");
        // With an unchanged key, there is nothing to report.
        assert_eq!(reaches.put(&ours, &course(11, "k")).await.status, 204);

        let does_not = vendor(&owner.app, "EdOrgsOnly", &[12]).await;
        does_not.put(&ours, &elsewhere).await.problem(403, "security:authorization");
    }
}

#[tokio::test]
async fn a_key_change_is_refused_before_the_sent_namespace_is_checked() {
    for owner in owners().await {
        define_for(&owner.app, "ByNamespace", &["NamespaceBased"], &["assessment"]).await;
        let subject = uri("AcademicSubjectDescriptor", "Mathematics");
        let assessment = |namespace: &str| {
            json!({
                "assessmentIdentifier": "1",
                "namespace": namespace,
                "assessmentTitle": "A",
                "academicSubjects": [{"academicSubjectDescriptor": subject}],
            })
        };
        let (ours, theirs) = ("uri://ours.example", "uri://theirs.example");
        let path = "/ed-fi/assessments";
        let stored = owner.create(path, &assessment(ours)).await;
        let not_ours = owner.create(path, &assessment(theirs)).await;
        let vendor = owner.app.client_within("ByNamespace", &[ours]).await;

        vendor.put(&stored, &assessment(theirs)).await.problem(400, KEY);

        let mismatch = "security:authorization:namespace:access-denied:namespace-mismatch";
        vendor.put(&not_ours, &assessment(ours)).await.problem(403, mismatch);
        let created = vendor.post(path, &assessment("uri://nobodys.example")).await;
        let problem = created.problem(403, mismatch);
        assert!(problem.get("errors").is_none(), "{problem}");
    }
}
