//! Creates or finds the document of each resource that others refer to.

use serde_json::Value;

use super::api::{ApiError, Session};
use super::document::{Anchors, Made, Wish, compose};
use super::identity::{filter, own_id, refers_alike, varied};
use super::shape::{Form, Reference, Resource, Shapes};
use super::target::TargetApi;
use super::values::Values;
use super::world::{State, World};

/// The most passes over all resources. Each pass can create what others still wait for.
const ROUNDS_MAX: usize = 60;
/// The most documents that are searched for one that fits.
const FOUND_MAX: usize = 100;
/// The most marks of earlier runs that are skipped.
const RENEWALS_MAX: u32 = 100;
/// The longest list that servers return.
const LIST_MAX: usize = 500;
/// The most of a key's organizations that are looked at.
const ORGANIZATIONS_MAX: usize = 10;

/// A set-up in progress.
pub struct SetUp<'a, 's> {
    /// The session with the target.
    pub session: Session<'a>,
    /// The target's description of itself.
    pub target: &'s TargetApi,
    /// The documents that exist.
    pub world: World<'s>,
    /// The generator of values.
    pub values: Values,
    /// Education organizations, the likeliest first.
    pub organizations: Vec<usize>,
    /// How many more marks may be tried until the first new document is created.
    renewals_left: u32,
    /// The resources whose documents the key may only use with a reference to an organization.
    needs_organization: Vec<bool>,
    /// Values that anchors must have, by resource.
    fixed: Vec<Option<(String, Value)>>,
}

impl<'a, 's> SetUp<'a, 's> {
    /// Returns a set-up that has not begun.
    pub fn new(session: Session<'a>, target: &'s TargetApi, wanted: &[bool], seed: u64) -> Self {
        let prefix = target.namespace_prefixes.first().map(String::as_str);
        Self {
            session,
            target,
            world: World::new(&target.shapes, wanted),
            values: Values::new(seed, prefix),
            organizations: organizations(&target.shapes),
            renewals_left: RENEWALS_MAX,
            needs_organization: vec![false; target.shapes.resources.len()],
            fixed: vec![None; target.shapes.resources.len()],
        }
    }

