//! Functions of flows that change for long, by command and by signed packet, while the script is reloaded, flows come and go, and datagrams are
//! counted: `make soak`.
//!
//! Ignored unless asked for. `scripts/soak` gives it namespaces of its own and looks for the kernel's warnings.

mod common;
#[allow(dead_code)]
mod flood;
mod held;

use common::Place;
use flood::{Network, Running, WINDOW, flood};
use held::{GROWTH, Held, StopOthers, programs, settled};
use moonhook_daemon::{Executed, FlowChanged, FlowInfo, FlowOperation, Kept, Reloaded, Request, Status};
use moonhook_proof::host::{kernel_available, setting};
use moonhook_updates::{Operation, SecretKey, Update, sequence};
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// The flow whose datagrams are counted.
const COUNTED: &str = "7001";

/// Counts a datagram and marks it, as the flood expects it.
fn counting(number: u64, mark: char) -> String {
    format!(
        "function(pkt)\n  count = count + 1\n  pkt:setbyte(50, pkt:getbyte(50) + 1)\n  pkt:setbyte(51, {})\nend -- {number}",
        mark as u32
    )
}

fn script(public: &str) -> String {
    format!(
        "local flow, updates, xdp = require 'flow', require 'updates', require 'xdp'\n\
         count = 0\n\
         flows = flow.new{{key = 'dport', capacity = 400, idle = 1}}\n\
         flows:set({COUNTED}, [[{}]])\n\
         xdp.attach(flows)\n\
         updates.listen{{port = 9, keys = {{[[{public}]]}}, hook = xdp.attach, rate = 100000, total = 100000}}\n",
        counting(0, 'a')
    )
}

/// How often what was done.
#[derive(Debug, Default)]
struct Done {
    reloads: AtomicU64,
    commands: AtomicU64,
    datagrams: AtomicU64,
    others: AtomicU64,
}

struct Soak<'a> {
    running: &'a Running,
    network: &'a Network,
    key: &'a SecretKey,
    stop: &'a AtomicBool,
    done: &'a Done,
}

impl Soak<'_> {
    fn again(&self, pause: Duration, done: &AtomicU64, mut work: impl FnMut(u64)) {
        let _guard = StopOthers(self.stop);
        while !self.stop.load(Ordering::Relaxed) {
            work(done.fetch_add(1, Ordering::Relaxed));
            std::thread::sleep(pause);
        }
    }

    fn reload(&self) {
        let mut client = self.running.client();
        self.again(Duration::from_millis(300), &self.done.reloads, |_| {
            let reload = Request::Reload { scripts: None, allow_read: Vec::new() };
            let answer = client.ask::<Reloaded>(&reload).unwrap().unwrap();
            assert!(answer.variables.iter().all(|variable| variable.outcome == Kept::Kept), "{answer:?}");
            assert_eq!(answer.flows.iter().map(|flows| flows.lost).sum::<usize>(), 0, "{answer:?}");
        });
    }

    /// The counted flow gets another function.
    fn set(&self) {
        let mut client = self.running.client();
        self.again(Duration::from_millis(10), &self.done.commands, |number| {
            let source = counting(number, if number % 2 == 0 { 'a' } else { 'b' });
            let set = FlowOperation::Set { key: COUNTED.into(), source, name: None };
            ask::<FlowChanged>(&mut client, set);
        });
    }

    /// The same by signed packet.
    fn send(&self) {
        let socket = self.network.socket(&self.network.left, "192.0.2.1:0");
        self.again(Duration::from_millis(10), &self.done.datagrams, |number| {
            let update = Update {
                operation: Operation::Set,
                sequence: sequence(SystemTime::now()),
                receiver: String::new(),
                table: String::new(),
                key: COUNTED.into(),
                text: counting(number, if number % 2 == 0 { 'b' } else { 'a' }),
            };
            for datagram in update.datagrams(self.key).unwrap() {
                socket.send_to(&datagram, "192.0.2.2:9").unwrap();
            }
        });
    }

    /// Other flows come, with functions that several of them have, and go: by command, or because they have no packets.
    fn come_and_go(&self) {
        let mut client = self.running.client();
        self.again(Duration::from_millis(4), &self.done.others, |number| {
            let key = |number: u64| (8000 + number % 100).to_string();
            if number % 3 == 0 {
                ask::<bool>(&mut client, FlowOperation::Delete { key: key(number + 50) });
                return;
            }
            let source = format!("function(pkt) return {} end -- {}", 1 + number % 2, number / 7);
            ask::<FlowChanged>(&mut client, FlowOperation::Set { key: key(number), source, name: None });
        });
    }
}

