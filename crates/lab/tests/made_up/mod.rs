//! Made-up runs for reports: one with little data, realistic ones, and one with hostile texts.

#![allow(dead_code, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::collections::BTreeMap;
use std::time::Duration;

use homeroom_lab::capacity::{
    Capacity, Constants, Level, Levels, Phase, SelfCheck, TrialVerdict, Tried, Verdict,
};
use homeroom_lab::gateway::{
    CellPlan, CellResult, FORMAT as GATEWAY_FORMAT, GatewayFile, GatewayScenario, GatewaySettings,
    Timing, cells,
};
use homeroom_lab::learners::{
    Crossing, Held, Hold, LearnersFile, LearnersPlan, LearnersResult, Level as LearnersLevel,
    Posts, Sessions, WindowRow,
};
use homeroom_lab::statistics::Estimate;
use homeroom_load::outcome::Outcomes;
use homeroom_load::run::{
    FORMAT, Facts, Generator, Interval, Latency, Machine, Requests, RunFile, Series, Settings,
    StageResult, StepResult, Watched,
};
use homeroom_load::stage::{Arrivals, Stage};

/// Texts that break output which does not escape them.
pub const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</title></style></bdi>]]>",
    "=HYPERLINK(\"http://x\")",
    "a|b\\|c `d` *e* [f](javascript:g)",
    "\u{1b}[2J\u{7}\0\u{202e}gnp.exe",
    "line\r\nbreak,\"quoted\"",
    "naïve – 学校 🏫",
];

/// The requests per second that the made-up server can answer.
const CAPACITY: f64 = 400.0;

/// Returns a run of one stage of three seconds in which almost nothing happened.
pub fn few() -> RunFile {
    run("probe", &[Stage::rate(2.0, Duration::from_secs(3))], &[("get", "", "GET")])
}

/// Returns a run of six stages, the last two of which are too much for the server.
pub fn stages() -> RunFile {
    let rates = [50.0, 100.0, 200.0, 300.0, 420.0, 600.0];
    let stages: Vec<Stage> =
        rates.iter().map(|rate| Stage::rate(*rate, Duration::from_mins(1))).collect();
    let resources = ["students", "schools", "sections", "grades", "sessions"];
    let methods = ["POST", "GET", "PUT", "DELETE"];
    let names: Vec<(String, &str, &str)> = resources
        .iter()
        .flat_map(|of| methods.map(|method| (format!("{method} {of}"), *of, method)))
        .collect();
    let steps: Vec<(&str, &str, &str)> =
        names.iter().map(|(name, group, method)| (name.as_str(), *group, *method)).collect();
    let mut run = run("edfi-day-to-day", &stages, &steps);
    run.server = vec![watched("web", 4.0), watched("database", 7.0)];
    run
}

/// Returns a run of one stage that was held.
pub fn held() -> RunFile {
    let mut run = run(
        "edfi-enrollment",
        &[Stage::rate(300.0, Duration::from_mins(5))],
        &[("create", "students", "POST"), ("read", "students", "GET")],
    );
    run.server = vec![watched("web", 4.0)];
    run
}

/// Returns a run of 48 hours over 350 resources with four steps each.
pub fn long() -> RunFile {
    let methods = ["POST", "GET", "PUT", "DELETE"];
    let names: Vec<(String, String, &str)> = (0..1_400)
        .map(|at| {
            let resource = format!("studentEducationOrganizationAssociations{}", at / 4);
            (format!("{} {resource}", methods[at % 4]), resource, methods[at % 4])
        })
        .collect();
    let steps: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|(name, group, method)| (name.as_str(), group.as_str(), *method))
        .collect();
    let stages: Vec<Stage> = (0..48)
        .map(|hour| Stage::rate(f64::from(20 + hour * 9), Duration::from_hours(1)))
        .collect();
    let mut run = run("edfi-day-to-day", &stages, &steps);
    run.server = vec![watched("web", 4.0), watched("database", 7.0)];
    run
}

