//! A published API that is served: the path of a call from its route to its target and back.

mod admission;
mod answering;
mod passing;
pub(crate) mod routes;

use std::borrow::Cow;
use std::sync::Arc;

use homeroom_access::Call;
use homeroom_client::Network;
use homeroom_gateway::Gate;
use homeroom_http::{BodyLimits, Kind, Problem, RequestBody, Response};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, StatusCode};

use crate::check::{PARTS, network};
use crate::definition::Api;
use crate::groups::Groups;
use crate::headers::{Asker, Changes, goes_round};
use crate::issuer::Issuers;
use crate::limit::{self, ApiLimit};
use crate::operations::{Found, Operations};
use crate::path::rest_of;
use crate::secret::secret;
use crate::shared::{Local, Shared};
use crate::target::TargetChanges;
use crate::transform::{Transform, Unfit};

/// A published API that is served.
pub(crate) struct LiveApi {
    api: Arc<Api>,
    base: String,
    operations: Option<Arc<Operations>>,
    usual: [Box<[String]>; 1],
    limits: Arc<[ApiLimit]>,
    request: Option<Arc<Transform>>,
    response: Option<Arc<Transform>>,
    target_changes: TargetChanges,
    request_headers: Changes,
    response_headers: Changes,
    allow: Vec<Network>,
    deny: Vec<Network>,
    target: Target,
    gate: Arc<Gate>,
    issuers: Option<Arc<Issuers>>,
    shared: Arc<Shared>,
}

enum Target {
    /// The path of a part, and what answers there.
    Part(&'static str, Local),
    Upstreams(Groups),
}

impl LiveApi {
    /// Prepares an API to be served. Of its limits, those that were there `before` go on counting. What can be
    /// missing is read first, so that nothing is begun for an API that cannot be served.
    ///
    /// # Errors
    ///
    /// Why it cannot be served on this machine, such as a secret that is not there.
    pub(crate) fn new(
        api: &Arc<Api>,
        operations: Option<Arc<Operations>>,
        before: &[ApiLimit],
        shared: &Arc<Shared>,
        local: &Local,
    ) -> Result<Self, String> {
        let headers = |member: &str, headers| {
            Changes::new(headers, &secret).map_err(|reason| format!("{member}: {reason}"))
        };
        let request_headers = headers("request_headers", &api.request_headers)?;
        let response_headers = headers("response_headers", &api.response_headers)?;
        let transform = |operations: &[_]| {
            let compiled = Transform::new(operations);
            let compiled = compiled.map_err(|(number, error)| format!("{number}: {error}"))?;
            Ok::<_, String>(Some(compiled).filter(|compiled| !compiled.is_empty()).map(Arc::new))
        };
        let request = transform(&api.transform.request)?;
        let response = transform(&api.transform.response)?;
        let issuers = (!api.issuers.is_empty())
            .then(|| Issuers::new(&api.issuers, &shared.key_sets).map(Arc::new))
            .transpose()?;
        let part = api.part.as_ref().and_then(|part| PARTS.iter().find(|(name, _)| name == part));
        let target = match part {
            Some((_, path)) => Target::Part(path, Arc::clone(local)),
            None => {
                let groups = Groups::new(api, &shared.clients);
                Target::Upstreams(groups.map_err(|error| error.to_string())?)
            }
        };
        Ok(Self {
            issuers,
            base: api.base(),
            operations,
            usual: [api.scopes.clone().into_boxed_slice()],
            limits: ApiLimit::all(&api.name, &api.limits.0, before),
            request,
            response,
            target_changes: TargetChanges::new(&api.request_path, &api.request_query),
            request_headers,
            response_headers,
            allow: api.allow.iter().filter_map(|text| network(text)).collect(),
            deny: api.deny.iter().filter_map(|text| network(text)).collect(),
            target,
            gate: shared.gates.gate(&api.name),
            shared: Arc::clone(shared),
            api: Arc::clone(api),
        })
    }

    /// Returns its limits with their counters.
    pub(crate) fn limits(&self) -> &Arc<[ApiLimit]> {
        &self.limits
    }

