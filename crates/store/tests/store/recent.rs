//! Identities and edges in memory, on their way to their tables: whatever happens, everybody sees
//! exactly what a model of the store says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use homeroom_store::{
    Among, Answer, Ask, Decide, Decision, DocumentId, Edge, KindId, ListQuery, NewDocument,
    Options, Plan, Row, Sql, Store, StoreUrl, Tombstone, Write,
};
use homeroom_testkit::victim::{self, Victim};

use crate::support::{Done, Place, document, key, names, stores};

/// Names of documents.
const NAMES: u64 = 24;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn name(&mut self) -> String {
        format!("n{}", self.roll(NAMES))
    }
}

/// What a plan does.
#[derive(Debug, Clone)]
enum Deed {
    /// Creates or replaces a document that refers to others.
    Save { name: String, kind: KindId, to: Vec<String> },
    /// Creates a document without a look at what is there.
    Blind { name: String, kind: KindId },
    /// Deletes a document to which no other one refers.
    Delete { name: String },
}

/// A plan: what it does, and whether its last write fails.
#[derive(Debug, Clone)]
struct Intent {
    deed: Deed,
    is_spoiled: bool,
}

fn intent(dice: &mut Dice, kinds: [KindId; 2]) -> Intent {
    let kind = kinds[usize::from(dice.roll(2) == 0)];
    let name = dice.name();
    let deed = match dice.roll(10) {
        0..=5 => {
            let to = (0..dice.roll(4)).map(|_| dice.name()).collect();
            Deed::Save { name, kind, to }
        }
        6 => Deed::Blind { name, kind },
        _ => Deed::Delete { name },
    };
    Intent { deed, is_spoiled: dice.roll(12) == 0 }
}

/// A plan that does it.
#[derive(Clone)]
struct Doing {
    intent: Intent,
    row: Option<Row>,
}

fn plan(intent: Intent) -> Plan<Doing> {
    let ask = match &intent.deed {
        Deed::Save { name, to, .. } => {
            let targets = to.iter().map(|name| Ask::Target(key(name)));
            std::iter::once(Ask::Document(key(name))).chain(targets).collect()
        }
        Deed::Blind { .. } => vec![],
        Deed::Delete { name } => vec![Ask::Document(key(name))],
    };
    Plan { ask, decide: Doing { intent, row: None } }
}

impl Doing {
    fn write(&self, one: Write) -> Done {
        // The number of a kind is taken.
        let spoil = Sql::new("INSERT INTO kind (id, name) VALUES (1, ?1)", vec!["x".into()]);
        let spoil = self.intent.is_spoiled.then_some(Write::Sql(spoil));
        Decision::Write(std::iter::once(one).chain(spoil).collect(), ())
    }
}

impl Decide for Doing {
    type Done = ();
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Done {
        match self.intent.deed.clone() {
            Deed::Save { name, kind, .. } => {
                let mut found = found.into_iter();
                let Some(Answer::Document(before)) = found.next() else { panic!("no document") };
                let mut others = vec![];
                for target in found {
                    let Answer::Target(Some((id, ..))) = target else {
                        return Decision::Refuse("lost".into());
                    };
                    others.push(id);
                }
                let new = document(kind, &name, others);
                self.write(match before {
                    None => Write::Create(new),
                    Some(row) => Write::Replace {
                        old: row.id,
                        old_references: row.references,
                        old_ties: vec![],
                        new: NewDocument { uuid: row.uuid, kind: row.kind, ..new },
                    },
                })
            }
            Deed::Blind { name, kind } => self.write(Write::Create(document(kind, &name, vec![]))),
            Deed::Delete { .. } => match found.into_iter().next() {
                Some(Answer::Document(Some(found))) => {
                    let id = found.id;
                    self.row = Some(found);
                    Decision::Ask(vec![Ask::Referrers(id)])
                }
                Some(Answer::Referrers(kinds)) if kinds.is_empty() => {
                    let row = Box::new(self.row.take().expect("it was found"));
                    let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
                    self.write(Write::Delete { row, ties: vec![], tombstone })
                }
                _ => Decision::Refuse("missing, or referred to".into()),
            },
        }
    }
}

/// A document of the model.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    id: i64,
    kind: KindId,
    to: BTreeSet<String>,
}

/// The documents by name.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model(BTreeMap<String, Known>);

