//! The operations of this part, with what they take and give.

use super::operation::{Gives, Operation, Query};
use crate::applications::APPLICATIONS;
use crate::claim_sets;
use crate::instances::{CONTEXTS, DERIVATIVE_INSTANCES, INSTANCES};
use crate::profiles::PROFILES;
use crate::resource::Resource;
use crate::resource_claims;
use crate::vendors::VENDORS;

/// A resource as the document shows it: the tag of its operations, the plural in the names of these,
/// and the name of its schema, to which `Details` is added where lists omit members.
pub(super) struct Shown {
    pub(super) resource: &'static Resource,
    pub(super) tag: &'static str,
    pub(super) schema: &'static str,
}

/// The resources that are rows of the table.
pub(super) const SHOWN: [Shown; 6] = [
    Shown { resource: &VENDORS, tag: "Vendors", schema: "vendor" },
    Shown { resource: &APPLICATIONS, tag: "Applications", schema: "application" },
    Shown { resource: &PROFILES, tag: "Profiles", schema: "profile" },
    Shown { resource: &INSTANCES, tag: "OdsInstances", schema: "odsInstance" },
    Shown { resource: &CONTEXTS, tag: "OdsInstanceContexts", schema: "odsInstanceContext" },
    Shown {
        resource: &DERIVATIVE_INSTANCES,
        tag: "OdsInstanceDerivatives",
        schema: "odsInstanceDerivative",
    },
];

/// The tags and what they are about.
pub(super) const TAGS: [(&str, &str); 15] = [
    ("Information", "The version of this API."),
    ("Connect", "Tokens for this API."),
    (
        "Vendors",
        "The companies and departments that build clients. A vendor owns applications, and its \
         namespace prefixes say whose descriptors and assessments these may write.",
    ),
    (
        "Applications",
        "What a vendor has in use somewhere: a claim set, which says what its keys may do, and \
         education organizations, which say where.",
    ),
    (
        "Apiclients",
        "The keys of an application, each with its secret. A secret is shown once, when it is made.",
    ),
    (
        "ClaimSets",
        "Named sets of rights: which actions on which resource claims, by which authorization \
         strategies. Sets that are system reserved cannot be changed; copy them.",
    ),
    ("ResourceClaims", "What rights are granted on: resources, and domains that hold them."),
    ("ResourceClaimActions", "The actions that each resource claim knows."),
    (
        "ResourceClaimActionAuthStrategies",
        "The authorization strategies that a resource claim has unless a claim set says otherwise.",
    ),
    ("Actions", "What can be granted: Create, Read, Update, Delete, ReadChanges."),
    (
        "AuthorizationStrategies",
        "How a right is limited to documents: by relationship, namespace, ownership or a view of the \
         operator's own.",
    ),
    (
        "Profiles",
        "Definitions that narrow what an application sees. They are stored, and not enforced yet.",
    ),
    ("OdsInstances", "The store behind this server; there is exactly one."),
    ("OdsInstanceContexts", "Keys and values that describe the instance."),
    ("OdsInstanceDerivatives", "Read replicas and snapshots of the instance, by name only."),
];

fn one(schema: &str) -> Gives {
    Gives::One(schema.to_owned())
}

fn many(schema: &str) -> Gives {
    Gives::Many(schema.to_owned())
}

/// Returns every operation.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = of_connections();
    all.extend(SHOWN.iter().flat_map(of_resource));
    all.extend(of_applications());
    all.extend(of_api_clients());
    all.extend(of_claim_sets());
    all.extend(of_single_claims());
    all.extend(of_what_is_fixed());
    all
}

fn of_connections() -> Vec<Operation> {
    let information = Operation::new(
        "get",
        "/adminapi",
        "Information",
        ("getInformation", "Gets the version of this API."),
        one("information"),
    );
    vec![
        Operation { is_guarded: false, ..information },
        Operation::new(
            "post",
            "/adminapi/connect/token",
            "Connect",
            ("postToken", "Issues a token for a key with the scope admin."),
            one("token"),
        )
        .form("tokenRequest"),
        Operation::new(
            "post",
            "/adminapi/connect/register",
            "Connect",
            ("postRegistration", "Is refused: keys for this API are made on the server."),
            Gives::Never,
        )
        .form("registrationRequest"),
    ]
}

