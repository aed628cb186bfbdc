//! Printed lines and errors, as the command's decoder reads them.

use crate::harness::*;
use moonhook_ir::{EventKind, SourceFile};
use moonhook_proof::host;
use moonhook_records::{Decoder, Message};
use moonhook_runtime::layout::L_TRACE;
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Options;
use std::sync::mpsc::channel;

const FRAME: [u8; 64] = [0; 64];

fn harness() -> Harness {
    let snapshot = Snapshot::default();
    let options = Options { count_verdicts: true, ..Options::default() };
    let mut maker = Maker::new(&snapshot, &options);
    maker.function("prim.print");
    maker.add("error", Shape::Context(0), |stubs| stubs.error().unwrap());
    maker.add("count", Shape::State(1), |stubs| stubs.count_verdict().unwrap());
    maker.load("xdp", None)
}

/// Calls a stub; gives what it sends.
fn sent(harness: &Harness, name: &str, parameters: &[u64]) -> Vec<Message> {
    let mut module = harness.module.clone();
    module.sources =
        ["a.lua", "b.lua"].map(|name| SourceFile { name: name.into(), text: String::new() }).into();
    let decoder = Decoder::new(&module);
    let (sender, messages) = channel();
    let mut events =
        (harness.program).events("events", move |record| drop(sender.send(decoder.decode(record)))).unwrap();
    assert_eq!(harness.call_again(name, &FRAME, parameters).result, 0, "{name}");
    events.consume().unwrap();
    messages.try_iter().map(|message| message.unwrap()).collect()
}

/// Puts strings behind each other into the arena, as values from `ARGUMENTS` on.
fn put_values(harness: &Harness, texts: &[&[u8]]) {
    let mut address = HEAP;
    for (index, text) in texts.iter().enumerate() {
        let payload = harness.put_text(address, text);
        harness.store(ARGUMENTS + 16 * index as u64, STRING);
        harness.store(ARGUMENTS + 16 * index as u64 + 8, payload);
        address += text.len().next_multiple_of(8) as u64 + 8;
    }
}

fn printed(harness: &Harness, texts: &[&[u8]]) -> moonhook_records::Text {
    put_values(harness, texts);
    match sent(harness, "prim.print", &[ARGUMENTS, texts.len() as u64]).as_slice() {
        [Message::Print(text)] => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_are_printed() {
    if !host::kernel_available("print of general code") {
        return;
    }
    let harness = harness();
    let long = vec![b'y'; 5000];
    let lines: [&[&[u8]]; 7] = [
        &[],
        &[b""],
        &[b"one"],
        &[b"one", b"", b"three and a little more", b"\0\xff"],
        &[b"12345678", b"x", b"12345678", b"y", b"123456789"],
        &[b"", b"", b""],
        &[&long, b"and", &long, b"so on"],
    ];
    for texts in lines {
        let text = printed(&harness, texts);
        assert_eq!(
            (text.cut, text.lossy()),
            (None, String::from_utf8_lossy(&texts.join(&b'\t')).into_owned())
        );
    }
    let text = printed(&harness, &[&long, &long, &long, &long, b"end"]);
    let whole = [long.as_slice(), &long, &long, &long, b"end"].join(&b'\t');
    assert!(text.agrees_with(&whole) && text.cut.is_some_and(|cut| cut > 16_000), "{:?}", text.cut);
}

#[test]
fn errors_have_a_traceback_of_packet_time() {
    if !host::kernel_available("errors of general code") {
        return;
    }
    let harness = harness();
    const CALLS: u64 = 0x3000;
    let raise = |payload: u64, calls: &[(u64, u64, &str)]| {
        harness.store(STATE + 48, payload);
        harness.store(STATE + L_TRACE as u64, if calls.is_empty() { 0 } else { CALLS });
        harness.store(CALLS, calls.len() as u64);
        for (index, (source, line, name)) in calls.iter().enumerate() {
            let call = CALLS + 8 + 32 * index as u64;
            let name = harness.put_text(HEAP + 0x4000 + 0x100 * index as u64, name.as_bytes());
            [*source, *line, name, 0].into_iter().enumerate().for_each(|(n, word)| {
                harness.store(call + 8 * n as u64, word);
            });
        }
        match sent(&harness, "error", &[]).as_slice() {
            [Message::Error(failure)] => failure.clone(),
            other => panic!("{other:?}"),
        }
    };
    let text = harness.put_text(HEAP, b"a.lua:3: bad");
    let failure = raise(text, &[(0, 3, "local 'f'"), (1, 70, "handler")]);
    assert_eq!(failure.message.lossy(), "a.lua:3: bad");
    assert_eq!(failure.traceback, ["a.lua:3: in local 'f'", "b.lua:70: in handler"]);
    // Functions of the library have no lines, and are not shown.
    let failure = raise(text, &[(0, 0, "function 'pairs'"), (1, 70, "handler")]);
    assert_eq!(failure.traceback, ["b.lua:70: in handler"]);
    let failure = raise(text, &[]);
    assert_eq!((failure.message.lossy().as_str(), failure.traceback.len()), ("a.lua:3: bad", 0));
    let long = harness.put_text(HEAP, &[b'z'; 16_000]);
    let name = "n".repeat(200);
    let calls: Vec<(u64, u64, &str)> = (1..=100).map(|line| (1, line, name.as_str())).collect();
    let failure = raise(long, &calls);
    assert!(failure.message.cut.is_some() && failure.message.agrees_with(&[b'z'; 16_000]));
    assert_eq!(failure.traceback[20], format!("b.lua:21: in {}", &name[..128]));
    assert!(failure.traceback.last().unwrap().starts_with("...\t(skipping "));
    let counters = harness.program.data_section(".data.counters").unwrap();
    let event = harness.module.events.iter().position(|event| event.kind == EventKind::Raised).unwrap();
    assert_eq!(counters.load(8 + 8 * event), Some(4));
}

#[test]
fn verdicts_are_counted() {
    if !host::kernel_available("verdicts of general code") {
        return;
    }
    let harness = harness();
    for verdict in [1, 2, 2, 1 << 40] {
        assert_eq!(harness.call("count", &FRAME, &[verdict]).result, 0);
    }
    // Each CPU counts apart; which one has run the calls is not known.
    let counters = harness.program.data_section(".data.verdicts").unwrap();
    let of_all = |n: usize| -> u64 { (0..64).filter_map(|cpu| counters.load(128 * cpu + 8 * n)).sum() };
    assert_eq!([0, 1, 2, 3].map(of_all), [1, 1, 2, 0]);
}
