//! The table: targets first, then every contestant.

use std::fmt::Write;

use crate::composition::{self, Composition};
use crate::hike;
use crate::results::{LEAST_NET, RECORDED_FLOOR, Results, WorkResult};
use crate::works::Role;

pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut text, results);
    text
}

fn write(text: &mut String, results: &Results) -> std::fmt::Result {
    let machine = &results.machine;
    writeln!(text, "# Figures\n")?;
    let measured = machine.measured_by("make bench");
    writeln!(text, "{measured} Peers by {}, Lua 5.5, {}.\n", machine.clang, machine.luajit)?;
    let targets = results.targets();
    if !targets.is_empty() {
        writeln!(text, "![ns per packet](latest.svg)\n\n## Targets\n")?;
        writeln!(text, "| work, frame | wanted | measured | |\n|---|---|---|---|")?;
    }
    for target in targets {
        let verdict = if target.met { "pass" } else { "**fail**" };
        writeln!(text, "| {} | {} | {} | {verdict} |", target.what, target.wanted, target.measured)?;
    }
    writeln!(text, "\n{}", explanation())?;
    if results.works.iter().any(|work| !work.recorded.is_empty()) && hike::folder().is_none() {
        writeln!(
            text,
            "\n{} takes no part: `{}` names no folder with checkouts.",
            hike::TITLE,
            hike::VARIABLE
        )?;
    }
    for work in &results.works {
        write_work(text, work)?;
    }
    match &results.composition {
        Some(composition) => write_composition(text, composition),
        None => Ok(()),
    }
}

fn write_work(text: &mut String, work: &WorkResult) -> std::fmt::Result {
    writeln!(text, "\n## {}\n", work.title)?;
    let cases: Vec<_> = work.cases.iter().map(|case| format!("{case} | net | × C")).collect();
    writeln!(text, "| ns per packet | {} |", cases.join(" | "))?;
    writeln!(text, "|---|{}", "---|---:|---:|".repeat(cases.len()))?;
    for contestant in &work.contestants {
        let mut row = format!("| {} |", contestant.title);
        for (case, cost) in contestant.costs.iter().enumerate() {
            let net = work.net(contestant, case);
            let ratio = work
                .of(Role::Reference)
                .map(|reference| work.net(reference, case))
                .filter(|reference| *reference >= LEAST_NET && contestant.role != Role::Floor)
                .map_or(String::from("–"), |reference| format!("{:.2}", net / reference));
            write!(row, " {:.1} ({:.1}–{:.1}) | {net:.1} | {ratio} |", cost.median, cost.min, cost.max)?;
        }
        writeln!(text, "{row}")?;
    }
    write_recorded(text, work)
}

/// HIKe's virtual machine, which takes no part.
fn write_recorded(text: &mut String, work: &WorkResult) -> std::fmt::Result {
    if work.recorded.is_empty() {
        return Ok(());
    }
    let mut row = format!("| {}, as recorded |", hike::TITLE);
    for case in 0..work.cases.len() {
        match work.recorded.get(case) {
            Some(recorded) => write!(row, " {recorded:.0} | {:.0} | – |", recorded - RECORDED_FLOOR)?,
            None => row.push_str(" – | – | – |"),
        }
    }
    writeln!(text, "{row}")
}

fn write_composition(text: &mut String, composition: &Composition) -> std::fmt::Result {
    let floor = composition.floor.median;
    writeln!(text, "\n## {}\n\nThe floor is {floor:.1} ns.\n", composition::TITLE)?;
    writeln!(
        text,
        "| null programs | Moonhook | net | each | C, one program | net |\n|---:|---|---:|---:|---|---:|"
    )?;
    for row in &composition.rows {
        let (ours, c) = (row.moonhook, row.c);
        // What C has as well is the classifier.
        let each = (ours.median - c.median) / row.programs as f64;
        write!(text, "| {} | {:.1} ({:.1}–{:.1}) |", row.programs, ours.median, ours.min, ours.max)?;
        write!(text, " {:.1} | {each:.2} |", ours.median - floor)?;
        writeln!(text, " {:.1} ({:.1}–{:.1}) | {:.1} |", c.median, c.min, c.max, c.median - floor)?;
    }
    Ok(())
}

fn explanation() -> String {
    format!(
        "Each contestant decides about the same frame again and again, in interleaved rounds in shuffled order, and is \
         checked to decide rightly. Given are the median, the fastest and the slowest round, in time that the thread ran. \
         Programs in the kernel are repeated by `BPF_PROG_TEST_RUN`, whose own cost the empty program shows; *net* is without \
         it. The Lua peers run in user space, where a packet is a pointer and nothing but their loop is measured. Where C \
         costs less than {LEAST_NET} ns above the floor, ratios are taken with the floor included."
    )
}
