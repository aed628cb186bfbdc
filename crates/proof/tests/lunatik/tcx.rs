//! Handlers of netfilter at tc, where they may write: what they make of packets is what the same handlers make of them in a process, in both forms and
//! in both tiers.

use super::queue::{self, Queue, Script};
use super::random::{condition, number, result};
use super::{datagram, in_frame, pair_at, root};
use moonhook_load::{At, Options};
use moonhook_proof::{host, outcome::Seen, random::Random};
use moonhook_user::{Refusal, Waiting};
use std::fmt::Write;

/// Verdicts of tc.
const NEXT: i32 = -1;
const DROP: i32 = 2;

/// Handlers in a script, and scripts: 120 handlers.
const HANDLERS: usize = 15;
const SCRIPTS: u64 = 8;

/// Packets that each handler is asked about.
const PACKETS: usize = 3;

#[test]
fn handlers_write_the_same_at_tc_and_from_a_queue() {
    if !host::kernel_available("random handlers for Lunatik at tc") {
        return;
    }
    for seed in 0..SCRIPTS {
        compare(seed);
    }
}

fn compare(seed: u64) {
    let random = &mut Random::new(seed + 4400);
    let text = script(random);
    let script = Script::new(&text);
    let mut pair = pair_at(At::Tcx, &root(), &script.path);
    let queue = Queue::new(queue::load(&root(), &script.path, Some(At::Queue)).expect("as for tc"));
    for number in 0..HANDLERS {
        for _ in 0..PACKETS {
            let length = random.below(40);
            let packet =
                datagram(random.word() as u16, &[&[number as u8][..], &random.bytes(length)].concat());
            let frame = in_frame(&packet);
            let seen = pair.run(&frame).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let header = Some(frame[..14].to_vec());
            let asked = queue.ask(&Waiting {
                bytes: packet.clone(),
                header,
                interface: Some(1),
                ..Waiting::default()
            });
            let context = || format!("seed {seed}, handler {number}: {packet:?}\n{text}");
            assert_eq!(&seen.data[14..], asked.changes.bytes.as_ref().unwrap_or(&packet), "{}", context());
            match (asked.said, &seen.error) {
                (Ok(said), None) => {
                    assert_eq!(seen.verdict, [DROP, NEXT][said.verdict as usize], "{}", context());
                }
                (Err(Refusal::Failed(error)), Some(message)) => {
                    let (found, message) = (error.to_string(), message.lossy());
                    assert!(found.contains(&*message), "{found} in the place of {message}: {}", context());
                }
                (said, error) => panic!("{said:?} in the place of {error:?}: {}", context()),
            }
        }
    }
}

/// The first byte of a packet's payload says which handler is asked. Checksums are those of a datagram whose headers agree on its length: of others tc's are what a
/// receiver expects, and those of Lunatik, which the queue has, what the IP header says.
fn script(random: &mut Random) -> String {
    let mut text = String::from(
        "local netfilter, byteorder, nf = require 'netfilter', require 'byteorder', require 'linux.nf'\n\
         local action, handlers = nf.action, {}\n\
         local function sum(skb)\n  local d = skb:data()\n  d:setuint8(9, 17)\n  d:setuint16(2, byteorder.hton16(#skb))\n\
         \x20 d:setuint16(24, byteorder.hton16(#skb - 20))\n  skb:checksum()\nend\n",
    );
    for number in 0..HANDLERS {
        let _ = writeln!(text, "handlers[{number}] = function(skb)\n  local d = skb:data()");
        for _ in 0..1 + random.below(4) {
            let _ = writeln!(text, "  {}", statement(random).replace("skb:checksum()", "sum(skb)"));
        }
        let mark = *random.pick::<&str>(&["", "", ", nil", ", 7", ", '9'", ", -1", ", {}"]);
        let _ = writeln!(text, "  return {}{mark}\nend", result(random));
    }
    text.push_str(
        "netfilter.register{pf = nf.proto.IPV4, hooknum = nf.inet.PRE_ROUTING, priority = 1, hook = function(skb)\n\
         return handlers[skb:data():getuint8(28)](skb) end}\n",
    );
    text
}

