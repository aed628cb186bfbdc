//! The three uses of the XDP paper (Høiland-Jørgensen et al., CoNEXT 2018) and NPF's filter by layouts, with the frames that each is measured with.

use std::net::Ipv4Addr;

use etherparse::PacketBuilder;

use super::contestants::Peer;
use super::sender::{BYTES, FRAMES, Frame};
use crate::numbers::Numbers;

/// `MAC` of `network`.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// Where frames come from, if they are not blocked: 200.0.0.0 and further on.
const CLIENTS: u32 = 200 << 24;
/// Behind a blackhole (`network`): frames to them that a contestant lets pass end there.
const VICTIM: u32 = 0xc000_0202;
/// `SERVICE` of examples/load_balancer.lua.
const SERVICE: u32 = 0xc633_6401;

/// Networks (/24) that are blocked, and that there are routes to.
const BLOCKED: usize = 1_000_000;
const ROUTES: usize = 1_000;

pub struct Use {
    pub title: &'static str,
    /// The script in examples/, without extension.
    pub script: &'static str,
    /// The source in bench/c, without extension; its program has that name, too.
    pub source: &'static str,
    pub ends: Ends,
    /// What a frame may take with Moonhook, as a multiple of what it takes with C.
    pub at_most: f64,
    pub peer: Peer,
    pub cases: Vec<Case>,
    /// Frames that all contestants let pass.
    pub passing: Vec<Frame>,
}

/// What becomes of the frames of all cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Dropped,
    /// They go out by the ways of `network`.
    Sent,
}

pub struct Case {
    pub title: &'static str,
    pub frames: Vec<Frame>,
    /// Of frames that are dropped, those of one source that pass each second, and the first ones that do.
    pub allowed: Option<(f64, f64)>,
}

/// What the contestants' tables have.
pub struct Data {
    /// The first addresses of networks.
    pub blocked: Vec<u32>,
    pub routes: Vec<u32>,
}

impl Data {
    pub fn new() -> Self {
        let mut random = Numbers::new(24);
        // From 1.0.0.0 to 126.255.255.0; routes are to 128.0.0.0 and further on.
        let mut networks: Vec<u32> = (1 << 16..127 << 16).map(|number| number << 8).collect();
        random.shuffle(&mut networks);
        networks.truncate(BLOCKED);
        let routes = (0..ROUTES as u32).map(|number| (128 << 24) + (number << 8) * 13).collect();
        Data { blocked: networks, routes }
    }
}

pub fn all(data: &Data) -> Vec<Use> {
    vec![ddos(data), router(data), load_balancer(), layouts()]
}

fn ddos(data: &Data) -> Use {
    let mut random = Numbers::new(1);
    let blocked = table(|_| {
        let network = data.blocked[random.below(data.blocked.len())];
        udp(network + random.below(256) as u32, VICTIM, 40_000)
    });
    Use {
        title: "DoS mitigation, 1,000,000 prefixes",
        script: "ddos",
        source: "ddos",
        ends: Ends::Dropped,
        at_most: 1.0,
        peer: Peer::Nft("nft, netdev ingress"),
        cases: vec![
            Case { title: "blocked prefixes", frames: blocked, allowed: None },
            Case { title: "reflectors", frames: table(|n| udp(CLIENTS + n, VICTIM, 123)), allowed: None },
            Case {
                title: "one source",
                frames: table(|_| udp(CLIENTS + (1 << 20), VICTIM, 40_000)),
                allowed: Some((1000.0, 2000.0)),
            },
        ],
        passing: table(|n| udp(CLIENTS + (2 << 20) + n, VICTIM, 40_000)),
    }
}

