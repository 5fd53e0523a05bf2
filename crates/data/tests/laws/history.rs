//! After any history of changes, lists, counts, windows and deletions match a simple model.

use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::holds;
use crate::app::Client;
use crate::app::documents::{on_each_store, student, with};

const PATH: &str = "/ed-fi/students";

/// A change to one of a few students.
#[derive(Debug, Clone, Copy)]
enum Change {
    Post { who: usize, name: u8 },
    Put { who: usize, name: u8 },
    Delete { who: usize },
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0..6_usize, 0..3_u8).prop_map(|(who, name)| Change::Post { who, name }),
        2 => (0..6_usize, 0..3_u8).prop_map(|(who, name)| Change::Put { who, name }),
        2 => (0..6_usize).prop_map(|who| Change::Delete { who }),
    ]
}

/// A stored student.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    who: usize,
    name: u8,
    location: String,
    version: i64,
}

/// The expected state, in order of creation.
#[derive(Debug, Default)]
struct Expected {
    students: Vec<Known>,
    /// Deleted students, with the version of the deletion.
    deleted: Vec<(usize, i64)>,
    newest: i64,
}

async fn apply(
    client: &Client,
    expected: &mut Expected,
    change: Change,
) -> Result<(), TestCaseError> {
    let body =
        |who: usize, name: u8| with(student(&who.to_string()), "firstName", format!("Name {name}"));
    let place = |who: usize| expected.students.iter().position(|known| known.who == who);
    match change {
        Change::Post { who, name } => {
            let answer = client.post(PATH, &body(who, name)).await;
            match place(who) {
                None => {
                    prop_assert_eq!(answer.status, 201);
                    expected.newest += 1;
                    let location = answer.location();
                    let version = expected.newest;
                    expected.students.push(Known { who, name, location, version });
                }
                Some(at) => {
                    prop_assert_eq!(answer.status, 200);
                    renamed(expected, at, name);
                }
            }
        }
        Change::Put { who, name } => {
            let Some(at) = place(who) else { return Ok(()) };
            let answer = client.put(&expected.students[at].location, &body(who, name)).await;
            prop_assert_eq!(answer.status, 204);
            renamed(expected, at, name);
            prop_assert_eq!(answer.etag(), format!("\"{}\"", expected.students[at].version));
        }
        Change::Delete { who } => {
            let Some(at) = place(who) else { return Ok(()) };
            let known = expected.students.remove(at);
            prop_assert_eq!(client.delete(&known.location).await.status, 204);
            expected.newest += 1;
            expected.deleted.push((who, expected.newest));
        }
    }
    Ok(())
}

fn renamed(expected: &mut Expected, at: usize, name: u8) {
    let known = &mut expected.students[at];
    if known.name != name {
        expected.newest += 1;
        (known.name, known.version) = (name, expected.newest);
    }
}

/// Returns the listed students and the total number.
async fn listed(client: &Client, query: &str) -> (Vec<String>, String) {
    let answer = client.get(&format!("{PATH}?totalCount=true&{query}")).await;
    let list = answer.json();
    let students = list.as_array().unwrap().iter();
    let who = students.map(|student| student["studentUniqueId"].as_str().unwrap().to_owned());
    (who.collect(), answer.header("total-count").to_owned())
}

async fn compare(
    client: &Client,
    expected: &Expected,
    (low, high): (usize, usize),
) -> Result<(), TestCaseError> {
    let who = |known: &[&Known]| -> Vec<String> {
        known.iter().map(|known| known.who.to_string()).collect()
    };
    let all: Vec<&Known> = expected.students.iter().collect();
    let total = all.len().to_string();
    prop_assert_eq!(client.newest().await, expected.newest);
    prop_assert_eq!(listed(client, "").await, (who(&all), total.clone()));

    let page: Vec<&Known> = all.iter().skip(low).take(high).copied().collect();
    let query = format!("offset={low}&limit={high}");
    prop_assert_eq!(listed(client, &query).await, (who(&page), total));

    let named: Vec<&Known> = all.iter().filter(|known| known.name == 1).copied().collect();
    let count = named.len().to_string();
    prop_assert_eq!(listed(client, "firstName=Name%201").await, (who(&named), count));

    let span = |low: usize| expected.newest - i64::try_from(low).unwrap();
    let (min, max) = (span(low + high).max(0), span(low).max(0));
    let window = format!("minChangeVersion={min}&maxChangeVersion={max}");
    let changed: Vec<&Known> =
        all.iter().filter(|known| (min..=max).contains(&known.version)).copied().collect();
    let count = changed.len().to_string();
    prop_assert_eq!(listed(client, &window).await, (who(&changed), count));

    let deletes = client.get(&format!("{PATH}/deletes?totalCount=true&{window}")).await;
    let told: Vec<(String, i64)> = deletes
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|deleted| {
            let who = deleted["keyValues"]["studentUniqueId"].as_str().unwrap();
            (who.to_owned(), deleted["changeVersion"].as_i64().unwrap())
        })
        .collect();
    let gone: Vec<(String, i64)> = expected
        .deleted
        .iter()
        .filter(|(who, version)| {
            (min..=max).contains(version) && all.iter().all(|known| known.who != *who)
        })
        .map(|(who, version)| (who.to_string(), *version))
        .collect();
    prop_assert_eq!(deletes.header("total-count"), gone.len().to_string());
    prop_assert_eq!(told, gone);
    Ok(())
}

#[test]
fn lists_counts_windows_and_deletions_reflect_any_history() {
    let runtime = Runtime::new().unwrap();
    for client in runtime.block_on(on_each_store()) {
        let known = std::cell::RefCell::new(Expected {
            newest: runtime.block_on(client.newest()),
            ..Expected::default()
        });
        let change = (any_change(), (0..7_usize, 0..7_usize));
        let history = prop::collection::vec(change, 1..25);

        // Each history continues from the end of the previous one.
        holds(40, &history, |history| {
            let mut known = known.borrow_mut();
            for (change, window) in history {
                runtime.block_on(apply(&client, &mut known, change))?;
                runtime.block_on(compare(&client, &known, window))?;
            }
            Ok(())
        });
    }
}
