//! What was measured, as it goes to latest.json, and whether it meets the targets.

use serde::Serialize;

use crate::composition::Composition;
use crate::machine::Machine;
use crate::rounds::Cost;
use crate::works::Role;

/// What a frame of 64 bytes takes in ns that comes over a veth to a program which drops it at once: the least program of `make bench-wire`.
const FRAME: f64 = 175.0;

/// Costs above the floor below this many ns are not told apart from it: the floor itself varies by as much.
pub const LEAST_NET: f64 = 3.0;

/// What an empty program took where HIKe's virtual machine was measured, in ns per packet.
pub const RECORDED_FLOOR: f64 = 26.0;
/// What Moonhook may cost above the floor, as a multiple of what that machine costs above its own.
const OF_VIRTUAL_MACHINE: f64 = 0.5;

/// Of a chain with two levels of DDoS mitigation.
const MOST_VERIFIED: u64 = 2_000;

#[derive(Serialize)]
pub struct Results {
    pub machine: Machine,
    pub works: Vec<WorkResult>,
    /// What each program of a chain costs; None when that was not measured.
    pub composition: Option<Composition>,
    /// Compile times and memory; None when they were not measured.
    pub tool: Option<ToolResult>,
}

/// Costs are in ns per packet, the floor included.
#[derive(Clone, Serialize)]
pub struct WorkResult {
    pub title: String,
    /// What Moonhook may cost, as a multiple of what the reference costs; None where that is no target.
    pub at_most: Option<f64>,
    /// It is about throughput: costs are compared with what a frame takes that travels ([`FRAME`]).
    pub whole: bool,
    /// How many times faster than the interpreter Moonhook must be, where there is one.
    pub faster: f64,
    /// Of HIKe's virtual machine, for the first cases: figures of another run ([`RECORDED_FLOOR`]).
    pub recorded: Vec<f64>,
    pub cases: Vec<String>,
    pub contestants: Vec<ContestantResult>,
}

#[derive(Clone, Serialize)]
pub struct ContestantResult {
    pub title: String,
    pub role: Role,
    /// One per case.
    pub costs: Vec<Cost>,
}

#[derive(Serialize)]
pub struct ToolResult {
    /// Lines of the script that is compiled.
    pub lines: usize,
    /// ms, without and with loading into the kernel.
    pub compile: Cost,
    pub compile_and_load: Cost,
    /// ms of a chain's script into the kernel, its programs being compiled already; and how many instructions the verifier walks.
    pub chain: Cost,
    pub chain_verified: u64,
    /// KiB, of `moonhook run` with 10,000 names.
    pub resident: u64,
    pub resident_peak: u64,
}

/// A row of the table of targets.
pub struct Target {
    pub what: String,
    pub wanted: String,
    pub measured: String,
    pub met: bool,
}

impl Results {
    pub fn met(&self) -> bool {
        self.targets().iter().all(|target| target.met)
    }

    pub fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = self.works.iter().flat_map(WorkResult::targets).collect();
        targets.extend(self.composition.iter().flat_map(Composition::targets));
        targets.extend(self.tool.iter().flat_map(ToolResult::targets));
        targets
    }
}

impl WorkResult {
    pub fn of(&self, role: Role) -> Option<&ContestantResult> {
        self.contestants.iter().find(|contestant| contestant.role == role)
    }

    /// The cost above the floor in case number `case`; user-space contestants have no floor.
    pub fn net(&self, contestant: &ContestantResult, case: usize) -> f64 {
        let floor = if contestant.role.in_kernel() { self.floor(case) } else { 0.0 };
        contestant.costs[case].median - floor
    }

    pub fn floor(&self, case: usize) -> f64 {
        self.of(Role::Floor).map_or(0.0, |floor| floor.costs[case].median)
    }

    fn targets(&self) -> Vec<Target> {
        let Some(moonhook) = self.of(Role::Moonhook) else { return Vec::new() };
        let mut targets = Vec::new();
        for (case, name) in self.cases.iter().enumerate() {
            let what = format!("{}, {name}", self.title);
            if let (Some(at_most), Some(reference)) = (self.at_most, self.of(Role::Reference)) {
                targets.push(self.against_reference(&what, case, at_most, moonhook, reference));
            }
            if let Some(interpreter) = self.of(Role::Interpreter) {
                targets.push(self.against_interpreter(&what, case, moonhook, interpreter));
            }
            if let Some(recorded) = self.recorded.get(case) {
                targets.push(self.against_recorded(&what, case, moonhook, *recorded));
                if let Some(machine) = self.of(Role::VirtualMachine) {
                    targets.push(self.against_reference(&what, case, OF_VIRTUAL_MACHINE, moonhook, machine));
                }
            }
        }
        targets
    }

