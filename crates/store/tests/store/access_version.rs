//! The version of clients and their rights, as plans ask for it in their transactions.

use homeroom_store::{
    Answer, Ask, Decide, Decision, KindId, NewDocument, Plan, References, Sql, Store, Uuid, Write,
};
use homeroom_testkit::trial;

use crate::support::key;

/// The action of a plan after it has asked for the version.
#[derive(Clone, Copy)]
enum Does {
    Nothing,
    Creates(&'static str),
    /// Increments the version, as a change of clients or rights does.
    Changes,
    /// Does the same, and then fails.
    ChangesInVain,
}

#[derive(Clone)]
struct Asking(Does);

impl Decide for Asking {
    type Done = i64;
    type Refusal = ();

    fn decide(&mut self, found: Vec<Answer>) -> Decision<i64, ()> {
        let [Answer::AccessVersion(version)] = found[..] else { return Decision::Refuse(()) };
        let sql = |text| Write::Sql(Sql::new(text, vec![]));
        let count = || sql("UPDATE access_version SET version = version + 1 WHERE id = 1");
        let writes = match self.0 {
            Does::Nothing => vec![],
            Does::Creates(name) => vec![Write::Create(NewDocument {
                uuid: Uuid::new(),
                kind: KindId(1),
                key: key(name),
                alias: None,
                body: "{}".into(),
                references: References::default(),
                ties: vec![],
                modified: 1,
            })],
            Does::Changes => vec![count()],
            Does::ChangesInVain => vec![count(), sql("DELETE FROM no_such_table")],
        };
        Decision::Write(writes, version)
    }
}

fn plan(does: Does) -> Plan<Asking> {
    Plan { ask: vec![Ask::AccessVersion], decide: Asking(does) }
}

fn run(store: &Store, all: &[Does]) -> Vec<Option<i64>> {
    let plans = all.iter().map(|does| plan(*does)).collect();
    let outcomes = store.run_all_blocking(plans);
    outcomes.into_iter().map(|outcome| outcome.ok().map(|ran| ran.value)).collect()
}

#[test]
fn a_plan_sees_the_access_version_left_by_earlier_plans() {
    for (name, store) in trial::on_each(&["a".into()]).unwrap() {
        use Does::{Changes, ChangesInVain, Creates, Nothing};

        let seen = run(
            &store,
            &[
                Nothing,
                Creates("one"),
                Changes,
                Nothing,
                Creates("two"),
                Changes,
                Changes,
                ChangesInVain,
                Nothing,
                Creates("three"),
            ],
        );

        let expected =
            [Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), Some(2), None, Some(3), Some(3)];
        assert_eq!(seen, expected, "{name}");
        assert_eq!(run(&store, &[Nothing, Changes]), [Some(3), Some(3)], "{name}");
        assert_eq!(run(&store, &[Nothing]), [Some(4)], "{name}");
    }
}
