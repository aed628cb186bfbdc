//! `make bench-update`: how soon a flow's function takes effect, what it costs to find it, whether packets are lost meanwhile, and how long compiling
//! takes.

mod command;
mod compile;
mod figures;
mod libmoon;
mod losses;
mod namespaces;
mod report;
mod running;
mod test_runs;
mod travelling;
mod wire;

use indicatif::ProgressBar;

use self::figures::{Figure, Results};
use crate::Arguments;
use crate::error::Error;
use crate::machine;

/// What each measurement is about, and what does it.
const ALL: &[(&str, Measure)] = &[
    ("scripts compiled", compile::scripts),
    ("general code", compile::general),
    ("effect of a function", test_runs::effect),
    ("finding functions", test_runs::dispatch),
    ("packets while functions change", test_runs::exact),
    ("memory of flows", test_runs::memory),
    ("effect of an update in a packet", wire::effect),
    ("effect of an update by command", command::effect),
    ("effect of a reload", command::reload),
    ("other flows", wire::others),
    ("effect of an update in a packet, as libmoon does it", libmoon::effect),
    ("other flows, as with libmoon", libmoon::others),
    ("datagrams lost while functions change, next to libmoon's way", losses::lost),
];

type Measure = fn(&Arguments) -> Result<Vec<Figure>, Error>;

/// How many things are measured.
pub const PARTS: u64 = ALL.len() as u64;

pub fn run(arguments: &Arguments, progress: &ProgressBar) -> Result<Results, Error> {
    let mut figures = Vec::new();
    for (what, measure) in ALL.iter().filter(|(what, _)| arguments.wants(what)) {
        progress.set_message(*what);
        figures.extend(measure(arguments)?);
        progress.inc(1);
    }
    let results = Results { machine: machine::describe()?, figures };
    report::write(arguments, &results)?;
    Ok(results)
}