impl Model {
    /// Does what a plan should do. Returns whether it should work. Numbers are learnt afterwards.
    fn does(&mut self, Intent { deed, is_spoiled }: &Intent) -> bool {
        let mut after = self.0.clone();
        let works = match deed {
            Deed::Save { name, kind, to } => {
                let kind = after.get(name).map_or(*kind, |known| known.kind);
                let id = after.get(name).map_or(0, |known| known.id);
                let to: BTreeSet<String> = to.iter().cloned().collect();
                let works = to.iter().all(|name| after.contains_key(name));
                after.insert(name.clone(), Known { id, kind, to });
                works
            }
            Deed::Blind { name, kind } => {
                let new = Known { id: 0, kind: *kind, to: BTreeSet::new() };
                after.insert(name.clone(), new).is_none()
            }
            Deed::Delete { name } => {
                let is_referred_to =
                    after.iter().any(|(other, known)| other != name && known.to.contains(name));
                after.remove(name).is_some() && !is_referred_to
            }
        };
        if works && !is_spoiled {
            self.0 = after;
        }
        works && !is_spoiled
    }

    fn learn(&mut self, store: &Store) {
        for (name, known) in &mut self.0 {
            let row = store.document_by_key_blocking(key(name)).unwrap();
            let row = row.unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(row.kind, known.kind);
            known.id = row.id.0;
        }
    }

    fn id(&self, name: &str) -> DocumentId {
        DocumentId(self.0[name].id)
    }

    /// Returns the names of a kind's documents that pass, in order of creation.
    fn of(&self, kind: KindId, passes: impl Fn(&Known) -> bool) -> Vec<String> {
        let mut all: Vec<_> =
            self.0.iter().filter(|(_, known)| known.kind == kind && passes(known)).collect();
        all.sort_by_key(|(_, known)| known.id);
        all.into_iter().map(|(name, _)| name.clone()).collect()
    }

