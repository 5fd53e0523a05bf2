//! A client whose work goes on after its request, such as the load of what it has uploaded.

use std::sync::Arc;

use homeroom_http::{Kind, Problem};

use crate::access::Access;
use crate::client::{ApiClient, Scope, Status};
use crate::recognize::admitted;
use crate::recognized::{Recognized, changing};

/// A client whose work goes on after its request, with the rights that its key has at each moment.
#[derive(Debug, Clone)]
pub struct Holder {
    access: Arc<Access>,
    key: String,
    scope: &'static str,
    organizations: Vec<i64>,
}

impl Holder {
    /// Returns the holder of a key. Its token may have been restricted to fewer education
    /// organizations than the key has: `organizations` are those of the client as it was
    /// recognized, sorted.
    pub fn new(access: &Arc<Access>, key: &str, scope: Scope, organizations: Vec<i64>) -> Self {
        Self { access: Arc::clone(access), key: key.to_owned(), scope: scope.name(), organizations }
    }

    /// Returns the client as it is now.
    ///
    /// # Errors
    ///
    /// 401 where the key is gone, suspended, revoked or without the scope; 503 while the registry
    /// cannot be read.
    pub fn now(&self) -> Result<Recognized, Problem> {
        if self.access.is_in_doubt() {
            return Err(changing());
        }
        let (client, version) = self.access.look_up(|registry| {
            let client = registry.clients.get(&self.key).map(|known| Arc::clone(&known.client));
            (client, registry.version)
        });
        let client = client.filter(|client| client.status == Status::Active).ok_or_else(|| {
            Problem::of(Kind::AuthenticationFailed).error("The key is suspended, revoked or gone.")
        })?;
        admitted(&client, self.scope)?;
        let may = |id: &i64| self.organizations.binary_search(id).is_ok();
        let client = if client.education_organizations.iter().all(may) {
            client
        } else {
            let kept = client.education_organizations.iter().copied().filter(may);
            Arc::new(ApiClient { education_organizations: kept.collect(), ..(*client).clone() })
        };
        Ok(Recognized { client, version })
    }

    /// Returns the client as it is once the registry has been read again.
    ///
    /// # Errors
    ///
    /// As [`Holder::now`]; 503 where the registry cannot be read.
    pub async fn renewed(&self) -> Result<Recognized, Problem> {
        self.access.refresh().await.map_err(|_| changing())?;
        self.now()
    }
}
