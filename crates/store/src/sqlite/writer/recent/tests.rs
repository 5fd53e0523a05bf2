//! What has a limit, at the size of a large load.

use homeroom_testkit::Folder;

use super::*;
use crate::sqlite::writer::{GONE_EACH, GONE_MAX, MOVED_MAX};
use crate::{
    Answer, Decision, DocumentId, KindId, NewDocument, Options, Plan, References, Store, Uuid,
    Write,
};

/// Transactions on the tables of a store that nobody else has open.
struct Load {
    writer: RecentWriter,
    connection: Connection,
    last: i64,
    _folder: Folder,
}

impl Load {
    fn new(documents_max: usize) -> Self {
        let folder = Folder::new();
        let file = folder.path().join("homeroom.db");
        Store::open(&Options::for_file(&file)).unwrap().close();
        let connection = Connection::open(&file).unwrap();
        // Nothing here outlives the test.
        connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let recent = Arc::new(Recent::default());
        let positions = recent.fill(&connection).unwrap();
        let writer = RecentWriter::new(&recent, positions, documents_max);
        Self { writer, connection, last: 0, _folder: folder }
    }

    /// Commits new documents, each with so many edges.
    fn add(&mut self, documents: u32, edges: impl Fn(i64) -> i64) {
        self.writer.begin();
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..documents {
            self.last += 1;
            let key = NaturalKey::of("k", [&self.last.to_be_bytes()[..]]);
            self.writer.add_identity(&self.connection, key, self.last).unwrap();
            for target in 1..=edges(self.last) {
                self.writer.add_edge(&self.connection, (target, 1, self.last)).unwrap();
            }
        }
        self.writer.end(&self.connection, self.last).unwrap();
        self.connection.execute_batch("COMMIT").unwrap();
        self.writer.committed();
    }

    /// Moves everything, as an idle writer does.
    fn rest(&mut self) {
        self.writer.begin();
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        self.writer.move_up_to(&self.connection, self.last, usize::MAX).unwrap();
        self.connection.execute_batch("COMMIT").unwrap();
        self.writer.committed();
    }

    /// Returns how many rows are in memory and not gone.
    fn living(&self) -> [usize; 2] {
        let rows = self.writer.recent.look();
        [rows.identities.living(), rows.edges.living()]
    }

    /// Returns how many rows are in the tables.
    fn moved(&self) -> [usize; 2] {
        ["identity", "ref"].map(|table| {
            let text = format!("SELECT count(*) FROM {table}");
            let count: i64 = self.connection.query_row(&text, [], |row| row.get(0)).unwrap();
            usize::try_from(count).unwrap()
        })
    }
}

#[test]
fn what_is_gone_is_forgotten_however_many_edges_the_documents_of_a_load_have() {
    let mut load = Load::new(20_000);
    for _ in 0..4 {
        load.add(1_000, |_| 20);
    }
    assert_eq!((load.living(), load.moved()), ([4_000, 80_000], [0, 0]));
    for _ in 0..6 {
        load.add(1_000, |_| 20);
        assert_eq!(load.writer.gone(), 0);
    }
    let reader = load.writer.recent.enter();
    for _ in 0..4 {
        load.add(1_000, |_| 20);
    }
    let kept = load.writer.gone();
    assert!(kept > 40_000, "a reader may see them: {kept}");

    drop(reader);

    load.add(1_000, |_| 20);
    load.add(1_000, |_| 20);
    assert_eq!(load.writer.gone(), 0, "twice as many as come");
    let [living, moved] = [load.living()[1], load.moved()[1]];
    assert!(moved > 100_000, "{moved}");
    assert_eq!(living + moved, 16 * 20_000);
}

#[test]
fn an_idle_writer_forgets_all_that_nobody_sees() {
    let mut load = Load::new(10_000);
    for _ in 0..2 {
        load.add(1_000, |_| 20);
    }
    let reader = load.writer.recent.enter();
    load.rest();
    load.writer.give_memory_back();
    assert_eq!((load.living(), load.writer.gone()), ([0, 0], 42_000));

    drop(reader);
    load.writer.give_memory_back();

    assert_eq!(load.writer.gone(), 0);
}

