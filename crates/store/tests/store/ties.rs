//! Ties: what is reached over them, and lists within bounds, compared with a naive computation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use homeroom_store::{
    Answer, Ask, Bounds, Decision, DocumentId, KindId, Leads, ListQuery, MarkTest, NewDocument,
    Plan, References, Refused, Sql, Start, Store, Tie, Tombstone, Value, Way, Write,
};

use crate::support::{Done, create, create_all, document, key, names, stores};

/// Kinds of documents and labels of ties.
struct Names {
    person: KindId,
    /// A document that belongs to an organization and a person.
    paper: KindId,
    organization: KindId,
    /// A document that makes a person's ties.
    enrolment: KindId,
    above: KindId,
    at: KindId,
}

/// A small world: a hierarchy of organizations, persons at them, papers about both.
struct World {
    store: Store,
    names: Names,
    /// Number and parents of each.
    organizations: Vec<(i64, Vec<i64>)>,
    /// Number of the document, and the organizations, with one enrolment each.
    persons: Vec<(i64, Vec<i64>)>,
    /// Number of the document, organization, person.
    papers: Vec<(i64, i64, i64)>,
}

/// A generator of numbers that look random but are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }

    /// Returns the number of an organization.
    fn organization(&mut self, of: usize) -> i64 {
        number(self.below(of))
    }
}

fn number(n: usize) -> i64 {
    100 + i64::try_from(n).unwrap_or(0)
}

impl World {
    fn new(store: Store, dice: &mut Dice) -> Self {
        let names = ["a", "b", "organization", "enrolment", "above", "at"].map(String::from);
        let kinds = store.kinds(&names).unwrap();
        let names = Names {
            person: kinds[0],
            paper: kinds[1],
            organization: kinds[2],
            enrolment: kinds[3],
            above: kinds[4],
            at: kinds[5],
        };
        let mut world =
            Self { store, names, organizations: vec![], persons: vec![], papers: vec![] };
        for n in 0..12 {
            let parents = (0..dice.below(3)).filter(|_| n > 0).map(|_| dice.organization(n));
            let parents: BTreeSet<i64> = parents.collect();
            world.organization(number(n), parents.into_iter().collect());
        }
        for n in 0..40 {
            world.person(n, dice);
            for m in 0..dice.below(4) {
                let (organization, person) = (dice.organization(12), dice.below(n + 1));
                world.paper(&format!("paper {n} {m}"), organization, world.persons[person].0);
            }
        }
        world
    }

    fn add(&self, new: NewDocument) -> i64 {
        let key = new.key;
        create(&self.store, new);
        self.store.target_blocking(key).unwrap().unwrap().0.0
    }

    fn organization(&mut self, number: i64, parents: Vec<i64>) {
        let mut new = document(self.names.organization, &number.to_string(), vec![]);
        new.references.marks = vec![Some(number)];
        let tie = |holder: &i64| Tie { label: self.names.above, item: number, holder: *holder };
        new.ties = parents.iter().chain([&number]).map(tie).collect();
        self.add(new);
        self.organizations.push((number, parents));
    }

    fn person(&mut self, name: usize, dice: &mut Dice) {
        let mut new = document(self.names.person, &format!("person {name}"), vec![]);
        new.references.marks = vec![Some(DocumentId::ITSELF.0)];
        let id = self.add(new);
        let mut organizations = vec![];
        for n in 0..dice.below(4) {
            let at = dice.organization(12);
            let name = format!("enrolment {name} {n}");
            let mut new = document(self.names.enrolment, &name, vec![]);
            new.ties = vec![Tie { label: self.names.at, item: id, holder: at }];
            self.add(new);
            organizations.push(at);
        }
        self.persons.push((id, organizations));
    }

    fn paper(&mut self, name: &str, organization: i64, person: i64) {
        let tied = self.store.target_blocking(key(&organization.to_string())).unwrap().unwrap();
        let mut new = document(self.names.paper, name, vec![]);
        let others = vec![tied.0, DocumentId(person)];
        new.references = References {
            others,
            marks: vec![Some(organization), Some(person)],
            ..References::default()
        };
        let id = self.add(new);
        self.papers.push((id, organization, person));
    }

