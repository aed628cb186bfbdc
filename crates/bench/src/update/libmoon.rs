//! The experiment of "Dynamic Data Plane Updates using Lua and libmoon", over the veth that Moonhook's updates travel over: a packet brings the
//! source of a flow's function to a loop in LuaJIT (bench/luajit/flow_updates.lua).

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::figures::{Figure, figure, quantile, ten_lines};
use super::namespaces::{Background, Flow, Namespaces, failed};
use super::travelling::UPDATES;
use super::wire::{CHANGED, OTHER, quiet_and_busy, until, until_passed};
use crate::Arguments;
use crate::error::Error;

/// The port where the loop tells what it has counted.
const COUNTS: u16 = 10;

/// The loop, and sockets on the left; what it passes comes back there.
pub struct LibMoon {
    // Dropped in this order.
    _loop: Background,
    _processors: Processors,
    namespaces: Namespaces,
    _folder: TempDir,
    updates: UdpSocket,
    counts: Flow,
}

/// What the loop has counted.
pub struct Counts {
    pub installed: u64,
    /// Datagrams of flows.
    pub handled: u64,
    /// Frames for which the ring had no room.
    pub dropped: u64,
}

impl LibMoon {
    pub fn start(bench: &Path) -> Result<LibMoon, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        let namespaces = Namespaces::new()?;
        namespaces.without_kernel()?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespaces.names[1], "luajit"]);
        command.arg(bench.join("luajit/flow_updates.lua")).arg("right0");
        let processors = Processors::split()?;
        let process = Background::start(command, &folder.path().join("output"), "ready")?;
        processors.leave()?;
        let updates = namespaces.sender(UPDATES)?;
        let counts = returning(&namespaces, COUNTS)?;
        Ok(LibMoon { _loop: process, _processors: processors, namespaces, _folder: folder, updates, counts })
    }

    pub fn flow(&self, port: u16) -> Result<Flow, Error> {
        returning(&self.namespaces, port)
    }

    /// Gives a flow the function that a text is, by a datagram that nobody has signed.
    pub fn send(&self, port: u16, text: &str) -> Result<(), Error> {
        let datagram = format!("{port}\n{text}");
        self.updates.send(datagram.as_bytes()).map(drop).map_err(Error::system("send an update"))
    }

    pub fn counts(&self) -> Result<Counts, Error> {
        let mut payload = [b' '; 64];
        self.counts.send(&payload)?;
        until(|| Ok(self.counts.receive(&mut payload)?.is_some()))?;
        let text = String::from_utf8_lossy(&payload);
        let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(installed), Some(handled), Some(dropped)) => Ok(Counts { installed, handled, dropped }),
            _ => Err(failed(&format!("the loop has counted {text:?}"))),
        }
    }
}

/// A processor for the loop alone, as one over DPDK has, and the others for what measures: both never sleep, and where they share one, each waits for
/// the other's turn to end.
struct Processors {
    before: CpuSet,
    others: CpuSet,
}

impl Processors {
    /// What is started from now on gets the last one.
    fn split() -> Result<Processors, Error> {
        let before = sched_getaffinity(THIS_THREAD).map_err(unscheduled)?;
        let mut all = (0..CpuSet::count()).filter(|number| before.is_set(*number).unwrap_or(false));
        let (mut own, mut others) = (CpuSet::new(), before);
        match (all.next(), all.next_back()) {
            (Some(_), Some(last)) => own.set(last).and_then(|()| others.unset(last)).map_err(unscheduled)?,
            _ => {
                return Err(failed(
                    "a loop that never sleeps needs a processor of its own beside another one",
                ));
            }
        }
        sched_setaffinity(THIS_THREAD, &own).map_err(unscheduled)?;
        Ok(Processors { before, others })
    }

    /// This thread goes to the others.
    fn leave(&self) -> Result<(), Error> {
        sched_setaffinity(THIS_THREAD, &self.others).map_err(unscheduled)
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        let _ = sched_setaffinity(THIS_THREAD, &self.before);
    }
}

const THIS_THREAD: Pid = Pid::from_raw(0);

fn unscheduled(error: nix::Error) -> Error {
    Error::system("choose processors")(error.into())
}

/// A flow that arrives where it began.
fn returning(namespaces: &Namespaces, port: u16) -> Result<Flow, Error> {
    let sender = namespaces.sender(port)?;
    let receiver = sender.try_clone().map_err(Error::system("set up a socket"))?;
    Flow::new(sender, receiver)
}

/// From the moment at which the update is sent until a packet of the flow has come back by the function that it brings.
pub fn effect(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    const ROUNDS: usize = 501;
    let peer = LibMoon::start(&arguments.bench)?;
    let (flow, other) = (peer.flow(CHANGED)?, peer.flow(OTHER)?);
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        peer.send(CHANGED, &ten_lines(7, round))?;
        drops(&flow, &other)?;
        let (text, begin) = (ten_lines(8, round), Instant::now());
        peer.send(CHANGED, &text)?;
        until_passed(&flow)?;
        times.push(begin.elapsed());
        // As long as Moonhook's updates lie apart.
        std::thread::sleep(Duration::from_millis(5));
    }
    let named = |part: &str| {
        format!("ten-line function by unsigned packet, LuaJIT loop as libmoon's, wire to effect, {part}")
    };
    Ok(vec![
        figure(&named("median"), quantile(&mut times, 0.5) * 1e3, f64::INFINITY, "µs"),
        figure(&named("p99"), quantile(&mut times, 0.99) * 1e3, f64::INFINITY, "µs"),
    ])
}

/// The time there and back of datagrams of another flow, with a hundred updates a second and without.
pub fn others(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    let peer = LibMoon::start(&arguments.bench)?;
    let flow = peer.flow(OTHER)?;
    let (quiet, busy) = quiet_and_busy(&flow, |port, text| peer.send(port, &text))?;
    let named =
        |what: &str| format!("p99 of another flow's datagrams, there and back through such a loop, {what}");
    Ok(vec![
        figure(&named("no updates"), quiet, f64::INFINITY, "µs"),
        figure(&named("100 updates a second, times that"), busy / quiet, f64::INFINITY, ""),
    ])
}

/// Sees that a flow's datagrams are dropped: the loop goes through all frames in their order, so what of them has not come back before a later one of
/// another flow never does.
fn drops(flow: &Flow, other: &Flow) -> Result<(), Error> {
    let after_it = || {
        other.send(&[7; 22])?;
        until(|| other.has_arrived())
    };
    after_it()?;
    while flow.has_arrived()? {}
    flow.send(&[7; 22])?;
    after_it()?;
    if flow.has_arrived()? { Err(failed("a datagram that is to be dropped comes back")) } else { Ok(()) }
}
