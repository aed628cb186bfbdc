//! Methods of packets by offset, and `byteorder`.

use crate::harness::*;
use moonhook_install::frame_max_linear;
use moonhook_proof::{frames, host};
use moonhook_runtime::layout::{OBJECT_ARGUMENT, OBJECT_PACKET};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Options;

const FUNCTIONS: &[&str] = &[
    "data.getbyte",
    "data.getuint8",
    "data.getint8",
    "data.getuint16",
    "data.getint16",
    "data.getuint32",
    "data.getint32",
    "data.getint64",
    "data.getnumber",
    "data.getstring",
    "data.setbyte",
    "data.setuint16",
    "data.setuint32",
    "data.setint64",
    "data.setstring",
    "byteorder.hton16",
    "byteorder.ntoh32",
    "byteorder.htobe64",
    "byteorder.htole16",
];

fn harness(options: &Options, section: &str) -> Harness {
    let snapshot = Snapshot::default();
    let mut maker = Maker::new(&snapshot, options);
    FUNCTIONS.iter().for_each(|name| maker.function(name));
    let mut prepare = None;
    if options.frags {
        maker.add("copy", Shape::Context(0), |stubs| *prepare.insert(stubs.prepare().unwrap()));
    }
    maker.load(section, prepare)
}

const PACKET: Argument = Argument::Word(OBJECT, OBJECT_PACKET as u64);
const ARG: Argument = Argument::Word(OBJECT, OBJECT_ARGUMENT as u64);
const HEADER: Argument = Argument::Word(OBJECT, 5);

