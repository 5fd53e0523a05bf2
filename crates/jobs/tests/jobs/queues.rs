//! Jobs on their way into the queue.

use homeroom_jobs::{JobError, Limits, NewJob, State};
use homeroom_store::{Answer, Decision, Plan, Refused, Sql, Write};
use serde_json::json;

use crate::support::{START, at, find, new, on_each, on_each_with, take_one};

#[tokio::test]
async fn a_queued_job_is_found_as_it_was_given() {
    for (name, jobs) in on_each() {
        let input = json!({ "file": "a \"quoted\" name\u{e9}", "size": 12.50 });
        let given = NewJob { not_before: Some(at(5)), ..NewJob::new("import", "key-1", input) };

        let id = jobs.enqueue(given.clone(), START).await.unwrap();

        let job = find(&jobs, id).await;
        assert_eq!(
            (job.kind, job.owner, job.input),
            (given.kind, given.owner, given.input),
            "{name}"
        );
        assert_eq!((job.state, job.attempts, job.due), (State::Queued, 0, at(5)), "{name}");
        assert_eq!((job.created, job.changed, job.expires), (START, START, None), "{name}");
    }
}

#[tokio::test]
async fn a_job_is_queued_with_another_plan_or_not_at_all() {
    for (name, jobs) in on_each() {
        let store = jobs.store().clone();
        let mut ids = vec![];
        for kind_name in ["one", "one", "two"] {
            let prepared = jobs.prepare(new("key-1"), START).unwrap();
            let id = prepared.id();
            let number = if kind_name == "one" { 1 } else { 2 };
            let plan = Plan {
                ask: vec![prepared.ask()],
                decide: move |found: Vec<Answer>| {
                    let job = match prepared.write(found.into_iter().next()) {
                        Ok(job) => job,
                        Err(error) => return Decision::Refuse(error),
                    };
                    // The second "one" breaks the table's rules.
                    let text = "INSERT INTO kind (id, name) VALUES (?1, ?2)";
                    let arguments = vec![i64::from(number).into(), kind_name.into()];
                    Decision::Write(vec![job, Write::Sql(Sql::new(text, arguments))], ())
                },
            };
            let ran = store.run(plan).await;
            ids.push((id, ran.map(|ran| ran.value)));
        }

        for (at, (id, ran)) in ids.into_iter().enumerate() {
            let is_there = jobs.find(id).await.unwrap().is_some();
            assert_eq!(is_there, at != 1, "{name}: {at}");
            assert_eq!(matches!(ran, Err(Refused::Store(_))), at == 1, "{name}: {ran:?}");
        }
    }
}

#[tokio::test]
async fn an_owner_and_all_owners_have_a_limit_that_ended_and_running_jobs_do_not_fill() {
    let limits = Limits { queued_of_owner_max: 2, queued_max: 3, ..Limits::default() };
    for (name, jobs) in on_each_with(limits) {
        jobs.enqueue(new("a"), START).await.unwrap();
        jobs.enqueue(new("a"), START).await.unwrap();

        let of_owner = jobs.enqueue(new("a"), START).await;
        jobs.enqueue(new("b"), START).await.unwrap();
        let of_all = jobs.enqueue(new("c"), START).await;

        assert!(matches!(of_owner, Err(JobError::Full { waiting: 2, .. })), "{name}: {of_owner:?}");
        assert!(matches!(of_all, Err(JobError::Full { waiting: 3, .. })), "{name}: {of_all:?}");
        take_one(&jobs, "n", START).await.expect("three are queued");
        jobs.enqueue(new("c"), START).await.unwrap();
        assert_eq!(jobs.figures().await.unwrap().refusals.full, 2, "{name}");
    }
}

#[tokio::test]
async fn a_value_that_is_too_large_is_refused() {
    let limits = Limits { input_bytes_max: 20, ..Limits::default() };
    for (name, jobs) in on_each_with(limits) {
        let given = [
            NewJob::new("import", "a", json!("x".repeat(19))),
            NewJob::new("import", &"a".repeat(257), json!(1)),
            NewJob::new(&"a".repeat(257), "a", json!(1)),
        ];
        for new in given {
            let refused = jobs.enqueue(new, START).await;
            assert!(matches!(refused, Err(JobError::TooLarge { .. })), "{name}: {refused:?}");
        }
        jobs.enqueue(NewJob::new("import", "a", json!("x".repeat(18))), START).await.unwrap();
        assert_eq!(jobs.figures().await.unwrap().refusals.large, 3, "{name}");
    }
}
