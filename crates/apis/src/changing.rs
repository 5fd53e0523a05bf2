//! Bodies that are changed: small ones where they are, long ones away from the threads that answer, a few at
//! a time and with so many bytes of all together. An API, and a caller, has at most half of the bytes that
//! the others leave free; who finds no more goes on alone in room that is kept for one body at a time.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use homeroom_gateway::{Share, Shares};
use homeroom_http::{BodyError, BudgetFigures, Problem};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::transform::{Transform, Unfit};

/// Longest body that takes no room, and that is changed on the thread that answers, in bytes.
const SMALL_BODY: usize = 64 << 10;
/// Most bytes that are read on the thread that answers for a longer body, where each operation may read it once.
const READ_HERE_MAX: usize = 256 << 10;
/// Most bytes of an answer that is changed.
const ANSWER_MAX: usize = 32 << 20;
/// Room for long bodies at the same time in bytes, what is read and what it is changed to, where nothing else is said.
#[cfg(test)]
const ROOM: u64 = 128 << 20;
/// Room for one body alone, which is among all room: for the longest answer.
pub const TRANSFORM_BYTES_ALONE: u64 = room_of(ANSWER_MAX);
/// The most bytes that an answer takes ahead of what has arrived.
const STEP: usize = 1 << 20;
/// Longest wait for room or for a place.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The budget of long bodies that are changed at a time, and that of their bytes.
const PLACES: &str = "transforms";
const BYTES: &str = "transform_bytes";

/// Places for changing long bodies, and room for their bytes; all published APIs share them.
#[derive(Debug)]
pub(crate) struct Changing {
    places: Places,
    room: Arc<Shares>,
    /// The extra room, for one body at a time.
    last: Semaphore,
}

/// Places for changing a long body. What waits for one is limited by the places of its requests.
#[derive(Debug)]
struct Places {
    size: usize,
    free: Arc<Semaphore>,
    waiting: AtomicU64,
    refused: AtomicU64,
}

/// Room that is taken until the value is dropped.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    changing: &'a Changing,
    held: Held<'a>,
    /// The length of body, in bytes, that the room suffices for.
    bytes: usize,
}

#[derive(Debug)]
enum Held<'a> {
    Share(Share),
    Last(#[expect(dead_code, reason = "it ends when it is dropped")] SemaphorePermit<'a>),
}

/// Counts work as waiting until the value is dropped.
struct Waits<'a>(&'a AtomicU64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why an answer is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// There is no room.
    Refused(Box<Problem>),
    /// It breaks off, or is too long.
    Broken(String),
}

#[cfg(test)]
impl Default for Changing {
    fn default() -> Self {
        Self::new(None, ROOM + TRANSFORM_BYTES_ALONE)
    }
}

impl Changing {
    /// Makes room for so many bytes, of which [`TRANSFORM_BYTES_ALONE`] is for one body alone, and so many places; without a
    /// number, half as many as there are cores.
    pub(crate) fn new(places: Option<usize>, bytes: u64) -> Self {
        // The threads that answer need cores as well.
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let places = Places::new(places.unwrap_or_else(|| cores() / 2).max(1));
        let room = Shares::new(BYTES, bytes.saturating_sub(TRANSFORM_BYTES_ALONE));
        Self { places, room, last: Semaphore::new(1) }
    }

    /// Returns the figures of both budgets. What waits for a place counts as well, beyond the size.
    pub(crate) fn figures(&self) -> [BudgetFigures; 2] {
        let last = if self.last.available_permits() == 0 { TRANSFORM_BYTES_ALONE } else { 0 };
        let shared = self.room.figures();
        let (size, used) = (shared.size + TRANSFORM_BYTES_ALONE, shared.used + last);
        [self.places.figures(), BudgetFigures { size, used, ..shared }]
    }

