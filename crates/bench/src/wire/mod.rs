//! `make bench-wire`: the three uses of the XDP paper, and NPF's, with frames that travel, next to the same in C and to what the kernel does by itself.
//!
//! A processor sends frames as fast as it can, and runs all that becomes of them; two do so at once in the other half. Contestants are
//! attached to interfaces of their own, and measured in turn.

mod check;
mod contestants;
mod network;
mod object;
mod report;
mod sender;
mod uses;

use indicatif::ProgressBar;
use serde::Serialize;

use self::check::Sink;
use self::contestants::{Contestant, Instance, Stage};
use self::network::WAYS;
use self::sender::{FRAMES, Sender};
use self::uses::{Data, Ends, Use};
use crate::Arguments;
use crate::contest::Builder;
use crate::error::Error;
use crate::machine::{self, Machine};
use crate::numbers::Numbers;
use crate::rounds::Cost;
use crate::works::Role;

/// How long a measurement takes, about, in ns: sending ends with a tick of the kernel's clock, which is 4 ms where there are 250 a second.
const MEASUREMENT: f64 = 4e8;
/// Tables of frames that are sent to find out how many that is.
const FIRST: u32 = 16;
/// Processors that send at once.
const PROCESSORS: [usize; 2] = [1, 2];

#[derive(Serialize)]
pub struct Results {
    machine: Machine,
    rows: Vec<Row>,
}

/// A contestant with the frames of a case.
#[derive(Serialize)]
struct Row {
    job: &'static str,
    case: &'static str,
    contestant: &'static str,
    role: Role,
    /// Of the job.
    at_most: f64,
    /// Time for a frame in ns, with one processor and with two.
    ns: [Cost; 2],
    /// With one processor, the time as a multiple of what C takes in the same round.
    by_c: Cost,
}

pub fn run(arguments: &Arguments, progress: &ProgressBar) -> Result<Results, Error> {
    let data = Data::new();
    network::enter()?;
    network::add_routes(&data.routes)?;
    let builder = Builder::new(arguments)?;
    let sender = Sender::load(&builder.compile_c("send")?)?;
    let sink = Sink::new(&builder.compile_c("sink")?)?;
    let mut stage = Stage { builder: &builder, moonhook: &arguments.moonhook, data: &data, ports: 0 };
    let mut jobs = uses::all(&data);
    for job in jobs.iter_mut().filter(|job| !arguments.wants(job.title)) {
        job.cases.retain(|case| arguments.wants(case.title));
    }
    jobs.retain(|job| !job.cases.is_empty());
    progress
        .set_length(jobs.iter().map(|job| job.cases.len() as u64).sum::<u64>() * u64::from(arguments.rounds));
    let mut rows = Vec::new();
    for job in &jobs {
        progress.set_message(job.title);
        let contestants = stage.all(job)?;
        check::all(&sender, &sink, job, &contestants)?;
        rows.extend(measure(&sender, job, &contestants, arguments.rounds.into(), || progress.inc(1))?);
    }
    let results = Results { machine: machine::describe()?, rows };
    report::write(arguments, &results)?;
    Ok(results)
}

fn measure(
    sender: &Sender,
    job: &Use,
    contestants: &[Contestant],
    rounds: usize,
    mut progress: impl FnMut(),
) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let mut order = Numbers::new(rounds as u64);
    let mut turns: Vec<usize> = (0..contestants.len()).collect();
    for case in &job.cases {
        sender.set_frames(&case.frames)?;
        let mut times = Vec::new();
        for contestant in contestants {
            let ns = one(sender, job, &contestant.instances[0], FIRST, PROCESSORS[0])?;
            times.push(((MEASUREMENT / ns) as u32 / FRAMES as u32).max(FIRST));
        }
        let mut samples = vec![[Vec::new(), Vec::new()]; contestants.len()];
        for round in 0..rounds {
            // All with one processor, then all with two: ratios within a round are about the same moment.
            for half in [0, 1] {
                order.shuffle(&mut turns);
                for &number in &turns {
                    let instances = &contestants[number].instances;
                    let instance = &instances[round % instances.len()];
                    samples[number][half].push(one(sender, job, instance, times[number], PROCESSORS[half])?);
                }
            }
            progress();
        }
        let c = contestants.iter().position(|contestant| contestant.role == Role::Reference);
        let c = c.map_or(&[][..], |number| &samples[number][0]);
        rows.extend(contestants.iter().zip(&samples).map(|(contestant, samples)| Row {
            job: job.title,
            case: case.title,
            contestant: contestant.title,
            role: contestant.role,
            at_most: job.at_most,
            ns: [Cost::of(&samples[0]), Cost::of(&samples[1])],
            by_c: Cost::of(&samples[0].iter().zip(c).map(|(own, c)| own / c).collect::<Vec<f64>>()),
        }));
    }
    Ok(rows)
}

/// The time for a frame, of those that arrived: a ring that is full takes no more.
fn one(sender: &Sender, job: &Use, instance: &Instance, times: u32, processors: usize) -> Result<f64, Error> {
    let ends: Vec<&str> = match job.ends {
        Ends::Dropped => vec![&instance.port.inside],
        Ends::Sent => WAYS.iter().map(|(_, far)| *far).collect(),
    };
    let arrived = || ends.iter().map(|end| network::received(end)).sum::<Result<u64, Error>>();
    let before = arrived()?;
    let time = sender.send(instance.port.outside, times, processors)?;
    let frames = arrived()? - before;
    if frames < FRAMES as u64 {
        return Err(Error::Peer {
            contestant: job.title.into(),
            message: format!("only {frames} frames arrived"),
        });
    }
    Ok(time.as_nanos() as f64 / frames as f64)
}
