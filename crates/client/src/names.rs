//! Where a host's addresses come from.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

type Looked = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A source of addresses for host names.
#[derive(Clone, Default)]
pub enum Names {
    /// The system's resolver.
    #[default]
    System,
    /// A function from a host name to its addresses.
    Given(Arc<dyn Fn(String) -> Looked + Send + Sync>),
}

impl Names {
    /// Makes a source from a function.
    pub fn given<F, L>(look_up: F) -> Self
    where
        F: Fn(String) -> L + Send + Sync + 'static,
        L: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        Self::Given(Arc::new(move |host| Box::pin(look_up(host))))
    }

    /// Looks up a host's addresses. A literal address is its own.
    ///
    /// # Errors
    ///
    /// The resolver's, or that there is no address.
    pub async fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let found: Vec<IpAddr> = match self {
            Self::System => {
                tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect()
            }
            Self::Given(look_up) => look_up(host.to_owned()).await?,
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the resolver knows no address"));
        }
        Ok(found)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given",
        })
    }
}