pub fn statement(random: &mut Random) -> String {
    // The first byte says which version of IP it is.
    let at = 1 + random.below(45);
    match random.below(9) {
        0..=2 => {
            let setter = *random.pick(&[
                "setbyte",
                "setint8",
                "setuint8",
                "setint16",
                "setuint16",
                "setint32",
                "setuint32",
                "setint64",
                "setnumber",
            ]);
            format!("d:{setter}({at}, {})", value(random))
        }
        3 => format!("d:setstring({at}, {})", random.pick(&["'abc'", "'x'", "''", "12", "nil", "{}"])),
        4 => format!(
            "d:setuint8({}, {})",
            random.pick(&["'x'", "1.5", "'9'", "8.0", "nil", "-1", "99"]),
            value(random)
        ),
        5 => "skb:checksum()".to_string(),
        6 => format!("d:setuint16(10, d:checksum({}, {}))", random.below(30), random.below(12)),
        7 => format!(
            "if {} then d = skb:data({}) end",
            condition(random),
            random.pick(&["'mac'", "'net'", "nil"])
        ),
        _ => format!(
            "local n = {} if #d > {} and n % 2 == 0 then d:setuint8(9, n) end",
            number(random, 1),
            30 + random.below(30)
        ),
    }
}

fn value(random: &mut Random) -> String {
    match random.below(6) {
        0 => random.pick(&["'7'", "'x'", "1.0", "1.5", "nil", "true"]).to_string(),
        1 => format!("{}", random.word() as i64),
        _ => number(random, 1),
    }
}

/// What handlers with these bodies make of a datagram at `PRE_ROUTING` whose payload is the handler's number, `b` and `c`; packets have the mark 7 behind it
/// that a handler with a lower priority drops.
fn seen(bodies: &[&str]) -> Vec<Seen> {
    let mut text = String::from(
        "local netfilter, nf = require 'netfilter', require 'linux.nf'; local action, handlers = nf.action, {}\n\
         local function marked(skb) print('marked', #skb) return action.DROP end\n\
         local function hook(skb) return handlers[skb:data():getuint8(28)](skb) end\n\
         netfilter.register{hook = marked, pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = 6, mark = 7}\n\
         netfilter.register{hook = hook, pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = 5}\n",
    );
    for (number, body) in bodies.iter().enumerate() {
        let _ = writeln!(text, "handlers[{number}] = function(skb) {body} end");
    }
    let script = Script::new(&text);
    let mut pair = pair_at(At::Tcx, &root(), &script.path);
    let run = |(number, body): (usize, &&str)| {
        let packet = in_frame(&datagram(7, &[number as u8, b'b', b'c']));
        pair.run(&packet).unwrap_or_else(|error| panic!("{body}: {error}"))
    };
    bodies.iter().enumerate().map(run).collect()
}

