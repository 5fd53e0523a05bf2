//! The claims file that is shipped, over the model that is shipped.

mod support;

use homeroom_access::{
    Action, ClaimName, Claims, Permission, Rights, SHIPPED, Strategy, import, namespace_subject,
};
use homeroom_model::{Model, ResourceKind};

const PUBLISHED: [&str; 14] = [
    "ABConnect",
    "AssessmentRead",
    "AssessmentVendor",
    "BootstrapDescriptorsandEdOrgs",
    "DistrictHostedSISVendor",
    "EdFiAPIPublisherReader",
    "EdFiAPIPublisherWriter",
    "EdFiODSAdminApp",
    "EdFiSandbox",
    "EducationPreparationProgram",
    "FinanceVendor",
    "RosterVendor",
    "SISVendor",
    "SeedLoader",
];

fn claims(model: &Model) -> Claims {
    Claims::read(SHIPPED, model).unwrap()
}

fn rights(claims: &Claims, set: &str) -> Rights {
    let set = claims.shipped().iter().find(|known| known.name == set);
    Rights::compile(claims, set.unwrap())
}

fn is_evaluated(permission: &Permission) -> bool {
    let evaluated = |strategy: &Strategy| {
        matches!(strategy, Strategy::NoFurtherAuthorizationRequired | Strategy::NamespaceBased)
    };
    matches!(permission, Permission::Granted(strategies) if strategies.iter().all(evaluated))
}

