//! A claim set compiled over a model: two array lookups give the permission on each resource.

use homeroom_model::{Resource, ResourceId};

use crate::action::{Action, PerAction};
use crate::claim_set::ClaimSet;
use crate::claims::{Claim, ClaimId, Claims};
use crate::strategy::Strategy;

/// What a claim set says about an action on a resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Neither the resource nor a claim above it is granted.
    NotGrantedOnResource,
    /// The resource is granted, but the action is not.
    NotGrantedForAction,
    /// Granted, within the limits of these strategies, in their order.
    Granted(Vec<Strategy>),
    /// Granted, but no strategy is configured.
    NoStrategyConfigured,
}

/// A claim set compiled over a model.
#[derive(Debug, Clone)]
pub struct Rights {
    /// By resource: for each action, an index into `permissions`.
    cells: Vec<PerAction<u16>>,
    permissions: Vec<Permission>,
    services: Vec<(String, PerAction<u16>)>,
}

impl Rights {
    /// Compiles a claim set.
    pub fn compile(claims: &Claims, set: &ClaimSet) -> Self {
        let mut compiler = Compiler { permissions: vec![] };
        let cell = |compiler: &mut Compiler, claim: ClaimId| {
            PerAction::from_fn(|action| {
                compiler.index(decide(claims, set, claim, action).permission)
            })
        };
        let cells = claims.of_resources().iter().map(|claim| cell(&mut compiler, *claim)).collect();
        let services = claims
            .of_services()
            .map(|(name, claim)| (name.to_owned(), cell(&mut compiler, claim)))
            .collect();
        Self { cells, permissions: compiler.permissions, services }
    }

    /// Returns the rights of a client without a claim set: none.
    pub fn none() -> Self {
        Self {
            cells: vec![],
            permissions: vec![Permission::NotGrantedOnResource],
            services: vec![],
        }
    }

    /// Returns the permission for an action on a resource.
    pub fn permission(&self, resource: ResourceId, action: Action) -> &Permission {
        let index = self.cells.get(usize::from(resource.0)).map_or(0, |cell| *cell.get(action));
        &self.permissions[usize::from(index)]
    }

    /// Returns the actions that are granted on a resource, by any strategy.
    pub fn granted(&self, resource: &Resource) -> Vec<Action> {
        Action::ALL
            .into_iter()
            .filter(|action| {
                matches!(self.permission(resource.id, *action), Permission::Granted(_))
            })
            .collect()
    }

    /// Returns the services that have granted actions, with those actions.
    pub fn services(&self) -> impl Iterator<Item = (&str, Vec<Action>)> {
        self.services.iter().filter_map(|(name, cell)| {
            let granted: Vec<Action> = cell
                .iter()
                .filter(|(_, index)| {
                    matches!(self.permissions[usize::from(**index)], Permission::Granted(_))
                })
                .map(|(action, _)| action)
                .collect();
            (!granted.is_empty()).then_some((name.as_str(), granted))
        })
    }
}

struct Compiler {
    permissions: Vec<Permission>,
}

impl Compiler {
    fn index(&mut self, permission: Permission) -> u16 {
        let known = self.permissions.iter().position(|p| *p == permission);
        let index = known.unwrap_or_else(|| {
            self.permissions.push(permission);
            self.permissions.len() - 1
        });
        u16::try_from(index).expect("a set of at most 10,000 claims has fewer lists of strategies")
    }
}

/// A decision with its reasons.
#[derive(Debug)]
pub(crate) struct Decided<'a> {
    pub(crate) permission: Permission,
    /// The nearest claim of the lineage that grants the action.
    pub(crate) granted_by: Option<&'a Claim>,
    /// The claim that supplies the strategies, and whether the set itself names them there.
    pub(crate) strategies_from: Option<(&'a Claim, bool)>,
}

/// Decides what a set says about an action on a claim.
///
/// Grants count from the whole lineage: an action may be granted above a leaf that is itself named.
/// Strategies that the set names come before defaults; within each, the one nearest to the leaf
/// wins.
///
/// Source: Ed-Fi ODS/API 7.3, claim check and selection of authorization strategies.
pub(crate) fn decide<'a>(
    claims: &'a Claims,
    set: &ClaimSet,
    leaf: ClaimId,
    action: Action,
) -> Decided<'a> {
    let granting = || {
        claims.lineage(leaf).filter_map(|claim| Some((claim, set.grants.get(&claim.name.key())?)))
    };
    let refused = |permission| Decided { permission, granted_by: None, strategies_from: None };
    if granting().next().is_none() {
        return refused(Permission::NotGrantedOnResource);
    }
    let naming = || {
        granting().filter_map(|(claim, grants)| Some((claim, grants.actions.get(action).as_ref()?)))
    };
    let Some((granted_by, _)) = naming().next() else {
        return refused(Permission::NotGrantedForAction);
    };
    let overriding = naming().find(|(_, strategies)| !strategies.is_empty());
    let default = || {
        claims
            .lineage(leaf)
            .map(|claim| (claim, claim.defaults.get(action)))
            .find(|(_, strategies)| !strategies.is_empty())
    };
    let found = overriding
        .map(|(claim, strategies)| (claim, strategies, true))
        .or_else(|| default().map(|(claim, strategies)| (claim, strategies, false)));
    Decided {
        permission: found.map_or(Permission::NoStrategyConfigured, |(_, strategies, _)| {
            Permission::Granted(strategies.clone())
        }),
        granted_by: Some(granted_by),
        strategies_from: found.map(|(claim, _, own)| (claim, own)),
    }
}
