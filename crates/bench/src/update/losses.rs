//! Whether datagrams of a flow get lost while its function is changed: Moonhook, and a loop in LuaJIT, at the rate of libmoon's experiment.

use std::time::{Duration, Instant};

use super::figures::{Figure, figure, ten_lines};
use super::libmoon::LibMoon;
use super::namespaces::{Flow, failed};
use super::travelling::Updated;
use super::wire::{CHANGED, while_updating};
use crate::Arguments;
use crate::error::Error;

/// 200 Mbit/s of frames of 200 bytes, for ten seconds.
const PACE: Duration = Duration::from_micros(8);
const DATAGRAMS: usize = 1_250_000;
const PAYLOAD: usize = 200 - 42;

/// How far sending may lag behind.
const LAG: Duration = Duration::from_millis(1);

/// Where in a datagram its number is. Its first byte is what functions look at.
const NUMBER: std::ops::Range<usize> = 8..16;

pub fn lost(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    let mut figures = Vec::new();
    let updated = Updated::start(&arguments.moonhook)?;
    let flow = updated.flow(CHANGED)?;
    let update = |number| updated.send(&updated.datagram(CHANGED, &passing(number))?);
    let stream = while_updating(update, || Stream::send(&flow))?;
    figures.push(stream.figure("Moonhook", updated.taken()?)?);
    let unseen = updated.namespaces.dropped()? as f64;
    figures.push(figure(
        "of those dropped by the veth's ring, before the program",
        unseen,
        f64::INFINITY,
        "",
    ));
    drop((flow, updated));
    let peer = LibMoon::start(&arguments.bench)?;
    let flow = peer.flow(CHANGED)?;
    let stream = while_updating(|number| peer.send(CHANGED, &passing(number)), || Stream::send(&flow))?;
    let counts = peer.counts()?;
    figures.push(stream.figure("LuaJIT loop as libmoon's", counts.installed)?);
    let handled = counts.handled.abs_diff(DATAGRAMS as u64) as f64;
    figures.push(figure("of those not handled by the loop", handled, f64::INFINITY, ""));
    figures.push(figure("of those dropped by its ring", counts.dropped as f64, f64::INFINITY, ""));
    Ok(figures)
}

/// A function that lets datagrams pass which begin with 7; another one each time.
fn passing(number: usize) -> String {
    ten_lines(8 + number % 248, number)
}

/// Datagrams with numbers, sent in even steps.
struct Stream {
    /// How often each has arrived.
    arrived: Vec<u8>,
    time: Duration,
}

impl Stream {
    fn send(flow: &Flow) -> Result<Stream, Error> {
        let mut stream = Stream { arrived: vec![0; DATAGRAMS], time: Duration::ZERO };
        let mut payload = [7; PAYLOAD];
        let begin = Instant::now();
        let mut next = begin;
        for number in 0..DATAGRAMS {
            payload[NUMBER].copy_from_slice(&number.to_be_bytes());
            flow.send(&payload)?;
            // What was missed for longer than this is left out: to make up for it would be a burst that fills the veth's ring of 256 frames.
            let earliest = Instant::now().checked_sub(LAG).unwrap_or(begin);
            next = (next + PACE).max(earliest);
            while stream.receive(flow)? || Instant::now() < next {}
        }
        stream.time = begin.elapsed();
        let mut last = Instant::now();
        while last.elapsed() < Duration::from_millis(200) {
            if stream.receive(flow)? {
                last = Instant::now();
            }
        }
        Ok(stream)
    }

    /// Whether a datagram has arrived.
    fn receive(&mut self, flow: &Flow) -> Result<bool, Error> {
        let mut payload = [0; PAYLOAD];
        if flow.receive(&mut payload)?.is_none() {
            return Ok(false);
        }
        let number = payload[NUMBER].try_into().map(usize::from_be_bytes);
        let number = number.ok().filter(|number| *number < DATAGRAMS);
        let number = number.ok_or_else(|| failed("a datagram arrives that nobody has sent"))?;
        self.arrived[number] = self.arrived[number].saturating_add(1);
        Ok(true)
    }

    /// What was lost, at the rate that it was sent at.
    fn figure(&self, whose: &str, updates: u64) -> Result<Figure, Error> {
        let seconds = self.time.as_secs_f64();
        let rate = DATAGRAMS as f64 / seconds;
        if updates == 0 || self.arrived.iter().any(|times| *times > 1) {
            return Err(failed(&format!(
                "{whose}: {updates} updates are taken, or a datagram arrives twice"
            )));
        }
        let lost = self.arrived.iter().filter(|times| **times == 0).count();
        let what = format!(
            "{whose}: datagrams lost of {DATAGRAMS}, {rate:.0} a second, {updates} updates meanwhile"
        );
        Ok(figure(&what, lost as f64, f64::INFINITY, ""))
    }
}
