//! The settings of a connection, and the errors that it reports.

use homeroom_store::{Answer, Ask, Decision, Options, Plan, Sql, Store, StoreError};
use homeroom_testkit::trial;

#[test]
fn a_writer_keeps_synchronous_commit_whatever_the_servers_default() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &[]).unwrap();
        let ask = "SELECT setting || ' by ' || source FROM pg_settings \
                   WHERE name = 'synchronous_commit'";
        let plan = Plan {
            ask: vec![Ask::Sql(Sql::new(ask, vec![]))],
            decide: |mut found: Vec<Answer>| -> Decision<Answer, ()> {
                Decision::Write(vec![], found.remove(0))
            },
        };

        let found = store.run_blocking(plan).unwrap().value;

        let Answer::Rows(rows) = found else { panic!("{found:?}") };
        assert_eq!(rows[0][0].as_text(), Some("on by session"));
    }
}

#[test]
fn a_lost_prepared_statement_is_prepared_again_on_another_connection() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &[]).unwrap();
        let read = |text| store.query_blocking(Sql::new(text, vec![]));
        assert!(read("SELECT 7").is_ok());
        assert!(read("DEALLOCATE ALL").is_ok());

        let again = read("SELECT 7");

        assert!(again.is_ok(), "{again:?}");
    }
}

#[tokio::test]
async fn an_unreachable_database_is_reported_wherever_it_is_opened() {
    let options = Options::new("postgres://homeroom@127.0.0.1:1/ods".parse().unwrap());

    let opened = Store::open(&options);

    let Err(StoreError::Unusable(why)) = opened else { panic!("{opened:?}") };
    assert!(why.contains("127.0.0.1:1/ods") && why.contains("how many connections"), "{why}");
}
