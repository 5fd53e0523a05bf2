//! Managed items besides keys and claim sets, as JSON with the names of the Ed-Fi Admin API.

use std::collections::BTreeMap;

use serde_json::Value;

/// A kind of managed item besides keys and claim sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A vendor of applications: `company`, `namespacePrefixes`, `contactName`,
    /// `contactEmailAddress`.
    Vendor,
    /// An application: `applicationName`, `vendorId`, `claimSetName`, `educationOrganizationIds`,
    /// `profileIds`, `odsInstanceIds`. Its keys are clients of the registry.
    Application,
    /// A profile, which limits what a client sees of a resource: `name`, `definition`.
    Profile,
    /// The store, as clients of the Admin API see it: `name`, `instanceType`.
    OdsInstance,
    /// A context of an instance: `odsInstanceId`, `contextKey`, `contextValue`.
    OdsInstanceContext,
    /// A derivative of an instance: `odsInstanceId`, `derivativeType`.
    OdsInstanceDerivative,
    /// A custom view: `name`, `definition`.
    AuthorizationStrategy,
}

impl ItemKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Vendor,
        Self::Application,
        Self::Profile,
        Self::OdsInstance,
        Self::OdsInstanceContext,
        Self::OdsInstanceDerivative,
        Self::AuthorizationStrategy,
    ];

    /// Returns the name used in the store.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vendor => "vendor",
            Self::Application => "application",
            Self::Profile => "profile",
            Self::OdsInstance => "ods-instance",
            Self::OdsInstanceContext => "ods-instance-context",
            Self::OdsInstanceDerivative => "ods-instance-derivative",
            Self::AuthorizationStrategy => "authorization-strategy",
        }
    }

    fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The id of the only instance: the store itself.
pub const ODS_INSTANCE: i64 = 1;

/// The name under which the store keeps a lower bound for the ids of all kinds.
const ALL_KINDS: &str = "";

/// All items of each kind, by id.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: BTreeMap<ItemKind, BTreeMap<i64, Value>>,
    /// The greatest id ever used, by the name of the kind.
    last: BTreeMap<String, i64>,
}

impl Items {
    /// Adds a row of [`crate::sql::MANAGED`]; returns false where it is malformed.
    pub(crate) fn take(&mut self, row: &[homeroom_store::Value]) -> bool {
        let [kind, id, definition] = row else { return false };
        let read = || {
            let definition = serde_json::from_str(definition.as_text()?).ok()?;
            Some((ItemKind::read(kind.as_text()?)?, id.as_integer()?, definition))
        };
        let Some((kind, id, definition)) = read() else { return false };
        self.put(kind, id, definition);
        true
    }

    /// Adds a row of [`crate::sql::MANAGED_LAST`]; returns false where it is malformed.
    pub(crate) fn take_last(&mut self, row: &[homeroom_store::Value]) -> bool {
        let [kind, id] = row else { return false };
        let (Some(kind), Some(id)) = (kind.as_text(), id.as_integer()) else { return false };
        self.last.insert(kind.to_owned(), id);
        true
    }

    pub(crate) fn put(&mut self, kind: ItemKind, id: i64, definition: Value) {
        self.items.entry(kind).or_default().insert(id, definition);
    }

    pub(crate) fn remove(&mut self, kind: ItemKind, id: i64) {
        if let Some(items) = self.items.get_mut(&kind) {
            items.remove(&id);
        }
    }

    pub(crate) fn set_last(&mut self, kind: &str, id: i64) {
        self.last.insert(kind.to_owned(), id);
    }

    /// Returns the greatest id of a kind, or the lower bound for all kinds if that is greater. A
    /// store that is a copy has such a bound, since the other store may have used any id up to it.
    pub(crate) fn last(&self, kind: &str) -> i64 {
        let last = |kind| self.last.get(kind).copied().unwrap_or_default();
        last(kind).max(last(ALL_KINDS))
    }

    pub(crate) fn get(&self, kind: ItemKind, id: i64) -> Option<&Value> {
        self.items.get(&kind)?.get(&id)
    }

    /// Returns all items of a kind, by id.
    pub(crate) fn of(&self, kind: ItemKind) -> impl Iterator<Item = (i64, &Value)> {
        self.items.get(&kind).into_iter().flatten().map(|(id, definition)| (*id, definition))
    }
}

/// Returns a number from 1 to 2³¹ − 1, derived by hash, that is the same in every process and
/// version.
pub fn stable_id(name: &str) -> i64 {
    let hash = blake3::hash(name.as_bytes());
    let mut first = [0; 4];
    first.copy_from_slice(&hash.as_bytes()[..4]);
    i64::from(u32::from_le_bytes(first) >> 1).max(1)
}
