//! The table that is printed, and the numbers that are kept.

use super::figures::{Figure, Results};
use crate::Arguments;
use crate::error::Error;
use std::fmt::Write;

pub fn write(arguments: &Arguments, results: &Results) -> Result<(), Error> {
    let measured = results.machine.measured_by("make bench-update");
    let mut table = format!("{measured}\n\n| figure | measured | at most | |\n|---|---|---|---|\n");
    for figure in &results.figures {
        let met = if figure.value <= figure.target { "" } else { "**missed**" };
        let unit = figure.unit;
        // Writing into a string does not fail.
        let _ =
            writeln!(table, "| {} | {:.2} {unit} | {} | {met} |", figure.what, figure.value, target(figure));
    }
    print!("{table}");
    if arguments.only.is_some() {
        return Ok(());
    }
    let numbers = serde_json::to_string_pretty(results)
        .map_err(|error| Error::System { what: "write the numbers as JSON".into(), error: error.into() })?;
    arguments.write_result("update.json", numbers + "\n")?;
    arguments.write_result("update.md", table)
}

/// What a figure is to be at most; nothing where it only shows what another one is measured by.
fn target(figure: &Figure) -> String {
    if figure.target.is_finite() { format!("{} {}", figure.target, figure.unit) } else { String::new() }
}