#[test]
fn methods_do_at_tc_what_lunatiks_do() {
    if !host::kernel_available("methods of Lunatik at tc") {
        return;
    }
    let expected = [
        ("return #skb == 31 and skb:ifindex() == 1", DROP, ""),
        ("assert(#skb == 31 and skb:vlan() == nil) return '1'", NEXT, ""),
        ("assert(skb:data('mac'):getuint16(12) == 8 and #skb:data('mac') == 45) return 1.0", NEXT, ""),
        ("local m = skb:data('mac') local n = skb:data() assert(m == n and #m == 31) return 7", NEXT, ""),
        ("return action.ACCEPT, 7", DROP, "marked\t31"),
        ("return action.ACCEPT, '7'", DROP, "marked\t31"),
        ("return action.ACCEPT, 0x100000007", DROP, "marked\t31"),
        ("return action.ACCEPT, 8", NEXT, ""),
        ("return action.ACCEPT, nil", NEXT, ""),
        ("skb:resize(40) assert(#skb == 40 and skb:data():getuint8(39) == 0) return action.ACCEPT", NEXT, ""),
        ("skb:resize(29) assert(#skb == 29 and #skb:data() == 29) return action.ACCEPT", NEXT, ""),
        ("assert(skb:data():getstring(29) == 'bc') return action.DROP", DROP, ""),
    ];
    let all = seen(&expected.map(|(body, ..)| body));
    for ((body, verdict, printed), seen) in expected.into_iter().zip(all) {
        let lines: Vec<_> = seen.output.iter().map(|line| line.lossy()).collect();
        let error = seen.error.as_ref().map(|message| message.lossy());
        assert_eq!((seen.verdict, &*lines.join(" "), error), (verdict, printed, None), "{body}");
    }
}

#[test]
fn methods_raise_at_tc_what_lunatiks_raise() {
    if !host::kernel_available("methods of Lunatik at tc") {
        return;
    }
    let expected = [
        ("skb:data('other')", "bad argument #1 to 'data' (invalid option 'other')"),
        ("skb:data({})", "bad argument #1 to 'data' (string expected, got table)"),
        ("skb:resize(100000)", "bad argument #1 to 'resize' (insufficient tailroom)"),
        ("skb:resize(-1)", "bad argument #1 to 'resize' (insufficient tailroom)"),
        ("skb:resize('x')", "bad argument #1 to 'resize' (number expected, got string)"),
        ("skb:resize()", "bad argument #1 to 'resize' (number expected, got no value)"),
        ("skb.data(7)", "calling 'data' on bad self (skb expected, got number)"),
        ("skb:data():getbyte(31)", "bad argument #1 to 'getbyte' (out of bounds)"),
        ("skb:data('mac'):getbyte(45)", "bad argument #1 to 'getbyte' (out of bounds)"),
        ("skb:data():setbyte(31, {})", "bad argument #1 to 'setbyte' (out of bounds)"),
        ("skb:data():resize(9)", "cannot resize external memory"),
        ("local d = skb:data() skb:resize(30) d:getbyte(30)", "bad argument #1 to 'getbyte' (out of bounds)"),
        ("local copy = 'copy' skb[copy](skb)", "packets cannot be copied at tc"),
        ("return skb.nope.x", "attempt to index a nil value (field 'nope')"),
        ("local n = #skb return n - 29", "handler returned 2, expected a verdict"),
    ];
    let all = seen(&expected.map(|(body, _)| body));
    for (number, ((body, message), seen)) in expected.into_iter().zip(all).enumerate() {
        let error = seen.error.as_ref().map(|text| text.lossy()).unwrap_or_default();
        // Those of verdicts have no line.
        let line = format!("x.lua:{}: ", 6 + number);
        let own = error.split_once(&line).map_or(error.as_str(), |(_, message)| message);
        // Here errors drop packets.
        assert_eq!((seen.verdict, own), (DROP, message), "{body}");
    }
}

