//! Random handlers of netfilter that copy packets, edit the copies and send them: in the kernel, in both forms, they send what they send in a process, byte by byte, and
//! both tiers make the same copies.

use super::queue::{self, Queue, Script};
use super::random::result;
use super::tcx::statement;
use super::{datagram, in_frame, pair, root};
use moonhook_engine::Form;
use moonhook_load::{At, Loaded};
use moonhook_proof::kernel::{Kernel, Variant};
use moonhook_proof::{host, outcome::Seen, random::Random};
use moonhook_user::{Refusal, Waiting};
use std::fmt::Write;

/// Handlers in a script, and scripts: 120 handlers.
const HANDLERS: usize = 10;
const SCRIPTS: u64 = 12;

/// Packets that each handler is asked about.
const PACKETS: usize = 3;

/// `NF_INET_PRE_ROUTING` and `NFPROTO_IPV4` (include/uapi/linux/netfilter.h).
const PRE_ROUTING: (u8, u8) = (0, 2);

/// The loopback interface, which test runs have packets come in by.
const LOOPBACK: u32 = 1;

#[test]
fn handlers_send_the_same_from_the_kernel_and_from_a_queue() {
    if !host::kernel_available("random copies for Lunatik") {
        return;
    }
    let mut sent = 0;
    for seed in 0..SCRIPTS {
        sent += compare(seed);
    }
    assert!(sent > 100, "{sent}");
}

/// Gives how many copies were sent.
fn compare(seed: u64) -> usize {
    let random = &mut Random::new(seed + 8800);
    let text = script(random, "c:forward()");
    let script = Script::new(&text);
    let load =
        |at| queue::load(&root(), &script.path, Some(at)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut kernels = [None, Some(Form::General)].map(|form| kernel(&load(At::Link), form));
    let queue = Queue::new(load(At::Queue));
    let mut sent = 0;
    for packet in packets(random) {
        let frame = in_frame(&packet);
        let asked = queue.ask(&Waiting {
            bytes: packet.clone(),
            header: Some(frame[..14].to_vec()),
            interface: Some(LOOPBACK),
            ..Waiting::default()
        });
        let context = || format!("seed {seed}: {packet:?}\n{text}");
        assert_eq!(asked.changes.bytes, None, "{}", context());
        sent += asked.changes.sent.len();
        let expected: Vec<Vec<u8>> = asked.changes.sent.iter().map(|(to, frame)| line(*to, frame)).collect();
        for kernel in &mut kernels {
            let seen =
                kernel.run_at(0, &frame, PRE_ROUTING).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let lines: Vec<_> = seen.output.iter().map(|line| line.bytes.clone()).collect();
            assert_eq!(lines, expected, "{}: {}", kernel.form(), context());
            match (&asked.said, &seen.error) {
                (Ok(said), None) => assert_eq!(said.verdict, seen.verdict, "{}", context()),
                (Err(Refusal::Failed(error)), Some(message)) => {
                    let (found, message) = (error.to_string(), message.lossy());
                    assert!(found.contains(&*message), "{found} in the place of {message}: {}", context());
                }
                (said, error) => panic!("{said:?} in the place of {error:?}: {}", context()),
            }
        }
    }
    sent
}

/// How a copy is told of that is sent.
fn line(interface: u32, frame: &[u8]) -> Vec<u8> {
    [format!("event\t{}\t{interface}\t", moonhook_load::FORWARDED).as_bytes(), frame].concat()
}

fn kernel(loaded: &Loaded, form: Option<Form>) -> Kernel {
    let variant = Variant { form, compact: false, frags: false };
    Kernel::new(loaded, variant).unwrap_or_else(|error| panic!("{error}"))
}

/// Test runs of both tiers have no interface and no link.
#[test]
fn both_tiers_make_the_same_copies() {
    if !host::kernel_available("random copies for Lunatik") {
        return;
    }
    let mut printed = 0;
    for seed in 0..SCRIPTS {
        let random = &mut Random::new(seed + 9900);
        let text = script(random, "print(c:data():getstring(0))");
        let script = Script::new(&text);
        let mut pair = pair(&root(), &script.path);
        for packet in packets(random) {
            let seen: Seen = pair.run(&in_frame(&packet)).unwrap_or_else(|error| panic!("{error}\n{text}"));
            printed += seen.output.len();
        }
    }
    assert!(printed > 50, "{printed}");
}

/// For each handler in turn, some of which are of TCP.
fn packets(random: &mut Random) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for number in 0..HANDLERS {
        for _ in 0..PACKETS {
            let length = random.below(60);
            let payload = [&[number as u8][..], &random.bytes(length)].concat();
            let mut packet = datagram(random.word() as u16, &payload);
            if random.once_in(2) {
                packet[9] = 6;
            }
            packets.push(packet);
        }
    }
    packets
}

/// The first byte of a packet's payload says which handler is asked; copies are seen by `send`.
fn script(random: &mut Random, send: &str) -> String {
    let mut text = String::from(
        "local netfilter, byteorder, nf = require 'netfilter', require 'byteorder', require 'linux.nf'\n\
         local action, handlers = nf.action, {}\n",
    );
    let _ = writeln!(text, "local function deliver(c) {send} end");
    for number in 0..HANDLERS {
        let layer = random.pick::<&str>(&["", "'net'", "nil", "'mac'", "'net'", "'nte'"]);
        let _ = writeln!(
            text,
            "handlers[{number}] = function(skb)\n  local c = skb:copy()\n  local d = c:data({layer})"
        );
        for _ in 0..2 + random.below(5) {
            let _ = writeln!(text, "  {}", of_copy(random));
        }
        let _ = writeln!(text, "  deliver(c)\n  return {}\nend", result(random).replace("#skb", "#c"));
    }
    text.push_str(
        "netfilter.register{pf = nf.proto.IPV4, hooknum = nf.inet.PRE_ROUTING, priority = 1, hook = function(skb)\n\
         return handlers[skb:data():getuint8(28)](skb) end}\n",
    );
    text
}

fn of_copy(random: &mut Random) -> String {
    match random.below(8) {
        0 => format!(
            "c:resize({})",
            random.pick::<&str>(&["20", "28", "40", "61.0", "#c + 3", "#c - 1", "-1", "nil", "'30'", "9999"])
        ),
        1 => "c = c:copy()".to_string(),
        2 => "deliver(c)".to_string(),
        3 => format!("local e = skb:copy() e:data():setuint8({}, 7) deliver(e)", random.below(40)),
        _ => statement(random).replace("skb:", "c:").replace("#skb", "#c"),
    }
}
