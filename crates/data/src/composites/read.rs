//! Reads the documents that an answer needs: the base documents, then level by level the documents they
//! refer to and those that refer to them, each within what the caller may read of its resource.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::Pin;

use homeroom_access::{Action, ApiClient, Denial, Grant, authorize};
use homeroom_document::json::{items, member_text};
use homeroom_http::{Kind, Problem};
use homeroom_model::ResourceId;
use homeroom_store::{Among, DocumentId, Link, ListQuery, Moment, References, Row};

use super::{Member, Node};
use crate::reach::reachable;
use crate::{DataApi, problem_of};

/// Most documents that contribute to one answer.
const DOCUMENTS_MAX: usize = 50_000;
/// Most bytes of the documents that contribute to one answer.
const BYTES_MAX: usize = 64 << 20;

/// The caller's grants to read the resources of a composite. A resource without an entry may not be
/// read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grants(BTreeMap<ResourceId, Grant>);

impl Grants {
    /// Determines what a client may read for a composite.
    ///
    /// # Errors
    ///
    /// As [`authorize`] for the base resource; for the others, errors other than refusals.
    pub(super) fn of(
        api: &DataApi,
        base: ResourceId,
        others: &[ResourceId],
        client: &ApiClient,
    ) -> Result<Self, Denial> {
        let model = &api.catalog.model;
        let of_base = authorize(client, model.resource(base), Action::Read)?;
        let mut grants = BTreeMap::from([(base, of_base)]);
        for other in others.iter().filter(|other| **other != base) {
            match authorize(client, model.resource(*other), Action::Read) {
                Ok(grant) => _ = grants.insert(*other, grant),
                Err(denial) if denial.is_configuration() => return Err(denial),
                Err(_) => {}
            }
        }
        Ok(Self(grants))
    }

    /// Returns the node without the resources that the caller may not read.
    pub(super) fn within(&self, node: &Node) -> Node {
        let may = |member: &&Member| match member {
            Member::Reference { to, .. } => self.0.contains_key(to),
            Member::Linked { resource, .. } => self.0.contains_key(resource),
            _ => true,
        };
        let members = node.members.iter().filter(may).map(|member| {
            let mut member = member.clone();
            if let Some(node) = member.node_mut() {
                *node = self.within(node);
            }
            member
        });
        Node { members: members.collect() }
    }

    /// Returns the list of all documents of a resource that the caller may read.
    pub(super) fn reachable(&self, api: &DataApi, resource: ResourceId) -> Option<ListQuery> {
        let grant = self.0.get(&resource)?;
        Some(reachable(api, api.catalog.model.resource(resource), grant))
    }
}

/// Returns the target of a reference in an object of a document's text.
pub(super) fn link(row: &Row, object: &str, property: &str) -> Option<Link> {
    let reference = member_text(object, property)?;
    // The object is a slice of the document's text.
    let end = reference.as_ptr().addr().checked_sub(row.body.as_ptr().addr())?
        + reference.len().checked_sub(1)?;
    References::links(&row.references).find(|link| link.offset as usize == end)
}

/// The documents that contribute to an answer.
#[derive(Default)]
pub(super) struct FoundDocuments<'n> {
    rows: HashMap<DocumentId, Row>,
    /// Referring documents by target, for each referring resource and property.
    linked: HashMap<(ResourceId, &'n str), HashMap<DocumentId, Vec<DocumentId>>>,
    bytes: usize,
}

impl FoundDocuments<'_> {
    /// Returns a document, if it was found.
    pub(super) fn row(&self, id: DocumentId) -> Option<&Row> {
        self.rows.get(&id)
    }

    /// Returns the documents of a resource that refer to a document by a property, in order of creation.
    pub(super) fn linked(&self, resource: ResourceId, property: &str, to: DocumentId) -> Vec<&Row> {
        let ids = self.linked.get(&(resource, property)).and_then(|all| all.get(&to));
        ids.into_iter().flatten().filter_map(|id| self.rows.get(id)).collect()
    }
}

/// Reads the documents of one answer.
pub(super) struct Gathering<'a, 'n> {
    api: &'a DataApi,
    moment: &'a Moment,
    grants: &'a Grants,
    found: FoundDocuments<'n>,
    /// The documents that were looked up already, whether found or not.
    asked: HashSet<DocumentId>,
}

type Gathered<'s> = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send + 's>>;

impl<'a, 'n> Gathering<'a, 'n> {
    /// Begins with the base documents.
    ///
    /// # Errors
    ///
    /// 400 if there are too many.
    pub(super) fn begin(
        api: &'a DataApi,
        moment: &'a Moment,
        grants: &'a Grants,
        base: Vec<Row>,
    ) -> Result<Self, Problem> {
        let found = FoundDocuments::default();
        let mut gathering = Self { api, moment, grants, found, asked: HashSet::new() };
        gathering.take(base)?;
        Ok(gathering)
    }