    /// Creates or finds a document of each wanted resource, as far as the key allows.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn anchors(&mut self) -> Result<(), ApiError> {
        self.find_home()?;
        let mut order: Vec<usize> = (0..self.world.states.len()).collect();
        order.sort_by_key(|resource| self.target.order[*resource]);
        for _ in 0..ROUNDS_MAX {
            if self.round(&order)? {
                continue;
            }
            if !self.world.takes_any {
                self.world.takes_any = true;
                continue;
            }
            if !self.adopt_some(&order)? {
                break;
            }
            self.world.takes_any = false;
        }
        Ok(())
    }

    /// Tries each resource that has no document yet. Returns whether any was created.
    fn round(&mut self, order: &[usize]) -> Result<bool, ApiError> {
        let mut is_further = false;
        for resource in order {
            if matches!(self.world.states[*resource], State::Unwanted | State::There { .. }) {
                continue;
            }
            let state = self.make(*resource)?;
            is_further |= matches!(state, State::There { .. });
            self.world.states[*resource] = state;
        }
        Ok(is_further)
    }

    /// Creates a document of a resource or, if the resource refers to nothing, finds one.
    fn make(&mut self, at: usize) -> Result<State, ApiError> {
        let resource = &self.target.shapes.resources[at];
        let mut wish = Wish::default();
        if let Some((name, value)) = self.fixed[at].clone() {
            wish.values.insert(name, value);
        }
        wish.with = self.extra(at);
        let composed = compose(&self.target.shapes, resource, &self.world, &mut self.values, &wish);
        let body = match composed {
            Ok(body) => body,
            Err(missing) => return Ok(State::Waiting(missing.to_string())),
        };
        let has_new_value = self.fixed[at].is_none() && varied(resource).is_some();
        let refused = match self.create_text(resource, &body.to_string())? {
            // An earlier run with this seed created it, and much more.
            Ok((_, false)) if has_new_value && self.renewals_left > 0 => {
                self.renewals_left -= 1;
                self.values.renew();
                return self.make(at);
            }
            Ok((id, _)) => {
                self.renewals_left = 0;
                return Ok(State::There { made: Made { id, body }, is_own: true });
            }
            Err(refused) => refused,
        };
        let is_bound = !self.target.education_organizations.is_empty();
        let optional = self.references_to_organizations(resource, |_| is_bound);
        if !self.needs_organization[at] && optional.iter().any(|name| body.get(name).is_none()) {
            self.needs_organization[at] = true;
            let again = self.make(at)?;
            self.needs_organization[at] = matches!(again, State::There { .. });
            return Ok(again);
        }
        let stands_alone = !resource.properties.iter().any(|property| {
            property.is_required && matches!(property.form, Form::Reference(_) | Form::List(_))
        });
        if stands_alone && let Some(made) = self.adopt(resource, None)? {
            return Ok(State::There { made, is_own: false });
        }
        Ok(State::Refused(refused))
    }

    /// Sends a new document. Returns the target's complaint if it is refused.
    pub fn create(
        &mut self,
        resource: &Resource,
        body: &Value,
    ) -> Result<Result<Made, String>, ApiError> {
        Ok(self
            .create_text(resource, &body.to_string())?
            .map(|(id, _)| Made { id, body: body.clone() }))
    }

    /// Sends a new document's text. Returns its id and whether it is new, or the target's
    /// complaint.
    pub fn create_text(
        &mut self,
        resource: &Resource,
        body: &str,
    ) -> Result<Result<(String, bool), String>, ApiError> {
        if !resource.takes.post {
            return Ok(Err("cannot be created here".into()));
        }
        let reply = self.session.send("POST", &self.target.path(&resource.path), body)?;
        Ok(match reply.id().filter(|_| reply.is_ok()) {
            Some(id) => Ok((id, reply.status == 201)),
            None => Err(reply.complaint()),
        })
    }

    /// Finds documents for resources that were refused, else for those still waiting. Returns
    /// whether one was found.
    fn adopt_some(&mut self, order: &[usize]) -> Result<bool, ApiError> {
        let is_refused = |state: &State| matches!(state, State::Refused(_));
        let is_waiting = |state: &State| matches!(state, State::Waiting(_));
        for is_open in [is_refused, is_waiting] {
            let mut is_further = false;
            for at in
                order.iter().filter(|at| is_open(&self.world.states[**at])).collect::<Vec<_>>()
            {
                let resource = &self.target.shapes.resources[*at];
                let (shapes, wish) = (&self.target.shapes, Wish::default());
                let like = compose(shapes, resource, &self.world, &mut self.values, &wish).ok();
                if let Some(made) = self.adopt(resource, like.as_ref())? {
                    self.world.states[*at] = State::There { made, is_own: false };
                    is_further = true;
                }
            }
            if is_further {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds a document of a resource whose references equal those of `like`.
    fn adopt(
        &mut self,
        resource: &Resource,
        like: Option<&Value>,
    ) -> Result<Option<Made>, ApiError> {
        let filter = like.map(|like| filter(resource, like)).unwrap_or_default();
        let found = self.list(resource, &filter, FOUND_MAX)?;
        let same = |made: &Made| like.is_none_or(|like| refers_alike(resource, &made.body, like));
        Ok(found.into_iter().find(same))
    }

    /// Lists documents, at most as many as servers return at once. The list is empty if the target
    /// refuses.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn list(
        &mut self,
        resource: &Resource,
        filter: &str,
        limit: usize,
    ) -> Result<Vec<Made>, ApiError> {
        let limit = limit.min(LIST_MAX);
        let path = format!("{}?limit={limit}{filter}", self.target.path(&resource.path));
        let reply = self.session.send("GET", &path, "")?;
        let Value::Array(items) = reply.json() else { return Ok(vec![]) };
        let made = |body: Value| Some(Made { id: body["id"].as_str()?.to_owned(), body });
        Ok(items.into_iter().filter_map(made).collect())
    }

    /// Finds an organization of the likeliest kind among those that the key is bound to, or chooses
    /// the id of a new one.
    fn find_home(&mut self) -> Result<(), ApiError> {
        let ids: Vec<i64> =
            self.target.education_organizations.iter().copied().take(ORGANIZATIONS_MAX).collect();
        let resources = &self.target.shapes.resources;
        let Some(likeliest) = self.organizations.first().copied() else { return Ok(()) };
        for at in self.organizations.clone() {
            let Some(property) = own_id(&resources[at]) else { continue };
            self.find_organization(at, &property.name, &ids)?;
        }
        for property in &resources[likeliest].properties {
            if let Form::Reference(reference) = &property.form
                && self.is_of_organizations(reference)
            {
                self.find_organization(likeliest, &reference.members[0].0, &ids)?;
            }
        }
        // What belongs to one of the key's organizations is the key's too. A new organization has
        // the id that the key is bound to, or refers to the one that was found.
        let is_any = self.organizations.iter().any(|at| self.world.anchor(*at).is_some());
        if let (Some(id), Some(property), false) =
            (ids.first(), own_id(&resources[likeliest]), is_any)
        {
            self.fixed[likeliest] = Some((property.name.clone(), (*id).into()));
        }
        Ok(())
    }

    /// Finds an organization of a kind that has one of the ids in one of its members, unless one is
    /// known already.
    fn find_organization(&mut self, at: usize, name: &str, ids: &[i64]) -> Result<(), ApiError> {
        let resource = &self.target.shapes.resources[at];
        for id in ids {
            if self.world.anchor(at).is_some() || !resource.query.iter().any(|query| query == name)
            {
                break;
            }
            let found = self.list(resource, &format!("&{name}={id}"), 1)?;
            if let Some(made) = found.into_iter().next() {
                self.world.states[at] = State::There { made, is_own: false };
            }
        }
        Ok(())
    }

    fn is_of_organizations(&self, reference: &Reference) -> bool {
        reference.role.is_empty()
            && reference.members.len() == 1
            && reference.targets.iter().any(|target| self.organizations.contains(target))
    }

    /// Returns the optional members that documents of a resource should have: references that a
    /// refusal has shown to be needed and, for a new organization, references to the key's own
    /// organizations, which make it the key's too.
    pub fn extra(&self, at: usize) -> Vec<String> {
        let resource = &self.target.shapes.resources[at];
        if self.needs_organization[at] {
            return self.references_to_organizations(resource, |_| true);
        }
        if self.target.education_organizations.is_empty() || !self.organizations.contains(&at) {
            return vec![];
        }
        self.references_to_organizations(resource, |reference| {
            self.is_of_organizations(reference)
                && reference.targets.iter().any(|target| {
                    matches!(self.world.states[*target], State::There { is_own: false, .. })
                })
        })
    }

    /// Returns the references from an organization to its parents.
    pub fn parents_of(&self, at: usize) -> Vec<String> {
        if !self.organizations.contains(&at) {
            return vec![];
        }
        let is_parent = |reference: &Reference| self.is_of_organizations(reference);
        self.references_to_organizations(&self.target.shapes.resources[at], is_parent)
    }

    fn references_to_organizations(
        &self,
        resource: &Resource,
        fits: impl Fn(&Reference) -> bool,
    ) -> Vec<String> {
        let named = resource.properties.iter().filter(|property| match &property.form {
            Form::Reference(reference) => {
                reference.members.len() == 1
                    && reference.targets.iter().any(|target| self.organizations.contains(target))
                    && self.world.target(reference).is_ok()
                    && fits(reference)
            }
            _ => false,
        });
        named.map(|property| property.name.clone()).collect()
    }
}

/// Returns the resources that share one number as their identity: education organizations, the most
/// referenced kind first.
fn organizations(shapes: &Shapes) -> Vec<usize> {
    let mut found: &[usize] = &[];
    for property in shapes.resources.iter().flat_map(|resource| &resource.properties) {
        if let Form::Reference(reference) = &property.form
            && reference.members.len() == 1
            && reference.targets.len() > found.len().max(1)
        {
            found = &reference.targets;
        }
    }
    found.to_vec()
}
