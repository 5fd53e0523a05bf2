//! What is remembered of ties: after each change, and while others read, it is what a naive computation finds.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use homeroom_store::{
    Answer, Ask, Decision, KindId, NewDocument, Plan, References, Refused, Sql, Start, Store, Tie,
    Tombstone, Value, Way, Write,
};

use crate::dice::{Dice, number};
use crate::support::{Done, create, create_all, document, key, stores};

/// Persons at organizations, changed again and again; what is stored is kept as plain lists, too.
struct Changing {
    store: Store,
    kind: KindId,
    above: KindId,
    at: KindId,
    /// The numbers of the persons' documents.
    persons: Vec<i64>,
    /// Name, person and organization of each enrolment.
    enrolments: Vec<(String, i64, i64)>,
    past: Vec<(i64, i64)>,
    /// The organizations directly above each.
    parents: Vec<Vec<i64>>,
}

impl Changing {
    fn new(store: Store, kind: KindId) -> Self {
        let labels = store.kinds(&["above".to_owned(), "at".to_owned()]).unwrap();
        let mut persons = vec![];
        for name in ["anna", "bela", "cleo", "dora"] {
            create(&store, document(kind, name, vec![]));
            persons.push(store.target_blocking(key(name)).unwrap().unwrap().0.0);
        }
        let (above, at) = (labels[0], labels[1]);
        let all = Self {
            store,
            kind,
            above,
            at,
            persons,
            enrolments: vec![],
            past: vec![],
            parents: vec![vec![]; 6],
        };
        for n in 0..6 {
            let mut new = document(kind, &format!("organization {n}"), vec![]);
            new.ties = all.above(n);
            create(&all.store, new);
        }
        all
    }

    fn above(&self, n: usize) -> Vec<Tie> {
        let holders = self.parents[n].iter().copied().chain([number(n)]);
        holders.map(|holder| Tie { label: self.above, item: number(n), holder }).collect()
    }

    /// Writes a document in place of the one of this name, or removes it.
    fn put(&self, name: &str, old_ties: Vec<Tie>, ties: Option<Vec<Tie>>) {
        let (kind, named) = (self.kind, name.to_owned());
        let decide = move |found: Vec<Answer>| -> Done {
            let Some(Answer::Document(found)) = found.into_iter().next() else {
                return Decision::Refuse("no answer".into());
            };
            let new =
                ties.clone().map(|ties| NewDocument { ties, ..document(kind, &named, vec![]) });
            let old_ties = old_ties.clone();
            let write = match (found, new) {
                (None, Some(new)) => Write::Create(new),
                (Some(row), Some(new)) => {
                    let (old, old_references) = (row.id, row.references);
                    Write::Replace { old, old_references, old_ties, new }
                }
                (Some(row), None) => {
                    let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
                    Write::Delete { row: Box::new(row), ties: old_ties, tombstone }
                }
                (None, None) => return Decision::Refuse("it is not there".into()),
            };
            Decision::Write(vec![write], ())
        };
        self.store.run_blocking(Plan { ask: vec![Ask::Document(key(name))], decide }).unwrap();
    }

    fn at(&self, item: i64, holder: i64) -> Vec<Tie> {
        vec![Tie { label: self.at, item, holder }]
    }

    /// Runs three plans in one group: one that creates something, one that gives a document other ties and then
    /// fails, and one that follows a person's ties. Returns what the last has found.
    fn undo(&self, round: usize, name: &str, person: i64, ties: [Vec<Tie>; 2]) -> Vec<i64> {
        let plans = (0..3).map(|which| {
            let (kind, named, [old_ties, ties]) = (self.kind, name.to_owned(), ties.clone());
            let decide = move |found: Vec<Answer>| -> Decision<Vec<i64>, String> {
                match (which, &found[..]) {
                    (0, _) => {
                        let new = document(kind, &format!("something {round}"), vec![]);
                        Decision::Write(vec![Write::Create(new)], vec![])
                    }
                    (1, [Answer::Document(Some(row)), _]) => {
                        let new =
                            NewDocument { ties: ties.clone(), ..document(kind, &named, vec![]) };
                        let (old, old_references) = (row.id, row.references.clone());
                        let old_ties = old_ties.clone();
                        let replace = Write::Replace { old, old_references, old_ties, new };
                        let twice = Write::Create(document(kind, "anna", vec![]));
                        // With plain SQL, a plan is undone by itself.
                        let extra = Write::Sql(Sql::new(
                            "INSERT INTO kind (id, name) VALUES (?1, ?2)",
                            vec![Value::Integer(900), "extra".into()],
                        ));
                        let extra = round.is_multiple_of(2).then_some(extra);
                        Decision::Write(extra.into_iter().chain([replace, twice]).collect(), vec![])
                    }
                    (_, [_, Answer::Reached(reached)]) => {
                        Decision::Write(vec![], reached.numbers.to_vec())
                    }
                    _ => Decision::Refuse(format!("{found:?}")),
                }
            };
            let look = Ask::Reach(Start::Number(person), self.way(false));
            Plan { ask: vec![Ask::Document(key(name)), look], decide }
        });
        let mut ran = self.store.run_all_blocking(plans.collect());
        assert!(matches!(ran[1], Err(Refused::Store(_))), "{:?}", ran[1]);
        ran.remove(2).unwrap().value
    }

