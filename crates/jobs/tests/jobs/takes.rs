//! Jobs are taken once, in turns, and taken over from nodes that are gone.

use std::collections::BTreeSet;
use std::time::Duration;

use homeroom_jobs::{Held, JobId, Jobs, Limits, NewJob, Outcome, State};
use homeroom_store::Value;
use serde_json::json;

use crate::support::{LEASE, START, at, find, kind, new, on_each, take_one, two_nodes};

#[tokio::test(flavor = "multi_thread")]
async fn each_job_is_taken_once_however_many_nodes_take_at_the_same_time() {
    const ALL: usize = 60;
    for (name, first, second) in two_nodes() {
        let nodes = [first, second].map(|store| Jobs::new(store, Limits::default()));
        let mut queued = BTreeSet::new();
        for number in 0..ALL {
            queued.insert(nodes[0].enqueue(new(&format!("o{}", number % 7)), START).await.unwrap());
        }

        let takers = (0..6).map(|taker| {
            let jobs = nodes[taker % 2].clone();
            tokio::spawn(async move {
                let mut ids: Vec<JobId> = vec![];
                loop {
                    let node = format!("node-{taker}");
                    let taken = jobs.take(&kind(), &node, 2, LEASE, START).await.unwrap();
                    if taken.is_empty() {
                        return ids;
                    }
                    ids.extend(taken.iter().map(|taken| taken.job.id));
                }
            })
        });
        let mut taken = vec![];
        for taker in takers.collect::<Vec<_>>() {
            taken.extend(taker.await.unwrap());
        }

        assert_eq!(taken.len(), ALL, "{name}");
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), queued, "{name}");
    }
}

#[tokio::test]
async fn whoever_has_the_store_to_itself_takes_over_what_was_running_at_once() {
    for (name, jobs) in on_each() {
        let id = jobs.enqueue(new("o"), START).await.unwrap();
        let before = take_one(&jobs, "killed", START).await.unwrap();
        assert_eq!(take_one(&jobs, "next", at(1)).await, None, "{name}: it has a lease");

        jobs.end_leases(at(1)).await.unwrap();

        // The first time puts it back into the queue.
        let first = take_one(&jobs, "next", at(1)).await;
        let again = match first {
            Some(taken) => taken,
            None => take_one(&jobs, "next", at(1)).await.expect(&name),
        };
        assert_eq!((again.job.id, again.lease.attempt), (id, 2), "{name}");
        let held = jobs.extend(vec![(before.lease, None)], at(90), at(2)).await.unwrap();
        assert_eq!(held, [Held::Lost], "{name}");
    }
}

#[tokio::test]
async fn owners_have_turns_however_many_jobs_one_of_them_has() {
    for (name, jobs) in on_each() {
        for _ in 0..5 {
            jobs.enqueue(new("greedy"), START).await.unwrap();
        }
        jobs.enqueue(new("late"), at(1)).await.unwrap();
        // Ids are in order by the millisecond.
        tokio::time::sleep(Duration::from_millis(2)).await;
        jobs.enqueue(new("last"), at(2)).await.unwrap();

        let mut order = vec![];
        for second in 0..7 {
            let taken = take_one(&jobs, "n", at(10 + second)).await.expect("seven are queued");
            order.push(taken.job.owner);
            jobs.end(taken.lease, None, Outcome::Done(json!(1)), at(10 + second)).await.unwrap();
        }

        assert_eq!(order[..3], ["greedy", "late", "last"], "{name}");
        assert_eq!(order[3..], ["greedy"; 4], "{name}");
    }
}

#[tokio::test]
async fn an_owner_with_fewer_running_jobs_comes_first() {
    for (name, jobs) in on_each() {
        for owner in ["busy", "busy", "busy", "idle"] {
            jobs.enqueue(new(owner), START).await.unwrap();
        }

        let first = jobs.take(&kind(), "n", 3, LEASE, at(1)).await.unwrap();
        jobs.enqueue(new("idle"), at(2)).await.unwrap();
        jobs.end(first[1].lease.clone(), None, Outcome::Done(json!(1)), at(2)).await.unwrap();
        let second = take_one(&jobs, "n", at(3)).await.unwrap();

        let owners: Vec<&str> = first.iter().map(|taken| &*taken.job.owner).collect();
        assert_eq!(owners, ["busy", "idle"], "{name}: one of each owner at a time");
        assert_eq!(second.job.owner, "idle", "{name}");
    }
}

