//! What is managed beside keys and claim sets, as JSON in the words of the Ed-Fi Admin API.

use std::collections::BTreeMap;

use serde_json::Value;

/// A kind of what is managed beside keys and claim sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// Who makes applications: `company`, `namespacePrefixes`, `contactName`, `contactEmailAddress`.
    Vendor,
    /// What calls: `applicationName`, `vendorId`, `claimSetName`, `educationOrganizationIds`,
    /// `profileIds`, `odsInstanceIds`. Its keys are clients of the registry.
    Application,
    /// What a client sees of a resource: `name`, `definition`.
    Profile,
    /// The store, as clients of the Admin API know it: `name`, `instanceType`.
    OdsInstance,
    /// `odsInstanceId`, `contextKey`, `contextValue`.
    OdsInstanceContext,
    /// `odsInstanceId`, `derivativeType`.
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

    /// The name in the store.
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

/// The id of the one instance that there is: the store itself.
pub const ODS_INSTANCE: i64 = 1;

/// The name of what bounds the ids of all kinds from below; the store puts it there.
const ALL_KINDS: &str = "";

/// Everything of each kind, by id.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: BTreeMap<ItemKind, BTreeMap<i64, Value>>,
    /// The greatest id that there has been, by the name of the kind.
    last: BTreeMap<String, i64>,
}

impl Items {
    /// Takes a row of [`crate::sql::MANAGED`]; false where it cannot be understood.
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

    /// Takes a row of [`crate::sql::MANAGED_LAST`]; false where it cannot be understood.
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

    /// The greatest id of a kind, or the one from which on all kinds go where the store is a copy:
    /// the other store may have given out any up to that.
    pub(crate) fn last(&self, kind: &str) -> i64 {
        let last = |kind| self.last.get(kind).copied().unwrap_or_default();
        last(kind).max(last(ALL_KINDS))
    }

    pub(crate) fn get(&self, kind: ItemKind, id: i64) -> Option<&Value> {
        self.items.get(&kind)?.get(&id)
    }

    /// All of a kind, by id.
    pub(crate) fn of(&self, kind: ItemKind) -> impl Iterator<Item = (i64, &Value)> {
        self.items.get(&kind).into_iter().flatten().map(|(id, definition)| (*id, definition))
    }
}

/// A number from 1 to 2³¹ − 1 that a name has in every process and version: half of a hash.
pub fn stable_id(name: &str) -> i64 {
    let hash = blake3::hash(name.as_bytes());
    let mut first = [0; 4];
    first.copy_from_slice(&hash.as_bytes()[..4]);
    i64::from(u32::from_le_bytes(first) >> 1).max(1)
}