    fn change(&mut self, round: usize, dice: &mut Dice) {
        match dice.below(6) {
            0 | 1 => {
                let (person, at) = (self.persons[dice.below(4)], dice.organization(6));
                let name = format!("enrolment {round}");
                self.put(&name, vec![], Some(self.at(person, at)));
                self.enrolments.push((name, person, at));
            }
            2 if !self.enrolments.is_empty() => {
                let (name, person, at) =
                    self.enrolments.swap_remove(dice.below(self.enrolments.len()));
                self.put(&name, self.at(person, at), None);
                self.past.push((person, at));
            }
            3 if !self.enrolments.is_empty() => {
                let (moved, to) = (dice.below(self.enrolments.len()), dice.organization(6));
                let (name, person, at) = self.enrolments[moved].clone();
                self.put(&name, self.at(person, at), Some(self.at(person, to)));
                self.enrolments[moved].2 = to;
            }
            4 => {
                let n = 1 + dice.below(5);
                let before = self.above(n);
                let parents = (0..dice.below(3)).map(|_| dice.organization(n));
                self.parents[n] = parents.collect::<BTreeSet<i64>>().into_iter().collect();
                self.put(&format!("organization {n}"), before, Some(self.above(n)));
            }
            5 if !self.enrolments.is_empty() => {
                let (undone, to) = (dice.below(self.enrolments.len()), dice.organization(6));
                let (name, person, at) = &self.enrolments[undone];
                let ties = [self.at(*person, *at), self.at(*person, to)];
                let found = self.undo(round, name, *person, ties);
                assert_eq!(found, self.expected(*person, false), "round {round}");
            }
            _ => self.put(&format!("nothing {round}"), vec![], Some(vec![])),
        }
    }

    fn expected(&self, person: i64, past: bool) -> Vec<i64> {
        let now = self.enrolments.iter().filter(|(_, of, _)| *of == person).map(|(.., at)| *at);
        let then = self.past.iter().filter(|(of, _)| past && *of == person).map(|(_, at)| *at);
        let mut next: Vec<i64> = now.chain(then).collect();
        let mut reached = BTreeSet::new();
        while let Some(at) = next.pop() {
            if reached.insert(at) {
                next.extend(&self.parents[usize::try_from(at - number(0)).unwrap()]);
            }
        }
        reached.into_iter().collect()
    }

    fn way(&self, past: bool) -> Way {
        Way { steps: [self.at].into(), up: self.above, past }
    }

    /// Returns what a read finds, and then what plans find in one group, by number and by identity.
    fn found(&self, person: usize, past: bool) -> Vec<Vec<i64>> {
        let name = ["anna", "bela", "cleo", "dora"][person];
        let starts = [Start::Number(self.persons[person]), Start::Document(key(name))];
        let read = self.store.reach_blocking(vec![(starts[0], self.way(past))]).unwrap();
        let plans = starts.map(|start| Plan {
            ask: vec![Ask::Reach(start, self.way(past))],
            decide: |found: Vec<Answer>| -> Decision<Vec<i64>, String> {
                match &found[..] {
                    [Answer::Reached(reached)] => Decision::Write(vec![], reached.numbers.to_vec()),
                    _ => Decision::Refuse("no answer".into()),
                }
            },
        });
        let planned = self.store.run_all_blocking(plans.into());
        let planned = planned.into_iter().map(|ran| ran.unwrap().value);
        [read[0].numbers.to_vec()].into_iter().chain(planned).collect()
    }
}

#[test]
fn what_is_remembered_of_ties_is_what_a_naive_computation_finds_after_every_change() {
    for (store, kind, _) in stores() {
        let mut dice = Dice(7);
        let mut changing = Changing::new(store, kind);

        for round in 0..250 {
            changing.change(round, &mut dice);

            for _ in 0..3 {
                let (person, past) = (dice.below(4), dice.below(4) == 0);
                let expected = changing.expected(changing.persons[person], past);
                let found = changing.found(person, past);
                assert_eq!(found, vec![expected; 3], "round {round}, {person}, {past}");
            }
        }
    }
}