/// Returns a run with hostile texts wherever a text can be, and figures that are not numbers.
pub fn hostile() -> RunFile {
    let stages =
        [Stage::rate(20.0, Duration::from_secs(90)), Stage::users(9, Duration::from_secs(90))];
    let names: Vec<(String, String)> = (0..32)
        .map(|at| (format!("{} {at}", HOSTILE[at % 8]), format!("{} {}", HOSTILE[at / 4], at / 4)))
        .collect();
    let steps: Vec<(&str, &str, &str)> =
        names.iter().map(|(name, group)| (name.as_str(), group.as_str(), HOSTILE[0])).collect();
    let mut run = run(HOSTILE[0], &stages, &steps);
    run.facts.target = HOSTILE[1].into();
    run.facts.generator_version = HOSTILE[2].into();
    run.facts.started = HOSTILE[5].into();
    run.facts.command = HOSTILE.map(String::from).to_vec();
    run.facts.settings.protocol = HOSTILE[2].into();
    run.facts.machine.cpu = HOSTILE[3].into();
    run.facts.machine.system = HOSTILE[6].into();
    run.outcomes.insert(HOSTILE[0].into(), 3);
    run.server = HOSTILE.map(|name| watched(name, 4.0)).to_vec();
    for watched in &mut run.server {
        watched.trouble = HOSTILE[1].into();
        watched.series.extend(HOSTILE.map(|name| Series {
            name: name.into(),
            points: vec![(0.0, 1.0), (f64::NAN, f64::INFINITY), (1e300, -1e300)],
        }));
    }
    run.intervals[100].mean_ms = f64::NAN;
    run.intervals[101].max_ms = f64::INFINITY;
    run
}

/// Returns what a search for the capacity of the made-up server may find.
pub fn capacity() -> Capacity {
    use Phase::{Above, Bracket, Check, Confirm, Healthy, Narrow, Unhealthy};
    let level = |rate: f64, high: Option<f64>, window_s: f64| Level {
        rate,
        low: rate * 0.97,
        high,
        found: true,
        window_s,
        at_least: None,
    };
    let asked = [
        (Bracket, 50.0),
        (Bracket, 100.0),
        (Bracket, 200.0),
        (Bracket, 400.0),
        (Narrow, 283.0),
        (Narrow, 336.0),
        (Narrow, 366.0),
        (Narrow, 382.0),
        (Narrow, 391.0),
        (Confirm, 391.0),
        (Confirm, 391.0),
        (Above, 430.0),
        (Above, 464.0),
        (Healthy, 274.0),
        (Unhealthy, 508.0),
        (Check, 391.0),
    ];
    let trials: Vec<Tried> =
        asked.iter().enumerate().map(|(at, (phase, rate))| tried(at, *phase, *rate)).collect();
    Capacity {
        format: homeroom_lab::capacity::FORMAT,
        verdict: Verdict::Clean,
        reasons: vec!["the generator sends up to 52,000/s".into()],
        levels: Levels::new(
            level(391.0, Some(397.0), 0.0),
            level(430.0, Some(464.0), 30.0),
            level(464.0, Some(470.0), 30.0),
        ),
        stable_mean_ms: Estimate { value: 190.0, low: 171.0, high: 212.0 },
        generator_ceiling: Some(52_000.0),
        self_check: Some(SelfCheck {
            ceiling: 52_000.0,
            lag_p99_ms: 0.04,
            spin_reference: 310.0,
            seconds: 7.4,
        }),
        knee: Some(388.0),
        usl: None,
        seconds: 413.0,
        phases: BTreeMap::new(),
        trials,
        constants: Constants::default(),
    }
}

fn tried(at: usize, phase: Phase, rate: f64) -> Tried {
    let (mean, not_ok_share) = response(rate, 8.0);
    let (verdict, why) = match at {
        6 => (TrialVerdict::VoidHost, "the host took 9 % of the processor time"),
        _ if mean < 1_000.0 && not_ok_share < 0.001 => (TrialVerdict::Passed, ""),
        _ => (TrialVerdict::Failed, "mean response at or above 1 s"),
    };
    Tried {
        phase,
        rate,
        seconds: 10.0,
        drain_s: 0.4,
        verdict,
        why: why.into(),
        mean_ms: Estimate { value: mean, low: mean * 0.93, high: mean * 1.08 },
        percentiles_ms: [mean * 0.4, mean * 0.8, mean * 2.2, mean * 3.9],
        not_ok_share,
        growth_ms: 0.0,
        behind: 0.0,
        goodput: rate.min(CAPACITY) * (1.0 - not_ok_share),
        waiting: rate * mean / 1e3,
        little_gap: 0.02,
        lag_p99_ms: 0.04,
        generator_share: 0.1,
        steal_share: 0.003,
        spin_share: 0.99,
    }
}