    /// Deletes a person's first enrolment; the tie stays as a past one.
    fn end_enrolment(&mut self, person: usize) {
        let at = self.persons[person].1.remove(0);
        let name = (0..4).map(|n| format!("enrolment {person} {n}"));
        let found = name.filter_map(|n| self.store.document_by_key_blocking(key(&n)).unwrap());
        let row = found.into_iter().next().unwrap();
        let tie = Tie { label: self.names.at, item: self.persons[person].0, holder: at };
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<Answer>| -> Done {
                let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
                let row = Box::new(row.clone());
                Decision::Write(vec![Write::Delete { row, ties: vec![tie], tombstone }], ())
            },
        };
        self.store.run_blocking(plan).unwrap();
    }

    /// Returns an organization and all organizations above it.
    fn up(&self, from: i64) -> BTreeSet<i64> {
        let mut all = BTreeSet::from([from]);
        if let Some((_, parents)) = self.organizations.iter().find(|(n, _)| *n == from) {
            for parent in parents {
                all.extend(self.up(*parent));
            }
        }
        all
    }

    fn is_person_at(&self, person: i64, organizations: &[i64]) -> bool {
        let (_, at) = self.persons.iter().find(|(id, _)| *id == person).unwrap();
        at.iter().any(|at| self.up(*at).iter().any(|n| organizations.contains(n)))
    }

    fn to_organization(&self, mark: usize, numbers: &[i64], leads: Leads) -> MarkTest {
        let way = Way { steps: [].into(), up: self.names.above, past: false };
        MarkTest::Reaches { mark, way, numbers: numbers.into(), leads }
    }

    fn to_person(&self, mark: usize, numbers: &[i64], leads: Leads, past: bool) -> MarkTest {
        let way = Way { steps: [self.names.at].into(), up: self.names.above, past };
        MarkTest::Reaches { mark, way, numbers: numbers.into(), leads }
    }

    /// Reads all pages of a list, and checks that its count is the same.
    fn list(&self, kind: KindId, bounds: Bounds, limit: u32) -> Vec<i64> {
        let query = ListQuery { bounds, limit, ..ListQuery::all(kind) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut ids, mut after) = (vec![], DocumentId(0));
        loop {
            let page = runtime.block_on(self.store.list(ListQuery { after, ..query.clone() }));
            let page: Vec<i64> = page.unwrap().rows.iter().map(|row| row.id.0).collect();
            let Some(last) = page.last() else { break };
            after = DocumentId(*last);
            ids.extend(page);
        }
        let skip = ids.len() as u64 / 2;
        let skipped = runtime.block_on(self.store.list(ListQuery { skip, ..query.clone() }));
        let skipped: Vec<i64> = skipped.unwrap().rows.iter().map(|row| row.id.0).collect();
        let rest = &ids[ids.len() / 2..];
        assert_eq!(skipped, rest[..rest.len().min(limit as usize)], "passing over {skip}");
        let cuts = runtime.block_on(self.store.cuts(query.clone(), 3, 2)).unwrap();
        let runs: Vec<&[i64]> = ids.chunks(ids.len().div_ceil(3).max(2)).collect();
        let ends = runs.split_last().map(|(_, runs)| {
            runs.iter().filter_map(|run| Some(DocumentId(*run.last()?))).collect::<Vec<_>>()
        });
        assert_eq!(cuts, ends, "{} cut", ids.len());
        assert_eq!(runtime.block_on(self.store.count(query)).unwrap(), ids.len() as u64);
        ids
    }

    fn compare(&self, numbers: &[i64], limit: u32) {
        let persons = |is_in: &dyn Fn(i64) -> bool| -> Vec<i64> {
            self.persons.iter().map(|(id, _)| *id).filter(|id| is_in(*id)).collect()
        };
        let papers = |is_in: &dyn Fn(i64, i64) -> bool| -> Vec<i64> {
            self.papers.iter().filter(|(_, o, p)| is_in(*o, *p)).map(|(id, ..)| *id).collect()
        };
        let within = |tests: Vec<Vec<MarkTest>>| Bounds(vec![tests]);
        let is_below = |o: i64| self.up(o).iter().any(|n| numbers.contains(n));
        let is_above = |o: i64| numbers.iter().any(|n| self.up(*n).contains(&o));
        let names = &self.names;
        let person = self.to_person(0, numbers, Leads::Itself, false);
        assert_eq!(
            self.list(names.person, within(vec![vec![person]]), limit),
            persons(&|id| self.is_person_at(id, numbers)),
            "persons at {numbers:?}"
        );
        let organization = || self.to_organization(0, numbers, Leads::Reference);
        let about = || self.to_person(1, numbers, Leads::Reference, false);
        assert_eq!(
            self.list(names.paper, within(vec![vec![organization(), about()]]), limit),
            papers(&|o, p| is_below(o) && self.is_person_at(p, numbers)),
            "papers of an organization and a person at {numbers:?}"
        );
        assert_eq!(
            self.list(names.paper, within(vec![vec![about()]]), limit),
            papers(&|_, p| self.is_person_at(p, numbers)),
            "papers of a person at {numbers:?}"
        );
        let inverted = MarkTest::ReachedFrom {
            mark: 0,
            label: names.above,
            numbers: numbers.into(),
            leads: Leads::Reference,
        };
        assert_eq!(
            self.list(names.paper, within(vec![vec![inverted.clone()]]), limit),
            papers(&|o, _| is_above(o)),
            "papers above {numbers:?}"
        );
        assert_eq!(
            self.list(names.paper, within(vec![vec![about()], vec![inverted]]), limit),
            papers(&|o, p| is_above(o) || self.is_person_at(p, numbers)),
            "papers of a person at or above {numbers:?}"
        );
        let one_of = MarkTest::OneOf { mark: 0, numbers: Arc::new([103]) };
        let both = Bounds(vec![vec![vec![organization()]], vec![vec![one_of]]]);
        assert_eq!(
            self.list(names.paper, both, limit),
            papers(&|o, _| is_below(o) && o == 103),
            "papers of 103 at {numbers:?}"
        );
    }
}