    /// Takes room for a body of this length and for what it is changed to. The owners are an API and its
    /// caller.
    ///
    /// # Errors
    ///
    /// The answer is 503 if there is no room within [`WAIT_MAX`].
    pub(crate) async fn room(&self, owners: [&str; 2], bytes: usize) -> Result<Room<'_>, Problem> {
        let held = Held::Share(self.room.of(&owners));
        let mut room = Room { changing: self, held, bytes: SMALL_BODY };
        room.reach(bytes).await?;
        Ok(room)
    }

    /// Changes a body. The outer error is that of the server, the inner one that of the body.
    ///
    /// # Errors
    ///
    /// The answer is 503 if no place becomes free within [`WAIT_MAX`].
    pub(crate) async fn change(
        &self,
        transform: &Arc<Transform>,
        body: Bytes,
    ) -> Result<Result<Bytes, Unfit>, Problem> {
        // Handing a body over and waiting for it costs about as much as reading it a few times.
        if body.len() <= SMALL_BODY || body.len() * transform.passes() <= READ_HERE_MAX {
            return Ok(changed(transform, body));
        }
        let place = self.places.take().await?;
        let transform = Arc::clone(transform);
        let working = homeroom_store::spawn_blocking(move || {
            let done = changed(&transform, body);
            drop(place);
            done
        });
        working.await.map_err(Problem::internal)
    }

    /// Reads an answer that is to be changed, whole. It takes room by what has arrived of it, whatever
    /// length it states; the room is kept until it is changed.
    ///
    /// # Errors
    ///
    /// [`Unread`].
    pub(crate) async fn read<B>(
        &self,
        owners: [&str; 2],
        mut body: B,
    ) -> Result<(Bytes, Room<'_>), Unread>
    where
        B: HttpBody<Data = Bytes> + Unpin,
        B::Error: Into<BodyError>,
    {
        let too_long = || Unread::Broken(format!("it is longer than {ANSWER_MAX} bytes"));
        let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if stated > ANSWER_MAX {
            return Err(too_long());
        }
        let refused = |problem| Unread::Refused(Box::new(problem));
        let mut room = self.room(owners, 0).await.map_err(refused)?;
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Unread::Broken(error.into().to_string()))?;
            let Ok(part) = frame.into_data() else { continue };
            let length = whole.len() + part.len();
            if length > ANSWER_MAX {
                return Err(too_long());
            }
            room.grow(length).await.map_err(refused)?;
            whole.extend_from_slice(&part);
        }
        Ok((whole.freeze(), room))
    }
}

impl Places {
    fn new(size: usize) -> Self {
        let free = Arc::new(Semaphore::new(size));
        Self { size, free, waiting: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    fn figures(&self) -> BudgetFigures {
        let taken = self.size.saturating_sub(self.free.available_permits()) as u64;
        let used = taken + self.waiting.load(Ordering::Relaxed);
        let refused = self.refused.load(Ordering::Relaxed);
        BudgetFigures { name: PLACES, size: self.size as u64, used, refused }
    }

    async fn take(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waits = Waits(&self.waiting);
        let taking = Arc::clone(&self.free).acquire_owned();
        let taken = tokio::time::timeout(WAIT_MAX, taking).await;
        drop(waits);
        let Ok(taken) = taken else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(full(PLACES));
        };
        taken.map_err(Problem::internal)
    }
}

impl Room<'_> {
    /// Takes more room for a body that has become so long: at most twice what has arrived.
    async fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.reach(bytes + bytes.min(STEP)).await
    }

    /// Takes more room for a body that may become so long. It waits for what others give back, and for
    /// the room beyond, so that those who wait do not all keep what the others need.
    async fn reach(&mut self, bytes: usize) -> Result<(), Problem> {
        let Held::Share(share) = &mut self.held else { return Ok(()) };
        if bytes <= self.bytes {
            return Ok(());
        }
        let changing = self.changing;
        let more = room_of(bytes) - share.amount();
        let taking = async {
            let mut last = pin!(changing.last.acquire());
            loop {
                let freed = changing.room.freed();
                if share.grow(more).is_ok() {
                    return Ok(None);
                }
                tokio::select! {
                    biased;
                    last = &mut last => return last.map(Some).map_err(Problem::internal),
                    () = freed => {}
                }
            }
        };
        let Ok(last) = tokio::time::timeout(WAIT_MAX, taking).await else {
            changing.room.refuse();
            return Err(full(BYTES));
        };
        if let Some(last) = last? {
            self.held = Held::Last(last);
        }
        self.bytes = bytes;
        Ok(())
    }
}

fn full(budget: &'static str) -> Problem {
    let detail = "The server already changes as many long bodies as it has room for";
    Problem::busy(1).budget(budget).detail(format!("{detail} (budget {budget})."))
}

/// Returns the room that a body needs with what it is changed to.
const fn room_of(bytes: usize) -> u64 {
    2 * bytes as u64
}