/// Returns the mean response time and the share of failures, some seconds into a load.
fn response(rate: f64, seconds: f64) -> (f64, f64) {
    let used = rate / CAPACITY;
    if used < 0.99 {
        return (12.0 + 4.0 / (1.0 - used), 0.0);
    }
    let wait = (rate - CAPACITY).max(1.0) / CAPACITY * seconds * 1e3;
    (400.0 + wait.min(9_000.0), ((wait - 2_000.0) / 20_000.0).clamp(0.0, 0.3))
}

fn run(scenario: &str, plan: &[Stage], steps: &[(&str, &str, &str)]) -> RunFile {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut intervals, mut stages): (Vec<Interval>, Vec<StageResult>) = (vec![], vec![]);
    for stage in plan {
        let start = intervals.len();
        let rate = match stage.load {
            homeroom_load::stage::Load::Rate { from, .. } => from,
            homeroom_load::stage::Load::Users { from, .. } => f64::from(from),
        };
        for second in 0..stage.duration.as_secs() {
            intervals.push(interval(&mut rng, intervals.len(), rate, second as f64));
        }
        stages.push(stage_result(*stage, start, &intervals[start..]));
    }
    let outcomes = sum(stages.iter().map(|stage| &stage.outcomes));
    let requests = total(stages.iter().map(|stage| stage.requests));
    let response_ms = latency(stages.iter().map(|s| s.response_ms.mean).fold(0.0, f64::max) / 2.0);
    let count = steps.len() as u64;
    let seconds = intervals.len() as f64;
    let of_step = |value: u64| value / count.max(1);
    let step_outcomes: Outcomes =
        outcomes.iter().map(|(name, many)| (name.clone(), of_step(*many))).collect();
    RunFile {
        format: FORMAT,
        facts: Facts {
            generator_version: "0.1.0 (df90622)".into(),
            scenario: scenario.into(),
            target: "https://ods.example.org".into(),
            command: ["homeroom", "lab", "run", "--scenario", scenario, "--stages", "50/s 60s"]
                .map(String::from)
                .to_vec(),
            started: "2026-11-22T09:30:00Z".into(),
            seed: 42,
            settings: Settings {
                arrivals: Arrivals::Poisson,
                connections: 500,
                timeout_ms: 10_000,
                threads: 1,
                slack_us: 100,
                protocol: "HTTP/1.1".into(),
            },
            machine: machine(),
        },
        plan: plan.to_vec(),
        interrupted_s: None,
        requests,
        response_ms,
        service_ms: latency(response_ms.mean * 0.8),
        send_lag_ms: latency(0.02),
        own_lag_ms: latency(0.02),
        steps: (steps.iter().enumerate())
            .map(|(at, (name, group, method))| StepResult {
                name: (*name).into(),
                group: (*group).into(),
                method: (*method).into(),
                requests: Requests {
                    total: of_step(requests.total),
                    ok: of_step(requests.ok),
                    failed: of_step(requests.failed),
                    late: 0,
                },
                outcomes: step_outcomes.clone(),
                answered_per_s: answers(&step_outcomes) as f64 / seconds,
                response_ms: latency(response_ms.mean * (0.6 + 0.8 * (at as f64) / count as f64)),
                skipped: 0,
                untaken: 0,
                is_used_up: false,
            })
            .collect(),
        outcomes,
        stages,
        intervals,
        server: vec![],
        generator: Generator {
            cpu_s: 3.1,
            requests_per_cpu_s: 54_000.0,
            cpu_share_max: 0.12,
            steal_share: 0.004,
            memory_mb: 31.0,
        },
        histograms: BTreeMap::new(),
    }
}

