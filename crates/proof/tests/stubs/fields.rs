//! Fields, length and text of packets and headers.

use crate::harness::*;
use moonhook_hook::XDP;
use moonhook_install::{FRAME_MIN, frame_max_linear};
use moonhook_proof::{frames, host};
use moonhook_runtime::layout::{L_CALL_COUNT, L_CALL_DEST, L_CALL_FUNC, OBJECT_ARGUMENT, OBJECT_PACKET};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Options;
use moonhook_specialise::stubs::objects;
use moonhook_user::protocol::{self, Frame, PROTOCOLS, View};
use std::collections::BTreeSet;

/// Payload of the object that a header is.
fn header(name: &str) -> u64 {
    let shown = format!("Header({name:?})");
    let found = objects().find(|(_, object)| format!("{object:?}") == shown);
    found.unwrap_or_else(|| panic!("{name}")).0 as u64
}

const PACKET: u64 = OBJECT_PACKET as u64;
const ARGUMENT: u64 = OBJECT_ARGUMENT as u64;

/// All but what is inside of the packet, which the harness leaves out.
fn protocols() -> impl Iterator<Item = &'static protocol::Protocol> {
    PROTOCOLS.iter().filter(|protocol| protocol.name != "inner")
}

fn names() -> BTreeSet<&'static str> {
    let of = |protocol: &'static protocol::Protocol| protocol.fields().iter().map(|field| field.name);
    protocols().flat_map(|protocol| of(protocol).chain([protocol.name])).collect()
}

fn harness(options: &Options, section: &str) -> Harness {
    let snapshot = Snapshot::default();
    let mut maker = Maker::new(&snapshot, options);
    names().into_iter().for_each(|name| maker.field(name));
    maker.field("getuint8");
    maker.function("prim.object_text");
    maker.add("length", Shape::Context(2), |stubs| stubs.length().unwrap());
    maker.add("missing", Shape::State(2), |stubs| stubs.missing_field("").unwrap());
    let mentioned = [&b"ip"[..], b"src", b"nothing", b"getuint8"];
    maker.add("access", Shape::Context(0), |stubs| stubs.access(mentioned).unwrap());
    let mut prepare = None;
    if options.frags {
        maker.add("copy", Shape::Context(0), |stubs| *prepare.insert(stubs.prepare().unwrap()));
    }
    maker.load(section, prepare)
}

/// What the user tier sees.
fn expected(value: Option<protocol::Value>, frame: &[u8]) -> Value {
    match value {
        None => Value::Word(NIL, 0),
        Some(protocol::Value::Integer(integer)) => Value::Word(INT, integer as u64),
        Some(protocol::Value::Boolean(false)) => Value::Word(FALSE, 0),
        Some(protocol::Value::Boolean(true)) => Value::Word(TRUE, 0),
        Some(protocol::Value::Text(text)) => Value::Text(text.as_bytes().to_vec()),
        Some(protocol::Value::Bytes { start, end }) => Value::Text(frame[start..end].to_vec()),
        Some(protocol::Value::Name { start, end }) => {
            Value::Text(protocol::Dotted::new(&frame[start..end]).as_bytes().to_vec())
        }
    }
}

fn read(harness: &Harness, object: u64, name: &str, frame: &[u8]) -> Value {
    let called = harness.call(&format!("field {name}"), frame, &[object, OUT]);
    assert_eq!((called.result, called.frame.as_slice()), (0, frame), "{name}: {:?}", harness.error());
    harness.value(OUT)
}

/// Reads everything there is of a frame.
fn check(harness: &Harness, title: &str, frame: &[u8]) {
    let packet = Frame::at(&XDP, frame);
    for protocol in protocols() {
        let found = read(harness, PACKET, protocol.name, frame);
        let wanted = match protocol.view {
            View::Plain(read) => expected(read(packet), frame),
            View::Header { present, .. } if present(packet) => Value::Word(OBJECT, header(protocol.name)),
            View::Header { .. } => Value::Word(NIL, 0),
        };
        assert_eq!(found, wanted, "{title}: {}", protocol.name);
        let there = wanted != Value::Word(NIL, 0);
        for field in protocol.fields() {
            let found = read(harness, header(protocol.name), field.name, frame);
            let wanted = if there { expected((field.read)(packet), frame) } else { Value::Word(NIL, 0) };
            assert_eq!(found, wanted, "{title}: {}.{}", protocol.name, field.name);
        }
    }
}

#[test]
fn every_field_is_what_the_user_tier_sees() {
    if !host::kernel_available("fields of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    for (name, frame) in frames::named() {
        check(&harness, name, &frame);
    }
    for (name, frame) in frames::named() {
        if ["tls6-extensions", "qinq-tls6", "tcp-options", "udp6", "icmp"].contains(&name) {
            (FRAME_MIN..frame.len()).for_each(|length| check(&harness, name, &frame[..length]));
        }
    }
}

#[test]
fn frames_in_several_buffers_are_read_from_their_copy() {
    if !host::kernel_available("fields of general code, long frames") {
        return;
    }
    let options = Options { frags: true, copies: true, ..Options::default() };
    let harness = harness(&options, "xdp.frags");
    for (name, mut frame) in frames::named() {
        check(&harness, name, &frame);
        frame.resize(frame_max_linear() + 1000, b'x');
        check(&harness, name, &frame);
        assert_eq!(harness.call("length", &frame, &[PACKET, OUT]).result, 0);
        assert_eq!(harness.value(OUT), Value::Word(INT, frame.len() as u64));
    }
}

