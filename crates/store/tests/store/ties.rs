//! Ties: what is reached over them, and lists within bounds, compared with a naive computation.

use std::collections::BTreeSet;
use std::sync::Arc;

use homeroom_store::{
    Answer, Ask, Bounds, Decision, DocumentId, KindId, Leads, ListQuery, MarkTest, NewDocument,
    Plan, References, Start, Store, Tie, Tombstone, Way, Write,
};

use crate::dice::{Dice, number};
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
fn a_bounded_page_of_large_documents_has_as_many_as_fit() {
    for (store, paper, organization) in stores() {
        let above = store.kinds(&["above".to_owned()]).unwrap()[0];
        let mut top = document(organization, "100", vec![]);
        top.ties = vec![Tie { label: above, item: 100, holder: 100 }];
        create(&store, top);
        let top = store.target_blocking(key("100")).unwrap().unwrap().0;
        let papers: Vec<DocumentId> = (0..7)
            .map(|n| {
                let name = format!("paper {n}");
                let mut new = document(paper, &name, vec![top]);
                new.references.marks = vec![Some(100), Some(number(n))];
                new.body = format!("{{\"text\":\"{}\"}}", "x".repeat(10 << 20));
                create(&store, new);
                store.target_blocking(key(&name)).unwrap().unwrap().0
            })
            .collect();
        let way = Way { steps: [].into(), up: above, past: false };
        let numbers = [100].into();
        let reaches = MarkTest::Reaches { mark: 0, way, numbers, leads: Leads::Reference };
        let last = |count: usize| {
            let numbers = (7 - count..7).map(number).collect::<Vec<_>>().into();
            MarkTest::OneOf { mark: 1, numbers }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        for (test, skip, limit, expected) in [
            (&reaches, 0, 25, 0..6),
            (&reaches, 0, 6, 0..6),
            (&reaches, 0, 2, 0..2),
            (&reaches, 1, 25, 1..7),
            // Those that do not pass take no room.
            (&last(2), 0, 25, 5..7),
            (&last(6), 0, 25, 1..7),
            (&last(7), 0, 25, 0..6),
        ] {
            let bounds = Bounds(vec![vec![vec![test.clone()]]]);
            let query = ListQuery { bounds, skip, limit, ..ListQuery::all(paper) };
            let page = runtime.block_on(store.list(query)).unwrap();

            let found: Vec<DocumentId> = page.rows.iter().map(|row| row.id).collect();
            let is_cut = (skip, limit, &expected) == (0, 25, &(0..6));
            assert_eq!(found, papers[expected], "{limit} after {skip}: {test:?}");
            assert_eq!(page.is_cut, is_cut, "{limit} after {skip}: {test:?}");
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
