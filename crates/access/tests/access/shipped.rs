//! The shipped claims files over the shipped models.

use homeroom_access::{
    Action, ClaimName, Claims, EXTENSIONS_SHIPPED, Permission, Rights, SHIPPED, Strategy, import,
    namespace_subject,
};
use homeroom_model::Model;

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
    Claims::of(model).unwrap()
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
fn the_fourteen_published_sets_and_full_access_are_shipped() {
    let model = crate::support::model();

    let claims = claims(&model);
    let names: Vec<&str> = claims.shipped().iter().map(|set| set.name.as_str()).collect();

    let mut expected = PUBLISHED.to_vec();
    expected.push("FullAccess");
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn the_hierarchy_contains_each_resource_of_the_model() {
    let model = crate::support::model();

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
fn full_access_grants_every_action_without_further_authorization() {
    let model = crate::support::model();
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

/// For each set: on how many resources Create, Read, Update, Delete and `ReadChanges` are granted,
/// and on how many the first four are granted by strategies that are evaluated.
#[test]
fn each_set_grants_what_the_published_hierarchy_says() {
    let model = crate::support::model();
    let claims = claims(&model);
    for (set, granted, evaluated) in [
        ("ABConnect", [6, 6, 6, 6, 0], 6),
        ("AssessmentRead", [0, 12, 0, 0, 0], 0),
        ("AssessmentVendor", [17, 308, 17, 17, 0], 17),
        ("BootstrapDescriptorsandEdOrgs", [232, 0, 0, 0, 0], 0),
        ("DistrictHostedSISVendor", [112, 326, 113, 112, 0], 23),
        ("EdFiAPIPublisherReader", [0, 343, 0, 0, 342], 0),
        ("EdFiAPIPublisherWriter", [349, 349, 349, 349, 0], 253),
        ("EdFiODSAdminApp", [220, 221, 220, 220, 0], 220),
        ("EdFiSandbox", [348, 349, 348, 348, 348], 251),
        ("EducationPreparationProgram", [6, 6, 6, 6, 0], 6),
        ("FinanceVendor", [7, 15, 7, 7, 0], 0),
        ("FullAccess", [349, 349, 349, 349, 349], 349),
        ("RosterVendor", [0, 21, 0, 0, 0], 0),
        ("SISVendor", [110, 327, 110, 110, 1], 22),
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
fn each_grant_has_a_strategy_and_each_strategy_has_its_subjects() {
    for model in crate::support::models() {
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
fn older_resources_have_the_permissions_of_their_successors() {
    let [older, newer] = crate::support::models();
    let of = |model: &Model, endpoint: &str| {
        let rights = rights(&claims(model), "SISVendor");
        let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
        Action::ALL.map(|action| rights.permission(resource.id, action).clone())
    };

    assert_eq!(of(&older, "parents"), of(&newer, "contacts"));
}

#[test]
fn extension_claims_keep_their_published_place_and_the_sandbox_set_grants_them() {
    let [_, model] = crate::support::models();
    let claims = claims(&model);
    let extensions = || model.resources.iter().filter(|resource| resource.project > 0);
    assert!(extensions().count() > 40);

    for set in ["FullAccess", "EdFiSandbox"] {
        let all = rights(&claims, set);
        for resource in extensions() {
            for action in Action::ALL {
                let permission = all.permission(resource.id, action);
                let granted = matches!(permission, Permission::Granted(_));
                assert!(granted, "{set} {} {action:?}", resource.path());
            }
        }
    }
    for resource in extensions() {
        let name = ClaimName::of_resource(&resource.schema, &resource.name);
        let claim = claims.named(&name).unwrap();
        let above = claims.above(claim).next().unwrap();
        assert_ne!(above.name().path(), "*", "{} stands nowhere", resource.path());
    }
}

#[test]
fn an_extensions_grants_on_standard_resources_apply_only_if_it_is_loaded() {
    let core = crate::support::model();
    let [_, extended] = crate::support::models();
    let of = |model: &Model, endpoint: &str, action| {
        let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
        rights(&claims(model), "EducationPreparationProgram")
            .permission(resource.id, action)
            .clone()
    };

    for endpoint in ["students", "schools", "credentials", "gradeLevelDescriptors"] {
        let without = of(&core, endpoint, Action::Read);
        assert_eq!(without, Permission::NotGrantedOnResource, "{endpoint}");
        let with = of(&extended, endpoint, Action::Read);
        assert!(matches!(with, Permission::Granted(_)), "{endpoint}: {with:?}");
    }
    let sandbox = |model: &Model| {
        let rights = rights(&claims(model), "EdFiSandbox");
        let core = model.resources.iter().filter(|resource| resource.project == 0);
        core.map(|r| Action::ALL.map(|action| rights.permission(r.id, action).clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(sandbox(&core), sandbox(&extended));
}

#[test]
fn a_model_without_an_extension_has_none_of_its_claims() {
    let model = crate::support::model();
    let claims = claims(&model);

    let of_extensions = claims.iter().filter(|claim| {
        let path = claim.name().path();
        EXTENSIONS_SHIPPED.iter().any(|(schema, _)| path.contains(schema))
    });

    assert_eq!(of_extensions.count(), 0);
}

#[test]
fn schools_read_shared_resources_of_parent_organizations_and_surveys_have_their_own_rule() {
    let model = crate::support::model();
    let claims = claims(&model);
    let of = |set: &str, endpoint: &str, action| {
        let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
        rights(&claims, set).permission(resource.id, action).clone()
    };
    let upwards = Permission::Granted(vec![
        Strategy::RelationshipsWithEdOrgsAndPeople,
        Strategy::RelationshipsWithEdOrgsAndPeopleInverted,
    ]);

    for (set, endpoint) in
        [("SISVendor", "courses"), ("SISVendor", "programs"), ("FinanceVendor", "chartOfAccounts")]
    {
        assert_eq!(of(set, endpoint, Action::Read), upwards, "{endpoint}");
    }
    let surveys = ["surveys", "surveyResponses", "surveySections", "surveyQuestions"];
    for endpoint in surveys {
        for set in ["SISVendor", "DistrictHostedSISVendor", "AssessmentVendor"] {
            let closed = Permission::NotGrantedOnResource;
            assert_eq!(of(set, endpoint, Action::Read), closed, "{set} {endpoint}");
        }
        let open = Permission::Granted(vec![Strategy::NamespaceBased]);
        assert_eq!(of("EdFiSandbox", endpoint, Action::Read), open, "{endpoint}");
    }
}

fn reference(path: &str) -> Option<String> {
    let folder = std::env::var_os("HOMEROOM_REFERENCE")?;
    let path = std::path::Path::new(&folder).join("ed-fi/security").join(path);
    Some(std::fs::read_to_string(path).unwrap())
}

#[test]
fn importing_the_published_hierarchies_gives_the_shipped_file() {
    let (Some(first), Some(second)) =
        (reference("Claims-ods73-ds52.json"), reference("Claims-ds52.json"))
    else {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
        return;
    };

    let imported =
        import::import(&[&first, &second], &crate::support::model(), SHIPPED, "E2E-").unwrap();

    assert_eq!(imported.text, SHIPPED);
    assert_eq!(imported.left_out_sets.len(), 6);
    let mut sets = imported.claim_sets;
    sets.sort_unstable();
    assert_eq!(sets, PUBLISHED);
    let core = imported.left_out_claims.iter().filter(|claim| claim.starts_with("ed-fi/"));
    assert_eq!(core.count(), 10, "claims of the core that are no resource of it");
}

#[test]
fn importing_the_published_extension_claims_gives_the_shipped_files() {
    for (schema, text) in EXTENSIONS_SHIPPED {
        let (path, whole): (_, &[String]) = match *schema {
            "tpdm" => ("Claims-ds52.json", &["EducationPreparationProgram".to_owned()]),
            "sample" => ("004-sample-extension-claimset.json", &[]),
            _ => ("005-homograph-extension-claimset.json", &[]),
        };
        let Some(published) = reference(path) else {
            println!("skipped: HOMEROOM_REFERENCE names no folder");
            return;
        };
        let [_, model] = crate::support::models();

        let imported = import::import_extension(&import::ExtensionClaims {
            reference: &published,
            model: &model,
            standard: SHIPPED,
            schema,
            whole_sets: whole,
        });

        assert_eq!(imported.unwrap().text, *text, "{schema}");
    }
}
