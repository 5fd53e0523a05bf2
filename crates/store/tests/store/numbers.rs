//! Numbers of documents, and identities under a base.

use homeroom_store::{ListQuery, NaturalKey};

use crate::support::{Place, create, delete, document, key, stores};

#[tokio::test]
async fn the_number_of_a_deleted_document_is_not_reused_after_a_restart() {
    let place = Place::new();
    let (store, a) = place.open();
    for name in ["x", "y", "z"] {
        create(&store, document(a, name, vec![]));
    }
    let last = store.document_by_key_blocking(key("z")).unwrap().unwrap().id;
    for name in ["y", "z"] {
        delete(&store, name);
    }
    drop(store);

    let (store, a) = place.open();
    create(&store, document(a, "new", vec![]));

    let after = ListQuery { after: last, ..ListQuery::all(a) };
    let page = store.list(after).await.unwrap();
    assert_eq!(page.rows.len(), 1, "a token past the deleted one finds the new one");
    let newest = page.rows[0].id;
    delete(&store, "new");
    drop(store);
    let (store, a) = place.open();
    create(&store, document(a, "newer", vec![]));
    assert!(store.document_by_key_blocking(key("newer")).unwrap().unwrap().id > newest);
}

#[test]
fn deleting_a_document_deletes_its_base_identity() {
    for (store, a, b) in stores() {
        let base = NaturalKey::of("base", [&b"7"[..]]);
        let mut school = document(a, "x", vec![]);
        school.alias = Some(base);
        create(&store, school);
        assert!(store.target_blocking(base).unwrap().is_some());

        delete(&store, "x");

        assert_eq!(store.target_blocking(base).unwrap(), None);
        let mut other = document(b, "y", vec![]);
        other.alias = Some(base);
        create(&store, other);
        assert_eq!(store.target_blocking(base).unwrap().unwrap().2, b);
    }
}
