//! What a course of SCORM 2004 comes to when its activities share global objectives.

use homeroom_course::packed;
use serde_json::{Value, json};

use crate::support::{Learning, Place, Server};

/// Returns a package of items with their sequencing.
fn package(items: &[(&str, String)]) -> Vec<u8> {
    let list = items.iter().map(|(id, sequencing)| {
        format!(
            "<item identifier='{id}' identifierref='r'><title>{id}</title>\
             <imsss:sequencing>{sequencing}</imsss:sequencing></item>"
        )
    });
    let list = list.collect::<String>();
    let manifest = format!(
        "<manifest identifier='m' xmlns:imsss='http://www.imsglobal.org/xsd/imsss' \
         xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_v1p3'><metadata><schemaversion>2004 4th Edition\
         </schemaversion></metadata><organizations><organization identifier='o'><title>T</title>{list}\
         <imsss:sequencing><imsss:controlMode choice='1' flow='1'/></imsss:sequencing></organization>\
         </organizations><resources><resource identifier='r' adlcp:scormType='sco' href='a.html'/>\
         </resources></manifest>"
    );
    packed(&[("imsmanifest.xml", &manifest), ("a.html", "a")])
}

fn objective(name: &str, id: &str, target: &str, how: &str) -> String {
    format!(
        "<imsss:{name} objectiveID='{id}'><imsss:mapInfo targetObjectiveID='{target}' {how}/>\
         </imsss:{name}>"
    )
}

/// Items that are open once the one before is satisfied.
fn in_order() -> Vec<u8> {
    let rule = "<imsss:sequencingRules><imsss:preConditionRule>\
        <imsss:ruleConditions conditionCombination='any'>\
        <imsss:ruleCondition referencedObjective='before' operator='not' condition='satisfied'/>\
        <imsss:ruleCondition referencedObjective='before' operator='not' \
        condition='objectiveStatusKnown'/></imsss:ruleConditions>\
        <imsss:ruleAction action='disabled'/></imsss:preConditionRule></imsss:sequencingRules>";
    let names = ["one", "two", "three", "four"];
    let items = names.iter().enumerate().map(|(at, name)| {
        let own = objective("primaryObjective", "own", name, "writeSatisfiedStatus='1'");
        let sequencing = match at.checked_sub(1).map(|at| names[at]) {
            None => format!("<imsss:objectives>{own}</imsss:objectives>"),
            Some(before) => {
                let before = objective("objective", "before", before, "");
                format!("{rule}<imsss:objectives>{own}{before}</imsss:objectives>")
            }
        };
        (*name, sequencing)
    });
    package(&items.collect::<Vec<_>>())
}

/// A pretest that writes an objective, and a module that reads it.
fn with_pretest() -> Vec<u8> {
    let of = |how: &str| {
        let primary = objective("primaryObjective", "p", "g1", how);
        format!("<imsss:objectives>{primary}</imsss:objectives>")
    };
    package(&[
        ("pretest", of("readSatisfiedStatus='0' writeSatisfiedStatus='1'")),
        ("module", of("readSatisfiedStatus='true'")),
    ])
}

fn passed(sequence: u32, activity: &str) -> Value {
    json!({ "sequence": sequence, "activity": activity, "exit": true, "cmi": {
        "cmi.completion_status": "completed", "cmi.success_status": "passed",
    }})
}

fn report(lms: &mut Learning, registration: &str) -> Value {
    let all = "includeChildResults=true&includeInteractionsAndObjectives=true";
    lms.get(&format!("/registrations/{registration}?{all}"))
}

fn roll_up(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    for (course, package) in [("pretest", with_pretest()), ("order", in_order())] {
        let imported = lms.import(course, &package);
        assert_eq!(imported["status"], "COMPLETE", "{imported}");
        lms.register(course, course);
    }

    // What the browser says about other objectives is not believed.
    let launch = lms.launch("pretest");
    let mut commit = passed(1, "pretest");
    commit["globalObjectives"] = json!({
        "forged.anything": { "satisfied": true, "measure": 1 }, "g1": { "satisfied": false },
    });
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    let found = report(&mut lms, "pretest");
    assert_eq!(found["registrationSuccess"], "PASSED", "{found}");
    let parts = found["activityDetails"]["children"].as_array().unwrap();
    let parts: Vec<_> = parts.iter().map(|one| one["activitySuccess"].as_str().unwrap()).collect();
    assert_eq!(parts, ["PASSED", "PASSED"]);
    let objectives = found["globalObjectives"].as_array().unwrap();
    assert_eq!(objectives.len(), 1, "{found}");
    assert_eq!(objectives[0]["id"], "g1");
    assert_eq!(objectives[0]["objectiveSuccess"], "PASSED");
    assert!(lms.boot(&launch)["globalObjectives"].get("forged.anything").is_none());

    // A new attempt at the pretest does not take back what the first one has come to.
    let again = json!({
        "sequence": 2, "activity": "pretest", "attempt": "new", "cmi": { "cmi.location": "1" }
    });
    assert_eq!(lms.commit(&launch, &again).status, 200);
    let found = report(&mut lms, "pretest");
    let parts = &found["activityDetails"]["children"];
    assert_eq!(parts[0]["activitySuccess"], "UNKNOWN", "{found}");
    assert_eq!(parts[1]["activitySuccess"], "PASSED", "{found}");

    // Activities open one after the other.
    let launch = lms.launch("order");
    let closed = |lms: &mut Learning| lms.boot(&launch)["unavailable"].clone();
    assert_eq!(closed(&mut lms), json!(["two", "three", "four"]));
    assert_eq!(lms.commit(&launch, &passed(1, "one")).status, 200);
    assert_eq!(closed(&mut lms), json!(["three", "four"]));
    assert_eq!(lms.commit(&launch, &passed(2, "two")).status, 200);
    assert_eq!(closed(&mut lms), json!(["four"]));
    let asked = json!({ "redirectOnExitUrl": "", "startSco": "four" });
    let link = lms.post("/registrations/order/launchLink", &asked).json();
    let link = link["launchLink"].as_str().unwrap().to_owned();
    assert_ne!(lms.boot(&link[link.find("/play/").unwrap()..])["start"], "four");
}