#[derive(Clone, Copy)]
enum Argument {
    Word(u64, u64),
    Text(&'static [u8]),
}

fn int(value: i64) -> Argument {
    Argument::Word(INT, value as u64)
}

/// The result, or the error; and the frame afterwards.
type Outcome = (Result<Option<Value>, (u64, String)>, Vec<u8>);

fn call(harness: &Harness, name: &str, frame: &[u8], arguments: &[Argument]) -> Outcome {
    let mut texts = 0x3000;
    for (index, argument) in arguments.iter().enumerate() {
        let address = ARGUMENTS + 16 * index as u64;
        let (tag, payload) = match argument {
            Argument::Word(tag, payload) => (*tag, *payload),
            Argument::Text(text) => (STRING, harness.put_text(texts, text)),
        };
        texts += 0x100;
        harness.store(address, tag);
        harness.store(address + 8, payload);
    }
    // What is above the arguments is garbage.
    let above = ARGUMENTS + 16 * arguments.len() as u64;
    harness.store(above, INT);
    harness.store(above + 8, 1);
    let called = harness.call(name, frame, &[ARGUMENTS, arguments.len() as u64]);
    let result = match called.result {
        FAIL => Err(harness.error()),
        0 => Ok(None),
        1 => Ok(Some(harness.value(ARGUMENTS - 16))),
        other => panic!("{name}: {other} results"),
    };
    (result, called.frame)
}

fn frame() -> Vec<u8> {
    let (_, frame) = frames::named().into_iter().find(|(name, _)| *name == "udp").unwrap();
    frame
}

#[test]
fn bytes_are_read() {
    if !host::kernel_available("methods of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    let mut frame = frame();
    frame[..8].copy_from_slice(&[0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x91]);
    let end = frame.len() as i64;
    let read = |name: &str, arguments: &[Argument]| call(&harness, name, &frame, arguments).0;
    let number = |value: i64| Ok(Some(Value::Word(INT, value as u64)));
    let text = |bytes: &[u8]| Ok(Some(Value::Text(bytes.to_vec())));
    assert_eq!(read("data.getbyte", &[PACKET, int(0)]), number(0xfe));
    assert_eq!(read("data.getint8", &[PACKET, int(0)]), number(-2));
    assert_eq!(read("data.getuint16", &[PACKET, int(1)]), number(0xbadc));
    assert_eq!(read("data.getint16", &[PACKET, int(1)]), number(0xbadc - 0x1_0000));
    assert_eq!(read("data.getuint32", &[PACKET, int(4)]), number(0x9132_5476));
    assert_eq!(read("data.getint32", &[PACKET, int(4)]), number(0x9132_5476 - 0x1_0000_0000));
    assert_eq!(read("data.getint64", &[PACKET, int(0)]), number(0x9132_5476_98ba_dcfe_u64 as i64));
    assert_eq!(read("data.getuint8", &[PACKET, int(end - 1)]), number(frame[frame.len() - 1].into()));
    assert_eq!(read("data.getuint8", &[PACKET, Argument::Text(b"7")]), number(0x91));
    for length in 0..frame.len() {
        let arguments = [PACKET, int(end - length as i64)];
        assert_eq!(read("data.getstring", &arguments), text(&frame[frame.len() - length..]), "{length}");
        let arguments = [PACKET, int(3), int(length.min(frame.len() - 3) as i64)];
        assert_eq!(read("data.getstring", &arguments), text(&frame[3..(3 + length).min(frame.len())]));
    }
    assert_eq!(
        read("data.getstring", &[PACKET, int(1), Argument::Word(NIL, 0)]),
        text(&frame[1..]),
        "nil is no length"
    );
    assert_eq!(read("data.getuint8", &[ARG, int(1)]), number(42));
    assert_eq!(read("data.getuint16", &[ARG, int(0)]), number(42 << 8));
    assert_eq!(read("data.getstring", &[ARG, int(1)]), text(&[42]));
    assert_eq!(read("data.getstring", &[ARG, int(0), int(2)]), text(&[0, 42]));
}

#[test]
fn bytes_are_written() {
    if !host::kernel_available("methods of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    written(&harness, frame());
}

#[test]
fn bytes_are_written_behind_the_first_buffer() {
    if !host::kernel_available("methods of general code, long frames") {
        return;
    }
    let options = Options { frags: true, copies: true, ..Options::default() };
    let harness = harness(&options, "xdp.frags");
    written(&harness, frame());
    let mut long = frame();
    long.resize(frame_max_linear() + 1000, b'x');
    written(&harness, long);
}

fn written(harness: &Harness, frame: Vec<u8>) {
    let end = frame.len();
    let write = |name: &str, arguments: &[Argument], at: usize, bytes: &[u8]| {
        let (result, after) = call(harness, name, &frame, arguments);
        let mut wanted = frame.clone();
        wanted[at..at + bytes.len()].copy_from_slice(bytes);
        assert_eq!(result, Ok(None), "{name}");
        assert!(after == wanted, "{name}: {after:x?}");
    };
    let at = |place: usize| int(place as i64);
    write("data.setbyte", &[PACKET, at(5), int(0x1ff)], 5, &[0xff]);
    write("data.setuint16", &[PACKET, at(end - 2), int(0x0102)], end - 2, &[2, 1]);
    write("data.setuint32", &[PACKET, at(end - 4), int(-2)], end - 4, &[0xfe, 0xff, 0xff, 0xff]);
    write("data.setint64", &[PACKET, at(end - 8), Argument::Text(b"7")], end - 8, &[7, 0, 0, 0, 0, 0, 0, 0]);
    write("data.setstring", &[PACKET, at(end), Argument::Text(b"")], end, b"");
    write("data.setstring", &[PACKET, at(end - 3), Argument::Text(b"abc")], end - 3, b"abc");
    let text = b"a string that is longer than a word";
    write("data.setstring", &[PACKET, at(end - text.len()), Argument::Text(text)], end - text.len(), text);
}

#[test]
fn byte_orders_are_exchanged() {
    if !host::kernel_available("byteorder of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    let swap = |name: &str, value: i64| call(&harness, name, &frame(), &[int(value)]).0;
    let number = |value: i64| Ok(Some(Value::Word(INT, value as u64)));
    assert_eq!(swap("byteorder.hton16", 0x1_1234), number(0x3412));
    assert_eq!(swap("byteorder.ntoh32", 0x1234_5678), number(0x7856_3412));
    assert_eq!(swap("byteorder.htobe64", 0x0102), number(0x0201_0000_0000_0000));
    assert_eq!(swap("byteorder.htole16", -1), number(0xffff));
    assert_eq!(call(&harness, "byteorder.hton16", &frame(), &[]).0, Err((NO_INTEGER + 1, String::new())));
}

#[test]
fn errors_name_the_argument() {
    if !host::kernel_available("errors of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    let frame = frame();
    let end = frame.len() as i64;
    let fails = |name: &str, arguments: &[Argument]| {
        let (result, after) = call(&harness, name, &frame, arguments);
        assert!(after == frame, "{name} wrote");
        result.expect_err(name)
    };
    let bounds = (ARGUMENT_ERROR + 2, "out of bounds".to_string());
    let no_data = (TYPE_ERROR + 1, "data".to_string());
    let read_only = (ARGUMENT_ERROR + 1, "read only".to_string());
    let no_integer = |number: u64| (NO_INTEGER + number, String::new());
    for offset in [-1, end - 7, end, i64::MAX, i64::MIN, 1 << 32, 0x1_0000] {
        assert_eq!(fails("data.getint64", &[PACKET, int(offset)]), bounds, "{offset}");
        assert_eq!(fails("data.setint64", &[PACKET, int(offset), int(1)]), bounds, "{offset}");
    }
    for (offset, length) in [(0, end + 1), (end + 1, 0), (1, -1), (1, i64::MAX), (i64::MIN, i64::MIN)] {
        assert_eq!(fails("data.getstring", &[PACKET, int(offset), int(length)]), bounds, "{offset} {length}");
    }
    assert_eq!(fails("data.getstring", &[PACKET, int(-1)]), bounds);
    assert_eq!(fails("data.setstring", &[PACKET, int(end - 2), Argument::Text(b"abc")]), bounds);
    assert_eq!(fails("data.getuint16", &[ARG, int(1)]), bounds);
    assert_eq!(fails("data.getuint32", &[ARG, int(0)]), bounds);
    assert_eq!(fails("data.getstring", &[ARG, int(1), int(2)]), bounds);
    assert_eq!(fails("data.getuint8", &[]), no_data);
    assert_eq!(fails("data.getuint8", &[int(1), int(0)]), no_data);
    assert_eq!(fails("data.getuint8", &[HEADER, int(0)]), no_data);
    assert_eq!(fails("data.getuint8", &[Argument::Word(TABLE, 1), int(0)]), no_data);
    assert_eq!(fails("data.setbyte", &[ARG]), no_integer(2));
    assert_eq!(fails("data.setbyte", &[ARG, int(2)]), bounds);
    assert_eq!(fails("data.setbyte", &[ARG, int(1)]), read_only);
    assert_eq!(fails("data.setstring", &[ARG, int(9), int(9)]), bounds);
    assert_eq!(fails("data.setstring", &[ARG, int(0), Argument::Text(b"ab")]), read_only);
    assert_eq!(fails("data.getuint8", &[PACKET]), no_integer(2));
    assert_eq!(fails("data.getuint8", &[PACKET, Argument::Word(TABLE, 1)]), no_integer(2));
    assert_eq!(fails("data.setbyte", &[PACKET, int(0)]), no_integer(3));
    assert_eq!(fails("data.setbyte", &[PACKET, int(9999), Argument::Word(NIL, 0)]), bounds);
    assert_eq!(fails("data.getstring", &[PACKET, int(0), Argument::Word(TRUE, 0)]), no_integer(3));
    assert_eq!(
        fails("data.setstring", &[PACKET, int(0), Argument::Word(NIL, 0)]),
        (NO_STRING + 3, String::new())
    );
    // A heap without room for the string.
    harness.call("data.getstring", &frame, &[ARGUMENTS, 0]);
    for (index, word) in [OBJECT, OBJECT_PACKET as u64, INT, 0].into_iter().enumerate() {
        harness.store(ARGUMENTS + 8 * index as u64, word);
    }
    harness.store(STATE + 16, HEAP + 16);
    assert_eq!(harness.call_again("data.getstring", &frame, &[ARGUMENTS, 2]).result, FAIL);
    assert_eq!(harness.error().0, OUT_OF_MEMORY);
}
