//! Measures contestants against each other: interleaved rounds in shuffled order, so that what disturbs the machine for a
//! while hits all of them alike.

use crate::contestant::Contestant;
use crate::error::Error;
use crate::kernel::INSTANCES;
use crate::numbers::Numbers;
use crate::works::{Case, Role};

/// How long one measurement shall take, in ns: long against a timer tick, short against a disturbance.
const MEASUREMENT: f64 = 15e6;
const FEWEST_REPEATS: u32 = 2_000;
/// The longest run before measuring, in repetitions: enough for LuaJIT to compile its traces.
const WARM_UP: u32 = 20_000;

/// A contestant under its name in the table.
pub struct Entry {
    pub title: String,
    pub role: Role,
    pub contestant: Box<dyn Contestant>,
}

/// ns per packet.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Cost {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Checks that every entry gives the right verdict about every case.
pub fn check(entries: &mut [Entry], cases: &[Case]) -> Result<(), Error> {
    for entry in entries {
        for (frame, case) in cases.iter().enumerate() {
            // Once for each instance of a program, and more than one packet: verdicts must not depend on what went before.
            for _ in 0..INSTANCES {
                let run = entry.contestant.run(frame, 3)?;
                judge(entry, case, run.verdict)?;
            }
        }
    }
    Ok(())
}

/// The cost of each entry (first index) for each case (second index). `progress` is called after each round.
pub fn measure(
    entries: &mut [Entry],
    cases: &[Case],
    rounds: usize,
    mut progress: impl FnMut(),
) -> Result<Vec<Vec<Cost>>, Error> {
    let mut slots: Vec<(usize, usize)> =
        (0..entries.len()).flat_map(|entry| (0..cases.len()).map(move |case| (entry, case))).collect();
    let mut repeats = vec![vec![FEWEST_REPEATS; cases.len()]; entries.len()];
    for &(entry, case) in &slots {
        let contestant = &mut entries[entry].contestant;
        contestant.run(case, WARM_UP)?;
        let ns = contestant.run(case, FEWEST_REPEATS)?.ns_per_packet;
        repeats[entry][case] = ((MEASUREMENT / ns.max(1.0)) as u32).max(FEWEST_REPEATS);
    }
    let mut samples = vec![vec![Vec::with_capacity(rounds); cases.len()]; entries.len()];
    let mut order = Numbers::new(rounds as u64);
    for _ in 0..rounds {
        order.shuffle(&mut slots);
        for &(entry, case) in &slots {
            let run = entries[entry].contestant.run(case, repeats[entry][case])?;
            judge(&entries[entry], &cases[case], run.verdict)?;
            samples[entry][case].push(run.ns_per_packet);
        }
        progress();
    }
    Ok(samples.iter().map(|cases| cases.iter().map(|samples| Cost::of(samples)).collect()).collect())
}

fn judge(entry: &Entry, case: &Case, verdict: i32) -> Result<(), Error> {
    // The floor decides nothing.
    if verdict == case.verdict || entry.role == Role::Floor {
        return Ok(());
    }
    Err(Error::WrongVerdict {
        contestant: entry.title.clone(),
        frame: case.title.into(),
        got: verdict,
        expected: case.verdict,
    })
}

impl Cost {
    /// `samples` is not empty.
    pub fn of(samples: &[f64]) -> Cost {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Cost { median, min: sorted[0], max: sorted[sorted.len() - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_median_of_the_samples() {
        let cost = Cost::of(&[5.0, 1.0, 9.0]);
        assert_eq!((cost.median, cost.min, cost.max), (5.0, 1.0, 9.0));
        assert_eq!(Cost::of(&[1.0, 2.0]).median, 1.5);
    }
}