#[test]
fn a_start_reads_few_documents_also_where_these_have_few_edges() {
    // Edges of one document in so many.
    for (edges, each) in [(6, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 5), (1, 40)] {
        const MAX: usize = 500;
        let mut load = Load::new(MAX);
        let mut most = 0;
        for _ in 0..1_000 {
            load.add(5, |number| if number % each == 0 { edges } else { 0 });
            most = most.max(load.last - load.writer.now.edges.all_moved());
        }
        let most = usize::try_from(most).unwrap();
        assert!(most <= 3 * MAX, "{edges} edges for each {each} documents: {most}");
    }
}

#[test]
fn a_transaction_moves_few_rows_also_where_far_too_many_are_in_memory() {
    let mut load = Load::new(20_000);
    for _ in 0..20 {
        load.add(1_000, |_| 2);
    }
    assert_eq!((load.living(), load.moved()), ([20_000, 40_000], [0, 0]));
    // As after a start with a smaller limit.
    (load.writer.documents_max, load.writer.edges_max) = (0, 0);

    let mut before = [0, 0];
    while load.living() != [0, 0] {
        load.add(1, |_| 2);
        let after = load.moved();
        for (before, after) in before.into_iter().zip(after) {
            assert!(after - before <= MOVED_MAX + 10, "{before} to {after}");
        }
        assert_ne!(after, before);
        before = after;
    }
    let all = usize::try_from(load.last).unwrap();
    assert_eq!(load.moved(), [all, 2 * all]);
}

#[test]
fn few_identities_that_no_document_has_are_noted() {
    let mut load = Load::new(8);
    load.writer.begin();
    let key = |number: usize| NaturalKey::of("k", [&number.to_be_bytes()[..]]);

    (0..3 * ABSENT_MAX).for_each(|number| load.writer.note_absent(key(number)));

    assert_eq!(load.writer.absent.len(), ABSENT_MAX);
    load.writer.give_memory_back();
    assert_eq!(load.writer.absent.capacity(), 0);
}

/// Creates documents in one transaction.
fn create(store: &Store, kind: KindId, numbers: std::ops::Range<u32>, targets: &[DocumentId]) {
    let plans = numbers.map(|number| {
        let new = NewDocument {
            uuid: Uuid::new(),
            kind,
            key: NaturalKey::of("k", [&number.to_be_bytes()[..]]),
            alias: None,
            body: "{}".into(),
            references: References { others: targets.to_vec(), ..References::default() },
            ties: vec![],
            modified: 7,
        };
        let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Create(new.clone())], ())
        };
        Plan { ask: vec![], decide }
    });
    for outcome in store.run_all_blocking(plans.collect()) {
        outcome.unwrap();
    }
}

#[test]
fn a_thread_that_reads_nothing_more_keeps_little() {
    const EACH: u32 = 200;
    let folder = Folder::new();
    let options = Options::for_file(folder.path().join("homeroom.db"));
    let store = Store::open(&Options { recent_documents: 500, ..options }).unwrap();
    let kind = store.kinds(&["a".to_owned()]).unwrap()[0];
    create(&store, kind, 0..10, &[]);
    let targets: Vec<DocumentId> = (1..=10).map(DocumentId).collect();
    let rows = || {
        let rows = store.shared().file.recent.look();
        let living = rows.identities.living() + rows.edges.living();
        (living, rows.identities.gone() + rows.edges.gone())
    };
    let mut last = 10;
    let mut write = |transactions: u32| {
        for _ in 0..transactions {
            create(&store, kind, last..last + EACH, &targets);
            last += EACH;
        }
    };

    std::thread::scope(|scope| {
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let reader = &store;
        scope.spawn(move || {
            for () in asked {
                let found = reader.document_by_key_blocking(NaturalKey::of("k", [])).unwrap();
                tell.send(found.is_none()).unwrap();
            }
        });
        let read = || {
            ask.send(()).unwrap();
            assert!(told.recv().unwrap());
        };

        read();
        write(8);
        assert!(rows().1 > 5_000, "the thread may see them: {:?}", rows());
        let begun = std::time::Instant::now();
        while rows() != (0, 0) {
            assert!(begun.elapsed().as_secs() < 30, "an idle store keeps none: {:?}", rows());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }

        read();
        write(48);
        let most = GONE_MAX + usize::try_from(GONE_EACH * EACH * 11).unwrap();
        assert!(rows().1 <= most, "{:?}, most {most}", rows());
        drop(ask);
    });
}
