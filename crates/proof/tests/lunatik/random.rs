//! Random handlers of netfilter, which read packets: in the kernel, in both forms, and from a queue they say the same.

use super::queue::{self, Queue, Script};
use super::{datagram, in_frame, pair, root};
use moonhook_load::At;
use moonhook_proof::{host, random::Random};
use moonhook_user::{Refusal, Waiting};
use std::fmt::Write;

/// Handlers in a script, and scripts: a thousand handlers.
const HANDLERS: usize = 50;
const SCRIPTS: u64 = 20;

/// Packets that each handler is asked about.
const PACKETS: usize = 3;

#[test]
fn handlers_say_the_same_in_the_kernel_and_from_a_queue() {
    if !host::kernel_available("random handlers for Lunatik") {
        return;
    }
    for seed in 0..SCRIPTS {
        compare(seed);
    }
}

fn compare(seed: u64) {
    let random = &mut Random::new(seed + 77);
    let text = script(random);
    let script = Script::new(&text);
    let mut pair = pair(&root(), &script.path);
    let queue = Queue::new(queue::load(&root(), &script.path, Some(At::Queue)).expect("as for the kernel"));
    for number in 0..HANDLERS {
        for _ in 0..PACKETS {
            let length = random.below(40);
            let packet =
                datagram(random.word() as u16, &[&[number as u8][..], &random.bytes(length)].concat());
            let seen = pair.run(&in_frame(&packet)).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let asked = queue.ask(&Waiting { bytes: packet.clone(), ..Waiting::default() });
            let context = || format!("seed {seed}, handler {number}: {packet:?}\n{text}");
            assert_eq!(asked.changes, moonhook_user::Changes::default(), "{}", context());
            match (asked.said, &seen.error) {
                (Ok(said), None) => assert_eq!(said.verdict, seen.verdict, "{}", context()),
                (Err(Refusal::Failed(error)), Some(message)) => {
                    let (found, message) = (error.to_string(), message.lossy());
                    assert!(found.contains(&*message), "{found} in the place of {message}: {}", context());
                }
                (said, error) => panic!("{said:?} in the place of {error:?}: {}", context()),
            }
        }
    }
}

/// The first byte of a packet's payload says which handler is asked.
fn script(random: &mut Random) -> String {
    let mut text = String::from(
        "local netfilter, byteorder, nf = require 'netfilter', require 'byteorder', require 'linux.nf'\n\
         local action, handlers = nf.action, {}\n",
    );
    for number in 0..HANDLERS {
        let _ = writeln!(text, "handlers[{number}] = function(skb)\n  local d = skb:data({})", layer(random));
        for _ in 0..1 + random.below(3) {
            let _ = writeln!(text, "  {}", statement(random));
        }
        let _ = writeln!(text, "  return {}\nend", result(random));
    }
    text.push_str(
        "netfilter.register{pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 1, hook = function(skb)\n\
         return handlers[skb:data():getuint8(28)](skb) end}\n",
    );
    text
}

pub fn layer(random: &mut Random) -> &'static str {
    random.pick::<&str>(&["", "'net'", "nil", "", "'net'", "", "'nte'"])
}

pub fn statement(random: &mut Random) -> String {
    let (condition, result) = (condition(random), result(random));
    match random.below(4) {
        0 => format!("local n = {} if n > {} then return {result} end", number(random, 2), random.below(300)),
        1 => format!("if {condition} then return {result} end"),
        2 => format!(
            "for i = 0, {} do if d:getuint8(i) == {} then return {result} end end",
            random.below(9),
            random.below(256)
        ),
        _ => format!("if not ({condition}) and skb:ifindex() == nil then return {result} end"),
    }
}

pub fn condition(random: &mut Random) -> String {
    let operator = *random.pick(&["==", "~=", "<", "<=", ">", ">="]);
    match random.below(3) {
        0 => format!("d:getstring({}, {}) {operator} 'ab'", random.below(40), 1 + random.below(4)),
        1 => format!("{} {operator} {}", number(random, 2), number(random, 2)),
        _ => format!("#skb {operator} {}", 20 + random.below(50)),
    }
}

pub fn number(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.once_in(3) {
        let getter = *random.pick(&[
            "getbyte",
            "getint8",
            "getuint8",
            "getint16",
            "getuint16",
            "getint32",
            "getuint32",
            "getint64",
            "getnumber",
        ]);
        // Some are beyond the shorter packets.
        return format!("d:{getter}({})", random.below(34));
    }
    let (left, right) = (number(random, depth - 1), number(random, depth - 1));
    match random.below(6) {
        0 => format!("byteorder.ntoh16({left} & 0xffff)"),
        1 => format!("({left} >> {})", random.below(20)),
        2 => format!("({left} // {})", 1 + random.below(9)),
        3 => format!("({left} & {right})"),
        4 => format!("({left} ~ {right})"),
        _ => format!("({left} + {right})"),
    }
}

/// Whatever handlers may return, verdicts or not.
pub fn result(random: &mut Random) -> String {
    match random.below(10) {
        0 => random
            .pick(&[
                "nil",
                "true",
                "{}",
                "'1'",
                "'x'",
                "1.0",
                "0.5",
                "-1",
                "6",
                "print",
                "1 << 32",
                "(1 << 32) + 1",
            ])
            .to_string(),
        1 => format!("{} % 2", number(random, 1)),
        2 | 3 => "action.DROP".to_string(),
        4 => format!("{} and action.ACCEPT or action.DROP", condition(random)),
        _ => "action.ACCEPT".to_string(),
    }
}
