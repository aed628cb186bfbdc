//! What is measured, and what that is measured with.

use crate::machine::Machine;
use serde::Serialize;
use std::time::Duration;

/// What was measured, and what was aimed at.
#[derive(Serialize)]
pub struct Results {
    pub machine: Machine,
    pub figures: Vec<Figure>,
}

#[derive(Serialize)]
pub struct Figure {
    pub what: String,
    pub value: f64,
    /// What it is to be at most.
    pub target: f64,
    pub unit: &'static str,
}

impl Results {
    pub fn met(&self) -> bool {
        self.figures.iter().all(|figure| figure.value <= figure.target)
    }
}

pub fn figure(what: &str, value: f64, target: f64, unit: &'static str) -> Figure {
    Figure { what: what.to_string(), value, target, unit }
}

/// Ten lines: drops datagrams that begin with a byte, in each text another one.
pub fn ten_lines(byte: usize, number: usize) -> String {
    format!(
        "function(pkt)\n\
           local udp = pkt.udp\n\
           if not udp then\n\
             return 2\n\
           end\n\
           if pkt:getbyte(42) == {byte} then -- {number}\n\
             return 1\n\
           end\n\
           return 2\n\
         end\n"
    )
}

pub fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let at = (times.len() as f64 * part) as usize;
    times[at.min(times.len() - 1)].as_secs_f64() * 1e3
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
