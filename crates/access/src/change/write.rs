//! Writes a change, and keeps the registry in doubt until the outcome is known.

use homeroom_store::{Answer, Ask, Decision, Plan, Refused, Sql, StoreError, Write};

use crate::access::Access;
use crate::error::ManageError;
use crate::sql;

/// A write under way. Dropping it before its outcome is known puts the registry in doubt.
struct UnderWay<'a>(Option<&'a Access>);

impl UnderWay<'_> {
    /// Records that the outcome is known.
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
    /// Writes all statements or none, and returns the new version.
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
                // If the store can be read, it shows whether the change was written.
                if let Err(error) = self.refresh_managing().await {
                    tracing::error!(%error, "it is not known whether a change of keys was stored");
                }
                Err(StoreError::Unsure.into())
            }
            // Nothing was written: the registry still shows what is stored.
            Err(Refused::Store(error)) => {
                under_way.end();
                Err(error.into())
            }
        }
    }
}
