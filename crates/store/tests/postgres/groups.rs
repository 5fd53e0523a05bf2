//! Plans that run in one transaction.

use homeroom_store::{Options, Store};
use homeroom_testkit::trial;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Does, holds, kinds, plan, told};

fn does() -> impl Strategy<Value = Does> {
    let name = || 0..6_u8;
    prop_oneof![
        8 => (name(), 0..3_u8, prop::collection::vec(name(), 0..3), prop::option::of(0..3_u8))
            .prop_map(|(name, text, mut refers, alias)| {
                refers.retain(|other| *other != name);
                Does::Upsert { name, text, refers, alias }
            }),
        4 => name().prop_map(|name| Does::Delete { name }),
        1 => name().prop_map(|name| Does::Blind { name }),
        1 => name().prop_map(|name| Does::Count { name }),
        4 => (name(), any::<bool>())
            .prop_map(|(owner, counts_all)| Does::Turn { owner, counts_all }),
        1 => Just(Does::Broken),
    ]
}

#[test]
fn a_group_of_plans_gives_the_result_of_running_them_in_sequence() {
    for options in trial::postgres().unwrap() {
        let mut runner =
            TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
        let groups = prop::collection::vec(prop::collection::vec(does(), 1..20), 1..3);

        let ran = runner.run(&groups, |groups| {
            let file = Store::temporary(&kinds()).unwrap();
            let database = Store::temporary_on(&options, &kinds()).unwrap();
            for group in &groups {
                let first = file.newest_change_version_blocking().unwrap() * 100;
                let first = u32::try_from(first).unwrap();
                let plans = || (first..).zip(group).map(|(at, does)| plan(at, does.clone()));
                let one_by_one: Vec<_> =
                    plans().map(|plan| told(file.run_blocking(plan))).collect();
                let together = database.run_all_blocking(plans().collect());
                let together: Vec<_> = together.into_iter().map(told).collect();
                prop_assert_eq!(one_by_one, together);
                prop_assert_eq!(holds(&file), holds(&database));
            }
            Ok(())
        });

        assert!(ran.is_ok(), "{}: {}", options.url, ran.unwrap_err());
    }
}

#[test]
fn a_plan_refused_by_the_database_does_not_fail_the_others_in_its_group() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let plans = (0..50).map(|number| {
            // A duplicate public id, which no question reveals.
            let id = if number == 33 { 7 } else { u32::from(number) };
            plan(id, Does::Blind { name: number })
        });

        let outcomes: Vec<_> =
            store.run_all_blocking(plans.collect()).into_iter().map(told).collect();

        let failed = |(at, told): (usize, &String)| (told == "the store could not").then_some(at);
        let failed: Vec<_> = outcomes.iter().enumerate().filter_map(failed).collect();
        assert_eq!(failed, [33], "{outcomes:?}");
        assert_eq!(store.newest_change_version_blocking().unwrap(), 49);
    }
}

#[test]
fn transactions_with_serialization_failures_are_retried() {
    for options in trial::postgres().unwrap() {
        let options = Options { strict: std::num::NonZeroU32::new(2), ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();

        for name in 0..40 {
            let ran = store.run_blocking(plan(name.into(), Does::Blind { name })).unwrap();
            assert_eq!(ran.change_version, i64::from(name) + 1);
        }

        assert_eq!(store.newest_change_version_blocking().unwrap(), 40);
    }
}
