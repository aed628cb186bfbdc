//! The experiment of "Dynamic Data Plane Updates using Lua and libmoon", over the veth that Moonhook's updates travel over: a packet brings the
//! source of a flow's function to a loop in LuaJIT (bench/luajit/flow_updates.lua).

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::figures::{Figure, figure, quantile, ten_lines};
use super::namespaces::{Background, Flow, Namespaces, failed};
use super::travelling::UPDATES;
use super::wire::{CHANGED, OTHER, until, until_passed};
use crate::Arguments;
use crate::error::Error;

/// The port where the loop tells what it has counted.
const COUNTS: u16 = 10;

/// The loop, and sockets on the left; what it passes comes back there.
pub struct LibMoon {
    // Dropped in this order.
    _loop: Background,
    namespaces: Namespaces,
    _folder: TempDir,
    updates: UdpSocket,
    counts: Flow,
}

/// What the loop has counted.
#[derive(Debug)]
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
        let process = Background::start(command, &folder.path().join("output"), "ready")?;
        let updates = namespaces.sender(UPDATES)?;
        let counts = returning(&namespaces, COUNTS)?;
        Ok(LibMoon { _loop: process, namespaces, _folder: folder, updates, counts })
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
    let named = |part: &str| format!("the same, unsigned, to a LuaJIT loop as libmoon's, {part}");
    Ok(vec![
        figure(&named("median"), quantile(&mut times, 0.5), f64::INFINITY, "ms"),
        figure(&named("p99"), quantile(&mut times, 0.99), f64::INFINITY, "ms"),
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
