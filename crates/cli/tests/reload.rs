//! Programs are replaced while numbered packets flow: each packet goes through one program, once.

mod common;

use common::Place;
use moonhook_daemon::{
    Client, Dumped, Name, Reloaded, Request, RuntimeFolder, Status, TableOperation, Timing,
};
use moonhook_install::netns;
use moonhook_proof::host::{kernel_available, setting};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Two namespaces with a veth pair between them; they go with this value.
struct Network {
    left: String,
    right: String,
}

impl Network {
    fn new() -> Network {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("mh-reload-{side}{number}-{}", std::process::id());
        let network = Network { left: name("l"), right: name("r") };
        let (left, right) = (&network.left, &network.right);
        for command in [
            format!("netns add {left}"),
            format!("netns add {right}"),
            format!("link add left0 netns {left} type veth peer name right0 netns {right}"),
            format!("-n {left} address add 192.0.2.1/24 dev left0"),
            format!("-n {right} address add 192.0.2.2/24 dev right0"),
            format!("-n {left} link set left0 up"),
            format!("-n {right} link set right0 up"),
        ] {
            ip(&command);
        }
        network
    }

    fn socket(&self, netns: &str, address: &str) -> UdpSocket {
        let socket = netns::within(Some(netns), || UdpSocket::bind(address).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        ip(&format!("netns delete {}", self.left));
        ip(&format!("netns delete {}", self.right));
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// `moonhook run`; killed if the test fails.
struct Running {
    child: Child,
    folder: RuntimeFolder,
    name: Name,
}

impl Running {
    fn start(network: &Network, place: &Place, script: &str) -> Running {
        let folder = place.path("run");
        let mut command = Command::new(env!("CARGO_BIN_EXE_moonhook"));
        command.args(["run", "right0", "--netns", &network.right, "--name", "flood", "--socket-dir"]);
        let child = command.arg(&folder).arg(place.path(script)).stdout(Stdio::null()).spawn().unwrap();
        let running = Running { child, folder: RuntimeFolder::new(folder), name: "flood".parse().unwrap() };
        let deadline = Instant::now() + Duration::from_secs(20);
        while Client::connect(&running.folder, &running.name).is_err() {
            assert!(Instant::now() < deadline, "moonhook run does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    }

    fn client(&self) -> Client {
        Client::connect(&self.folder, &self.name).unwrap()
    }

    fn stop(mut self) {
        self.client().ask::<()>(&Request::Stop).unwrap().unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts datagrams, adds one to byte 8 of their payload and sets byte 9. A datagram to port 7002 gets the count instead.
fn script(mark: u8) -> String {
    format!(
        "local count = 0\n\
         require('xdp').attach(function(pkt)\n\
           local udp = pkt.udp\n\
           if not udp then return end\n\
           if udp.dport == 7001 then\n\
             count = count + 1\n\
             pkt:setbyte(50, pkt:getbyte(50) + 1)\n\
             pkt:setbyte(51, {mark})\n\
           elseif udp.dport == 7002 then\n\
             pkt:setint64(42, count)\n\
           end\n\
         end)\n"
    )
}

const MARKS: [u8; 2] = [b'a', b'b'];
/// Datagrams on their way at a time: as many as the receiver surely has room for.
const WINDOW: u64 = 64;

/// What became of the datagrams.
#[derive(Default)]
struct Flood {
    sent: u64,
    /// How many each script has marked.
    marked: [u64; 2],
    /// When another script's mark was seen than before.
    changes: Vec<Instant>,
}

/// Sends numbered datagrams until told to stop.
fn flood(sender: &UdpSocket, receiver: &UdpSocket, stop: &AtomicBool) -> Flood {
    let mut flood = Flood::default();
    let mut last = 0;
    let mut datagram = [0; 10];
    while !stop.load(Ordering::Relaxed) {
        let first = flood.sent;
        for number in first..first + WINDOW {
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            assert_eq!(sender.send_to(&datagram, "192.0.2.2:7001").unwrap(), 10);
        }
        flood.sent += WINDOW;
        for number in first..flood.sent {
            let mut received = [0; 100];
            let length =
                receiver.recv(&mut received).unwrap_or_else(|error| panic!("{number} is lost: {error}"));
            assert_eq!((length, &received[..8]), (10, &number.to_be_bytes()[..]), "lost, or twice");
            assert_eq!(received[8], 1, "{number} was handled {} times", received[8]);
            let mark = MARKS.iter().position(|mark| *mark == received[9]).expect("a mark");
            flood.marked[mark] += 1;
            if mark != last {
                flood.changes.push(Instant::now());
                last = mark;
            }
        }
    }
    flood
}

#[test]
fn no_packet_is_lost_or_handled_twice_while_programs_are_replaced() {
    let test = "no_packet_is_lost_or_handled_twice_while_programs_are_replaced";
    if !kernel_available(test) {
        return;
    }
    let place = Place::with(&[("a.lua", &script(b'a')), ("b.lua", &script(b'b'))]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let sender = network.socket(&network.left, "192.0.2.1:7000");
    let receiver = network.socket(&network.right, "192.0.2.2:7001");
    let stop = AtomicBool::new(false);
    let reloads = setting("MOONHOOK_RELOADS", 100);
    let (timings, flood) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood(&sender, &receiver, &stop));
        let timings = reload(&running, [place.path("b.lua"), place.path("a.lua")], reloads, &stop);
        stop.store(true, Ordering::Relaxed);
        (timings, flooding.join().unwrap())
    });
    report(&timings, &flood);
    // Once a program is replaced its mark is not seen again.
    assert!((1..=timings.len()).contains(&flood.changes.len()), "{} changes", flood.changes.len());
    let counted = network.socket(&network.right, "192.0.2.2:7002");
    sender.send_to(&[0; 10], "192.0.2.2:7002").unwrap();
    let mut count = [0; 10];
    counted.recv(&mut count).unwrap();
    assert_eq!(
        u64::from_le_bytes(count[..8].try_into().unwrap()),
        flood.sent,
        "the count that the scripts kept"
    );
    let status: Status = running.client().ask(&Request::Status).unwrap().unwrap();
    assert_eq!((status.reloads, status.errors), (reloads, Some(0)));
    assert!(status.packets > flood.sent, "{status:?}");
    running.stop();
}

#[test]
fn a_dump_that_nobody_began_cannot_go_on() {
    if !kernel_available("a_dump_that_nobody_began_cannot_go_on") {
        return;
    }
    let script = "local seen = {} require('xdp').attach(function(pkt) seen[#pkt] = true end)";
    let place = Place::with(&[("a.lua", script)]);
    let network = Network::new();
    let running = Running::start(&network, &place, "a.lua");
    let dump = |dump| {
        let operation = TableOperation::Dump { dump };
        running.client().ask::<Dumped>(&Request::Table { table: "seen".into(), operation }).unwrap()
    };
    assert_eq!(dump(Some(7)).unwrap_err().code, "MH0016");
    assert_eq!(dump(None).unwrap().dump, None);
    running.stop();
}

/// Reloads with one script after the other, each of which keeps the count.
fn reload(
    running: &Running,
    scripts: [PathBuf; 2],
    reloads: u64,
    stop: &AtomicBool,
) -> Vec<(Instant, Timing)> {
    let mut client = running.client();
    let mut timings = Vec::new();
    for (_, script) in (0..reloads).zip(scripts.iter().cycle()) {
        let request = Request::Reload { scripts: Some(vec![script.clone()]) };
        let asked = Instant::now();
        let answer = client.ask::<Reloaded>(&request).unwrap();
        if answer.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let reloaded = answer.unwrap();
        assert!(matches!(reloaded.variables[0].outcome, moonhook_daemon::Kept::Kept), "{reloaded:?}");
        timings.push((asked, reloaded.timing));
    }
    timings
}

/// Says how long the parts took; visible with `--nocapture`.
fn report(timings: &[(Instant, Timing)], flood: &Flood) {
    println!("{} reloads, {} datagrams, {:?} by script", timings.len(), flood.sent, flood.marked);
    let part = |what: &str, part: &dyn Fn(usize) -> u64| {
        let mut all: Vec<u64> = (0..timings.len()).map(part).collect();
        all.sort_unstable();
        let at = |share: usize| all[(all.len() - 1) * share / 100];
        println!("{what}: min {} median {} 99% {} max {} µs", all[0], at(50), at(99), at(100));
    };
    part("compile", &|index| timings[index].1.compile);
    part("verify", &|index| timings[index].1.verify);
    part("update", &|index| timings[index].1.update);
    part("total", &|index| timings[index].1.total);
    if flood.changes.len() < timings.len() {
        return println!("the flood has missed some replacements");
    }
    // The kernel returns from the update only when it has waited for the other processors (`synchronize_rcu`).
    part("from the update's beginning to the first datagram that the new program has marked", &|index| {
        let (asked, timing) = &timings[index];
        let begun = *asked + Duration::from_micros(timing.total - timing.update);
        flood.changes[index].saturating_duration_since(begun).as_micros() as u64
    });
}