fn interval(rng: &mut fastrand::Rng, at: usize, rate: f64, second: f64) -> Interval {
    let due = (rate * (0.9 + 0.2 * rng.f64())).round();
    let answered = due.min(CAPACITY * (0.95 + 0.1 * rng.f64())).round();
    let (mean_ms, failed) = response(rate, second);
    let mean_ms = mean_ms * (0.9 + 0.2 * rng.f64());
    let not_ok = (answered * failed).round() as u64;
    let ok = answered as u64 - not_ok;
    let mut outcomes = Outcomes::new();
    for (name, count) in [
        ("200", ok * 2 / 3),
        ("201", ok - ok * 2 / 3),
        ("503", not_ok / 2),
        ("timeout", not_ok / 4),
        ("500", not_ok - not_ok / 2 - not_ok / 4),
    ] {
        if count > 0 {
            outcomes.insert(name.into(), count);
        }
    }
    Interval {
        at_s: at as f64,
        due: due as u64,
        answered: answered as u64,
        ok,
        outcomes,
        mean_ms,
        p50_ms: mean_ms * 0.7,
        p99_ms: mean_ms * 4.0,
        max_ms: mean_ms * (5.0 + 6.0 * rng.f64()),
        in_flight: (mean_ms / 1e3 * answered).round() as u64,
    }
}

fn stage_result(stage: Stage, start: usize, intervals: &[Interval]) -> StageResult {
    let count = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    let due = count(|of| of.due);
    let mut outcomes = sum(intervals.iter().map(|of| &of.outcomes));
    let missing = due - count(|of| of.answered);
    if missing > 0 {
        *outcomes.entry("timeout".into()).or_default() += missing;
    }
    let seconds = intervals.len() as f64;
    let mean = intervals.iter().map(|of| of.mean_ms).sum::<f64>() / seconds;
    let ok = count(|of| of.ok);
    StageResult {
        stage,
        start_s: start as f64,
        seconds,
        requests: Requests { total: due, ok, failed: due - ok, late: 0 },
        answered_per_s: answers(&outcomes) as f64 / seconds,
        outcomes,
        goodput: ok as f64 / seconds,
        response_ms: latency(mean),
        service_ms: latency(mean * 0.8),
        send_lag_ms: latency(0.02),
        server: BTreeMap::new(),
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "AMD EPYC 7B13".into(),
        cores: 2,
        memory_mb: 24_576,
        system: "Linux 6.18".into(),
    }
}

fn latency(mean: f64) -> Latency {
    Latency {
        mean,
        sd: mean * 0.9,
        min: mean * 0.2,
        p50: mean * 0.7,
        p75: mean * 1.2,
        p90: mean * 1.9,
        p95: mean * 2.4,
        p98: mean * 3.2,
        p99: mean * 4.0,
        p99_9: mean * 6.5,
        max: mean * 9.0,
    }
}

fn watched(name: &str, period: f64) -> Watched {
    let series = |of: &str, base: f64, swing: f64| Series {
        name: of.into(),
        points: (0..360)
            .map(f64::from)
            .map(|at| (at, base + swing * (at / 60.0).floor() + (at / period).sin() * swing / 6.0))
            .collect(),
    };
    let series = [
        series("cpu_percent", 12.0, 30.0),
        series("memory_mb", 210.0, 14.0),
        series("threads", 14.0, 1.0),
        series("disk_write_mb_s", 2.0, 3.0),
    ];
    Watched { series: series.to_vec(), ..Watched::called(name) }
}

fn answers(outcomes: &Outcomes) -> u64 {
    let is_status = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    outcomes.iter().filter(|(name, _)| is_status(name)).map(|(_, count)| count).sum()
}

fn sum<'a>(all: impl Iterator<Item = &'a Outcomes>) -> Outcomes {
    let mut sum = Outcomes::new();
    for (name, count) in all.flatten() {
        *sum.entry(name.clone()).or_default() += count;
    }
    sum
}

fn total(all: impl Iterator<Item = Requests>) -> Requests {
    all.fold(Requests::default(), |sum, of| Requests {
        total: sum.total + of.total,
        ok: sum.ok + of.ok,
        failed: sum.failed + of.failed,
        late: sum.late + of.late,
    })
}