#[test]
fn readers_see_a_change_of_ties_once_it_is_answered_however_many_read_meanwhile() {
    for (store, kind, _) in stores() {
        let changing = Changing::new(store, kind);
        let (person, way) = (changing.persons[0], changing.way(false));
        let is_over = AtomicBool::new(false);
        let reached = || {
            let reached = changing.store.reach_blocking(vec![(Start::Number(person), way)]);
            reached.unwrap()[0].numbers.to_vec()
        };

        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        reached();
                    }
                });
            }
            for round in 0..60 {
                let (before, at) = (number(round % 6), number((round + 1) % 6));
                let old = if round == 0 { vec![] } else { changing.at(person, before) };
                changing.put("enrolment", old, Some(changing.at(person, at)));

                let seen = reached();

                if seen != [at] {
                    is_over.store(true, Ordering::Relaxed);
                }
                assert_eq!(seen, [at], "round {round}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn more_changes_than_are_noted_one_by_one_are_seen_all() {
    const MANY: i64 = 10_050;
    for (store, kind, _) in stores() {
        let changing = Changing::new(store, kind);
        let ties = |at| {
            let tie = |item| Tie { label: changing.at, item, holder: at };
            (1_000_000..1_000_000 + MANY).map(tie).collect::<Vec<_>>()
        };
        let starts = [0, 5_000, MANY - 1].map(|n| Start::Number(1_000_000 + n));
        let reached = || {
            let from = starts.map(|start| (start, changing.way(false)));
            let reached = changing.store.reach_blocking(from.to_vec()).unwrap();
            reached.iter().map(|reached| reached.numbers.to_vec()).collect::<Vec<_>>()
        };

        changing.put("many", vec![], Some(ties(100)));
        assert_eq!(reached(), [[100]; 3]);
        changing.put("many", ties(100), Some(ties(101)));

        assert_eq!(reached(), [[101]; 3]);
    }
}

#[test]
fn a_document_and_its_tie_change_together_for_everybody_who_reads_both() {
    const ROUNDS: usize = 300;
    for (store, kind, _) in stores() {
        let changing = Changing::new(store, kind);
        let (person, store) = (changing.persons[0], &changing.store);
        let organizations = (6..=ROUNDS).map(|n| {
            let tie = Tie { label: changing.above, item: number(n), holder: number(n) };
            let name = format!("organization {n}");
            NewDocument { ties: vec![tie], ..document(kind, &name, vec![]) }
        });
        create_all(store, organizations.collect());
        let of_round = |n: usize| {
            let mut new = document(kind, "enrolment", vec![]);
            (new.references.marks, new.ties) =
                (vec![Some(number(n))], changing.at(person, number(n)));
            new
        };
        create(store, of_round(0));
        let uuid = store.document_by_key_blocking(key("enrolment")).unwrap().unwrap().uuid;
        let (is_over, checks) = (AtomicBool::new(false), AtomicUsize::new(0));
        // Returns what is wrong in one read of the document and of its person's ties.
        let check = || -> Option<String> {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (row, state) = runtime.block_on(store.document_and_ties(uuid)).unwrap().unwrap();
            let at = References::marks(&row.references).next().flatten().unwrap();
            let others: Vec<i64> = (0..=ROUNDS).map(number).filter(|other| *other != at).collect();
            let way = changing.way(false);
            let leads = |to: &[i64]| store.all_lead(state, &[(person, way)], to);
            let (own, other) = (leads(&[at]), leads(&others));
            if own == Some(false) || other == Some(true) {
                return Some(format!("the document is at {at}: {own:?}, {other:?}"));
            }
            let from = [(Start::Number(person), way)];
            let reached = runtime.block_on(store.reach_in(state, &from)).unwrap();
            checks.fetch_add(1, Ordering::Relaxed);
            // What is looked up may be newer than the document, and never older.
            let is_right = matches!(&reached[0].numbers[..], [found] if *found >= at);
            (!is_right).then(|| format!("the document is at {at}, the person at {reached:?}"))
        };

        std::thread::scope(|scope| {
            let reader = || {
                while !is_over.load(Ordering::Relaxed) {
                    if let Some(wrong) = check() {
                        return Some(wrong);
                    }
                }
                None
            };
            let readers = [(); 3].map(|()| scope.spawn(reader));
            for round in 1..=ROUNDS {
                let (before, after) = (of_round(round - 1).ties, of_round(round));
                let decide = move |found: Vec<Answer>| -> Done {
                    let Some(Answer::Document(Some(row))) = found.into_iter().next() else {
                        return Decision::Refuse("it is not there".into());
                    };
                    let (old, old_references) = (row.id, row.references);
                    let (old_ties, new) = (before.clone(), after.clone());
                    let replace = Write::Replace { old, old_references, old_ties, new };
                    Decision::Write(vec![replace], ())
                };
                let plan = Plan { ask: vec![Ask::Document(key("enrolment"))], decide };
                let ran = store.run_blocking(plan);
                is_over.fetch_or(ran.is_err(), Ordering::Relaxed);
                ran.unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            for reader in readers {
                assert_eq!(reader.join().unwrap(), None);
            }
        });
        assert_eq!(check(), None);
        assert!(checks.into_inner() > 100);
    }
}
