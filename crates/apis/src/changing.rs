//! Bodies that are changed: small ones where they are, long ones away from the threads that answer, a few at
//! a time and with so many bytes of all together.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use homeroom_http::{BodyError, BudgetFigures, Problem};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::transform::{Transform, Unfit};

/// Longest body that is changed on the thread that answers, in bytes.
const SMALL_BODY: usize = 64 << 10;
/// Most bytes of an answer that is changed.
const ANSWER_MAX: usize = 32 << 20;
/// The unit of room, in bytes.
const KIB: u64 = 1 << 10;
/// Room for long bodies at the same time, in KiB: what is read, and what it is changed to.
const ROOM: u32 = 192 << 10;
/// Bytes by which an answer of unknown length takes more room.
const STEP: usize = 1 << 20;
/// Longest wait for room or for a place.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The budget of long bodies that are changed at a time, and that of their bytes.
const PLACES: &str = "transforms";
const BYTES: &str = "transform_bytes";

/// Places for changing long bodies, and room for their bytes; all published APIs share them.
#[derive(Debug)]
pub(crate) struct Changing {
    places: Budget,
    room: Budget,
}

/// A budget that is taken by units. What waits for it is limited by the places of its requests.
#[derive(Debug)]
struct Budget {
    name: &'static str,
    /// What a unit counts for in figures.
    unit: u64,
    size: u32,
    free: Arc<Semaphore>,
    waiting: AtomicU64,
    refused: AtomicU64,
}

/// Room that is taken until the value is dropped.
pub(crate) struct Room<'a> {
    budget: &'a Budget,
    taken: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

/// Counts work as waiting until the value is dropped.
struct Waits<'a>(&'a AtomicU64, u64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
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

impl Default for Changing {
    fn default() -> Self {
        // The threads that answer need cores as well.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let places = u32::try_from(cores / 2).unwrap_or(u32::MAX).max(1);
        Self { places: Budget::new(PLACES, 1, places), room: Budget::new(BYTES, KIB, ROOM) }
    }
}

impl Changing {
    /// Returns the figures of both budgets; what waits counts as well, beyond the size.
    pub(crate) fn figures(&self) -> [BudgetFigures; 2] {
        [&self.places, &self.room].map(Budget::figures)
    }

    /// Takes room for a body of this length and for what it is changed to.
    ///
    /// # Errors
    ///
    /// The answer is 503 if there is no room within [`WAIT_MAX`].
    pub(crate) async fn room(&self, bytes: usize) -> Result<Room<'_>, Problem> {
        let mut room = Room { budget: &self.room, taken: None, bytes: SMALL_BODY };
        if bytes > SMALL_BODY {
            (room.taken, room.bytes) = (Some(self.room.take(units(bytes)).await?), bytes);
        }
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
        if body.len() <= SMALL_BODY {
            return Ok(changed(transform, body));
        }
        let place = self.places.take(1).await?;
        let transform = Arc::clone(transform);
        let working = homeroom_store::spawn_blocking(move || {
            let done = changed(&transform, body);
            drop(place);
            done
        });
        working.await.map_err(Problem::internal)
    }

    /// Reads an answer that is to be changed, whole. The room is kept until it is changed.
    ///
    /// # Errors
    ///
    /// [`Unread`].
    pub(crate) async fn read<B>(&self, mut body: B) -> Result<(Bytes, Room<'_>), Unread>
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
        let mut room = self.room(stated).await.map_err(refused)?;
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Unread::Broken(error.into().to_string()))?;
            let Ok(part) = frame.into_data() else { continue };
            let length = whole.len() + part.len();
            if length > ANSWER_MAX {
                return Err(too_long());
            }
            room.grow(length).map_err(refused)?;
            whole.extend_from_slice(&part);
        }
        Ok((whole.freeze(), room))
    }
}

impl Budget {
    fn new(name: &'static str, unit: u64, size: u32) -> Self {
        let free = Arc::new(Semaphore::new(size as usize));
        Self { name, unit, size, free, waiting: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    fn figures(&self) -> BudgetFigures {
        let size = u64::from(self.size);
        let taken = size.saturating_sub(self.free.available_permits() as u64);
        let used = taken + self.waiting.load(Ordering::Relaxed);
        let refused = self.refused.load(Ordering::Relaxed);
        BudgetFigures { name: self.name, size: size * self.unit, used: used * self.unit, refused }
    }

    async fn take(&self, units: u32) -> Result<OwnedSemaphorePermit, Problem> {
        let units = units.min(self.size);
        if let Ok(taken) = Arc::clone(&self.free).try_acquire_many_owned(units) {
            return Ok(taken);
        }
        self.waiting.fetch_add(units.into(), Ordering::Relaxed);
        let waits = Waits(&self.waiting, units.into());
        let taking = Arc::clone(&self.free).acquire_many_owned(units);
        let taken = tokio::time::timeout(WAIT_MAX, taking).await;
        drop(waits);
        match taken {
            Ok(taken) => taken.map_err(Problem::internal),
            Err(_) => Err(self.full()),
        }
    }

    fn full(&self) -> Problem {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Problem::busy(1)
            .budget(self.name)
            .detail("The server already changes as many long bodies as it has room for.")
    }
}

impl Room<'_> {
    /// Takes more room, if a body has become longer than was known. It does not wait: others that wait as
    /// well would keep what they have.
    fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let (before, next) = (self.bytes, bytes + STEP);
        let more = units(next) - self.taken.as_ref().map_or(0, |_| units(before));
        let Ok(more) = Arc::clone(&self.budget.free).try_acquire_many_owned(more) else {
            return Err(self.budget.full());
        };
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        self.bytes = next;
        Ok(())
    }
}

/// Returns the units of room that a body needs with what it is changed to.
fn units(bytes: usize) -> u32 {
    u32::try_from((2 * bytes).div_ceil(1 << 10)).unwrap_or(u32::MAX)
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
    use hyper::body::Frame;

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
            let (whole, room) = changing.read(answer).await.unwrap();
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
        while let Ok(room) = changing.room(ANSWER_MAX).await {
            kept.push(room);
        }

        let refused = changing.read(Parts(100)).await;
        let small = changing.read(Parts(60)).await.map(|(whole, _)| whole.len());

        assert_eq!(kept.len(), 3, "192 MiB, twice 32 MiB each");
        let Err(Unread::Refused(problem)) = refused else { panic!("it is read") };
        assert_eq!(problem.budget, Some("transform_bytes"));
        assert_eq!(small.ok(), Some(60 << 10), "small ones need none");
        assert_eq!(changing.figures()[1].refused, 2);
        drop(kept);
        assert_eq!(changing.figures()[1].used, 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_not_read() {
        let changing = Changing::default();
        let long = Full::new(Bytes::from(vec![b'1'; ANSWER_MAX + 1]));

        assert!(matches!(changing.read(long).await, Err(Unread::Broken(_))));
        assert_eq!(changing.figures()[1].used, 0);
    }
}