    /// Compares costs above the floor, or, when the reference's cannot be told from it, costs that include it.
    fn against_reference(
        &self,
        what: &str,
        case: usize,
        at_most: f64,
        moonhook: &ContestantResult,
        reference: &ContestantResult,
    ) -> Target {
        let raw = moonhook.costs[case].median / reference.costs[case].median;
        let (ours, theirs) = (self.net(moonhook, case), self.net(reference, case));
        let net = ours / theirs;
        if self.whole {
            let ratio = (FRAME + ours) / (FRAME + theirs);
            return Target {
                what: what.into(),
                wanted: format!("≤ {at_most} × {}, frames that travel", reference.title),
                measured: format!("{ratio:.3} × ({ours:.1} against {theirs:.1} ns above the floor)"),
                met: ratio <= at_most,
            };
        }
        let by_net = theirs >= LEAST_NET;
        Target {
            what: what.into(),
            wanted: format!("≤ {at_most} × {}", reference.title),
            measured: match by_net {
                true => format!("{net:.2} × ({raw:.2} × with the floor)"),
                false => format!("{raw:.2} × with the floor ({ours:.1} against {theirs:.1} ns above it)"),
            },
            met: if by_net { net } else { raw } <= at_most,
        }
    }

    fn against_recorded(
        &self,
        what: &str,
        case: usize,
        moonhook: &ContestantResult,
        recorded: f64,
    ) -> Target {
        let net = self.net(moonhook, case) / (recorded - RECORDED_FLOOR);
        let raw = moonhook.costs[case].median / recorded;
        Target {
            what: what.into(),
            wanted: format!("≤ {OF_VIRTUAL_MACHINE} × HIKe's virtual machine, as recorded"),
            measured: format!("{net:.2} × ({raw:.2} × with the floors)"),
            met: net <= OF_VIRTUAL_MACHINE,
        }
    }

    /// Moonhook's cost above the floor counts, but not less than [`LEAST_NET`].
    fn against_interpreter(
        &self,
        what: &str,
        case: usize,
        moonhook: &ContestantResult,
        interpreter: &ContestantResult,
    ) -> Target {
        let cost = interpreter.costs[case].median;
        let factor = cost / self.net(moonhook, case).max(LEAST_NET);
        let raw = cost / moonhook.costs[case].median;
        Target {
            what: what.into(),
            wanted: format!("{:.0} × faster than {}", self.faster, interpreter.title),
            measured: format!("{factor:.1} × ({raw:.1} × with the floor)"),
            met: factor >= self.faster,
        }
    }
}

impl ToolResult {
    fn targets(&self) -> Vec<Target> {
        let lines = |what: &str| format!("{what} a script of {} lines", self.lines);
        let times = [
            (lines("compile"), self.compile, 5.0),
            (lines("compile and load"), self.compile_and_load, 20.0),
            ("load the chain of two levels, its programs compiled".into(), self.chain, 30.0),
        ];
        let mut targets: Vec<Target> = times
            .into_iter()
            .map(|(what, cost, limit)| Target {
                what,
                wanted: format!("≤ {limit} ms"),
                measured: format!("{:.2} ms", cost.median),
                met: cost.median <= limit,
            })
            .collect();
        targets.push(Target {
            what: "instructions of the chain of two levels that the verifier walks".into(),
            wanted: format!("≤ {MOST_VERIFIED}"),
            measured: self.chain_verified.to_string(),
            met: self.chain_verified <= MOST_VERIFIED,
        });
        let mib = |kib: u64| kib as f64 / 1024.0;
        targets.push(Target {
            what: "resident memory of `moonhook run`, 10,000 names".into(),
            wanted: "≤ 64 MiB".into(),
            measured: format!("{:.1} MiB (peak {:.1} MiB)", mib(self.resident), mib(self.resident_peak)),
            met: mib(self.resident) <= 64.0,
        });
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contestant(role: Role, median: f64) -> ContestantResult {
        let cost = Cost { median, min: median, max: median };
        ContestantResult { title: "it".into(), role, costs: vec![cost] }
    }

    fn verdicts(moonhook: f64, reference: f64, interpreter: f64) -> Vec<bool> {
        let work = WorkResult {
            title: "work".into(),
            at_most: Some(1.25),
            whole: false,
            faster: 10.0,
            recorded: Vec::new(),
            cases: vec!["frame".into()],
            contestants: vec![
                contestant(Role::Floor, 30.0),
                contestant(Role::Moonhook, moonhook),
                contestant(Role::Reference, reference),
                contestant(Role::Interpreter, interpreter),
            ],
        };
        work.targets().iter().map(|target| target.met).collect()
    }

    #[test]
    fn targets_compare_what_is_above_the_floor() {
        assert_eq!(verdicts(42.0, 40.0, 500.0), [true, true]);
        assert_eq!(verdicts(43.0, 40.0, 129.0), [false, false]);
    }

    #[test]
    fn a_reference_at_the_floor_is_compared_with_the_floor_included() {
        assert_eq!(verdicts(33.0, 31.0, 500.0), [true, true]);
        assert_eq!(verdicts(40.0, 31.0, 500.0), [false, true]);
    }
}