#[test]
fn the_fourteen_published_sets_and_full_access_are_there() {
    let model = support::model();

    let claims = claims(&model);
    let names: Vec<&str> = claims.shipped().iter().map(|set| set.name.as_str()).collect();

    let mut expected = PUBLISHED.to_vec();
    expected.push("FullAccess");
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn each_resource_of_the_model_stands_in_the_hierarchy() {
    let model = support::model();

    let missing: Vec<String> = model
        .resources
        .iter()
        .map(|resource| ClaimName::of_resource(&resource.schema, &resource.name))
        .map(|claim| format!("\"{}\"", claim.path().to_lowercase()))
        .filter(|claim| !SHIPPED.to_lowercase().contains(claim))
        .collect();

    assert_eq!(missing, [""; 0]);
}

#[test]
fn full_access_is_everything_without_further_authorization() {
    let model = support::model();
    let rights = rights(&claims(&model), "FullAccess");

    for resource in &model.resources {
        for action in Action::ALL {
            assert_eq!(
                *rights.permission(resource.id, action),
                Permission::Granted(vec![Strategy::NoFurtherAuthorizationRequired]),
                "{} {action:?}",
                resource.name
            );
        }
    }
}

/// For each set: kinds on which Create, Read, Update, Delete and `ReadChanges` are granted, and
/// kinds on which the first four are granted by strategies that are evaluated already.
#[test]
fn each_set_grants_what_the_published_hierarchy_says() {
    let model = support::model();
    let claims = claims(&model);
    for (set, granted, evaluated) in [
        ("ABConnect", [6, 6, 6, 6, 0], 6),
        ("AssessmentRead", [0, 12, 0, 0, 0], 0),
        ("AssessmentVendor", [17, 314, 17, 17, 0], 17),
        ("BootstrapDescriptorsandEdOrgs", [233, 0, 0, 0, 0], 0),
        ("DistrictHostedSISVendor", [118, 332, 119, 118, 0], 29),
        ("EdFiAPIPublisherReader", [0, 349, 0, 0, 348], 0),
        ("EdFiAPIPublisherWriter", [349, 349, 349, 349, 0], 253),
        ("EdFiODSAdminApp", [220, 221, 220, 220, 0], 220),
        ("EdFiSandbox", [348, 349, 348, 348, 349], 251),
        ("EducationPreparationProgram", [19, 225, 19, 19, 0], 16),
        ("FinanceVendor", [7, 15, 7, 7, 0], 0),
        ("FullAccess", [349, 349, 349, 349, 349], 349),
        ("RosterVendor", [0, 21, 0, 0, 0], 0),
        ("SISVendor", [116, 333, 116, 116, 1], 28),
        ("SeedLoader", [349, 0, 0, 0, 0], 0),
    ] {
        let rights = rights(&claims, set);
        let kinds = |holds: &dyn Fn(&Permission) -> bool, action: Action| {
            let permissions = model.resources.iter().map(|r| rights.permission(r.id, action));
            permissions.filter(|permission| holds(permission)).count()
        };

        let found =
            Action::ALL.map(|action| kinds(&|p| matches!(p, Permission::Granted(_)), action));
        let without_relationships = model.resources.iter().filter(|resource| {
            let writing = [Action::Create, Action::Read, Action::Update, Action::Delete];
            writing.iter().all(|action| is_evaluated(rights.permission(resource.id, *action)))
        });

        assert_eq!(found, granted, "{set}");
        assert_eq!(without_relationships.count(), evaluated, "{set}");
    }
}

#[test]
fn each_grant_has_a_strategy_and_each_strategy_what_it_asks_for() {
    for model in support::models() {
        let claims = claims(&model);

        for set in claims.shipped() {
            let rights = Rights::compile(&claims, set);
            for resource in &model.resources {
                for action in Action::ALL {
                    let permission = rights.permission(resource.id, action);
                    let place = format!("{} {} {action:?}", set.name, resource.name);
                    assert_ne!(*permission, Permission::NoStrategyConfigured, "{place}");
                    if let Permission::Granted(strategies) = permission
                        && strategies.contains(&Strategy::NamespaceBased)
                    {
                        assert!(namespace_subject(resource).is_some(), "{place} has no namespace");
                    }
                }
            }
        }
    }
}

#[test]
fn older_kinds_stand_below_their_successors() {
    let [older, newer] = support::models();
    let of = |model: &Model, endpoint: &str| {
        let rights = rights(&claims(model), "SISVendor");
        let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
        Action::ALL.map(|action| rights.permission(resource.id, action).clone())
    };

    assert_eq!(of(&older, "parents"), of(&newer, "contacts"));
}

#[test]
fn extensions_are_reached_by_who_may_do_everything_and_their_descriptors_by_who_may_read_all() {
    let [_, model] = support::models();
    let claims = claims(&model);
    let extensions = || model.resources.iter().filter(|resource| resource.project > 0);

    let all = rights(&claims, "FullAccess");
    for resource in extensions() {
        for action in Action::ALL {
            let permission = all.permission(resource.id, action);
            let granted = matches!(permission, Permission::Granted(_));
            assert!(granted, "{} {action:?}", resource.path());
        }
    }
    let vendor = rights(&claims, "SISVendor");
    for resource in extensions() {
        let reads = matches!(vendor.permission(resource.id, Action::Read), Permission::Granted(_));
        assert_eq!(reads, resource.kind == ResourceKind::Descriptor, "{}", resource.path());
    }
}

#[test]
fn the_file_is_what_the_importer_makes_of_the_published_hierarchy() {
    let Some(folder) = std::env::var_os("HOMEROOM_REFERENCE") else {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
        return;
    };
    let path = std::path::Path::new(&folder).join("ed-fi/security/Claims-ds52.json");
    let reference = std::fs::read_to_string(path).unwrap();

    let imported = import::import(&reference, &support::model(), SHIPPED, "E2E-").unwrap();

    assert_eq!(imported.text, SHIPPED);
    assert_eq!(imported.left_out_sets.len(), 6);
    let mut sets = imported.claim_sets;
    sets.sort_unstable();
    assert_eq!(sets, PUBLISHED);
    let core = imported.left_out_claims.iter().filter(|claim| claim.starts_with("ed-fi/"));
    assert_eq!(core.count(), 10, "claims of the core that are no resource of it");
}

#[test]
fn all_of_this_holds_on_postgresql() {
    homeroom_store::trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
