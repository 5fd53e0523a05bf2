//! What each member means, and an example of each body.

use serde_json::{Map, Value, json};

/// The meaning of members by schema and name. An empty schema stands for all that have no row of their own.
///
/// In our own words; a test demands one for every member.
const MEANINGS: &[(&str, &str, &str)] = &[
    ("", "id", "The number by which addresses name the item; the server gives it."),
    ("", "_applications", "The applications that have this set."),
    (
        "",
        "_defaultAuthorizationStrategiesForCRUD",
        "The strategies that apply to each action where the set has none of its own.",
    ),
    (
        "",
        "_isSystemReserved",
        "Whether the set is shipped or used by the server itself, so that it can be copied and not changed.",
    ),
    ("", "actionId", "The number of the action, as the list of actions has it."),
    (
        "",
        "actionName",
        "The action that the row is about: Create, Read, Update, Delete or ReadChanges.",
    ),
    (
        "",
        "authStrategyId",
        "The number of the strategy, as the list of authorization strategies has it.",
    ),
    ("", "authStrategyName", "The strategy by name, such as RelationshipsWithEdOrgsAndPeople."),
    (
        "",
        "applicationName",
        "What the application is called in lists and logs; unique among those of its vendor.",
    ),
    (
        "",
        "authorizationStrategyOverridesForCRUD",
        "Strategies of the set's own, by action; an action without a row keeps the usual ones.",
    ),
    (
        "",
        "claimSetName",
        "The claim set that says which actions the application's keys may do; blanks, hyphens and case do not matter.",
    ),
    ("", "company", "The company or department that builds the client."),
    (
        "",
        "connectionString",
        "Accepted from clients of other servers, and neither stored nor shown: there is one store.",
    ),
    ("", "contactEmailAddress", "Where to write to when a key misbehaves or has leaked."),
    ("", "contactName", "The person to ask about the vendor's applications."),
    ("", "contextKey", "What the context is about, such as schoolYear."),
    ("", "contextValue", "What it is, such as 2027."),
    ("", "derivativeType", "The kind of copy: ReadReplica or Snapshot."),
    (
        "",
        "educationOrganizationIds",
        "The districts, schools and others whose data the application reaches, with all below them.",
    ),
    (
        "",
        "enabled",
        "Whether the application's keys may call. With false their tokens are refused from the next request on.",
    ),
    ("", "instanceType", "A word for what the instance is; the server does not use it."),
    (
        "",
        "isApproved",
        "Whether the key may call. With false its tokens are refused from the next request on.",
    ),
    ("", "key", "The key (client_id), with which a client gets tokens; it is not secret."),
    (
        "",
        "namespacePrefixes",
        "Which namespaces the vendor may write, separated by commas, such as uri://acme.org.",
    ),
    ("", "odsInstanceId", "The instance it belongs to; there is one, with the id 1."),
    ("", "odsInstanceIds", "The instances that are used; there is one, with the id 1."),
    (
        "",
        "profileIds",
        "Profiles of the application. They are stored and not enforced yet, so its keys are refused.",
    ),
    ("", "applicationId", "The application to which the key belongs, and whose rights it has."),
    ("", "vendorId", "The vendor who owns the application; its namespace prefixes apply."),
    ("", "resourceClaimId", "The claim by its number, as the list of resource claims has it."),
    (
        "",
        "resourceClaimActions",
        "The actions that are granted on the claim; those that are missing are not.",
    ),
    ("", "resourceName", "The last part of the claim's name, such as student."),
    ("", "claimName", "The claim's whole name, a URI."),
    ("", "resourceClaims", "What is granted, claim by claim."),
    ("action", "name", "The action as claim sets name it."),
    ("action", "uri", "The action's URI in the published hierarchy."),
    ("actionName", "name", "An action that can be granted on the claim."),
    ("actionsOfClaim", "actions", "Every action that can be granted on the claim."),
    ("apiClient", "keyStatus", "Active, suspended (not approved), or revoked for good."),
    ("apiClient", "name", "What distinguishes the application's keys from each other."),
    ("apiClient", "sandboxType", "Always 0: there are no sandboxes."),
    ("apiClient", "useSandbox", "Always false: there are no sandboxes."),
    ("apiClientCredentials", "name", "The name that the key was given."),
    ("apiClientRequest", "name", "What distinguishes the application's keys from each other."),
    (
        "application",
        "vendorId",
        "The vendor who owns the application; null if it was made by a command on the server.",
    ),
    ("application", "claimSetName", "The claim set of its keys; null for keys that need none."),
    ("authorizationStrategy", "displayName", "The strategy's name in words."),
    ("authorizationStrategy", "name", "The name by which claim sets use the strategy."),
    ("claimOfImport", "actions", "The actions that are granted on the claim."),
    ("claimOfImport", "children", "Claims below this one, with grants of their own."),
    ("claimOfImport", "name", "The resource claim, such as student or educationOrganizations."),
    ("claimOfSet", "actions", "The actions that the set grants on the claim."),
    ("claimOfSet", "children", "Claims below this one that have grants of their own."),
    ("claimOfSet", "id", "The number of the resource claim."),
    ("claimOfSet", "name", "The resource claim, such as student or educationOrganizations."),
    ("claimSet", "name", "The name by which applications have the set."),
    ("claimSetCopy", "name", "The name of the copy."),
    ("claimSetCopy", "originalId", "The set that is copied, shipped ones among them."),
    ("claimSetDetails", "name", "The name by which applications have the set."),
    ("claimSetImport", "name", "The name that the set gets here; no other set may have it."),
    (
        "claimSetRequest",
        "name",
        "The set's name, which no other may have; applications keep a set that is renamed.",
    ),
    (
        "claimStrategies",
        "authorizationStrategies",
        "The names of the strategies, all of which must allow the action.",
    ),
    ("deleted", "title", "A sentence that says what was deleted."),
    ("enabledAction", "enabled", "Whether the action is granted."),
    ("enabledAction", "name", "The action."),
    (
        "grantedAction",
        "enabled",
        "Whether the action is granted; false is the same as leaving it out.",
    ),
    ("grantedAction", "name", "The action."),
    ("information", "build", "The version of Homeroom."),
    ("information", "version", "The version of the Admin API whose paths and members these are."),
    (
        "inheritedStrategy",
        "isInheritedFromParent",
        "Whether the strategy comes from a claim above this one.",
    ),
    ("odsInstance", "name", "What the store is called here."),
    ("odsInstanceDetails", "name", "What the store is called here."),
    ("odsInstanceDetails", "odsInstanceContexts", "Keys and values that describe the instance."),
    ("odsInstanceDetails", "odsInstanceDerivatives", "Copies of the instance, by name only."),
    ("odsInstanceRequest", "name", "What the store is to be called here."),
    (
        "overrideOfImport",
        "authorizationStrategies",
        "The strategies of this action, all of which must allow it.",
    ),
    ("profile", "name", "The name by which media types refer to the profile."),
    ("profileDetails", "name", "The name by which media types refer to the profile."),
    (
        "profileRequest",
        "name",
        "The name in the definition, by which media types refer to the profile.",
    ),
    ("registrationRequest", "clientId", "The key that is wished for."),
    ("registrationRequest", "clientSecret", "The secret that is wished for."),
    ("registrationRequest", "displayName", "What the key is to be called."),
    (
        "resourceClaim",
        "children",
        "The claims below this one, which have its rights unless a set says otherwise.",
    ),
    ("resourceClaim", "name", "The last part of the claim's name, such as student."),
    ("resourceClaim", "parentName", "The claim above this one; null at the top."),
    (
        "strategiesOfAction",
        "authorizationStrategies",
        "The strategies of this action, all of which must allow it.",
    ),
    (
        "strategiesOfClaim",
        "authorizationStrategiesForActions",
        "The usual strategies of each action; a claim without any has those of the claim above it.",
    ),
    ("tenant", "tenantName", "Always default: a server has one tenant."),
    ("token", "access_token", "The token, for the header Authorization: Bearer TOKEN."),
    ("token", "scope", "The scope that was asked for, if one was."),
    ("token", "token_type", "Always bearer."),
    ("tokenRefusal", "error", "A word of RFC 6749, such as invalid_client."),
    ("tokenRefusal", "error_description", "What is wrong, in a sentence."),
    ("tokenRequest", "grant_type", "The one way in which keys get tokens."),
    (
        "usualStrategies",
        "authorizationStrategies",
        "The strategies of this action, all of which must allow it.",
    ),
];