fn ask<T: DeserializeOwned>(client: &mut moonhook_daemon::Client, operation: FlowOperation) -> T {
    client.ask(&Request::Flow { table: None, operation }).unwrap().unwrap()
}

/// Does everything at once for some time; how many datagrams were sent, and what the process holds afterwards.
fn part(soak: &Soak<'_>, time: Duration) -> (u64, Held) {
    soak.stop.store(false, Ordering::Relaxed);
    let set = FlowOperation::Set { key: COUNTED.into(), source: counting(0, 'b'), name: None };
    ask::<FlowChanged>(&mut soak.running.client(), set);
    let sender = soak.network.socket(&soak.network.left, "192.0.2.1:7000");
    let receiver = soak.network.socket(&soak.network.right, "192.0.2.2:7001");
    let sent = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let _guard = StopOthers(soak.stop);
            flood(&sender, &receiver, soak.stop).sent
        });
        for work in [Soak::reload, Soak::set, Soak::send, Soak::come_and_go] {
            scope.spawn(move || work(soak));
        }
        let end = Instant::now() + time;
        while Instant::now() < end && !soak.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        soak.stop.store(true, Ordering::Relaxed);
        flooding.join().unwrap()
    });
    assert!(sent >= WINDOW, "no datagrams");
    // Flows without packets go, and their programs.
    std::thread::sleep(Duration::from_secs(2));
    (sent, settled(soak.running))
}

#[test]
#[ignore = "takes as long as one wants it to; scripts/soak"]
fn functions_change_and_nothing_is_lost_or_kept() {
    if !kernel_available("soak") {
        return;
    }
    let seconds = setting("MOONHOOK_SOAK_SECONDS", 10);
    let key = SecretKey::new().unwrap();
    let place = Place::with(&[("soak_flows.lua", &script(&key.public().to_pem().unwrap()))]);
    let network = Network::new();
    assert_eq!(programs(), 0, "another soak runs");
    let running = Running::start(&network, &place, "soak_flows.lua");
    let (stop, done) = (AtomicBool::new(false), Done::default());
    let soak = Soak { running: &running, network: &network, key: &key, stop: &stop, done: &done };
    let (mut sent, first) = part(&soak, Duration::from_secs((seconds / 5).max(3)));
    let (more, last) = part(&soak, Duration::from_secs(seconds));
    sent += more;
    let mut client = running.client();
    // At a reload datagrams come by two rings: one that is overtaken by a later one is not taken.
    let code = "local all = {} for what, n in pairs(updates) do all[#all + 1] = what .. '=' .. n end\n\
                print(count, updates.taken + (updates.replayed or 0), table.concat(all, ' '))";
    let answer = client.ask::<Executed>(&Request::Exec { code: code.into() }).unwrap().unwrap();
    println!("datagrams {sent}; {done:?}; {:?}", answer.printed);
    println!("at first  {first:?}\nat last   {last:?}");
    let datagrams = done.datagrams.load(Ordering::Relaxed);
    assert!(answer.printed[0].starts_with(&format!("{sent}\t{datagrams}\t")), "{answer:?}");
    assert!(last.resident <= first.resident + GROWTH, "memory grows");
    assert_eq!((&last.files, last.threads), (&first.files, first.threads), "something stays");
    let status: Status = client.ask(&Request::Status).unwrap().unwrap();
    assert_eq!(status.errors, Some(0), "{status:?}");
    // The counted flow has had no packets for a while, either.
    assert_eq!(
        ask::<Option<FlowInfo>>(&mut client, FlowOperation::Get { key: COUNTED.into() }).map(|flow| flow.key),
        None
    );
    assert_eq!(programs(), 1, "programs that are not used are still there");
    running.stop();
    assert_eq!(programs(), 0, "a program has outlived its process");
}
