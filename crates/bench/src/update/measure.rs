//! The measurements.

use super::Figure;
use super::running::Running;
use crate::Arguments;
use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What each is about, and what measures it.
pub const ALL: &[(&str, Measure)] = &[
    ("scripts compiled", super::compile::scripts),
    ("general code", super::compile::general),
    ("effect of a function", effect),
    ("finding functions", dispatch),
    ("packets while functions change", exact),
    ("memory of flows", memory),
    ("effect of an update in a packet", super::wire::effect),
    ("other flows", super::wire::others),
    ("effect of an update in a packet, as libmoon does it", super::libmoon::effect),
    ("other flows, as with libmoon", super::libmoon::others),
    ("datagrams lost while functions change, next to libmoon's way", super::losses::lost),
];

type Measure = fn(&Arguments) -> Result<Vec<Figure>, Error>;

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

/// From the text to the first packet that its function has handled.
fn effect(_: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 1001;
    let running = Running::start(100_000, "return 2")?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let (byte, expected) = if round % 2 == 0 { (7, 1) } else { (8, 2) };
        let text = ten_lines(byte, round);
        let begin = Instant::now();
        running.set(1000, &text)?;
        let run = running.run(1000, 1)?;
        times.push(begin.elapsed());
        wrong(run.verdict, expected)?;
        if round % 50 == 0 {
            running.tidy();
        }
    }
    Ok(vec![
        figure("ten-line function, text to first packet, median", quantile(&mut times, 0.5), 0.5, "ms"),
        figure("ten-line function, text to first packet, p99", quantile(&mut times, 0.99), 1.0, "ms"),
    ])
}

fn wrong(got: i32, expected: i32) -> Result<(), Error> {
    match got == expected {
        true => Ok(()),
        false => {
            let (contestant, frame) = ("moonhook".to_string(), "a flow's datagram".to_string());
            Err(Error::WrongVerdict { contestant, frame, got, expected })
        }
    }
}

/// What goes on with another flow at the next packet: a packet is run again as it was left, so each becomes one of a flow that follows at random, once
/// round all of them (a linear congruential generator whose period is all of its range).
const NEXT: &str =
    "local udp = pkt.udp if udp then udp.sport = (udp.sport * 4093 + 12345) & 16383 end return 2";

/// What it takes to find a flow's function and to go on with it, above a program that does what the functions do.
fn dispatch(_: &Arguments) -> Result<Vec<Figure>, Error> {
    const FLOWS: u16 = 1 << 14;
    const ROUNDS: usize = 21;
    const REPEAT: u32 = 400_000;
    let (floor, floor_of_many) = (Running::alone("return 2")?, Running::alone(NEXT)?);
    let (of_one, of_many) = (Running::start(100_000, "return 1")?, Running::start(100_000, "return 1")?);
    of_one.set(77, "function(pkt) return 2 end")?;
    for port in 0..FLOWS {
        of_many.set(port, &format!("function(pkt) {NEXT} end"))?;
    }
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (below, running, times) in [(&floor, &of_one, &mut one), (&floor_of_many, &of_many, &mut many)] {
            let below = below.run(77, REPEAT)?;
            let above = running.run(77, REPEAT)?;
            wrong(below.verdict, 2)?;
            wrong(above.verdict, 2)?;
            times.push(f64::from(above.duration_ns) - f64::from(below.duration_ns));
        }
    }
    Ok(vec![
        figure("finding one flow's function, above the floor", median(&mut one), 15.0, "ns"),
        figure("finding one of 16,384 flows, random, above the floor", median(&mut many), 40.0, "ns"),
    ])
}

/// Each function counts its packets in one variable: a packet that is lost, or handled twice, shows in the sum.
fn exact(_: &Arguments) -> Result<Vec<Figure>, Error> {
    const UPDATES: usize = 10_000;
    const AT_ONCE: u32 = 100_000;
    const PACKETS: u64 = 10_000_000;
    let running = Running::start(1000, "count = count + 1000000007 return 1")?;
    let counting = |number: usize| format!("function(pkt) count = count + 1 return 2 end -- {number}");
    running.set(5, &counting(0))?;
    let end = Arc::new(AtomicBool::new(false));
    let (program, name, ended) = (Arc::clone(&running.program), running.name.clone(), Arc::clone(&end));
    let packets = std::thread::spawn(move || -> Result<u64, Error> {
        let mut sent = 0;
        while sent < PACKETS || !ended.load(Ordering::Relaxed) {
            let run = program.test_run(&name, &super::running::frame(5), AT_ONCE);
            let run = run.map_err(|error| Error::Peer {
                contestant: "moonhook".to_string(),
                message: error.to_string(),
            })?;
            wrong(run.verdict, 2)?;
            sent += u64::from(AT_ONCE);
        }
        Ok(sent)
    });
    let outcome = (1..=UPDATES).try_for_each(|number| {
        if number % 20 == 0 {
            running.tidy();
        }
        running.set(5, &counting(number)).map(drop)
    });
    end.store(true, Ordering::Relaxed);
    let sent = packets.join().map_err(|_| Error::Peer {
        contestant: "moonhook".to_string(),
        message: "the thread that sends has failed".to_string(),
    })??;
    outcome?;
    let (counted, by_flow) = (running.count()?, running.packets(5));
    let what = format!("packets lost or handled twice of {sent}, with {UPDATES} updates among them");
    let lost = counted.abs_diff(sent).max(by_flow.abs_diff(sent));
    Ok(vec![figure(&what, lost as f64, 0.0, "")])
}

/// What a flow takes beyond its function, in a table that is full.
fn memory(_: &Arguments) -> Result<Vec<Figure>, Error> {
    let layout = moonhook_flows::Layout {
        key_words: moonhook_flows::KeyKind::five_tuple().words(),
        capacity: 100_000,
    };
    let resident = || -> Result<f64, Error> {
        let text = std::fs::read_to_string("/proc/self/status").map_err(Error::system("read /proc"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() * 1024.0)
    };
    let running = Running::start(layout.capacity, "return 1")?;
    running.set(1, "function(pkt) return 2 end")?;
    let before = resident()?;
    for port in 1..=60_000 {
        running.set(port, "function(pkt) return 2 end")?;
    }
    let in_process = (resident()? - before).max(0.0) / 60_000.0;
    let in_kernel = layout.bytes() as f64 / f64::from(layout.capacity);
    Ok(vec![figure("memory of a flow beyond its function", in_kernel + in_process, 100.0, "bytes")])
}