/// Returns a matrix of the gateway test with four cells, and the comparison with an earlier one.
pub fn gateway() -> GatewayFile {
    let plans = cells(&GatewayScenario::ALL, &[100, 500], &[10_240], &[0]);
    let cell = |(at, plan): (usize, &CellPlan), rate: f64, cpu_us: f64| {
        let throughput = rate / (1.0 + at as f64);
        let total = (throughput * 15.0) as u64;
        let failed = if at == 3 { 12 } else { 0 };
        CellResult {
            plan: *plan,
            memory_limit: "2G".into(),
            requests: Requests { total, ok: total - failed, failed, late: 0 },
            outcomes: Outcomes::from([("200".into(), total - failed), ("503".into(), failed)]),
            error_percent: 100.0 * failed as f64 / total as f64,
            throughput,
            response_ms: latency(3.0 + at as f64),
            gc: "none".into(),
            footprint_mb: Some(31.5),
            load_average: Some([1.9, 1.2, 0.7]),
            cpu_us_per_request: Some(cpu_us),
            seconds: 15.0,
            generator_share: 0.62,
            steal_share: 0.001,
            spin: 402.0,
            remark: if at == 3 {
                "the generator may have been the limit".into()
            } else {
                String::new()
            },
        }
    };
    let file = |rate: f64, cpu_us: f64| GatewayFile {
        format: GATEWAY_FORMAT,
        generator_version: "0.1.0".into(),
        target: "https://127.0.0.1:8443".into(),
        command: ["homeroom", "lab", "gateway"].map(String::from).to_vec(),
        started: "2026-11-20T10:00:00Z".into(),
        settings: GatewaySettings {
            timing: Timing::SHORT,
            published: false,
            tls: true,
            protocol: "HTTP/1.1".into(),
            tokens: 100,
            threads: 1,
            fresh: true,
            own_back_end: true,
        },
        machine: machine(),
        interrupted: false,
        cells: plans.iter().enumerate().map(|of| cell(of, rate, cpu_us)).collect(),
        baseline: None,
    };
    let mut now = file(42_000.0, 14.5);
    now.compare(&file(60_000.0, 10.0), 0.1);
    now
}

/// Returns a test of learners whose server leaves the ideal level at 600 learners and is
/// unacceptable at 900.
pub fn learners() -> LearnersFile {
    let plan = LearnersPlan {
        learners: 1_000,
        ramp: Duration::from_secs(100),
        stay: Duration::from_secs(20),
        hold: Duration::from_mins(1),
        posts: 60,
        every: Duration::from_secs(20),
        compress: 1,
    };
    let rows = (0..18_usize).map(|number| {
        let users = if number < 11 { 100 * (number as u32 + 1) } else { 500 };
        let p99_ms = match users {
            0..=500 => 90.0,
            501..=700 => 1_400.0,
            701..=800 => 2_600.0,
            _ => 7_000.0,
        };
        let judged = WindowRow::judged(number, users.min(1_000), p99_ms);
        WindowRow { requests: 50 * u64::from(users), launches_per_minute: 60.0, ..judged }
    });
    let rows: Vec<WindowRow> = rows.collect();
    let crossing = |level: LearnersLevel, number: usize| Crossing {
        level,
        window: rows[number],
        reached: rows[number].level,
    };
    let held = |level, learners| Held { level, learners, at_least: false };
    let mut run = run("learners", &plan.stages(), &[("results", "learner", "POST")]);
    run.server = vec![watched("web", 4.0)];
    LearnersFile {
        run,
        learners: LearnersResult {
            plan,
            crossings: vec![
                crossing(LearnersLevel::Acceptable, 5),
                crossing(LearnersLevel::Frustrating, 7),
                crossing(LearnersLevel::Unacceptable, 8),
            ],
            held: vec![
                held(LearnersLevel::Ideal, 500),
                held(LearnersLevel::Acceptable, 700),
                held(LearnersLevel::Frustrating, 800),
            ],
            hold: Some(Hold {
                learners: 500,
                from_s: 110.0,
                windows: 6,
                ideal: 6,
                worst_p99_ms: Some(90.0),
            }),
            sessions: Sessions {
                begun: 1_010,
                launched: 1_008,
                completed: 700,
                lost: 0,
                broken: 2,
                given_up: 1,
            },
            posts: Posts { count: 60_000, body_bytes: 51_000_000 },
            windows: rows.clone(),
        },
    }
}
