//! Resolves host names to addresses.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// The most threads of this process that wait for the system's resolver.
const THREADS_MAX: usize = 16;

/// The permits for these threads. A thread keeps waiting after its request has been cancelled, because
/// nothing can interrupt it.
static THREADS: Semaphore = Semaphore::const_new(THREADS_MAX);

type Looked = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A source of addresses for host names.
#[derive(Clone, Default)]
pub enum Resolver {
    /// The system's resolver. The process looks up at most 16 names at a time; further ones wait, and
    /// the wait counts towards [`Times::resolve`](crate::Times).
    #[default]
    System,
    /// A function from a host name to its addresses.
    Given(Arc<dyn Fn(String) -> Looked + Send + Sync>),
}

impl Resolver {
    /// Makes a source from a function.
    pub fn given<F, L>(look_up: F) -> Self
    where
        F: Fn(String) -> L + Send + Sync + 'static,
        L: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        Self::Given(Arc::new(move |host| Box::pin(look_up(host))))
    }

    /// Looks up a host's addresses. A literal address is returned as it is.
    ///
    /// # Errors
    ///
    /// The resolver's own; [`io::ErrorKind::NotFound`] if there is no address.
    pub async fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let found: Vec<IpAddr> = match self {
            Self::System => {
                let host = host.to_owned();
                let found = on_a_thread(&THREADS, move || (host.as_str(), 0_u16).to_socket_addrs());
                found.await??.map(|found| found.ip()).collect()
            }
            Self::Given(look_up) => look_up(host.to_owned()).await?,
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the resolver knows no address"));
        }
        Ok(found)
    }
}

/// Runs blocking work on a thread of its own. The work holds its permit until it ends, even if the
/// caller no longer waits for the result.
async fn on_a_thread<T: Send + 'static>(
    threads: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let permit = threads.acquire().await.map_err(io::Error::other)?;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.map_err(io::Error::other)
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_cancelled_look_up_keeps_its_permit_until_its_thread_is_free() {
        static THREADS: Semaphore = Semaphore::const_new(1);
        let (release, is_released) = mpsc::channel::<()>();
        let soon = Duration::from_millis(50);

        let hanging = on_a_thread(&THREADS, move || is_released.recv().is_ok());
        assert!(timeout(soon, hanging).await.is_err());
        assert!(timeout(soon, on_a_thread(&THREADS, || ())).await.is_err(), "no thread is free");

        release.send(()).unwrap();
        on_a_thread(&THREADS, || ()).await.unwrap();
    }

    #[tokio::test]
    async fn the_system_resolves_localhost_to_the_loopback() {
        let found = Resolver::System.look_up("localhost").await.unwrap();

        assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
    }
}