fn changed(transform: &Transform, body: Bytes) -> Result<Bytes, Unfit> {
    Ok(match transform.apply(&body)? {
        Cow::Owned(bytes) => bytes.into(),
        Cow::Borrowed(_) => body,
    })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body_util::Full;
    use hyper::body::{Frame, SizeHint};

    use super::*;
    use crate::transform::Operation;

    /// So many parts of 1 KiB, whose number is not known before.
    struct Parts(usize);

    impl HttpBody for Parts {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            let left = self.0.checked_sub(1);
            self.0 = left.unwrap_or(0);
            Poll::Ready(left.map(|_| Ok(Frame::data(Bytes::from(vec![b'x'; 1 << 10])))))
        }
    }

    /// A long answer, of which so many bytes have arrived.
    struct Stating(Option<usize>);

    impl HttpBody for Stating {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            let Some(arrived) = self.0.take() else { return Poll::Pending };
            Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b' '; arrived])))))
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(ANSWER_MAX as u64)
        }
    }

    const OWNERS: [&str; 2] = ["api", "caller"];

    fn transform() -> Arc<Transform> {
        let drop = Operation::Drop { path: "/secret".into() };
        Arc::new(Transform::new(&[drop]).unwrap())
    }

    #[tokio::test]
    async fn long_bodies_are_changed_in_their_turn_and_leave_nothing_taken() {
        let changing = Changing::default();
        let transform = transform();
        let long = format!("{{\"secret\":1,\"a\":\"{}\"}}", "x".repeat(1 << 20));

        for body in ["{\"secret\":1,\"a\":2}", &long] {
            let answer = Full::new(Bytes::copy_from_slice(body.as_bytes()));
            let (whole, room) = changing.read(OWNERS, answer).await.unwrap();
            let done = changing.change(&transform, whole).await.unwrap().unwrap();
            let used = changing.figures()[1].used;
            drop(room);

            assert!(done.starts_with(b"{\"a\":"));
            assert_eq!(used > 0, body.len() > SMALL_BODY);
        }
        let twice = Bytes::from_static(b"{\"secret\":1,\"secret\":2}");
        assert!(changing.change(&transform, twice).await.unwrap().is_err());
        assert!(changing.figures().iter().all(|figures| figures.used == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_room_is_refused_by_the_budgets_name() {
        let changing = Changing::default();
        let mut kept = vec![];
        while let Ok(room) = changing.room(OWNERS, 8 << 20).await {
            kept.push(room);
        }

        let refused = changing.read(OWNERS, Parts(100)).await;
        let small = changing.read(OWNERS, Parts(60)).await.map(|(whole, _)| whole.len());

        assert_eq!(kept.len(), 5, "half of 128 MiB, twice 8 MiB each, and the room for one more");
        let Err(Unread::Refused(problem)) = refused else { panic!("it is read") };
        assert_eq!(problem.budget, Some("transform_bytes"));
        let told = problem.detail.as_deref();
        assert!(told.is_some_and(|told| told.ends_with("(budget transform_bytes).")), "{told:?}");
        assert_eq!(small.ok(), Some(60 << 10), "small ones need none");
        assert_eq!(changing.figures()[1].refused, 2);
        drop(kept);
        assert_eq!(changing.figures()[1].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_and_a_caller_have_their_share_and_leave_room_for_others() {
        for other in [["other", "caller"], ["api", "other"], ["other", "other"]] {
            let changing = Changing::default();
            let mut kept = vec![];
            while let Ok(room) = changing.room(OWNERS, 8 << 20).await {
                kept.push(room);
            }

            let own = changing.read(other, Parts(1 << 10)).await;

            assert_eq!(own.is_ok(), other == ["other", "other"], "{other:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_takes_room_by_what_has_arrived_whatever_it_states() {
        let changing = Changing::default();

        let mut used = vec![];
        for arrived in [1 << 10, 1 << 17, 8 << 20] {
            let reading = changing.read(OWNERS, Stating(Some(arrived)));
            let (_, of_it) =
                tokio::join!(tokio::time::timeout(Duration::from_secs(1), reading), async {
                    tokio::task::yield_now().await;
                    changing.figures()[1].used
                });
            used.push(of_it);
        }

        assert_eq!(used, [0, 4 << 17, 2 * (9 << 20)]);
        assert_eq!(changing.figures()[1].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_room_with_what_they_have_go_on_one_after_the_other() {
        let changing = Arc::new(Changing::default());

        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let changing = Arc::clone(&changing);
            reads.spawn(async move {
                let (whole, _room) = changing.read(OWNERS, Parts(20 << 10)).await.ok()?;
                tokio::time::sleep(Duration::from_millis(100)).await;
                Some(whole.len())
            });
        }
        let lengths = reads.join_all().await;

        assert_eq!(lengths, [Some(20 << 20); 12]);
        assert_eq!(changing.figures()[1].used, 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_not_read() {
        let changing = Changing::default();
        let long = Full::new(Bytes::from(vec![b'1'; ANSWER_MAX + 1]));

        assert!(matches!(changing.read(OWNERS, long).await, Err(Unread::Broken(_))));
        assert_eq!(changing.figures()[1].used, 0);
    }
}