/// Lower priorities come first, of one place the last one; what is behind the IP packet is none of it.
#[test]
fn handlers_are_asked_in_the_order_of_netfilter() {
    if !host::kernel_available("order of Lunatik's handlers at tc") {
        return;
    }
    let script = Script::new(
        "local netfilter, nf = require 'netfilter', require 'linux.nf'\n\
         for i, how in ipairs{{'INET', 3}, {'IPV4', -9}, {'IPV6', -8}, {'INET', 3}, {'IPV4', 1}} do\n\
         netfilter.register{pf = nf.proto[how[1]], priority = how[2], hooknum = nf.inet.PRE_ROUTING,\n\
         hook = function(skb) print(i, #skb) return 1 end} end",
    );
    let mut pair = pair_at(At::Tcx, &root(), &script.path);
    let mut lines = |frame: &[u8]| -> Vec<String> {
        let seen = pair.run(frame).unwrap_or_else(|error| panic!("{error}"));
        seen.output.iter().map(|line| line.lossy()).collect()
    };
    let padded = [in_frame(&datagram(7, b"abc")), vec![0; 15]].concat();
    assert_eq!(lines(&padded), ["2\t31", "5\t31", "4\t31", "1\t31"]);
    let mut ipv6 = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60][..], &[0; 39], &[9; 12]].concat();
    ipv6[19] = 8;
    assert_eq!(lines(&ipv6), ["3\t48", "4\t48", "1\t48"]);
    // ARP; a packet that says that it is longer.
    let mut arp = in_frame(&datagram(7, b"abc"));
    arp[13] = 6;
    let cut = &in_frame(&datagram(7, b"abc"))[..44];
    assert_eq!((lines(&arp), lines(cut)), (Vec::new(), Vec::new()));
}

#[test]
fn what_has_no_place_at_tc_is_refused() {
    let pre = |body: &str| format!("hooknum = nf.inet.PRE_ROUTING, hook = function(skb)\n{body}\nend");
    for (fields, line, message, help) in [
        (pre("local c = skb:copy() return 1"), Some(3), "a handler that copies the packet", "`--at queue`"),
        (pre("\nskb:forward() return 0"), Some(4), "a handler that sends a packet", "`--at queue`"),
        (
            pre("return nf.action.QUEUE"),
            Some(3),
            "a handler that hands packets to another queue",
            "`--at queue`",
        ),
        (
            "hooknum = nf.inet.LOCAL_IN, hook = function(skb)\nskb:data():setuint8(8, 1) return 1\nend"
                .to_string(),
            Some(3),
            "a handler that writes to the packet at LOCAL_IN",
            "register it for PRE_ROUTING or POST_ROUTING",
        ),
        (
            format!("defrag = true, {}", pre("return 1")),
            None,
            "a handler that wants fragments to be put together",
            "`--at queue`",
        ),
    ] {
        let script = Script::new(&format!(
            "local netfilter, nf = require 'netfilter', require 'linux.nf'\n\
             netfilter.register{{pf = nf.proto.INET, priority = 0, {fields}}}"
        ));
        let error = queue::load(&root(), &script.path, Some(At::Tcx)).err().expect(&fields);
        let diagnostic = error.diagnostic();
        assert_eq!((error.code(), diagnostic.place.map(|place| place.line)), ("MH0121", line), "{fields}");
        assert_eq!(error.to_string(), format!("`--at tcx` has no place for {message}"));
        assert!(diagnostic.help.is_some_and(|said| said.contains(help)), "{fields}");
    }
}

/// Handlers at other points that only read stay at netfilter.
#[test]
fn what_reads_elsewhere_stays_at_netfilter() {
    let script = Script::new(
        "local netfilter, nf = require 'netfilter', require 'linux.nf'\n\
         for _, point in ipairs{'LOCAL_IN', 'POST_ROUTING'} do\n\
         netfilter.register{pf = nf.proto.IPV4, hooknum = nf.inet[point], hook = function(skb) return 1 end} end",
    );
    let options = Options { root: Some(root()), at: Some(At::Tcx), ..Options::default() };
    let loaded = moonhook_load::load(std::slice::from_ref(&script.path), &options).unwrap();
    let points: Vec<_> = loaded.snapshot.points().iter().map(ToString::to_string).collect();
    assert_eq!(points, ["netfilter ipv4 LOCAL_IN 0", "tc.egress"]);
    let moved: Vec<_> = loaded.moved.iter().map(moonhook_load::MovedPlace::text).collect();
    assert_eq!(moved, ["netfilter ipv4 POST_ROUTING 0 runs at tc.egress as asked for"]);
}
