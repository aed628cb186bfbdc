//! Copies of packets in the kernel: both tiers and both forms make the same of them, and raise the same errors.

use super::{datagram, host, in_frame, pair, root};
use crate::queue::Script;

/// What a handler with that body makes of a packet: what it prints, and its error.
fn run(body: &str, packet: &[u8]) -> (Vec<String>, Option<String>) {
    let script = Script::of_handler(body);
    let mut pair = pair(&root(), &script.path);
    let seen = pair.run(&in_frame(packet)).unwrap_or_else(|error| panic!("{body}: {error}"));
    let lines = seen.output.iter().map(|line| line.lossy()).collect();
    (lines, seen.error.map(|error| error.lossy()))
}

#[test]
fn copies_are_read_and_written() {
    if !host::kernel_available("copies of packets") {
        return;
    }
    for (body, expected) in [
        (
            "local c = skb:copy() print(#c, #c:data(), c:data():getuint8(0), c:ifindex(), c:vlan())",
            "31\t31\t69\tnil\tnil",
        ),
        (
            "local c = skb:copy() local d = c:data() d:setuint16(0, 0x1234) d:setint8(2, -1) d:setuint32(4, 0xfffffffff)\n\
             print(d:getuint16(0), d:getint8(2), d:getuint8(2), d:getint32(4), d:getuint32(4), skb:data():getuint8(0))",
            "4660\t-1\t255\t-1\t4294967295\t69",
        ),
        (
            "local c = skb:copy() local d = c:data() d:setint64(8, -7) d:setstring(28, 'XY') local e = c:copy():data()\n\
             d:setuint8(28, 90) print(d:getnumber(8), d:getstring(28), e:getstring(28, 2))",
            "-7\tZYc\tXY",
        ),
        // What it grows by is zeros, unless it had been longer; what shows it goes on showing what it has shown.
        (
            "local c = skb:copy() local d = c:data() c:resize(29) c:resize(33) local e = c:data()\n\
             print(#c, #d, #e, e:getstring(28, 3), e:getuint16(31)) c:resize(31 + 2048)",
            "33\t31\t33\tabc\t0",
        ),
        (
            "local c = skb:copy() for i = 0, 3 do c:data():setuint8(i, i) end print(c:data():getuint32(0))",
            "50462976",
        ),
        (
            "local n = 0 for i = 1, 3 do local c = skb:copy() c:data():setuint8(28, i) n = n + c:data():getuint8(28) end print(n)",
            "6",
        ),
        (
            "local c = skb:copy() local d = c:data() d:setuint16(10, 7) d:setuint16(26, 9) c:checksum()\n\
             print(d:checksum(0, 20), d:getuint16(26) ~= 9, d:checksum(20) == d:checksum(20, 11))",
            "0\ttrue\ttrue",
        ),
    ] {
        let (lines, error) = run(body, &datagram(7, b"abc"));
        assert_eq!((lines, error), (vec![expected.to_string()], None), "{body}");
    }
}

#[test]
fn what_copies_cannot_is_an_error() {
    if !host::kernel_available("copies of packets") {
        return;
    }
    for (body, message) in [
        ("skb:copy():forward()", "calling 'forward' on bad self (skb has no device)"),
        ("skb:copy():data('mac')", "bad argument #1 to 'data' (MAC header not set)"),
        ("skb:copy():data('nte')", "bad argument #1 to 'data' (invalid option 'nte')"),
        ("skb:copy():resize(31 + 2049)", "bad argument #1 to 'resize' (insufficient tailroom)"),
        ("skb:copy():resize(-1)", "bad argument #1 to 'resize' (insufficient tailroom)"),
        ("skb:copy():resize({})", "bad argument #1 to 'resize' (number expected, got table)"),
        ("skb:copy():data():getuint16(30)", "bad argument #1 to 'getuint16' (out of bounds)"),
        ("skb:copy():data():setuint8(-1, 0)", "bad argument #1 to 'setuint8' (out of bounds)"),
        ("skb:copy():data():setstring(29, 'abc')", "bad argument #1 to 'setstring' (out of bounds)"),
        // The offset is looked at before the value; a text of no bytes is nowhere.
        ("skb:copy():data():setuint8(31, 'x')", "bad argument #1 to 'setuint8' (out of bounds)"),
        ("skb:copy():data():getstring(3, 0)", "bad argument #1 to 'getstring' (out of bounds)"),
        ("skb:copy():data():setstring(3, '')", "bad argument #1 to 'setstring' (out of bounds)"),
        ("skb:copy():data():checksum(31)", "bad argument #1 to 'checksum' (out of bounds)"),
        ("skb:copy():data():setuint8(0)", "bad argument #2 to 'setuint8' (number expected, got no value)"),
        ("skb:copy():data().getbyte(3)", "calling 'getbyte' on bad self (data expected, got number)"),
        ("skb:copy():data():resize(3)", "cannot resize external memory"),
        ("skb:copy():data():setuint8(0, 'x')", "bad argument #2 to 'setuint8' (number expected, got string)"),
        (
            "skb:copy():data():getbyte(0.5)",
            "bad argument #1 to 'getbyte' (number has no integer representation)",
        ),
        ("skb:resize(3)", "a netfilter program cannot change packets (resize)"),
        ("skb:data():setuint8(0, 1)", "calling 'setuint8' on bad self (read only)"),
    ] {
        let (_, error) = run(body, &datagram(7, b"abc"));
        assert!(error.as_ref().is_some_and(|error| error.contains(message)), "{body}: {error:?}");
    }
}