fn router(data: &Data) -> Use {
    let mut random = Numbers::new(2);
    let frames = table(|number| {
        let network = data.routes[random.below(data.routes.len())];
        udp(CLIENTS + number, network + 1 + random.below(254) as u32, 40_000)
    });
    Use {
        title: "Router, 1,000 routes",
        script: "router",
        source: "router",
        ends: Ends::Sent,
        at_most: 1.0,
        peer: Peer::Kernel("the kernel's forwarding"),
        cases: vec![Case { title: "IPv4", frames, allowed: None }],
        passing: table(|n| udp(CLIENTS + n, VICTIM, 40_000)),
    }
}

fn load_balancer() -> Use {
    let connection = |n: u32| tcp(CLIENTS + n / 16, SERVICE, 10_000 + n as u16, 80);
    Use {
        title: "Load balancer, three servers",
        script: "load_balancer",
        source: "load_balancer",
        ends: Ends::Sent,
        at_most: 1.0,
        peer: Peer::Nft("nft, netdev ingress, no connection table"),
        cases: vec![Case { title: "4,096 connections", frames: table(connection), allowed: None }],
        passing: table(|n| tcp(CLIENTS + n, SERVICE, 10_000, 81)),
    }
}

/// Of NPF's experiments the one that looks at headers only; what is dropped is what a header says, not how long the frame is.
fn layouts() -> Use {
    let datagram = |number: u32, length: u16| {
        let mut frame = udp(CLIENTS + number, VICTIM, 40_000);
        frame[36..38].copy_from_slice(&5060u16.to_be_bytes());
        frame[38..40].copy_from_slice(&length.to_be_bytes());
        frame
    };
    Use {
        title: "NPF, layouts of headers",
        script: "layouts",
        source: "layouts",
        ends: Ends::Dropped,
        at_most: 1.01,
        peer: Peer::Nft("nft, netdev ingress"),
        cases: vec![Case { title: "long", frames: table(|n| datagram(n, 200)), allowed: None }],
        passing: table(|n| datagram(n, 30)),
    }
}

fn table(frame: impl FnMut(u32) -> Frame) -> Vec<Frame> {
    (0..FRAMES as u32).map(frame).collect()
}

/// A datagram of 22 bytes from that address and port.
fn udp(from: u32, to: u32, port: u16) -> Frame {
    let builder = PacketBuilder::ethernet2(SENDER, MAC)
        .ipv4(Ipv4Addr::from(from).octets(), Ipv4Addr::from(to).octets(), 64)
        .udp(port, 7000);
    finish(|frame| builder.write(frame, &[0; BYTES - 14 - 20 - 8]))
}

fn tcp(from: u32, to: u32, port: u16, to_port: u16) -> Frame {
    let builder = PacketBuilder::ethernet2(SENDER, MAC)
        .ipv4(Ipv4Addr::from(from).octets(), Ipv4Addr::from(to).octets(), 64)
        .tcp(port, to_port, u32::from(port), 64_240)
        .ack(1);
    finish(|frame| builder.write(frame, &[0; BYTES - 14 - 20 - 20]))
}

fn finish<E>(write: impl FnOnce(&mut &mut [u8]) -> Result<(), E>) -> Frame {
    let mut frame = [0; BYTES];
    let outcome = write(&mut frame.as_mut_slice());
    debug_assert!(outcome.is_ok(), "headers and payload have {BYTES} bytes");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole() {
        for frame in [udp(1, 2, 3), tcp(1, 2, 3, 80)] {
            let packet = etherparse::PacketHeaders::from_ethernet_slice(&frame).expect("a frame");
            assert!(packet.transport.is_some());
            assert_eq!(u16::from_be_bytes([frame[16], frame[17]]), (BYTES - 14) as u16);
        }
    }

    #[test]
    fn tables_have_as_many_entries_as_they_say() {
        let data = Data::new();
        let different: std::collections::HashSet<_> = data.blocked.iter().collect();
        assert_eq!((different.len(), data.routes.len()), (BLOCKED, ROUTES));
        assert!(all(&data).iter().flat_map(|one| &one.cases).all(|case| case.frames.len() == FRAMES));
    }
}