/// Adds to each member without a description what it means.
pub(super) fn describe(schemas: &mut Map<String, Value>) {
    for (schema, value) in schemas.iter_mut() {
        let Some(Value::Object(members)) = value.get_mut("properties") else { continue };
        for (member, value) in
            members.iter_mut().filter(|(_, value)| value.get("description").is_none())
        {
            if let Some(meaning) = meaning(schema, member) {
                value["description"] = meaning.into();
            }
        }
    }
}

fn meaning(schema: &str, member: &str) -> Option<&'static str> {
    let of = |wanted: &str| MEANINGS.iter().find(|row| row.0 == wanted && row.1 == member);
    of(schema).or_else(|| of("")).map(|row| row.2)
}

/// Returns an example of the body with a schema.
pub(super) fn example(schema: &str) -> Option<Value> {
    Some(match schema {
        "apiClientRequest" => json!({
            "name": "Nightly export", "isApproved": true, "applicationId": 1, "odsInstanceIds": [1],
        }),
        "applicationRequest" => json!({
            "applicationName": "Gradebook",
            "vendorId": 1,
            "claimSetName": "SISVendor",
            "profileIds": [],
            "educationOrganizationIds": [255_901],
            "odsInstanceIds": [1],
            "enabled": true,
        }),
        "claimActions" => json!({ "resourceClaimActions": [{ "name": "Read", "enabled": true }] }),
        "claimGrant" => json!({
            "resourceClaimId": 1,
            "resourceClaimActions": [
                { "name": "Read", "enabled": true },
                { "name": "Create", "enabled": true },
            ],
        }),
        "claimSetCopy" => json!({ "name": "SIS of our district", "originalId": 1 }),
        "claimSetImport" => json!({
            "name": "Nightly reports",
            "resourceClaims": [{
                "name": "student",
                "actions": [{ "name": "Read", "enabled": true }],
                "authorizationStrategyOverridesForCRUD": [{
                    "actionName": "Read",
                    "authorizationStrategies": [
                        { "authStrategyName": "NoFurtherAuthorizationRequired" },
                    ],
                }],
                "children": [],
            }],
        }),
        "claimSetRequest" => json!({ "name": "Attendance only" }),
        "claimStrategies" => json!({
            "actionName": "Read",
            "authorizationStrategies": ["RelationshipsWithEdOrgsAndPeople"],
        }),
        "odsInstanceContextRequest" => {
            json!({ "odsInstanceId": 1, "contextKey": "schoolYear", "contextValue": "2027" })
        }
        "odsInstanceDerivativeRequest" => json!({
            "odsInstanceId": 1, "derivativeType": "Snapshot", "connectionString": "not used here",
        }),
        "odsInstanceRequest" => json!({ "name": "Grand Bend", "instanceType": "District" }),
        "profileRequest" => json!({
            "name": "Names only",
            "definition": "<Profile name=\"Names only\"><Resource name=\"Student\"><ReadContentType \
                           memberSelection=\"IncludeOnly\"><Property name=\"FirstName\"/>\
                           </ReadContentType></Resource></Profile>",
        }),
        "registrationRequest" => json!({
            "clientId": "ops", "clientSecret": "never accepted", "displayName": "Operations",
        }),
        "tokenRequest" => json!({
            "grant_type": "client_credentials",
            "client_id": "a5xk2qw7",
            "client_secret": "s3…",
            "scope": "edfi_admin_api/full_access",
        }),
        "vendorRequest" => json!({
            "company": "Acme Learning",
            "namespacePrefixes": "uri://acme.org",
            "contactName": "Ada Byron",
            "contactEmailAddress": "ada@acme.org",
        }),
        _ => return None,
    })
}
