//! Resource claims with the ids and names of the Admin API.

use std::collections::{HashMap, HashSet};

use homeroom_access::{Action, Claim, ClaimName, Claims, PerAction, Strategy, stable_id};

/// All resource claims, sorted by name.
pub(crate) struct Hierarchy {
    nodes: Vec<Node>,
    by_id: HashMap<i64, usize>,
    /// By short name, path and URI, in lower case.
    by_name: HashMap<String, usize>,
}

/// A resource claim.
pub(crate) struct Node {
    /// Its id, the same in every process and version.
    pub(crate) id: i64,
    /// The last segment of its path, or the whole path where others end in the same segment.
    pub(crate) name: String,
    pub(crate) claim: ClaimName,
    /// The claim above it; [`None`] for top-level claims and for `*`.
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// The default strategies: its own, or those of the nearest claim above.
    pub(crate) defaults: PerAction<Defaults>,
}

/// The default strategies of a claim for an action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Defaults {
    pub(crate) strategies: Vec<Strategy>,
    /// Whether they are inherited from a claim above.
    pub(crate) inherited: bool,
}

impl Hierarchy {
    /// Assigns ids and names to the claims of a model.
    pub(crate) fn of(claims: &Claims) -> Self {
        let mut sorted: Vec<&Claim> = claims.iter().collect();
        sorted.sort_by_key(|claim| (segments(claim), key(claim)));
        let places: HashMap<String, usize> =
            sorted.iter().enumerate().map(|(at, claim)| (key(claim), at)).collect();
        let short_names = short_names(&sorted);
        let mut hierarchy = Self { nodes: vec![], by_id: HashMap::new(), by_name: HashMap::new() };
        for (at, claim) in sorted.iter().enumerate() {
            let mut id = stable_id(&key(claim));
            while hierarchy.by_id.contains_key(&id) {
                id = stable_id(&id.to_string());
            }
            hierarchy.by_id.insert(id, at);
            // Claims directly below `*` are shown at the top level, since other servers have no
            // such claim.
            let parent = claim.parent().map(|parent| claims.claim(parent));
            let parent = parent.filter(|parent| parent.parent().is_some());
            let node = Node {
                id,
                name: short_names[at].clone(),
                claim: claim.name().clone(),
                parent: parent.and_then(|parent| places.get(&key(parent)).copied()),
                children: vec![],
                defaults: defaults(claims, claim),
            };
            for name in [&node.name, node.claim.path(), &node.claim.to_string()] {
                hierarchy.by_name.insert(name.to_lowercase(), at);
            }
            hierarchy.nodes.push(node);
        }
        for at in 0..hierarchy.nodes.len() {
            if let Some(parent) = hierarchy.nodes[at].parent {
                hierarchy.nodes[parent].children.push(at);
            }
        }
        hierarchy
    }

    /// Returns all claims, sorted by name.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a claim by its index.
    pub(crate) fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    /// Returns a claim by its id.
    pub(crate) fn numbered(&self, id: i64) -> Option<&Node> {
        self.by_id.get(&id).map(|at| self.node(*at))
    }

    /// Returns a claim by its short name, its path or its URI, in any case.
    pub(crate) fn named(&self, name: &str) -> Option<&Node> {
        let at = self.by_name.get(&name.trim().to_lowercase()).copied().or_else(|| {
            let read = ClaimName::read(name)?;
            self.by_name.get(&read.path().to_lowercase()).copied()
        });
        at.map(|at| self.node(at))
    }

    /// Returns the claims above one, nearest first.
    pub(crate) fn above<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        std::iter::successors(node.parent, |at| self.node(*at).parent).map(|at| self.node(at))
    }
}

fn key(claim: &Claim) -> String {
    claim.name().path().to_ascii_lowercase()
}

/// Ranks a claim by its first segment, so that domains come before the resources of a standard.
fn segments(claim: &Claim) -> usize {
    match claim.name().path().split('/').next() {
        Some("domains") => 0,
        Some("ed-fi") => 1,
        Some("services") => 2,
        _ => 3,
    }
}

/// Returns the last segment of each path; where two are equal, the later claim keeps its whole
/// path.
fn short_names(sorted: &[&Claim]) -> Vec<String> {
    let mut taken = HashSet::new();
    sorted
        .iter()
        .map(|claim| {
            let path = claim.name().path();
            let last = path.rsplit('/').next().unwrap_or(path);
            let name = if taken.insert(last.to_lowercase()) { last } else { path };
            name.to_owned()
        })
        .collect()
}

fn defaults(claims: &Claims, claim: &Claim) -> PerAction<Defaults> {
    PerAction::from_fn(|action: Action| {
        let own = claim.defaults(action);
        if !own.is_empty() {
            return Defaults { strategies: own.to_vec(), inherited: false };
        }
        let above = claims.above(claim).map(|above| above.defaults(action));
        let nearest = above.into_iter().find(|strategies| !strategies.is_empty());
        let strategies = nearest.map(<[Strategy]>::to_vec).unwrap_or_default();
        Defaults { inherited: !strategies.is_empty(), strategies }
    })
}

/// Returns the id of an action.
pub(crate) fn action_id(action: Action) -> i64 {
    action as i64 + 1
}

/// Returns the id of a strategy, the same in every process and version.
pub(crate) fn strategy_id(strategy: &Strategy) -> i64 {
    stable_id(strategy.name())
}
