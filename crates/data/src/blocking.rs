//! Runs long work away from the threads that answer requests.

use homeroom_http::Problem;
use tokio::sync::Semaphore;

/// Runs `work` on a blocking thread once a permit is available.
///
/// The work holds the permit, and the resources that the request keeps, until it ends, even if the
/// client disconnects. If the client disconnects before the work has begun, the work never runs.
///
/// # Errors
///
/// 500 if `work` panics.
pub(crate) async fn run<T: Send + 'static>(
    places: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let place = places.acquire().await.map_err(Problem::internal)?;
    let kept = homeroom_store::kept();
    let working = tokio::task::spawn_blocking(move || {
        let done = work();
        drop((kept, place));
        done
    });
    working.await.map_err(Problem::internal)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use homeroom_store::{Kept, keeping};
    use tokio::time::timeout;

    use super::*;

    const PLACES: usize = 2;
    const BRIEF: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn work_of_callers_who_hang_up_still_counts_against_the_limit() {
        let places: &Semaphore = Box::leak(Box::new(Semaphore::new(PLACES)));
        let kept = Arc::new(());
        let (begun, all_begun) = channel();
        let (end, may_end) = channel::<()>();
        let may_end = Arc::new(std::sync::Mutex::new(may_end));

        for _ in 0..20 {
            let (begun, may_end) = (begun.clone(), Arc::clone(&may_end));
            let work = move || {
                begun.send(()).unwrap();
                _ = may_end.lock().map(|may_end| may_end.recv());
            };
            let request = keeping(Arc::clone(&kept) as Kept, run(places, work));
            assert!(timeout(BRIEF, request).await.is_err(), "it is given up");
        }

        assert_eq!(Arc::strong_count(&kept), 1 + PLACES, "what it keeps is with the work");
        drop((begun, end));
        assert!(run(places, || ()).await.is_ok());
        // All work that began has ended by now, or ends here.
        assert_eq!(all_begun.iter().count(), PLACES);
        _ = places.acquire_many(u32::try_from(PLACES).unwrap()).await.unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