    async fn answer(&self, call: &mut Call) -> Result<Response, Problem> {
        let rest = rest_of(&call.path)?.to_owned();
        self.check_address(call)?;
        self.check_method(call)?;
        self.check_header(&call.headers)?;
        if goes_round(&call.headers) {
            return Err(Problem::of(Kind::BadGateway).error(
                "The call goes round in a circle: an upstream of this API leads back to it.",
            ));
        }
        let path = if rest.is_empty() { "/" } else { &rest };
        let operations = self.operations.as_ref();
        let found = operations.map(|known| known.find(&call.method, path)).transpose()?;
        let scopes = found.as_ref().map_or(&self.usual[..], |found| found.scopes);
        let plan = self.check_subscription(call, scopes)?;
        let name = found.as_ref().filter(|_| !self.limits.is_empty()).map(Found::name);
        let asked = limit::Asked {
            key: match (&call.client, &call.foreign) {
                (Some(client), _) => &client.key,
                (None, Some(foreign)) => &foreign.name,
                (None, None) => "",
            },
            from: call.from,
            headers: &call.headers,
            operation: name.as_deref(),
            now: call.now,
        };
        let mut admitted = limit::admit(plan.as_deref(), &self.limits, &asked)?;
        match self.answer_admitted(call, rest, found.as_ref()).await {
            Ok(mut answer) => {
                // A part is this server, too.
                let is_own = matches!(self.target, Target::Part(..));
                if is_own && answer.status() == StatusCode::SERVICE_UNAVAILABLE {
                    admitted.give_back();
                }
                admitted.tell(answer.headers_mut());
                Ok(answer)
            }
            Err(problem) => {
                // Only what this server refuses is such a problem; an upstream's own 503 is an answer.
                if problem.kind == Kind::ServiceUnavailable {
                    admitted.give_back();
                }
                let mut told = HeaderMap::new();
                admitted.tell(&mut told);
                let told = told.into_iter().filter_map(|(name, value)| Some((name?, value)));
                Err(told.fold(problem, |problem, (name, value)| problem.header(name, value)))
            }
        }
    }

    async fn answer_admitted(
        &self,
        call: &mut Call,
        rest: String,
        found: Option<&Found<'_>>,
    ) -> Result<Response, Problem> {
        if let Some(found) = found {
            Box::pin(found.check(call)).await?;
        }
        let rest = self.target_changes.path(rest);
        call.query = self.target_changes.query(std::mem::take(&mut call.query));
        match &self.target {
            Target::Part(path, local) => {
                Box::pin(self.answer_by_part(call, &rest, path, local)).await
            }
            Target::Upstreams(groups) => self.pass_on(call, &rest, groups).await,
        }
    }

    /// Changes the body of a request, if the API does that.
    async fn change_request(&self, call: &mut Call) -> Result<(), Problem> {
        match &self.request {
            Some(transform) => Box::pin(self.change_by(transform, call)).await,
            None => Ok(()),
        }
    }

    async fn change_by(&self, transform: &Arc<Transform>, call: &mut Call) -> Result<(), Problem> {
        if call.headers.contains_key(CONTENT_ENCODING) && !call.body.is_empty() {
            return Err(Problem::of(Kind::UnsupportedMediaType).detail(
                "This API changes JSON bodies, which must be sent without a Content-Encoding.",
            ));
        }
        let body = call.read_body().await?;
        if body.is_empty() {
            return Ok(());
        }
        let changing = &self.shared.changing;
        let _room = changing.room([&self.api.name, &caller_of(call)], body.len()).await?;
        let changed = changing.change(transform, body).await?.map_err(|error| {
            let detail = match error {
                Unfit::NotJson(_) => {
                    "This API changes JSON bodies, and the request's body is not JSON."
                }
                Unfit::Twice(_) => "This API changes a member that the request's body has twice.",
            };
            Problem::of(Kind::BadRequest).detail(detail).error(error.to_string())
        })?;
        call.headers.remove(CONTENT_LENGTH);
        call.body = RequestBody::Bytes(changed);
        call.body_limits = BodyLimits::of_bytes(usize::MAX);
        Ok(())
    }

    fn asker<'a>(&'a self, call: &'a Call) -> Asker<'a> {
        let has_operations = self.operations.is_some();
        let Call { from, base_url, request_id, .. } = call;
        Asker { from: *from, base_url, base: &self.base, request_id, has_operations }
    }
}

/// Returns the name under which a caller takes turns, and shares, with others.
fn caller_of(call: &Call) -> Cow<'_, str> {
    match (&call.client, &call.foreign, call.from) {
        (Some(client), _, _) => Cow::Borrowed(&client.key),
        (None, Some(foreign), _) => Cow::Borrowed(&foreign.name),
        (None, None, Some(address)) => Cow::Owned(address.to_string()),
        (None, None, None) => Cow::Borrowed(""),
    }
}

fn malformed() -> Problem {
    Problem::of(Kind::BadRequest).detail("The path or the query is not what a URL may have.")
}