    /// Reads everything that a node shows of documents.
    ///
    /// # Errors
    ///
    /// 400 if that is more than one answer may need; errors of the store.
    pub(super) async fn all(
        mut self,
        node: &'n Node,
        of: &[DocumentId],
    ) -> Result<FoundDocuments<'n>, Problem> {
        self.gather(node, of).await?;
        Ok(self.found)
    }

    fn gather<'s>(&'s mut self, node: &'n Node, of: &'s [DocumentId]) -> Gathered<'s>
    where
        'n: 's,
    {
        Box::pin(async move {
            let mut edges = vec![];
            edges_of(node, &mut vec![], &mut edges);
            for (path, member) in edges {
                let next = match member {
                    Member::Reference { property, to, .. } => {
                        self.referenced(of, &path, property, *to).await?
                    }
                    Member::Linked { resource, property, .. } => {
                        self.referrers(of, *resource, property).await?
                    }
                    _ => continue,
                };
                if let Some(node) = member.node().filter(|_| !next.is_empty()) {
                    self.gather(node, &next).await?;
                }
            }
            Ok(())
        })
    }

    /// Reads the documents to which a property leads.
    async fn referenced(
        &mut self,
        of: &[DocumentId],
        path: &[&str],
        property: &str,
        to: ResourceId,
    ) -> Result<Vec<DocumentId>, Problem> {
        let Some(query) = self.grants.reachable(self.api, to) else { return Ok(vec![]) };
        let mut ids = vec![];
        for row in of.iter().filter_map(|id| self.found.rows.get(id)) {
            each(&row.body, path, &mut |object| {
                let link = link(row, object, property).filter(|link| link.kind == query.kind);
                ids.extend(link.map(|link| link.target));
            });
        }
        ids.sort_unstable();
        ids.dedup();
        let new: Vec<DocumentId> =
            ids.iter().copied().filter(|id| self.asked.insert(*id)).collect();
        if !new.is_empty() {
            let among = Some(Among::Documents(new.into()));
            let rows = self.read(ListQuery { among, ..query }).await?;
            self.take(rows)?;
        }
        ids.retain(|id| self.found.rows.contains_key(id));
        Ok(ids)
    }

    /// Reads the documents of a resource that refer to others by a property.
    async fn referrers(
        &mut self,
        of: &[DocumentId],
        resource: ResourceId,
        property: &'n str,
    ) -> Result<Vec<DocumentId>, Problem> {
        let Some(query) = self.grants.reachable(self.api, resource) else { return Ok(vec![]) };
        let linked = self.found.linked.entry((resource, property)).or_default();
        let new: Vec<DocumentId> =
            of.iter().copied().filter(|id| !linked.contains_key(id)).collect();
        linked.extend(new.iter().map(|id| (*id, vec![])));
        if !new.is_empty() {
            let among = Some(Among::Referrers(new.into()));
            let rows = self.read(ListQuery { among, ..query }).await?;
            let linked = self.found.linked.entry((resource, property)).or_default();
            for row in &rows {
                // They may refer to it by another property, too.
                let to = link(row, &row.body, property).map(|link| link.target);
                if let Some(all) = to.and_then(|to| linked.get_mut(&to)) {
                    all.push(row.id);
                }
            }
            self.take(rows)?;
        }
        let linked = &self.found.linked[&(resource, property)];
        let mut ids: Vec<DocumentId> =
            of.iter().filter_map(|id| linked.get(id)).flatten().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Reads all documents of a list, at most as many as the answer may still need.
    async fn read(&self, query: ListQuery) -> Result<Vec<Row>, Problem> {
        let left = DOCUMENTS_MAX.saturating_sub(self.found.rows.len());
        let limit = u32::try_from(left + 1).unwrap_or(u32::MAX);
        let page = self.moment.list(ListQuery { limit, ..query }).await.map_err(problem_of)?;
        if page.is_cut || page.rows.len() > left { Err(too_large()) } else { Ok(page.rows) }
    }

    fn take(&mut self, rows: Vec<Row>) -> Result<(), Problem> {
        for row in rows {
            self.asked.insert(row.id);
            let size = row.body.len() + row.references.len();
            if self.found.rows.insert(row.id, row).is_none() {
                self.found.bytes += size;
            }
        }
        let is_too_large = self.found.rows.len() > DOCUMENTS_MAX || self.found.bytes > BYTES_MAX;
        if is_too_large { Err(too_large()) } else { Ok(()) }
    }
}

/// Returns the refusal of a request that asks for too much at once.
pub(super) fn too_large() -> Problem {
    Problem::of(Kind::ParameterValidationFailed).error(format!(
        "The answer would combine more than {DOCUMENTS_MAX} documents, or be larger than {} MiB; \
         ask for fewer with limit, or for fewer members with fields.",
        BYTES_MAX >> 20
    ))
}

/// Returns the members of a node that lead to other documents, each with the path of the objects that
/// have it.
fn edges_of<'n>(
    node: &'n Node,
    path: &mut Vec<&'n str>,
    edges: &mut Vec<(Vec<&'n str>, &'n Member)>,
) {
    for member in &node.members {
        match member {
            Member::Reference { .. } | Member::Linked { .. } => edges.push((path.clone(), member)),
            Member::Collection { property, node, .. } | Member::Object { property, node, .. } => {
                path.push(property);
                edges_of(node, path, edges);
                path.pop();
            }
            Member::Id { .. } | Member::Value { .. } | Member::Base { .. } => {}
        }
    }
}

/// Calls a function with each object at a path.
fn each<'t>(object: &'t str, path: &[&str], call: &mut impl FnMut(&'t str)) {
    let Some((first, rest)) = path.split_first() else { return call(object) };
    match member_text(object, first) {
        Some(list) if list.starts_with('[') => {
            for item in items(list) {
                each(item, rest, call);
            }
        }
        Some(inner) => each(inner, rest, call),
        None => {}
    }
}