#[test]
fn objects_have_length_text_and_methods() {
    if !host::kernel_available("objects of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    let (_, frame) = frames::named().into_iter().find(|(name, _)| *name == "udp").unwrap();
    let show = |stub: &str, object: u64| {
        let result = harness.call(stub, &frame, &[object, OUT]).result;
        if result == 0 { Ok(harness.value(OUT)) } else { Err(harness.error()) }
    };
    assert_eq!(show("length", PACKET), Ok(Value::Word(INT, frame.len() as u64)));
    assert_eq!(show("length", ARGUMENT), Ok(Value::Word(INT, 2)));
    let error = "attempt to get length of a header value".to_string();
    assert_eq!(show("length", header("ip")), Err((RAISED, error)));
    let text = |object: u64| {
        harness.store(ARGUMENTS, OBJECT);
        harness.store(ARGUMENTS + 8, object);
        assert_eq!(harness.call("prim.object_text", &frame, &[ARGUMENTS, 1]).result, 1);
        harness.value(ARGUMENTS - 16)
    };
    assert_eq!(text(PACKET), Value::Text(frame.clone()));
    assert_eq!(text(ARGUMENT), Value::Text(vec![0, 42]));
    assert_eq!(text(header("ip")), Value::Text(b"header: ip".to_vec()));
    let method = harness.builtins.iter().position(|name| *name == "data.getuint8").unwrap() as u64;
    assert_eq!(show("field getuint8", PACKET), Ok(Value::Word(BUILTIN, method)));
    assert_eq!(show("field getuint8", ARGUMENT), Ok(Value::Word(BUILTIN, method)));
    let missing = |owner: &str, name: &str| Err((RAISED, format!("'{owner}' has no field '{name}'")));
    assert_eq!(show("field getuint8", header("tcp")), missing("tcp", "getuint8"));
    assert_eq!(show("field sport", header("ip")), missing("ip", "sport"));
    assert_eq!(show("field ip", ARGUMENT), missing("data", "ip"));
    assert_eq!(show("field src", PACKET), missing("packet", "src"));
}

#[test]
fn accesses_are_read_from_the_state() {
    if !host::kernel_available("accesses of general code") {
        return;
    }
    let harness = harness(&Options::default(), "xdp");
    let (_, frame) = frames::named().into_iter().find(|(name, _)| *name == "udp").unwrap();
    const OBJECT_AT: u64 = OUT + 0x20;
    const KEY_AT: u64 = OUT + 0x30;
    let run = |object: u64, key: u64| {
        harness.store(OBJECT_AT, OBJECT);
        harness.store(OBJECT_AT + 8, object);
        for (field, word) in [(L_CALL_FUNC, OBJECT_AT), (L_CALL_COUNT, key), (L_CALL_DEST, OUT)] {
            harness.store(STATE + field as u64, word);
        }
        let result = harness.call("access", &frame, &[]).result;
        if result == 0 { Ok(harness.value(OUT)) } else { Err(harness.error()) }
    };
    let by_key = |object: u64, tag: u64, payload: u64| {
        harness.store(KEY_AT, tag);
        harness.store(KEY_AT + 8, payload);
        run(object, KEY_AT)
    };
    let by_text = |object: u64, key: &str| by_key(object, STRING, harness.put_text(0x3100, key.as_bytes()));
    let missing = |text: &str| Err((RAISED, text.to_string()));
    assert_eq!(by_text(PACKET, "ip"), Ok(Value::Word(OBJECT, header("ip"))));
    assert_eq!(by_key(PACKET, STRING, harness.constants[&b"ip"[..]]), Ok(Value::Word(OBJECT, header("ip"))));
    assert_eq!(by_text(header("ip"), "src"), Ok(read(&harness, header("ip"), "src", &frame)));
    assert_eq!(by_text(header("ip"), "sr"), missing("'ip' has no field 'sr'"));
    assert_eq!(by_text(header("ip"), "ip"), missing("'ip' has no field 'ip'"));
    assert_eq!(by_text(PACKET, "nothing"), missing("'packet' has no field 'nothing'"));
    assert_eq!(by_text(ARGUMENT, "\0x"), missing("'data' has no field '\0x'"));
    assert_eq!(by_key(PACKET, INT, -12i64 as u64), missing("'packet' has no field '-12'"));
    assert_eq!(by_key(PACKET, NIL, 0), missing("'packet' has no field 'nil'"));
    assert_eq!(by_key(PACKET, TRUE, 0), missing("'packet' has no field 'true'"));
    harness.put_text(TYPE_NAME, b"table");
    assert_eq!(by_key(header("tcp"), TABLE, 64), missing("'tcp' has no field 'table'"));
    assert_eq!(run(PACKET, 0), Ok(Value::Word(INT, frame.len() as u64)));
    assert_eq!(run(header("tcp"), 0), missing("attempt to get length of a header value"));
    let key = harness.put_text(0x3100, b"x");
    assert_eq!(harness.call("missing", &frame, &[ARGUMENT, key]).result, FAIL);
    assert_eq!(harness.error(), (RAISED, "'data' has no field 'x'".to_string()));
}