#[test]
fn activities_share_global_objectives() {
    Place::on_each_store(|place| roll_up(place, &Server::start(place)));
}

/// An SCO with a primary objective and another one, and an asset.
fn with_objectives() -> Vec<u8> {
    let objectives = "<imsss:objectives><imsss:primaryObjective objectiveID='main'/>\
        <imsss:objective objectiveID='side'/></imsss:objectives>";
    let manifest = format!(
        "<manifest identifier='m' xmlns:imsss='http://www.imsglobal.org/xsd/imsss' \
         xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_v1p3'><metadata><schemaversion>2004 4th Edition\
         </schemaversion></metadata><organizations><organization identifier='o'><title>T</title>\
         <item identifier='lesson' identifierref='r'><title>L</title><imsss:sequencing>{objectives}\
         </imsss:sequencing></item><item identifier='page' identifierref='p'><title>P</title></item>\
         </organization></organizations><resources>\
         <resource identifier='r' adlcp:scormType='sco' href='a.html'/>\
         <resource identifier='p' adlcp:scormType='asset' href='a.html'/></resources></manifest>"
    );
    packed(&[("imsmanifest.xml", &manifest), ("a.html", "a")])
}

fn objectives_and_assets(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("aims", &with_objectives());
    lms.register("aims", "aims");
    let launch = lms.launch("aims");
    let said = json!({ "cmi.completion_status": "completed", "cmi.success_status": "passed",
        "cmi.score.scaled": "0.8", "cmi.objectives.0.id": "main", "cmi.objectives.1.id": "side",
        "cmi.objectives.1.score.raw": "7", "cmi.objectives.1.score.min": "0",
        "cmi.objectives.1.score.max": "10", "cmi.exit": "normal" });
    let said = json!({ "sequence": 1, "activity": "lesson", "cmi": said, "exit": true });
    assert_eq!(lms.commit(&launch, &said).status, 200);
    let opened = json!({ "cmi.completion_status": "completed" });
    let opened = json!({ "sequence": 2, "activity": "page", "cmi": opened });
    assert_eq!(lms.commit(&launch, &opened).status, 200);

    let found = report(&mut lms, "aims");

    let [lesson, page] = [0, 1].map(|at| &found["activityDetails"]["children"][at]);
    let objectives = lesson["objectives"].as_array().unwrap();
    let of = |at: usize, name: &str| objectives[at][name].clone();
    let shown = [0, 1].map(|at| {
        let score = objectives[at]["score"]["scaled"].clone();
        json!([of(at, "id"), of(at, "primary"), of(at, "objectiveSuccess"), score])
    });
    assert_eq!(
        shown,
        [json!(["main", true, "PASSED", 80.0]), json!(["side", false, "UNKNOWN", 70.0])],
        "{lesson}"
    );
    assert_eq!(page["activityCompletion"], "COMPLETED");
    assert_eq!(page["completionAmount"]["scaled"], 1.0, "{page}");
    assert_eq!(page["suspended"], false);
}

#[test]
fn a_report_has_the_activitys_own_objective_and_assets_that_are_done() {
    Place::on_each_store(|place| objectives_and_assets(place, &Server::start(place)));
}

fn forgotten(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("pretest", &with_pretest());
    lms.register("r-1", "pretest");
    let launch = lms.launch("r-1");
    let mut commit = passed(1, "pretest");
    commit["globalObjectives"] = json!({ "g1": { "satisfied": true } });
    commit["sequencing"] = r#"{"tree":1,"globalObjectiveMap":{"g1":{"satisfied":true}}}"#.into();
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    let of = |lms: &mut Learning| {
        let found = report(lms, "r-1");
        let parts = &found["activityDetails"]["children"];
        let objective = &found["globalObjectives"][0]["objectiveSuccess"];
        [&parts[0]["activitySuccess"], &parts[1]["activitySuccess"], objective].map(Clone::clone)
    };
    assert_eq!(of(&mut lms), ["PASSED", "PASSED", "PASSED"]);

    assert_eq!(lms.send("DELETE", "/registrations/r-1/globalData", None).status, 204);

    assert_eq!(of(&mut lms), ["PASSED", "UNKNOWN", "UNKNOWN"]);
    let boot = lms.boot(&launch);
    assert_eq!(boot["globalObjectives"], json!({}));
    let player: Value = serde_json::from_str(boot["sequencing"].as_str().unwrap()).unwrap();
    assert_eq!(player, json!({ "tree": 1, "globalObjectiveMap": {} }));
    // What has nothing to do with objectives does not bring them back; saying them again does.
    let values = json!({ "sequence": 2, "activity": "pretest", "cmi": { "cmi.location": "1" } });
    assert_eq!(lms.commit(&launch, &values).status, 200);
    assert_eq!(of(&mut lms), ["PASSED", "UNKNOWN", "UNKNOWN"]);
    assert_eq!(lms.commit(&launch, &passed(3, "pretest")).status, 200);
    assert_eq!(of(&mut lms), ["PASSED", "PASSED", "PASSED"]);
    assert_eq!(lms.send("DELETE", "/registrations/r-2/globalData", None).status, 404);
}

#[test]
fn global_objectives_are_forgotten_until_content_says_them_again() {
    Place::on_each_store(|place| forgotten(place, &Server::start(place)));
}