#[test]
fn a_bounded_list_equals_that_of_an_obvious_oracle() {
    for (store, ..) in stores() {
        let mut dice = Dice(42);
        let mut world = World::new(store, &mut dice);
        for round in 0..12 {
            let numbers: Vec<i64> = (0..dice.below(4)).map(|_| dice.organization(14)).collect();
            world.compare(&numbers, if round % 2 == 0 { 3 } else { 500 });
        }
        for person in (0..40).step_by(3) {
            if !world.persons[person].1.is_empty() {
                world.end_enrolment(person);
            }
        }
        world.compare(&[100, 101, 105], 7);
        let all: Vec<i64> = (100..112).collect();
        let past = world.to_person(0, &all, Leads::Itself, true);
        let now = world.to_person(0, &all, Leads::Itself, false);
        let bounds = |test| Bounds(vec![vec![vec![test]]]);
        let (past, now) = (
            world.list(world.names.person, bounds(past), 9),
            world.list(world.names.person, bounds(now), 9),
        );
        assert!(past.len() > now.len() && now.iter().all(|id| past.contains(id)));
    }
}

#[test]
fn items_with_few_or_many_members_are_listed_in_order_and_once() {
    for (store, paper, organization) in stores() {
        let above = store.kinds(&["above".to_owned()]).unwrap()[0];
        let organizations = (0..20).map(|n| {
            let mut new = document(organization, &number(n).to_string(), vec![]);
            new.ties = vec![Tie { label: above, item: number(n), holder: number(n) }];
            new
        });
        create_all(&store, organizations.collect());
        let document_of =
            |n: usize| store.target_blocking(key(&number(n).to_string())).unwrap().unwrap().0;
        // One organization has nearly all, another its few at the end; a tenth belong to two.
        let of = |n: usize| match n {
            1_195.. => 19,
            n if n % 7 == 0 => n / 7 % 18,
            _ => 3,
        };
        let documents: Vec<DocumentId> = (0..20).map(document_of).collect();
        let papers = (0..1_200).map(|n| {
            let others = [of(n)].into_iter().chain((n % 10 == 0).then_some((n / 10) % 20));
            let others: BTreeSet<DocumentId> = others.map(|at| documents[at]).collect();
            let mut new = document(paper, &format!("paper {n}"), others.into_iter().collect());
            new.references.marks = vec![Some(number(of(n)))];
            new
        });
        create_all(&store, papers.collect());
        let numbers: Vec<i64> = (0..20).filter(|n| *n != 5).map(number).collect();
        let way = Way { steps: [].into(), up: above, past: false };
        let test =
            MarkTest::Reaches { mark: 0, way, numbers: numbers.into(), leads: Leads::Reference };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        for limit in [1, 7, 450] {
            let (mut found, mut after) = (vec![], DocumentId(0));
            let bounds = Bounds(vec![vec![vec![test.clone()]]]);
            let query = ListQuery { bounds, limit, ..ListQuery::all(paper) };
            while limit > 1 || found.len() < 30 {
                let page = runtime.block_on(store.list(ListQuery { after, ..query.clone() }));
                let page = page.unwrap().rows;
                let Some(last) = page.last() else { break };
                after = last.id;
                found.extend(names(&page));
            }

            let expected = (0..1_200).filter(|n| of(*n) != 5).map(|n| format!("paper {n}"));
            let expected: Vec<String> = expected.take(if limit > 1 { 1_200 } else { 30 }).collect();
            assert_eq!(found, expected, "pages of {limit}");
        }
    }
}

