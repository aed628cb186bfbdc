//! What handlers of netfilter need that no program in the kernel can do there: their packets are queued for a process then.
//!
//! Read off the bytecode of the functions that a handler can reach: its own, those in its variables, and those in tables under names that it
//! spells. Whether a line is ever reached is not asked.

mod reach;
mod results;
mod values;

use moonhook_diagnostic::Place;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{ClosureId, Prototype, Snapshot, Value};
use reach::{Reached, reached};
use results::{answering, returned, second_result};
use values::{Known, known, variable};

/// The first thing that needs a queue, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub what: String,
    pub place: Option<Place>,
}

/// What was found in a handler.
pub(super) enum Found {
    Nothing,
    Queue(Need),
    /// A verdict that nobody can give but code of the kernel's own.
    Never {
        verdict: &'static str,
        place: Option<Place>,
    },
}

/// Methods of packets that change them.
const WRITERS: &[&[u8]] = &[
    b"setbyte",
    b"setnumber",
    b"setint8",
    b"setuint8",
    b"setint16",
    b"setuint16",
    b"setint32",
    b"setuint32",
    b"setint64",
    b"setstring",
];

/// Methods of an `skb` that need more than its bytes.
const OF_SKB: &[(&[u8], &str)] = &[
    (b"resize", "changes the packet's length"),
    (b"checksum", "computes checksums"),
    (b"copy", "copies the packet"),
    (b"forward", "sends a packet"),
    (b"connmark", "uses the connection's mark"),
];

/// Verdicts by number (`NF_STOLEN` …, include/uapi/linux/netfilter.h) that are not for scripts: after the first one the packet is the
/// function's own, the second one asks it again for ever, and there is no third one any more.
const NEVER: &[(i64, &str)] = &[(2, "STOLEN"), (4, "REPEAT"), (5, "STOP")];

/// `NF_QUEUE`.
const QUEUE: i64 = 3;

/// What that handler needs.
pub(super) fn of_handler(snapshot: &Snapshot, handler: ClosureId) -> Found {
    let all = reached(snapshot, handler);
    let asks_for_link = all.iter().any(|function| names_link(snapshot, function));
    let mut need = None;
    for function in &all {
        let prototype = snapshot.prototype(function.prototype);
        let place = |pc: usize, name: Option<&[u8]>| place(snapshot, prototype, pc, name);
        for (pc, word) in prototype.code.iter().enumerate() {
            let i = Instruction(*word);
            let verdict = verdict(snapshot, function, prototype, i);
            if let Some((_, name)) = NEVER.iter().find(|(number, _)| verdict == Some(*number)) {
                return Found::Never { verdict: name, place: place(pc, Some(name.as_bytes())) };
            }
            let found = match i.opcode() {
                _ if verdict == Some(QUEUE) => Some(("hands packets to another queue", None)),
                Some(Opcode::GetUpval) => of_process(variable(snapshot, function, i.b()).as_ref(), None),
                Some(Opcode::Self_ | Opcode::GetField) => {
                    let Some(Value::String(name)) = prototype.constants.get(i.c()) else { continue };
                    match known(snapshot, function, pc, i.b()) {
                        None => method(name, asks_for_link),
                        Some(Known::Table(table)) => {
                            of_process(snapshot.table(table).field(name), Some(name.as_ref()))
                        }
                        Some(Known::Other) => None,
                    }
                }
                _ => None,
            };
            if let (None, Some((what, name))) = (&need, found) {
                need = Some(Need { what: what.to_string(), place: place(pc, name) });
            }
        }
    }
    let answering = answering(snapshot, &all);
    let results = answering.iter().flat_map(|function| {
        returned(snapshot, function)
            .into_iter()
            .map(|result| (snapshot.prototype(function.prototype), result))
    });
    for (prototype, (pc, number)) in results {
        let place = place(snapshot, prototype, pc, None);
        if let Some((_, verdict)) = NEVER.iter().find(|(known, _)| *known == number) {
            return Found::Never { verdict, place };
        }
        if number == QUEUE && need.is_none() {
            need = Some(Need { what: "hands packets to another queue".to_string(), place });
        }
    }
    let marks = || {
        answering.iter().find_map(|function| {
            let prototype = snapshot.prototype(function.prototype);
            let place = place(snapshot, prototype, second_result(prototype)?, None);
            Some(Need { what: "sets the packet's mark".to_string(), place })
        })
    };
    need.or_else(marks).map_or(Found::Nothing, Found::Queue)
}

/// What a method needs, by its name.
fn method(name: &[u8], asks_for_link: bool) -> Option<(&'static str, Option<&[u8]>)> {
    let what = match name {
        name if WRITERS.contains(&name) => "writes to the packet",
        b"data" if asks_for_link => "reads the link's header",
        name => OF_SKB.iter().find(|(method, _)| *method == name)?.1,
    };
    Some((what, Some(name)))
}

/// A value that is only in the process: objects and functions of the modules for processes.
fn of_process<'a>(value: Option<&Value>, name: Option<&'a [u8]>) -> Option<(&'static str, Option<&'a [u8]>)> {
    matches!(value, Some(Value::Opaque(..))).then_some(("uses what is in the process", name))
}

/// Whether the function spells the name of the link's layer (`skb:data("mac")`), or has it in a variable.
fn names_link(snapshot: &Snapshot, function: &Reached) -> bool {
    let constants = &snapshot.prototype(function.prototype).constants;
    let is = |value: &Value| matches!(value, Value::String(name) if **name == *b"mac");
    constants.iter().any(is) || function.variables(snapshot).any(is)
}

/// The verdict that an instruction gets out of the table of verdicts.
fn verdict(snapshot: &Snapshot, function: &Reached, prototype: &Prototype, i: Instruction) -> Option<i64> {
    match i.opcode()? {
        Opcode::GetField | Opcode::GetTabUp => {
            let Some(Value::String(key)) = prototype.constants.get(i.c()) else { return None };
            let known = [(QUEUE, "QUEUE")].iter().chain(NEVER).find(|(_, name)| name.as_bytes() == &**key);
            known.filter(|_| function.uses_verdicts(snapshot)).map(|(number, _)| *number)
        }
        _ => None,
    }
}

fn place(snapshot: &Snapshot, prototype: &Prototype, pc: usize, name: Option<&[u8]>) -> Option<Place> {
    let source = snapshot.source(prototype.source?);
    let line = *prototype.lines.get(pc)?;
    let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
    Some(Place { file: source.name.clone(), line, text: source.line(line).to_owned(), name })
}
