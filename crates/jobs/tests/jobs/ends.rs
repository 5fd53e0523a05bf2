//! How attempts end, what operators do, and what is removed.

use std::time::Duration;

use homeroom_jobs::{
    Held, Job, JobError, JobId, Jobs, JobsRequest, Lease, Limits, Outcome, Progress, State,
};
use homeroom_store::{ChangedAt, Uuid};
use serde_json::json;

use crate::support::{START, at, find, new, on_each, on_each_with, take_one};

async fn taken(jobs: &Jobs, now: ChangedAt) -> (JobId, Lease) {
    let id = jobs.enqueue(new("a"), now).await.unwrap();
    (id, take_one(jobs, "n", now).await.unwrap().lease)
}

async fn after(jobs: &Jobs, lease: Lease, outcome: Outcome, now: ChangedAt) -> Job {
    let id = lease.id;
    assert!(jobs.end(lease, None, outcome, now).await.unwrap());
    find(jobs, id).await
}

fn failed(pause: Option<u64>) -> Outcome {
    Outcome::Failed { error: "no answer".into(), pause: pause.map(Duration::from_secs) }
}

#[tokio::test]
async fn a_job_ends_with_its_result_or_its_error() {
    for (name, jobs) in on_each() {
        let (_, lease) = taken(&jobs, START).await;
        let done = after(&jobs, lease, Outcome::Done(json!({ "n": 1 })), at(1)).await;
        let (_, lease) = taken(&jobs, START).await;
        let dead = after(&jobs, lease, failed(None), at(1)).await;

        assert_eq!(
            (done.state, done.result, done.due),
            (State::Done, Some(json!({ "n": 1 })), at(1)),
            "{name}"
        );
        assert_eq!(done.expires, Some(at(1 + 7 * 86_400)), "{name}");
        assert_eq!((dead.state, dead.error.as_deref()), (State::Dead, Some("no answer")), "{name}");
        assert_eq!(dead.expires, Some(at(1 + 30 * 86_400)), "{name}");
    }
}

#[tokio::test]
async fn a_failure_is_tried_again_after_its_pause_and_a_job_given_back_at_once() {
    for (name, jobs) in on_each() {
        let (id, lease) = taken(&jobs, START).await;

        let again = after(&jobs, lease, failed(Some(10)), at(1)).await;
        let too_early = take_one(&jobs, "n", at(10)).await;
        let second = take_one(&jobs, "n", at(11)).await.unwrap();
        let back = after(&jobs, second.lease.clone(), Outcome::GivenBack, at(12)).await;
        let third = take_one(&jobs, "n", at(12)).await.unwrap();

        assert_eq!((again.state, again.due, again.attempts), (State::Queued, at(11), 1), "{name}");
        assert_eq!((too_early, second.lease.attempt), (None, 2), "{name}");
        assert_eq!((back.state, back.attempts), (State::Queued, 1), "{name}");
        assert_eq!((third.job.id, third.lease.attempt), (id, 2), "{name}");
        assert_eq!(third.job.error.as_deref(), Some("no answer"), "{name}");
    }
}

#[tokio::test]
async fn progress_is_kept_to_the_end_and_what_is_too_long_is_cut_off_or_fails() {
    let limits = Limits { text_bytes_max: 5, result_bytes_max: 10, ..Limits::default() };
    for (name, jobs) in on_each_with(limits) {
        let (id, lease) = taken(&jobs, START).await;
        let told = Progress { done: 3, of: Some(9), text: "reading files".into() };

        let held = jobs.extend(vec![(lease.clone(), Some(told))], at(90), at(1)).await.unwrap();
        let running = find(&jobs, id).await;
        jobs.extend(vec![(lease.clone(), None)], at(91), at(2)).await.unwrap();
        let ended = after(&jobs, lease, Outcome::Done(json!("x".repeat(9))), at(3)).await;

        let kept = Some(Progress { done: 3, of: Some(9), text: "readi".into() });
        assert_eq!(
            (held, running.progress, running.due),
            (vec![Held::Extended], kept.clone(), at(90))
        );
        assert_eq!((ended.state, ended.progress), (State::Dead, kept), "{name}");
        assert!(ended.error.unwrap().contains("its result has 11 bytes"), "{name}");
    }
}

