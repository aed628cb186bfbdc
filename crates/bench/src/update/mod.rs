//! `make bench-update`: how soon a flow's function takes effect, what it costs to find it, and whether packets are lost meanwhile.

mod compile;
mod libmoon;
mod losses;
mod measure;
mod namespaces;
mod report;
mod running;
mod travelling;
mod wire;

use indicatif::ProgressBar;
use serde::Serialize;

use crate::Arguments;
use crate::error::Error;
use crate::machine::{self, Machine};

/// How many things are measured.
pub const PARTS: u64 = measure::ALL.len() as u64;

/// What was measured, and what was aimed at.
#[derive(Serialize)]
pub struct Results {
    machine: Machine,
    figures: Vec<Figure>,
}

#[derive(Serialize)]
struct Figure {
    what: String,
    value: f64,
    /// What it is to be at most.
    target: f64,
    unit: &'static str,
}

impl Results {
    pub fn met(&self) -> bool {
        self.figures.iter().all(|figure| figure.value <= figure.target)
    }
}

pub fn run(arguments: &Arguments, progress: &ProgressBar) -> Result<Results, Error> {
    let mut figures = Vec::new();
    for (what, measure) in measure::ALL.iter().filter(|(what, _)| arguments.wants(what)) {
        progress.set_message(*what);
        figures.extend(measure(arguments)?);
        progress.inc(1);
    }
    let results = Results { machine: machine::describe()?, figures };
    report::write(arguments, &results)?;
    Ok(results)
}
