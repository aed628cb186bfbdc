//! What handlers of netfilter need that no program in the kernel can do there: their packets are queued for a process then, or handled at tc.
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

/// The first thing that needs something, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub what: String,
    pub place: Option<Place>,
}

/// What handlers do that no program at netfilter can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Write,
    Length,
    Checksums,
    Copy,
    Send,
    ConnectionMark,
    Link,
    Mark,
    OtherQueue,
    Process,
}

impl Wish {
    /// What a handler does that wishes it.
    fn text(self) -> &'static str {
        match self {
            Wish::Write => "writes to the packet",
            Wish::Length => "changes the packet's length",
            Wish::Checksums => "computes checksums",
            Wish::Copy => "copies the packet",
            Wish::Send => "sends a packet",
            Wish::ConnectionMark => "uses the connection's mark",
            Wish::Link => "reads the link's header",
            Wish::Mark => "sets the packet's mark",
            Wish::OtherQueue => "hands packets to another queue",
            Wish::Process => "uses what is in the process",
        }
    }

    /// Whether programs at tc can do it.
    pub fn is_at_tc(self) -> bool {
        !matches!(self, Wish::Copy | Wish::Send | Wish::OtherQueue | Wish::Process)
    }

    fn at(self, place: Option<Place>) -> Need {
        Need { what: self.text().to_string(), place }
    }
}

/// What was found in a handler.
pub(super) enum Found {
    Nothing,
    Need(Need),
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
const OF_SKB: &[(&[u8], Wish)] = &[
    (b"resize", Wish::Length),
    (b"checksum", Wish::Checksums),
    (b"copy", Wish::Copy),
    (b"forward", Wish::Send),
    (b"connmark", Wish::ConnectionMark),
];

/// Verdicts by number (`NF_STOLEN` …, include/uapi/linux/netfilter.h) that are not for scripts: after the first one the packet is the
/// function's own, the second one asks it again for ever, and there is no third one any more.
const NEVER: &[(i64, &str)] = &[(2, "STOLEN"), (4, "REPEAT"), (5, "STOP")];

/// `NF_QUEUE`.
const QUEUE: i64 = 3;

/// What that handler needs of what `counts`.
pub(super) fn of_handler(
    snapshot: &Snapshot,
    handler: ClosureId,
    counts: impl Fn(Wish) -> bool + Copy,
) -> Found {
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
                _ if verdict == Some(QUEUE) => Some((Wish::OtherQueue, None)),
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
            if let (None, Some((wish, name))) = (&need, found.filter(|(wish, _)| counts(*wish))) {
                need = Some(wish.at(place(pc, name)));
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
        if number == QUEUE && need.is_none() && counts(Wish::OtherQueue) {
            need = Some(Wish::OtherQueue.at(place));
        }
    }
    let marks = || {
        answering.iter().find_map(|function| {
            let prototype = snapshot.prototype(function.prototype);
            Some(Wish::Mark.at(place(snapshot, prototype, second_result(prototype)?, None)))
        })
    };
    let marked = || marks().filter(|_| counts(Wish::Mark));
    need.or_else(marked).map_or(Found::Nothing, Found::Need)
}

/// What a method needs, by its name.
fn method(name: &[u8], asks_for_link: bool) -> Option<(Wish, Option<&[u8]>)> {
    let wish = match name {
        name if WRITERS.contains(&name) => Wish::Write,
        b"data" if asks_for_link => Wish::Link,
        name => OF_SKB.iter().find(|(method, _)| *method == name)?.1,
    };
    Some((wish, Some(name)))
}

/// A value that is only in the process: objects and functions of the modules for processes.
fn of_process<'a>(value: Option<&Value>, name: Option<&'a [u8]>) -> Option<(Wish, Option<&'a [u8]>)> {
    matches!(value, Some(Value::Opaque(..))).then_some((Wish::Process, name))
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