#[tokio::test]
async fn only_what_is_due_and_of_the_kind_is_taken() {
    for (name, jobs) in on_each() {
        jobs.enqueue(NewJob::new("other", "a", json!(1)), START).await.unwrap();
        let later = NewJob { not_before: Some(at(9)), ..new("a") };
        let id = jobs.enqueue(later, START).await.unwrap();

        assert_eq!(jobs.next_due(&kind()).await.unwrap(), Some(at(9)), "{name}");
        assert_eq!(take_one(&jobs, "n", at(8)).await, None, "{name}");
        assert_eq!(take_one(&jobs, "n", at(9)).await.unwrap().job.id, id, "{name}");
        assert_eq!(jobs.next_due(&kind()).await.unwrap(), Some(at(9 + 60)), "{name}");
    }
}

#[tokio::test]
async fn a_job_of_a_killed_node_is_taken_over_when_its_lease_has_ended() {
    for (name, first, second) in two_nodes() {
        let (killed, heir) =
            (Jobs::new(first, Limits::default()), Jobs::new(second, Limits::default()));
        let id = killed.enqueue(new("a"), START).await.unwrap();
        let before = take_one(&killed, "killed", START).await.unwrap();

        let too_early = take_one(&heir, "heir", at(59)).await;
        // The first look puts it back into the queue, the second one takes it.
        let found = take_one(&heir, "heir", at(60)).await;
        let after = take_one(&heir, "heir", at(60)).await.expect("the lease has ended");

        assert_eq!((too_early, found), (None, None), "{name}");
        assert_eq!((after.job.id, after.lease.attempt), (id, 2), "{name}");
        let error = after.job.error.unwrap_or_default();
        assert!(error.contains("the node that did it stopped"), "{name}: {error}");
        // What was thought to be dead speaks again.
        let leases = vec![(before.lease.clone(), None)];
        assert_eq!(killed.extend(leases, at(200), at(61)).await.unwrap(), [Held::Lost], "{name}");
        let ended = killed.end(before.lease, None, Outcome::Done(json!("first")), at(61)).await;
        assert!(!ended.unwrap(), "{name}");
        assert!(heir.end(after.lease, None, Outcome::Done(json!("heir")), at(62)).await.unwrap());
        let job = find(&killed, id).await;
        assert_eq!((job.state, job.result), (State::Done, Some(json!("heir"))), "{name}");
    }
}

#[tokio::test]
async fn a_lease_that_is_extended_is_not_taken_over() {
    for (name, jobs) in on_each() {
        jobs.enqueue(new("a"), START).await.unwrap();
        let taken = take_one(&jobs, "n", START).await.unwrap();

        let held = jobs.extend(vec![(taken.lease, None)], at(120), at(50)).await.unwrap();

        assert_eq!(held, [Held::Extended], "{name}");
        for now in [at(60), at(119)] {
            assert_eq!(take_one(&jobs, "other", now).await, None, "{name}");
        }
    }
}

#[tokio::test]
async fn a_job_that_ends_its_nodes_is_dead_after_its_attempts() {
    for (name, jobs) in on_each() {
        let id = jobs.enqueue(new("a"), START).await.unwrap();
        let mut now = START;
        for attempt in 1..=3 {
            let taken = take_one(&jobs, "n", now).await.expect("it is due");
            assert_eq!(taken.lease.attempt, attempt, "{name}");
            now.0 += 60_000_000;
            assert_eq!(take_one(&jobs, "n", now).await, None, "{name}");
        }

        assert_eq!(find(&jobs, id).await.state, State::Dead, "{name}");
        assert_eq!(take_one(&jobs, "n", at(100_000)).await, None, "{name}");
    }
}

#[tokio::test]
async fn a_take_leaves_what_is_known_about_rights_and_ties_alone() {
    // A part's rows must not cost the others their caches: on PostgreSQL a change of ties is a
    // version that all nodes read.
    for (name, jobs) in on_each() {
        if name == "SQLite" {
            continue;
        }
        let text = "SELECT version FROM tie_version ORDER BY label";
        let versions = || jobs.store().query(homeroom_store::Sql::new(text, vec![]));
        let before: Vec<Vec<Value>> = versions().await.unwrap();

        jobs.enqueue(new("a"), START).await.unwrap();
        let taken = take_one(&jobs, "n", START).await.unwrap();
        jobs.extend(vec![(taken.lease.clone(), None)], at(9), START).await.unwrap();
        jobs.end(taken.lease, None, Outcome::GivenBack, START).await.unwrap();

        assert!(!before.is_empty(), "{name}");
        assert_eq!(versions().await.unwrap(), before, "{name}");
    }
}