fn of_resource(shown: &Shown) -> Vec<Operation> {
    let Shown { resource, tag, schema } = shown;
    let (all, item, noun) = (resource.all, resource.one, resource.noun);
    let details = if resource.only_in_one.is_empty() {
        (*schema).to_owned()
    } else {
        format!("{schema}Details")
    };
    let request = format!("{schema}Request");
    let single = tag.strip_suffix('s').unwrap_or(tag);
    let named = |verb: &str, of: &str, summary: String| (format!("{verb}{of}"), summary);
    let made = (*schema == "application").then_some("applicationCredentials");
    vec![
        Operation::new(
            "get",
            all,
            tag,
            named("list", tag, format!("Lists every {noun}, or those that the filters select.")),
            many(schema),
        )
        .query(Query::Page(resource.filters)),
        Operation::new(
            "post",
            all,
            tag,
            named("create", single, format!("Creates a new {noun}.")),
            Gives::Created(made),
        )
        .takes(&request),
        Operation::new(
            "get",
            item,
            tag,
            named("get", single, format!("Gets one {noun}.")),
            Gives::One(details),
        ),
        Operation::new(
            "put",
            item,
            tag,
            named("replace", single, format!("Replaces one {noun}.")),
            Gives::Done,
        )
        .takes(&request),
        Operation::new(
            "delete",
            item,
            tag,
            named("delete", single, format!("Deletes one {noun}.")),
            one("deleted"),
        ),
    ]
}

fn of_applications() -> Vec<Operation> {
    vec![
        Operation::new(
            "get",
            "/adminapi/v2/vendors/{id}/applications",
            "Vendors",
            ("listApplicationsOfVendor", "Lists the applications of a vendor."),
            many("application"),
        ),
        Operation::new(
            "get",
            "/adminapi/v2/odsInstances/{id}/applications",
            "OdsInstances",
            ("listApplicationsOfOdsInstance", "Lists the applications that use the instance."),
            many("application"),
        ),
        Operation::new(
            "put",
            "/adminapi/v2/applications/{id}/reset-credential",
            "Applications",
            (
                "resetCredentialOfApplication",
                "Makes a new secret for the application's first key; the old one ends at once.",
            ),
            one("applicationCredentials"),
        ),
    ]
}

fn of_api_clients() -> Vec<Operation> {
    const ALL: &str = "/adminapi/v2/apiclients";
    const ONE: &str = "/adminapi/v2/apiclients/{id}";
    let operation = |method, path: &str, id: &str, summary: &str, gives| {
        Operation::new(method, path, "Apiclients", (id, summary), gives)
    };
    vec![
        operation(
            "get",
            ALL,
            "listApiClients",
            "Lists the keys of an application.",
            many("apiClient"),
        )
        .query(Query::Application),
        operation(
            "post",
            ALL,
            "createApiClient",
            "Creates another key for an application.",
            Gives::Created(Some("apiClientCredentials")),
        )
        .takes("apiClientRequest"),
        operation(
            "get",
            ONE,
            "getApiClient",
            "Gets one key, without its secret.",
            one("apiClient"),
        ),
        operation(
            "put",
            ONE,
            "replaceApiClient",
            "Changes the name, the application and the approval of a key.",
            Gives::Done,
        )
        .takes("apiClientRequest"),
        operation("delete", ONE, "deleteApiClient", "Deletes a key.", one("deleted")),
        operation(
            "put",
            "/adminapi/v2/apiclients/{id}/reset-credential",
            "resetCredentialOfApiClient",
            "Makes a new secret for a key; the old one ends at once.",
            one("apiClientCredentials"),
        ),
    ]
}

fn of_claim_sets() -> Vec<Operation> {
    const ALL: &str = "/adminapi/v2/claimSets";
    const ONE: &str = "/adminapi/v2/claimSets/{id}";
    let operation = |method, path: &str, id: &str, summary: &str, gives| {
        Operation::new(method, path, "ClaimSets", (id, summary), gives)
    };
    let made = || Gives::Created(None);
    vec![
        operation("get", ALL, "listClaimSets", "Lists the claim sets.", many("claimSet"))
            .query(Query::Page(claim_sets::FILTERS)),
        operation("post", ALL, "createClaimSet", "Creates a set that grants nothing yet.", made())
            .takes("claimSetRequest"),
        operation(
            "post",
            "/adminapi/v2/claimSets/copy",
            "copyClaimSet",
            "Copies a set under another name.",
            made(),
        )
        .takes("claimSetCopy"),
        operation(
            "post",
            "/adminapi/v2/claimSets/import",
            "importClaimSet",
            "Creates a set from the export of this server or another.",
            made(),
        )
        .takes("claimSetImport"),
        operation(
            "get",
            ONE,
            "getClaimSet",
            "Gets a set with all it grants.",
            one("claimSetDetails"),
        ),
        operation("put", ONE, "renameClaimSet", "Renames a set.", Gives::Done)
            .takes("claimSetRequest"),
        operation(
            "delete",
            ONE,
            "deleteClaimSet",
            "Deletes a set that no application has.",
            one("deleted"),
        ),
        operation(
            "get",
            "/adminapi/v2/claimSets/{id}/export",
            "exportClaimSet",
            "Gets a set in the form that can be imported.",
            one("claimSetDetails"),
        ),
    ]
}