    fn edges(&self) -> Vec<Edge> {
        let of = |known: &Known| {
            let to = known.to.iter().map(|name| self.id(name));
            to.map(|target| Edge { target, kind: known.kind, source: DocumentId(known.id) })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<Edge> = self.0.values().flat_map(of).collect();
        all.sort_by_key(|edge| (edge.target, edge.kind, edge.source));
        all
    }
}

/// A query and the names that it should find.
fn questions(dice: &mut Dice, model: &Model, kinds: [KindId; 2]) -> Vec<(ListQuery, Vec<String>)> {
    let some: Vec<&String> = model.0.keys().collect();
    if some.is_empty() {
        return vec![];
    }
    let mut any = || some[usize::try_from(dice.roll(some.len() as u64)).unwrap()].clone();
    let mut all = vec![];
    for _ in 0..4 {
        let (one, other, after) = (any(), any(), any());
        for kind in kinds {
            let base = ListQuery::all(kind);
            let targets = vec![model.id(&one)];
            let found = model.of(kind, |known| known.to.contains(&one));
            all.push((ListQuery { targets: targets.clone(), ..base.clone() }, found.clone()));
            let from = ListQuery { targets: targets.clone(), skip: 1, limit: 2, ..base.clone() };
            all.push((from, found.iter().skip(1).take(2).cloned().collect()));
            let later = model.id(&after);
            let beyond = found.iter().filter(|name| model.id(name) > later).cloned().collect();
            let upto = found.iter().filter(|name| model.id(name) <= later).cloned().collect();
            let query = ListQuery { targets: targets.clone(), after: later, ..base.clone() };
            all.push((query, beyond));
            all.push((ListQuery { targets, upto: later, ..base.clone() }, upto));
            let targets = vec![model.id(&one), model.id(&other)];
            let both = model.of(kind, |known| known.to.contains(&one) && known.to.contains(&other));
            all.push((ListQuery { targets: targets.clone(), ..base.clone() }, both.clone()));
            let changed = Some((0, i64::MAX));
            all.push((ListQuery { targets: targets.clone(), changed, ..base.clone() }, both));
            let among = Some(Among::Referrers(targets.into()));
            let either =
                model.of(kind, |known| known.to.contains(&one) || known.to.contains(&other));
            all.push((ListQuery { among, ..base.clone() }, either));
            let conditions = vec![homeroom_store::Condition::Key(key(&one))];
            let itself = if model.0[&one].kind == kind { vec![one.clone()] } else { vec![] };
            all.push((ListQuery { conditions, ..base }, itself));
        }
    }
    all
}

fn edges(store: &Store) -> Vec<Edge> {
    homeroom_testkit::edges_by_number(store).unwrap()
}

/// Compares what a store answers with the model.
async fn compare(dice: &mut Dice, store: &Store, model: &Model, kinds: [KindId; 2], what: &str) {
    for (query, expected) in questions(dice, model, kinds) {
        let found = store.list(query.clone()).await.unwrap();
        assert_eq!(names(&found.rows), expected, "{what}: {query:?}");
        if query.skip == 0 {
            let count = store.count(query.clone()).await.unwrap();
            assert_eq!(count, expected.len() as u64, "{what}: {query:?}");
        }
    }
    for name in (0..NAMES).map(|name| format!("n{name}")) {
        let found = store.target_blocking(key(&name)).unwrap().map(|(id, ..)| id.0);
        assert_eq!(found, model.0.get(&name).map(|known| known.id), "{what}: {name}");
    }
    for kind in kinds {
        let all = store.list(ListQuery::all(kind)).await.unwrap();
        assert_eq!(names(&all.rows), model.of(kind, |_| true), "{what}");
    }
}

/// Runs some plans in one transaction, here and in the model.
fn write(dice: &mut Dice, store: &Store, model: &mut Model, kinds: [KindId; 2]) {
    let intents = intents(dice, kinds);
    let outcomes = store.run_all_blocking(intents.iter().cloned().map(plan).collect());
    for (intent, outcome) in intents.iter().zip(outcomes) {
        let works = model.does(intent);
        assert_eq!(outcome.is_ok(), works, "{intent:?}: {outcome:?}");
    }
    model.learn(store);
}

async fn play(seed: u64, store: &Store, model: &mut Model, kinds: [KindId; 2], rounds: u64) {
    let mut dice = Dice(seed);
    for round in 0..rounds {
        let what = format!("seed {seed}, round {round}");
        let before = model.clone();
        let asked = questions(&mut dice, &before, kinds);
        let what = what.as_str();
        let (dice_of, model_of) = (&mut dice, &mut *model);
        let held = store.at_one_moment(false, |moment| async move {
            let begun = moment.count(ListQuery::all(kinds[0])).await.unwrap();
            for _ in 0..=dice_of.roll(3) {
                write(dice_of, store, model_of, kinds);
            }
            // The moment still shows what was there when it began.
            assert_eq!(begun, before.of(kinds[0], |_| true).len() as u64, "{what}");
            for (query, expected) in asked {
                let found = moment.list(query.clone()).await.unwrap();
                assert_eq!(names(&found.rows), expected, "{what}, before: {query:?}");
                if query.skip == 0 {
                    let count = moment.count(query.clone()).await.unwrap();
                    assert_eq!(count, expected.len() as u64, "{what}, before: {query:?}");
                }
            }
        });
        held.await.unwrap();
        compare(&mut dice, store, model, kinds, what).await;
        if dice.roll(4) == 0 {
            assert_eq!(edges(store), model.edges(), "{what}: a snapshot");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn options(file: &Path, recent_documents: usize) -> Options {
    // A moment is held while much is written, also on a busy machine.
    let list_deadline = std::time::Duration::from_mins(1);
    Options { recent_documents, list_deadline, ..Options::for_file(file) }
}

fn kinds(store: &Store) -> [KindId; 2] {
    let kinds = store.kinds(&["a".to_owned(), "b".to_owned()]).unwrap();
    [kinds[0], kinds[1]]
}

/// Copies a store's file and log as they are, as a machine leaves them that has lost its power.
fn torn(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    let log = |file: &Path| file.with_extension("db-wal");
    std::fs::copy(log(from), log(to)).unwrap();
}

fn problems(file: &Path) -> Vec<String> {
    Store::check(&StoreUrl::Sqlite(file.to_owned())).unwrap().problems
}

#[test]
fn whatever_is_in_memory_everybody_sees_what_a_model_says() {
    for seed in cases(12) {
        let place = Place::new();
        let mut file = place.file();
        let documents = [8, 0, 3, 40][usize::try_from(seed % 4).unwrap()];
        let mut model = Model::default();
        let mut dice = Dice(seed ^ 0x5eed);
        for life in 0..5 {
            let store = Store::open(&options(&file, documents)).unwrap();
            let kinds = kinds(&store);
            let what = format!("seed {seed}, life {life}");
            runtime().block_on(async {
                compare(&mut dice, &store, &model, kinds, &what).await;
                play(seed + (life << 32), &store, &mut model, kinds, 6).await;
            });
            assert_eq!(edges(&store), model.edges(), "{what}: a snapshot of an open store");
            assert_eq!(problems(&file), [""; 0], "{what}: an open store");
            if dice.roll(2) == 0 {
                // The process is killed, and what is on the disk is opened elsewhere.
                let next = place.0.join(format!("life-{life}.db"));
                torn(&file, &next);
                store.close();
                file = next;
            } else {
                store.close();
            }
            assert_eq!(problems(&file), [""; 0], "{what}: a closed store");
        }
    }
}

#[test]
fn the_model_holds_on_each_database() {
    for (store, a, b) in stores() {
        let mut model = Model::default();
        runtime().block_on(play(77, &store, &mut model, [a, b], 12));
        assert_eq!(edges(&store), model.edges());
    }
}

/// Returns how many cases are played, and the seed of the first: as the environment says, or few.
fn cases(few: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("RECENT_FIRST").unwrap_or(0);
    first..first + number("RECENT_CASES").unwrap_or(few)
}

fn intents(dice: &mut Dice, kinds: [KindId; 2]) -> Vec<Intent> {
    (0..=dice.roll(6)).map(|_| intent(dice, kinds)).collect()
}

/// Writes until it is killed, and says how many transactions are acknowledged.
fn write_as_victim(argument: &str) {
    let mut parts = argument.splitn(2, ' ');
    let seed = parts.next().unwrap().parse().unwrap();
    let store = Store::open(&options(Path::new(parts.next().unwrap()), 8)).unwrap();
    let kinds = kinds(&store);
    let mut dice = Dice(seed);
    for done in 1.. {
        let plans = intents(&mut dice, kinds).into_iter().map(plan).collect();
        drop(store.run_all_blocking(plans));
        victim::say(&done.to_string());
    }
}

/// Returns the kind of each document of a store and to what it refers, by names.
fn stored(store: &Store, kinds: [KindId; 2]) -> Model {
    let (mut all, mut by_id) = (Model::default(), BTreeMap::new());
    for kind in kinds {
        for row in runtime().block_on(store.list(ListQuery::all(kind))).unwrap().rows {
            let name = names(std::slice::from_ref(&row)).remove(0);
            by_id.insert(row.id, name.clone());
            all.0.insert(name, Known { id: 0, kind, to: BTreeSet::new() });
        }
    }
    for Edge { target, source, kind } in edges(store) {
        let known = all.0.get_mut(&by_id[&source]).unwrap();
        assert_eq!(known.kind, kind);
        known.to.insert(by_id[&target].clone());
    }
    all
}

#[test]
fn a_killed_process_leaves_what_it_has_acknowledged_and_nothing_in_part() {
    if let Some(argument) = victim::argument() {
        return write_as_victim(&argument);
    }
    for seed in cases(2) {
        let place = Place::new();
        let mut model = Model::default();
        let mut chance = Dice(seed ^ 0xdead);
        for life in 0..4_u64 {
            let of_life = seed.wrapping_mul(1_000) + life;
            let name =
                "recent::a_killed_process_leaves_what_it_has_acknowledged_and_nothing_in_part";
            let mut victim = Victim::start(name, &format!("{of_life} {}", place.file().display()));
            let enough = 1 + chance.roll(120);
            let mut acknowledged = 0;
            while acknowledged < enough {
                acknowledged = victim.line().parse().unwrap();
            }
            std::thread::sleep(std::time::Duration::from_micros(chance.roll(5_000)));
            victim.kill();
            let what = format!("seed {seed}, life {life}, {acknowledged} acknowledged");

            let store = Store::open(&options(&place.file(), 8)).unwrap();

            let kinds = kinds(&store);
            let found = stored(&store, kinds);
            let mut dice = Dice(of_life);
            for done in 1..100_000 {
                for intent in intents(&mut dice, kinds) {
                    model.does(&intent);
                }
                model.0.values_mut().for_each(|known| known.id = 0);
                if done >= acknowledged && model == found {
                    break;
                }
            }
            assert_eq!(model, found, "{what}");
            model.learn(&store);
            runtime().block_on(compare(&mut chance, &store, &model, kinds, &what));
            assert_eq!(edges(&store), model.edges(), "{what}");
            store.close();
            assert_eq!(problems(&place.file()), [""; 0], "{what}");
        }
    }
}

/// Deletes one document and creates another; both refer to the same one. Does the same with a document
/// that is always there.
fn turn(kind: KindId, number: u64, width: u64) -> Plan<impl Decide<Done = (), Refusal = String>> {
    let oldest = number.checked_sub(width).map(|oldest| format!("m{oldest}"));
    let ask = [Some("hub".to_owned()), Some("pivot".to_owned()), oldest];
    let ask = ask.iter().flatten().map(|name| Ask::Document(key(name))).collect();
    let decide = move |found: Vec<Answer>| -> Done {
        let mut rows = found.into_iter().map(|answer| match answer {
            Answer::Document(row) => row,
            other => panic!("{other:?}"),
        });
        let hub = rows.next().flatten().expect("it is there").id;
        let tombstone = || Tombstone { key_values: "{}".into(), modified: 9 };
        let delete =
            |row| Write::Delete { row: Box::new(row), ties: vec![], tombstone: tombstone() };
        let mut writes: Vec<Write> = rows.flatten().map(delete).collect();
        let new = ["pivot".to_owned(), format!("m{number}")];
        writes.extend(new.map(|name| Write::Create(document(kind, &name, vec![hub]))));
        Decision::Write(writes, ())
    };
    Plan { ask, decide }
}

#[test]
fn readers_beside_the_writer_see_each_commit_as_a_whole() {
    const WIDTH: u64 = 12;
    let turns = cases(1).count() as u64 * 150;
    for documents in [8, 0, 3, 30] {
        let place = Place::new();
        let store = Store::open(&options(&place.file(), documents)).unwrap();
        let [a, b] = kinds(&store);
        crate::support::create(&store, document(b, "hub", vec![]));
        for number in 0..WIDTH {
            store.run_blocking(turn(a, number, WIDTH)).unwrap();
        }
        let hub = store.target_blocking(key("hub")).unwrap().unwrap().0;
        let query = ListQuery { targets: vec![hub], ..ListQuery::all(a) };
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let goes_on = || !is_over.load(std::sync::atomic::Ordering::Relaxed);

        std::thread::scope(|scope| {
            for reader in 0..4 {
                let (store, query) = (&store, &query);
                scope.spawn(move || {
                    let runtime = runtime();
                    let mut looks = 0;
                    while goes_on() || looks == 0 {
                        looks += 1;
                        match reader {
                            0 => {
                                let count = runtime.block_on(store.count(query.clone())).unwrap();
                                assert_eq!(count, WIDTH + 1, "{documents}");
                            }
                            1 => {
                                let page = runtime.block_on(store.list(query.clone())).unwrap();
                                let mut found = names(&page.rows);
                                found.retain(|name| name != "pivot");
                                let first: u64 = found[0][1..].parse().unwrap();
                                let all = (first..first + WIDTH).map(|number| format!("m{number}"));
                                assert_eq!(found, all.collect::<Vec<_>>(), "{documents}");
                            }
                            2 => {
                                let pivot = store.document_by_key_blocking(key("pivot")).unwrap();
                                assert!(pivot.is_some(), "{documents}");
                            }
                            _ => assert_eq!(edges(store).len() as u64, WIDTH + 1, "{documents}"),
                        }
                    }
                });
            }
            for number in WIDTH..WIDTH + turns {
                store.run_blocking(turn(a, number, WIDTH)).unwrap();
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        store.close();
        assert_eq!(problems(&place.file()), [""; 0], "{documents}");
    }
}

#[test]
fn a_backup_an_idle_store_and_a_closed_one_have_everything_in_their_tables() {
    let place = Place::new();
    let (store, kind) = place.open();
    crate::support::create(&store, document(kind, "hub", vec![]));
    let hub = store.target_blocking(key("hub")).unwrap().unwrap().0;
    let create = |name: &str| crate::support::create(&store, document(kind, name, vec![hub]));
    let in_tables = |file: &Path| -> (i64, i64) {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(file, flags).unwrap();
        let text = "SELECT (SELECT count(*) FROM identity), (SELECT count(*) FROM ref)";
        connection.query_row(text, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    for number in 0..20 {
        create(&format!("n{number}"));
    }
    let written = in_tables(&place.file());
    let backup = place.0.join("backup.db");

    store.backup(&backup).unwrap();

    assert_eq!(written, (0, 0), "all are in memory");
    assert_eq!(in_tables(&backup), (21, 20));
    let begun = std::time::Instant::now();
    while in_tables(&place.file()) != (21, 20) {
        assert!(begun.elapsed().as_secs() < 30, "an idle store moves them");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    create("last");
    assert_eq!(in_tables(&place.file()), (21, 20));
    assert_eq!(edges(&store).len(), 21);
    store.close();
    assert_eq!(in_tables(&place.file()), (22, 21));
}
