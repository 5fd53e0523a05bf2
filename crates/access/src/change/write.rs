//! How a change is written, and what is thought of it until that is known.

use homeroom_store::{Answer, Ask, Decision, Plan, Refused, Sql, StoreError, Write};

use crate::access::Access;
use crate::manage::ManageError;
use crate::sql;

/// A write under way: where its end is not heard of, the registry is in doubt.
struct UnderWay<'a>(Option<&'a Access>);

impl UnderWay<'_> {
    /// What has become of it is known.
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(access) = self.0 {
            access.doubt(true);
        }
    }
}

impl Access {
    /// Writes all of it or none, and gives the version that it has.
    pub(super) async fn write(&self, writes: Vec<Sql>) -> Result<i64, ManageError> {
        let shown = self.version();
        let mut writes = Some(writes);
        let plan = Plan {
            ask: vec![Ask::AccessVersion],
            decide: move |found: Vec<Answer>| -> Decision<i64, ManageError> {
                if found.first() != Some(&Answer::AccessVersion(shown)) {
                    return Decision::Refuse(ManageError::Meanwhile);
                }
                let count = Sql::new(sql::SET_VERSION, vec![(shown + 1).into()]);
                let writes = writes.take().into_iter().flatten().chain([count]);
                Decision::Write(writes.map(Write::Sql).collect(), shown + 1)
            },
        };
        let under_way = UnderWay(Some(self));
        match self.store.run(plan).await {
            Ok(ran) => {
                under_way.end();
                Ok(ran.value)
            }
            Err(Refused::Decision(error)) => {
                under_way.end();
                Err(error)
            }
            Err(Refused::Store(StoreError::Unsure)) => {
                drop(under_way);
                // Where the store can be read, it says whether it was written.
                if let Err(error) = self.refresh_managing().await {
                    tracing::error!(%error, "it is not known whether a change of keys was written");
                }
                Err(StoreError::Unsure.into())
            }
            // Nothing was written: what is shown is still what is stored.
            Err(Refused::Store(error)) => {
                under_way.end();
                Err(error.into())
            }
        }
    }
}
