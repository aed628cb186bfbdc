//! The table: targets first, then every contestant.

use std::fmt::Write;

use crate::results::{LEAST_NET, Results, WorkResult};
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
    for work in &results.works {
        write_work(text, work)?;
    }
    Ok(())
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
