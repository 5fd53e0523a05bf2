//! Something that hardly ever happens, awaited beside something that happens often.
//!
//! Whenever a task is woken, all that it waits for is asked, and what is asked locks something or registers the task
//! once more. Here only what has woken the task itself is asked.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is polled only after it has woken its task.
pub(super) struct Seldom<F> {
    future: Pin<Box<F>>,
    /// The task that polls it.
    task: Option<Waker>,
    signal: Arc<Signal>,
}

/// Wakes the task, and remembers that it was not for another reason.
struct Signal {
    has_woken: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl<F> Seldom<F> {
    pub(super) fn new(future: F) -> Self {
        let signal = Signal { has_woken: AtomicBool::new(true), task: Mutex::default() };
        Self { future: Box::pin(future), task: None, signal: Arc::new(signal) }
    }

    /// Returns the future to be changed, which is polled in any case the next time.
    pub(super) fn changed(&mut self) -> Pin<&mut F> {
        self.signal.has_woken.store(true, Ordering::Release);
        self.future.as_mut()
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        if !this.task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            this.task = Some(cx.waker().clone());
            this.signal.is_for(cx.waker().clone());
        }
        if !this.signal.has_woken.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&this.signal));
        this.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl Signal {
    /// Wakes another task from now on.
    fn is_for(&self, task: Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Before the task is looked for: one that takes its place asks afterwards.
        self.has_woken.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::sync::{Notify, mpsc};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn it_is_asked_when_it_has_woken_the_task_and_not_when_something_else_has() {
        let (often, mut happens) = mpsc::unbounded_channel();
        let (asked, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let seldom = {
            let (asked, told) = (Arc::clone(&asked), Arc::clone(&told));
            async move {
                let mut told = std::pin::pin!(told.notified());
                poll_fn(|cx| {
                    asked.fetch_add(1, Ordering::Relaxed);
                    told.as_mut().poll(cx)
                })
                .await;
            }
        };
        let (done, mut has_happened) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut seldom = Seldom::new(seldom);
            loop {
                tokio::select! {
                    Some(()) = happens.recv() => done.send(()).unwrap(),
                    () = &mut seldom => return,
                }
            }
        });

        for _ in 0..20 {
            often.send(()).unwrap();
            has_happened.recv().await.unwrap();
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        told.notify_one();

        timeout(Duration::from_mins(1), task).await.expect("it is woken").unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn it_wakes_the_task_that_has_asked_last() {
        let told = Arc::new(Notify::new());
        let waits = Arc::clone(&told);
        let mut seldom = Seldom::new(async move { waits.notified().await });
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut seldom).poll(&mut nobody).is_pending());

        let task = tokio::spawn(seldom);
        tokio::task::yield_now().await;
        told.notify_one();

        timeout(Duration::from_mins(1), task).await.expect("it is woken").unwrap();
    }
}
