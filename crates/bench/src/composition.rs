//! What each program of a chain costs: chains of more and more programs that do nothing, next to C with the same calls inlined, in which
//! nothing is left of them.

use std::path::PathBuf;

use serde::Serialize;

use crate::contest::Builder;
use crate::contestant::DROP;
use crate::error::Error;
use crate::frames;
use crate::kernel::KernelProgram;
use crate::results::{ContestantResult, Target, WorkResult};
use crate::rounds::{self, Cost, Entry};
use crate::script::ScriptProgram;
use crate::works::{Case, MapEntry, Role, composed};

pub const TITLE: &str = "Null programs, 1 to 64";
const COUNTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// What a program may cost, in ns.
const MOST: f64 = 3.0;
/// What a program of the second half may cost, as a multiple of what one of the first costs.
const MOST_GROWTH: f64 = 1.25;

/// Costs are in ns per packet, the floor included.
#[derive(Serialize)]
pub struct Composition {
    pub floor: Cost,
    /// At least three, by the number of programs.
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub programs: usize,
    pub moonhook: Cost,
    pub c: Cost,
}

/// Builds the chains and measures them. `progress` is called after each round.
pub fn measure(builder: &Builder, rounds: usize, progress: impl FnMut()) -> Result<Composition, Error> {
    let frame = frames::udp6(5060, 128);
    let frames = [frame.clone()];
    let mut entries = vec![builder.floor(&frames)?];
    for programs in COUNTS {
        let MapEntry { map, key, value } = composed::begins(1);
        let ours = ScriptProgram::load(&script(builder, programs)?, &frames)?;
        ours.fill(map, &[(&key, &value)])?;
        let define = format!("-DNULLS={programs}");
        let object = builder.compile_unit("null_programs", &format!("c_nulls-{programs}"), &[define])?;
        let c = KernelProgram::load(&object, &frames)?;
        c.fill(map, &[(&key, &value)])?;
        let title = |who: &str| format!("{who}, {programs} null programs");
        entries.push(Entry { title: title("Moonhook"), role: Role::Moonhook, contestant: Box::new(ours) });
        entries.push(Entry { title: title("C"), role: Role::Reference, contestant: Box::new(c) });
    }
    let cases = [Case { title: "IPv6", frame, verdict: DROP }];
    rounds::check(&mut entries, &cases)?;
    let costs: Vec<Cost> =
        rounds::measure(&mut entries, &cases, rounds, progress)?.into_iter().flatten().collect();
    let pairs = costs[1..].as_chunks::<2>().0.iter();
    let row = |(programs, &[moonhook, c]): (usize, &[Cost; 2])| Row { programs, moonhook, c };
    Ok(Composition { floor: costs[0], rows: COUNTS.into_iter().zip(pairs).map(row).collect() })
}

/// An object of a chain of so many programs.
fn script(builder: &Builder, programs: usize) -> Result<PathBuf, Error> {
    let text = format!(
        "from loaders.basics import ip6\nfrom programs.basics import drop\nfrom programs.bench import null\n\
         ip6[chains] = {{ (0): (main) }}\nip6.attach('DEVNAME', 'xdp')\ndef main():\n{}  drop()\n",
        "  null()\n".repeat(programs)
    );
    let script = builder.write(&format!("nulls-{programs}.eclat"), text.as_bytes())?;
    let object = script.with_extension("bpf.o");
    builder.build(&script, &object)?;
    Ok(object)
}

impl Composition {
    /// What each further program costs in rows of that range.
    fn each(&self, from: usize, to: usize) -> f64 {
        let (first, last) = (&self.rows[from], &self.rows[to]);
        (last.moonhook.median - first.moonhook.median) / (last.programs - first.programs) as f64
    }

    pub fn targets(&self) -> Vec<Target> {
        let last = self.rows.len() - 1;
        let (each, growth) = (self.each(0, last), self.each(last - 1, last) / self.each(0, last - 1));
        let target = |what: &str, wanted, measured, met| Target { what: what.into(), wanted, measured, met };
        vec![
            target(
                "each null program of a chain",
                format!("≤ {MOST} ns"),
                format!("{each:.2} ns"),
                each <= MOST,
            ),
            target(
                "each of the last 32 null programs of 64",
                format!("≤ {MOST_GROWTH} × one of the first"),
                format!("{growth:.2} ×"),
                growth <= MOST_GROWTH,
            ),
        ]
    }

    /// As a work, whose cases are the numbers of programs.
    pub fn as_work(&self) -> WorkResult {
        let of = |title: &str, role, cost: fn(&Row) -> Cost| ContestantResult {
            title: title.into(),
            role,
            costs: self.rows.iter().map(cost).collect(),
        };
        let mut floor = of("empty XDP program", Role::Floor, |row| row.c);
        floor.costs.fill(self.floor);
        WorkResult {
            title: TITLE.into(),
            at_most: None,
            whole: false,
            faster: 1.0,
            recorded: Vec::new(),
            cases: self.rows.iter().map(|row| row.programs.to_string()).collect(),
            contestants: vec![
                floor,
                of("Moonhook", Role::Moonhook, |row| row.moonhook),
                of("C, one program", Role::Reference, |row| row.c),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(costs: [f64; 3]) -> Vec<bool> {
        let cost = |ns| Cost { median: ns, min: ns, max: ns };
        let row = |(programs, ns)| Row { programs, moonhook: cost(ns), c: cost(30.0) };
        let rows = [1, 32, 64].into_iter().zip(costs).map(row).collect();
        let composition = Composition { floor: cost(28.0), rows };
        composition.targets().iter().map(|target| target.met).collect()
    }

    #[test]
    fn programs_cost_little_and_the_last_no_more_than_the_first() {
        assert_eq!(verdicts([40.0, 102.0, 166.0]), [true, true]);
        assert_eq!(verdicts([40.0, 164.0, 292.0]), [false, true]);
        assert_eq!(verdicts([40.0, 71.0, 151.0]), [true, false]);
    }
}
