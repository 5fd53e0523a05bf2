//! The audit compares what is noted beside a document's text with the text.

use homeroom_store::{Gap, Gaps, References, Row, Uuid, Value};

use crate::app::Client;
use crate::app::documents::{on_each_store, school};

async fn stored(client: &Client, location: &str) -> Row {
    let id = location.rsplit('/').next().and_then(Uuid::read).unwrap();
    client.app.data.store.document(id).await.unwrap().unwrap()
}

/// Stores other gaps beside a document's text.
async fn note(client: &Client, row: &Row, gaps: Option<Gaps>) {
    let references = References {
        links: References::links(&row.references).collect(),
        others: References::others(&row.references).collect(),
        marks: References::marks(&row.references).collect(),
        gaps,
    };
    let arguments = vec![Value::Blob(references.pack()), Value::Integer(row.id.0)];
    client.app.damage("UPDATE doc SET refs = ?1 WHERE id = ?2", arguments).await;
}

#[tokio::test]
async fn the_audit_finds_misplaced_notes_of_empty_collections() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/schools", &school(1)).await;
        let row = stored(&client, &location).await;
        let (shape, places) = References::gaps(&row.references).unwrap();
        let places: Vec<Gap> = places.collect();
        assert!(places.len() > 1, "{places:?}");
        let changed = |change: fn(&mut Vec<Gap>)| {
            let mut places = places.clone();
            change(&mut places);
            Gaps { shape, places }
        };

        for (what, gaps) in [
            ("another place", changed(|places| places[0].offset += 1)),
            ("another collection", changed(|places| places[0].first += 1)),
            ("more collections", changed(|places| places[1].count += 1)),
            ("a gap less", changed(|places| _ = places.pop())),
            ("a gap more", changed(|places| places.push(places[0]))),
            ("another order", changed(|places| places.swap(0, 1))),
            ("no gaps", changed(Vec::clear)),
        ] {
            note(&client, &row, Some(gaps)).await;
            let found = client.app.wrongly_derived();
            let expected = format!(
                "1 document(s) of /ed-fi/schools have stored gaps for empty collections that \
                 differ from their text (for example document {})",
                row.id.0
            );
            assert_eq!(found, [expected], "{what}, {}", client.app);
        }

        // Missing gaps, or those of another model, are not faults: reads find the gaps in the text.
        let of_another_model = Gaps { shape: !shape, places: vec![] };
        for gaps in [None, Some(of_another_model), Some(Gaps { shape, places })] {
            note(&client, &row, gaps).await;
            assert_eq!(client.app.wrongly_derived(), [""; 0], "{}", client.app);
        }
    }
}
