//! The table of `make bench-wire`: targets first, then every contestant.

use std::fmt::Write;

use super::{Results, Row};
use crate::Arguments;
use crate::error::Error;
use crate::works::Role;

impl Results {
    /// Whether Moonhook is as fast as it should be with one processor, in every case.
    pub fn met(&self) -> bool {
        self.targets().all(is_met)
    }

    /// Moonhook's row of every case.
    fn targets(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.role == Role::Moonhook)
    }

    /// The row of the same case with that role.
    fn beside(&self, row: &Row, role: Role) -> Option<&Row> {
        self.rows.iter().find(|other| (other.job, other.case, other.role) == (row.job, row.case, role))
    }
}

/// Two digits after the point are what can be told apart.
fn is_met(row: &Row) -> bool {
    row.by_c.median < row.at_most + 0.005
}

/// Prints the table, and writes it and the numbers to results/, if they are all.
pub fn write(arguments: &Arguments, results: &Results) -> Result<(), Error> {
    let table = markdown(results);
    print!("{table}");
    if arguments.only.is_some() {
        return Ok(());
    }
    let numbers = serde_json::to_string_pretty(results)
        .map_err(|error| Error::System { what: "write the numbers as JSON".into(), error: error.into() })?;
    arguments.write_result("wire.json", numbers + "\n")?;
    arguments.write_result("wire.md", table)
}

fn markdown(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "# Figures with frames that travel\n\n{} C by {}.\n\n| use, frames | wanted | measured | |\n|---|---|---|---|\n",
        machine.measured_by("make bench-wire"),
        machine.clang,
    );
    for row in results.targets() {
        let ratio = row.by_c.median;
        let verdict = if is_met(row) { "pass" } else { "**fail**" };
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| {}, {} | ≤ {} × C | {ratio:.2} × | {verdict} |",
            row.job, row.case, row.at_most
        );
    }
    text.push_str(EXPLANATION);
    let mut before = None;
    for row in &results.rows {
        if before != Some((row.job, row.case)) {
            let _ = write!(text, "\n## {}: {}\n{TITLES}", row.job, row.case);
            before = Some((row.job, row.case));
        }
        let _ = writeln!(text, "| {} |{}{}", row.contestant, half(results, row, 0), half(results, row, 1));
    }
    text
}

const TITLES: &str = "
| | Mpps | ns | net | × C, net | two: Mpps | ns | net | × C, net |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

const EXPLANATION: &str = "
A processor sends frames of 64 bytes to a veth as fast as it can (live frames, made by an XDP program from 4,096 templates) and runs what
becomes of them; then two do so at once. Given is the time from one frame to the next, the median of interleaved rounds and in brackets the
fastest and the slowest, of frames that arrived; *net* is without what sending takes and the least program that drops or redirects a
frame. Targets are about the whole with one processor: the median of the ratios of each round, whose runs follow each other.
";

/// The columns for one number of processors.
fn half(results: &Results, row: &Row, half: usize) -> String {
    let cost = row.ns[half];
    let net = |row: &Row| Some(row.ns[half].median - results.beside(row, Role::Floor)?.ns[half].median);
    let reference = results.beside(row, Role::Reference).and_then(net);
    let ratio = match (row.role, net(row), reference) {
        (Role::Floor, ..) => None,
        (_, Some(own), Some(reference)) => Some(own / reference),
        _ => None,
    };
    let shown = |number: Option<f64>, digits| {
        number.map_or(String::from("–"), |number| format!("{number:.digits$}"))
    };
    format!(
        " {:.2} | {:.0} ({:.0}–{:.0}) | {} | {} |",
        1000.0 / cost.median,
        cost.median,
        cost.min,
        cost.max,
        shown(net(row), 0),
        shown(ratio, 2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Cost;

    fn row(role: Role, ns: f64, by_c: f64) -> Row {
        let [cost, by_c] = [ns, by_c].map(|number| Cost { median: number, min: number, max: number });
        Row { job: "it", case: "frames", contestant: "one", role, at_most: 1.0, ns: [cost, cost], by_c }
    }

    #[test]
    fn targets_are_about_the_whole() {
        let machine = crate::machine::Machine::default();
        let rows = vec![
            row(Role::Floor, 200.0, 0.8),
            row(Role::Moonhook, 250.0, 1.04),
            row(Role::Reference, 240.0, 1.0),
        ];
        let mut results = Results { machine, rows };
        assert!(!results.met());
        assert_eq!(half(&results, &results.rows[1], 0), " 4.00 | 250 (250–250) | 50 | 1.25 |");
        results.rows[1] = row(Role::Moonhook, 250.0, 1.0);
        assert!(results.met());
    }
}
