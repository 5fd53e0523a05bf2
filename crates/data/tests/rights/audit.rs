//! The audit compares the data that authorization uses with the documents.

use super::town::{Dice, owners, people, school_of};
use super::village::Village;
use crate::app::documents::course;

#[tokio::test]
async fn the_audit_finds_nothing_wrong_with_documents_that_homeroom_wrote() {
    for owner in owners().await {
        people(&owner, &mut Dice(3)).await;

        assert_eq!(owner.app.wrongly_derived(), [""; 0], "{}", owner.app);
    }
    for village in Village::on_each_store().await {
        assert_eq!(village.owner.app.wrongly_derived(), [""; 0], "{}", village.owner.app);
    }
}

#[tokio::test]
async fn the_audit_finds_missing_and_orphaned_ties_and_wrong_marks() {
    for owner in owners().await {
        for id in [11, 12] {
            owner.create("/ed-fi/schools", &school_of(id, None)).await;
            owner.create("/ed-fi/courses", &course(id, "k")).await;
        }
        assert_eq!(owner.app.wrongly_derived(), [""; 0]);

        owner.app.damage("DELETE FROM tie WHERE item = 11", vec![]).await;
        let missing = owner.app.wrongly_derived();
        let more = "INSERT INTO tie (label, item, holder, via) SELECT label, 11, 12, via FROM tie";
        owner.app.damage(more, vec![]).await;
        let wrong = owner.app.wrongly_derived();
        let marks = "UPDATE doc SET refs = (SELECT d.refs FROM doc d WHERE d.kind = doc.kind \
                     ORDER BY d.id LIMIT 1) WHERE id = (SELECT max(e.id) FROM doc e)";
        owner.app.damage(marks, vec![]).await;
        let marked = owner.app.wrongly_derived();

        let ties = |found: u8, expected: u8| {
            format!(
                "the {found} ties of 'ed-fi/EducationOrganization' do not match the {expected} that \
                 the documents imply"
            )
        };
        assert_eq!(missing, [ties(1, 2)], "{}", owner.app);
        // The number of ties is right, but not the ties themselves.
        assert_eq!(wrong, [ties(2, 2)], "{}", owner.app);
        let is_marked =
            |problem: &String| problem.starts_with("1 document(s) of /ed-fi/courses have marks");
        assert!(marked.iter().any(is_marked), "{marked:?}");
    }
}