fn of_single_claims() -> Vec<Operation> {
    const ALL: &str = "/adminapi/v2/claimSets/{id}/resourceClaimActions";
    const ONE: &str = "/adminapi/v2/claimSets/{id}/resourceClaimActions/{resourceClaimId}";
    let operation = |method, path: String, id: &str, summary: &str, gives| {
        Operation::new(method, path, "ClaimSets", (id, summary), gives)
    };
    vec![
        operation(
            "post",
            ALL.into(),
            "addClaimToClaimSet",
            "Grants actions on a claim that the set does not have yet.",
            Gives::Added,
        )
        .takes("claimGrant"),
        operation(
            "put",
            ONE.into(),
            "replaceClaimOfClaimSet",
            "Replaces the actions that a set grants on a claim.",
            Gives::Done,
        )
        .takes("claimActions"),
        operation(
            "delete",
            ONE.into(),
            "removeClaimFromClaimSet",
            "Takes a claim away from a set.",
            Gives::Done,
        ),
        operation(
            "post",
            format!("{ONE}/overrideAuthorizationStrategy"),
            "overrideStrategiesOfClaim",
            "Gives an action on a claim strategies of the set's own.",
            Gives::Done,
        )
        .takes("claimStrategies"),
        operation(
            "post",
            format!("{ONE}/resetAuthorizationStrategies"),
            "resetStrategiesOfClaim",
            "Gives all actions on a claim the usual strategies again.",
            Gives::Done,
        ),
    ]
}

fn of_what_is_fixed() -> Vec<Operation> {
    let list = |path: &str, tag, id: &str, summary: &str, schema: &str, filters| {
        Operation::new("get", path, tag, (id, summary), many(schema)).query(Query::Page(filters))
    };
    vec![
        Operation::new(
            "get",
            "/adminapi/v2/tenants",
            "Information",
            ("listTenants", "Lists the tenants; there is exactly one."),
            many("tenant"),
        ),
        Operation::new(
            "get",
            "/adminapi/v2/tenants/{tenantName}",
            "Information",
            ("getTenant", "Gets one tenant."),
            one("tenant"),
        ),
        list(
            "/adminapi/v2/resourceClaims",
            "ResourceClaims",
            "listResourceClaims",
            "Lists the claims at the top, each with those below it.",
            "resourceClaim",
            resource_claims::BY_NAME,
        ),
        Operation::new(
            "get",
            "/adminapi/v2/resourceClaims/{id}",
            "ResourceClaims",
            ("getResourceClaim", "Gets one claim with those below it."),
            one("resourceClaim"),
        ),
        list(
            "/adminapi/v2/resourceClaimActions",
            "ResourceClaimActions",
            "listResourceClaimActions",
            "Lists the actions of each claim.",
            "actionsOfClaim",
            resource_claims::BY_RESOURCE,
        ),
        list(
            "/adminapi/v2/resourceClaimActionAuthStrategies",
            "ResourceClaimActionAuthStrategies",
            "listResourceClaimActionAuthStrategies",
            "Lists the usual strategies of each claim.",
            "strategiesOfClaim",
            resource_claims::BY_RESOURCE,
        ),
        list(
            "/adminapi/v2/actions",
            "Actions",
            "listActions",
            "Lists the actions.",
            "action",
            resource_claims::BY_NAME,
        ),
        list(
            "/adminapi/v2/authorizationStrategies",
            "AuthorizationStrategies",
            "listAuthorizationStrategies",
            "Lists the authorization strategies.",
            "authorizationStrategy",
            resource_claims::BY_NAME,
        ),
    ]
}