#[tokio::test]
async fn a_dead_job_is_sent_again_with_all_its_attempts() {
    for (name, jobs) in on_each() {
        let (id, lease) = taken(&jobs, START).await;
        after(&jobs, lease, failed(None), at(1)).await;

        jobs.retry(id, at(2)).await.unwrap();
        let queued = find(&jobs, id).await;
        let again = take_one(&jobs, "n", at(2)).await.unwrap();

        assert_eq!(
            (queued.state, queued.attempts, queued.expires),
            (State::Queued, 0, None),
            "{name}"
        );
        assert_eq!((again.job.id, again.lease.attempt), (id, 1), "{name}");
        let refused = jobs.retry(id, at(3)).await;
        assert!(matches!(refused, Err(JobError::Unfit { .. })), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn a_queued_job_is_cancelled_at_once_and_a_running_one_when_its_node_notices() {
    for (name, jobs) in on_each() {
        let (running, lease) = taken(&jobs, START).await;
        let queued = jobs.enqueue(new("a"), START).await.unwrap();

        jobs.cancel(queued, at(1)).await.unwrap();
        jobs.cancel(running, at(1)).await.unwrap();
        let noticed = jobs.extend(vec![(lease.clone(), None)], at(90), at(2)).await.unwrap();
        let still = find(&jobs, running).await;
        // It fails meanwhile, and is not tried again.
        let ended = after(&jobs, lease, failed(Some(1)), at(3)).await;

        assert_eq!(find(&jobs, queued).await.state, State::Cancelled, "{name}");
        assert_eq!((noticed, still.state), (vec![Held::Cancelled], State::Running), "{name}");
        assert!(still.is_unwanted && !ended.is_unwanted, "{name}");
        assert_eq!(ended.state, State::Cancelled, "{name}");
        let again = jobs.cancel(running, at(4)).await;
        assert!(matches!(again, Err(JobError::Unfit { .. })), "{name}: {again:?}");
    }
}

#[tokio::test]
async fn a_list_has_the_newest_first_and_is_filtered() {
    for (name, jobs) in on_each() {
        let (dead, lease) = taken(&jobs, START).await;
        after(&jobs, lease, failed(None), at(1)).await;
        let queued = jobs.enqueue(new("b"), at(2)).await.unwrap();
        let list = |owner: Option<&str>, state, before, limit| {
            let owner = owner.map(str::to_owned);
            let asked = JobsRequest::List { kind: None, owner, state, before, limit };
            let jobs = &jobs;
            async move {
                let listed = jobs.manage(asked, at(3)).await.unwrap();
                let ids = listed.as_array().unwrap().iter().map(|job| job["id"].clone());
                ids.map(|id| id.as_str().unwrap().parse().unwrap()).collect::<Vec<JobId>>()
            }
        };

        assert_eq!(list(None, None, None, 10).await, [queued, dead], "{name}");
        assert_eq!(list(None, None, None, 1).await, [queued], "{name}");
        assert_eq!(list(None, None, Some(queued), 10).await, [dead], "{name}");
        assert_eq!(list(Some("b"), None, None, 10).await, [queued], "{name}");
        assert_eq!(list(None, Some(State::Dead), None, 10).await, [dead], "{name}");
        assert_eq!(list(Some("b"), Some(State::Dead), None, 10).await, [], "{name}");
        let shown = jobs.manage(JobsRequest::Show { id: dead }, at(3)).await.unwrap();
        assert_eq!((&shown["input"]["of"], &shown["error"]), (&json!("a"), &json!("no answer")));
        let unknown = jobs.manage(JobsRequest::Show { id: JobId(Uuid::new()) }, at(3)).await;
        assert!(matches!(unknown, Err(JobError::Unknown(_))), "{name}");
    }
}

#[tokio::test]
async fn what_has_ended_is_removed_when_it_expires_or_when_there_is_too_much() {
    let limits = Limits { ended_max: 2, ended_kept: Duration::from_secs(100), ..Limits::default() };
    for (name, jobs) in on_each_with(limits) {
        let mut ids = vec![];
        for second in 0..4 {
            let (id, lease) = taken(&jobs, at(second)).await;
            after(&jobs, lease, Outcome::Done(json!(second)), at(second)).await;
            ids.push(id);
        }
        let queued = jobs.enqueue(new("a"), at(5)).await.unwrap();

        let surplus = jobs.sweep(at(10)).await.unwrap();
        let nothing = jobs.sweep(at(101)).await.unwrap();
        let expired = jobs.sweep(at(102)).await.unwrap();

        assert_eq!((surplus, nothing, expired), (2, 0, 1), "{name}");
        for (at, id) in ids.into_iter().enumerate() {
            assert_eq!(jobs.find(id).await.unwrap().is_some(), at == 3, "{name}: {at}");
        }
        assert_eq!(find(&jobs, queued).await.state, State::Queued, "{name}");
    }
}

#[tokio::test]
async fn figures_count_by_kind_and_state() {
    for (name, jobs) in on_each() {
        taken(&jobs, START).await;
        jobs.enqueue(new("a"), at(1)).await.unwrap();
        jobs.enqueue(new("b"), at(2)).await.unwrap();

        let groups = jobs.figures().await.unwrap().groups;

        let seen: Vec<_> = groups.iter().map(|g| (&*g.kind, g.state, g.count, g.oldest)).collect();
        let wanted = [("import", State::Queued, 2, at(1)), ("import", State::Running, 1, START)];
        assert_eq!(seen, wanted, "{name}");
    }
}
