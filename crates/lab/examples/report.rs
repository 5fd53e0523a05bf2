//! Writes reports of made-up runs into a folder, for inspection by people and browsers:
//! `cargo run -p homeroom-lab --example report -- FOLDER`.

#[path = "../tests/made_up/mod.rs"]
mod made_up;

use std::path::Path;

use homeroom_lab::report::{
    GatewayReport, LearnersReport, Paint, Report, html, samples, summary, transactional,
};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/reports".into());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let found = made_up::capacity();
    let (held, stages) = (made_up::held(), made_up::stages());
    let profiles =
        [("healthy, at 70 % of stable", &held), ("unhealthy, at 130 % of stable", &stages)];
    let runs = [
        ("few", made_up::few()),
        ("stages", stages.clone()),
        ("long", made_up::long()),
        ("hostile", made_up::hostile()),
    ];
    for (name, run) in &runs {
        write(folder, name, &Report::of(run))?;
    }
    let gateway = made_up::gateway();
    std::fs::write(folder.join("gateway.html"), GatewayReport(&gateway).html())?;
    let learners = made_up::learners();
    std::fs::write(folder.join("learners.html"), LearnersReport(&learners).html())?;
    let capacity = Report { capacity: Some(&found), profiles: &profiles, ..Report::of(&held) };
    write(folder, "capacity", &capacity)
}

fn write(folder: &Path, name: &str, report: &Report) -> std::io::Result<()> {
    std::fs::write(folder.join(format!("{name}.html")), html(report))?;
    for table in [samples(report.run), transactional(report.run)] {
        std::fs::write(folder.join(format!("{name}-{}.md", table.id)), table.markdown())?;
        std::fs::write(folder.join(format!("{name}-{}.csv", table.id)), table.csv())?;
    }
    println!("{name}\n{}", summary(report, Paint::Plain));
    Ok(())
}