#[test]
fn a_path_follows_all_ties_and_sees_every_change_at_once() {
    for (store, person, _) in stores() {
        let kinds = store.kinds(&["above".to_owned(), "at".to_owned()]).unwrap();
        let (above, at) = (kinds[0], kinds[1]);
        let make = |name: &str, ties: Vec<Tie>| {
            let mut new = document(person, name, vec![]);
            new.ties = ties;
            create(&store, new);
            store.target_blocking(key(name)).unwrap().unwrap().0.0
        };
        let tie = |label, item, holder| Tie { label, item, holder };
        let way = |past| Way { steps: [at].into(), up: above, past };
        let reach =
            |start, way| store.reach_blocking(vec![(start, way)]).unwrap()[0].numbers.to_vec();
        let someone = make("someone", vec![]);
        make("1", vec![tie(above, 1, 1), tie(above, 1, 2)]);
        make("2", vec![tie(above, 2, 2), tie(above, 2, 1)]);

        assert_eq!(reach(Start::Number(someone), way(false)), [0; 0]);
        make("enrolment", vec![tie(at, someone, 1)]);
        assert_eq!(reach(Start::Number(someone), way(false)), [1, 2]);
        assert_eq!(reach(Start::Document(key("someone")), way(false)), [1, 2]);
        assert_eq!(reach(Start::Document(key("nobody")), way(false)), [0; 0]);
        make("3", vec![tie(above, 2, 3), tie(above, 3, 3)]);
        assert_eq!(reach(Start::Number(someone), way(false)), [1, 2, 3]);

        let plan = Plan {
            ask: vec![
                Ask::Document(key("enrolment")),
                Ask::Reach(Start::Number(someone), way(false)),
            ],
            decide: move |found: Vec<Answer>| -> Done {
                let [Answer::Document(Some(row)), Answer::Reached(reached)] = &found[..] else {
                    return Decision::Refuse(format!("{found:?}"));
                };
                assert_eq!(reached.numbers[..], [1, 2, 3]);
                let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
                let (row, ties) = (Box::new(row.clone()), vec![tie(at, someone, 1)]);
                Decision::Write(vec![Write::Delete { row, ties, tombstone }], ())
            },
        };
        store.run_blocking(plan).unwrap();

        assert_eq!(reach(Start::Number(someone), way(false)), [0; 0]);
        assert_eq!(reach(Start::Number(someone), way(true)), [1, 2, 3]);
    }
}

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
