//! Loads the published sample data, if the environment provides it.

mod support;

use std::path::PathBuf;

use support::{load_all, target};

/// Returns the folder of reference data, or [`None`] after printing why the test is skipped.
fn reference() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMEROOM_REFERENCE").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
    }
    folder
}

#[test]
fn grand_bend_loads_except_for_records_without_a_target() {
    let Some(reference) = reference() else { return };
    let target = target();

    let (descriptors, faults) = load_all(&target, &[&reference.join("ed-fi/descriptors/5.2.0")]);
    let (sample, rejects) = load_all(&target, &[&reference.join("ed-fi/samples/5.2.0")]);
    let (again, _) = load_all(&target, &[&reference.join("ed-fi/samples/5.2.0")]);

    assert_eq!((descriptors.loaded, faults.len(), descriptors.warnings.len()), (3_298, 0, 0));
    assert_eq!((sample.loaded + sample.unchanged, sample.rejected), (17_289, 160));
    assert_eq!((sample.documents, sample.repeated, sample.warnings.len()), (17_449, 2, 0));
    assert_eq!((again.loaded, again.unchanged, again.rejected), (2, 17_287, 160));
    let of = |element: &str| rejects.iter().filter(|r| r["element"] == element).count();
    assert_eq!(of("StudentAssessmentRegistration"), 40);
    assert_eq!(of("StudentAssessmentRegistrationBatteryPartAssociation"), 120);
    for reject in &rejects {
        let missing = &reject["missing"][0];
        let (kind, key) = (missing["resource"].as_str().unwrap(), missing["key"].as_str().unwrap());
        let message = reject["message"].as_str().unwrap();
        assert!(message.contains(&format!("The {kind} {key}")), "{message}");
        assert!(key.contains("studentUniqueId"), "{key}");
        assert_eq!(reject["type"], "urn:ed-fi:api:data-conflict:unresolved-reference");
    }
    let (repeated, causes): (Vec<_>, Vec<_>) =
        sample.causes.iter().partition(|cause| cause.r#type == "urn:homeroom:load:duplicate");
    assert_eq!(repeated.iter().map(|cause| cause.count).sum::<u64>(), 2);
    let [cause, follows] = causes.as_slice() else { panic!("{causes:#?}") };
    assert!(cause.what.starts_with("StudentAssessmentRegistration refers to"), "{cause:?}");
    assert_eq!((cause.count, cause.following), (40, 120));
    let what = "StudentAssessmentRegistrationBatteryPartAssociation refers to";
    assert!(follows.what.starts_with(what), "{follows:?}");
    assert_eq!((follows.count, follows.follows), (120, true));
}

#[test]
fn causes_stay_few_when_the_descriptors_are_missing() {
    let Some(reference) = reference() else { return };
    let target = target();

    let (summary, _) = load_all(&target, &[&reference.join("ed-fi/samples/5.2.0")]);

    let causes = summary.causes.iter().filter(|cause| !cause.r#type.ends_with("duplicate"));
    assert!(summary.rejected > 16_000, "{}", summary.rejected);
    assert_eq!(causes.clone().map(|cause| cause.count).sum::<u64>(), summary.rejected);
    assert!(causes.clone().count() < 200, "{}", causes.count());
    assert!(!causes.clone().any(|cause| cause.what.contains("ther faults")));
    let first = causes.clone().next().unwrap();
    assert!(!first.lacking.is_empty() && first.lacking.len() <= 5, "{first:?}");
}
