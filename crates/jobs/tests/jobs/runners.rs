//! Runners and their handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_jobs::{
    Failed, Jobs, Kind, Limits, NewJob, Progress, Runner, Running, State, Stop, Times,
};
use homeroom_store::{ChangedAt, Options, Store};
use homeroom_testkit::victim::{self, Victim};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{SharedPlace, on_each, two_nodes, until};

const SOON: Duration = Duration::from_millis(20);

/// Times at which tests need not wait long.
fn quick() -> Times {
    Times { poll: SOON, tick: SOON, grace: SOON, ..Times::default() }
}

fn job(kind: &str, number: usize) -> NewJob {
    NewJob::new(kind, &format!("owner-{}", number % 3), json!({ "number": number }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_does_what_is_queued_with_no_more_at_a_time_than_it_may() {
    for (name, jobs) in on_each() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (running, seen) = (Arc::clone(&now), Arc::clone(&most));
        let double = move |job: Running| {
            let (running, seen) = (Arc::clone(&running), Arc::clone(&seen));
            async move {
                let together = running.fetch_add(1, Ordering::SeqCst) + 1;
                seen.fetch_max(together, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(2)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                let number = job.input["number"].as_u64().unwrap_or(0);
                Ok(json!({ "double": number * 2 }))
            }
        };
        let kind = Kind { running_max: 3, ..Kind::new("double", double) };
        let runner =
            Runner::start(&jobs, vec![kind], Times { poll: Duration::from_hours(1), ..quick() });

        let mut ids = vec![];
        for number in 0..20 {
            ids.push(jobs.enqueue(job("double", number), ChangedAt::now()).await.unwrap());
        }

        for (number, id) in ids.into_iter().enumerate() {
            let done = until(&jobs, id, State::Done).await;
            assert_eq!(done.result, Some(json!({ "double": number * 2 })), "{name}");
        }
        assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{name}: {most:?}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_tried_again_until_it_succeeds_or_its_attempts_are_used_up() {
    for (name, jobs) in on_each() {
        let handler = |job: Running| async move {
            match (job.input["number"].as_u64(), job.attempt) {
                (Some(1), 1 | 2) => Err(Failed::Again("not yet".into())),
                (Some(2), _) => panic!("a value that nobody may see"),
                (Some(3), _) => Err(Failed::ForGood("never".into())),
                (_, attempt) => Ok(json!(attempt)),
            }
        };
        let pause = Duration::from_millis(1);
        let kind = Kind { attempts_max: 4, pause, ..Kind::new("try", handler) };
        let runner = Runner::start(&jobs, vec![kind], quick());
        let mut ids = vec![];
        for number in 1..=3 {
            ids.push(jobs.enqueue(job("try", number), ChangedAt::now()).await.unwrap());
        }

        let first = until(&jobs, ids[0], State::Done).await;
        let second = until(&jobs, ids[1], State::Dead).await;
        let third = until(&jobs, ids[2], State::Dead).await;

        assert_eq!((first.attempts, first.result), (3, Some(json!(3))), "{name}");
        let panicked = Some("its handler panicked");
        assert_eq!((second.attempts, second.error.as_deref()), (4, panicked), "{name}");
        assert_eq!((third.attempts, third.error.as_deref()), (1, Some("never")), "{name}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

/// A handler that tells its progress and then waits for `open`.
fn waiting(open: &Arc<Semaphore>) -> impl homeroom_jobs::Handler + use<> {
    let open = Arc::clone(open);
    move |job: Running| {
        let open = Arc::clone(&open);
        async move {
            job.progress(Progress { done: 1, of: Some(2), text: "waits".into() });
            tokio::select! {
                _ = open.acquire() => Ok(json!(job.attempt)),
                stop = job.stopped() => match stop {
                    Stop::ServerStops => Err(Failed::GivenBack),
                    Stop::Cancelled | Stop::LeaseLost => Err(Failed::Again("stopped".into())),
                },
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_runner_that_is_gone_without_goodbye_is_taken_over() {
    for (name, first, second) in two_nodes() {
        let (killed, heir) =
            (Jobs::new(first, Limits::default()), Jobs::new(second, Limits::default()));
        let (never, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1)));
        let times = Times { lease: Duration::from_millis(400), ..quick() };
        let runner = Runner::start(&killed, vec![Kind::new("wait", waiting(&never))], times);
        let id = killed.enqueue(job("wait", 1), ChangedAt::now()).await.unwrap();
        let before = until(&killed, id, State::Running).await;

        drop(runner);
        let runner = Runner::start(&heir, vec![Kind::new("wait", waiting(&open))], times);

        let done = until(&heir, id, State::Done).await;
        assert_eq!((done.attempts, done.result), (2, Some(json!(2))), "{name}");
        assert_ne!(done.node, before.node, "{name}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

/// Takes a job of a store and waits to be killed.
async fn take_and_wait(url: &str) {
    let store = Store::open(&Options::new(url.parse().unwrap())).unwrap();
    let jobs = Jobs::new(store, Limits::default());
    let begun = |_: Running| async {
        victim::say("begun");
        std::future::pending().await
    };
    let times = Times { lease: Duration::from_secs(1), ..quick() };
    let runner = Runner::start(&jobs, vec![Kind::new("wait", begun)], times);
    tokio::task::spawn_blocking(victim::wait).await.unwrap();
    drop(runner);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_killed_process_is_taken_over_by_another() {
    if let Some(url) = victim::argument() {
        return take_and_wait(&url).await;
    }
    for place in SharedPlace::on_each() {
        let name = place.url();
        let node = place.open();
        let id = node.enqueue(job("wait", 1), ChangedAt::now()).await.unwrap();
        // A file has one process at a time; in a database the other node stays.
        let other = place.is_shared().then_some(node);
        let test = "runners::a_job_of_a_killed_process_is_taken_over_by_another";
        let mut killed = Victim::start(test, &name);
        killed.line();
        killed.kill();

        let other = other.unwrap_or_else(|| place.open());
        let before = until(&other, id, State::Running).await;
        let open = Arc::new(Semaphore::new(1));
        let runner = Runner::start(&other, vec![Kind::new("wait", waiting(&open))], quick());

        let done = until(&other, id, State::Done).await;
        assert_eq!((before.attempts, done.attempts, done.result), (1, 2, Some(json!(2))), "{name}");
        assert_ne!(done.node, before.node, "{name}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_kept_and_progress_stored_while_a_handler_works() {
    for (name, jobs) in on_each() {
        let open = Arc::new(Semaphore::new(0));
        let times = Times { lease: Duration::from_secs(3), ..quick() };
        let runner = Runner::start(&jobs, vec![Kind::new("wait", waiting(&open))], times);
        let id = jobs.enqueue(job("wait", 1), ChangedAt::now()).await.unwrap();
        let begun = until(&jobs, id, State::Running).await;

        let mut running = begun.clone();
        while running.progress.is_none() || running.due.0 < begun.due.0 + 900_000 {
            tokio::time::sleep(SOON).await;
            running = until(&jobs, id, State::Running).await;
        }
        open.add_permits(1);

        let done = until(&jobs, id, State::Done).await;
        let progress = Progress { done: 1, of: Some(2), text: "waits".into() };
        assert_eq!((done.attempts, done.progress), (1, Some(progress)), "{name}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_stops_gives_back_what_has_not_ended() {
    for (name, jobs) in on_each() {
        let stubborn = |_: Running| async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Ok(json!(0))
        };
        let never = Arc::new(Semaphore::new(0));
        let kinds = vec![Kind::new("wait", waiting(&never)), Kind::new("stubborn", stubborn)];
        let runner = Runner::start(&jobs, kinds, quick());
        let ids = [
            jobs.enqueue(job("wait", 1), ChangedAt::now()).await.unwrap(),
            jobs.enqueue(job("stubborn", 1), ChangedAt::now()).await.unwrap(),
        ];
        for id in ids {
            until(&jobs, id, State::Running).await;
        }

        runner.stop(Duration::from_millis(100)).await;

        for id in ids {
            let job = jobs.find(id).await.unwrap().unwrap();
            assert_eq!((job.state, job.attempts), (State::Queued, 0), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_that_is_cancelled_stops_and_is_not_tried_again() {
    for (name, jobs) in on_each() {
        let never = Arc::new(Semaphore::new(0));
        let runner = Runner::start(&jobs, vec![Kind::new("wait", waiting(&never))], quick());
        let id = jobs.enqueue(job("wait", 1), ChangedAt::now()).await.unwrap();
        until(&jobs, id, State::Running).await;

        jobs.cancel(id, ChangedAt::now()).await.unwrap();

        let job = until(&jobs, id, State::Cancelled).await;
        assert_eq!(job.attempts, 1, "{name}");
        runner.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn a_runner_without_kinds_leaves_jobs_alone() {
    for (name, jobs) in on_each() {
        let id = jobs.enqueue(job("unknown", 1), ChangedAt::now()).await.unwrap();

        let runner = Runner::start(&jobs, vec![], quick());
        runner.stop(Duration::from_secs(5)).await;

        assert_eq!(jobs.find(id).await.unwrap().unwrap().state, State::Queued, "{name}");
    }
}
