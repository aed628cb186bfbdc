//! What handlers of netfilter need that no program in the kernel can do there: their packets are queued for a process then, or handled at tc.
//!
//! Read off the bytecode of the functions that a handler can reach: its own, those in its variables, and those in tables under names that it
//! spells. Whether a line is ever reached is not asked.

mod reach;

use moonhook_diagnostic::Place;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{ClosureId, Prototype, Snapshot, Value};
use reach::{Reached, reached};

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
        }
    }

    /// Whether programs at tc can do it.
    pub fn is_at_tc(self) -> bool {
        !matches!(self, Wish::Copy | Wish::Send | Wish::OtherQueue)
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
    let mut need = None;
    for function in &all {
        let prototype = snapshot.prototype(function.prototype);
        let place = |pc: usize, name: Option<&[u8]>| place(snapshot, prototype, pc, name);
        let asks_for_link = names_link(prototype);
        for (pc, word) in prototype.code.iter().enumerate() {
            let i = Instruction(*word);
            let verdict = verdict(snapshot, function, prototype, i);
            if let Some((_, name)) = NEVER.iter().find(|(number, _)| verdict == Some(*number)) {
                return Found::Never { verdict: name, place: place(pc, Some(name.as_bytes())) };
            }
            let found = match i.opcode() {
                _ if verdict == Some(QUEUE) => Some((Wish::OtherQueue, None)),
                Some(Opcode::Self_) => method(prototype, i, asks_for_link),
                _ => None,
            };
            if let (None, Some((wish, name))) = (&need, found.filter(|(wish, _)| counts(*wish))) {
                need = Some(wish.at(place(pc, name)));
            }
        }
    }
    let own = snapshot.prototype(snapshot.closure(handler).prototype);
    for (pc, number) in all.first().into_iter().flat_map(|function| returned(snapshot, function)) {
        let place = place(snapshot, own, pc, None);
        if let Some((_, verdict)) = NEVER.iter().find(|(known, _)| *known == number) {
            return Found::Never { verdict, place };
        }
        if number == QUEUE && need.is_none() && counts(Wish::OtherQueue) {
            need = Some(Wish::OtherQueue.at(place));
        }
    }
    let marks = || second_result(own).map(|pc| Wish::Mark.at(place(snapshot, own, pc, None)));
    let marked = || marks().filter(|_| counts(Wish::Mark));
    need.or_else(marked).map_or(Found::Nothing, Found::Need)
}

/// What the method needs that the instruction looks up.
fn method(prototype: &Prototype, i: Instruction, asks_for_link: bool) -> Option<(Wish, Option<&[u8]>)> {
    let Some(Value::String(name)) = prototype.constants.get(i.c()) else { return None };
    let wish = match &**name {
        name if WRITERS.contains(&name) => Wish::Write,
        b"data" if asks_for_link => Wish::Link,
        name => OF_SKB.iter().find(|(method, _)| *method == name)?.1,
    };
    Some((wish, Some(name)))
}

/// Whether the function spells the name of the link's layer (`skb:data("mac")`).
fn names_link(prototype: &Prototype) -> bool {
    prototype.constants.iter().any(|value| matches!(value, Value::String(name) if **name == *b"mac"))
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

/// Numbers that a function returns for sure, and where: literals, and variables of load time.
fn returned(snapshot: &Snapshot, function: &Reached) -> Vec<(usize, i64)> {
    let prototype = snapshot.prototype(function.prototype);
    let number = |pc: usize, register: usize| {
        let setter = Instruction(prototype.code[prototype.only_setter(pc, register)?]);
        match setter.opcode()? {
            Opcode::LoadI => Some(setter.sbx()),
            Opcode::GetUpval => function.integer(snapshot, setter.b()),
            _ => None,
        }
    };
    let returns = |(pc, word): (usize, &u32)| {
        let i = Instruction(*word);
        let gives = i.opcode() == Some(Opcode::Return1) || i.opcode() == Some(Opcode::Return) && i.b() >= 2;
        Some((pc, number(pc, i.a()).filter(|_| gives)?))
    };
    prototype.code.iter().enumerate().filter_map(returns).collect()
}

/// Where a function returns two values, the second of which is not nil for sure.
fn second_result(prototype: &Prototype) -> Option<usize> {
    let returns = |(pc, word): (usize, &u32)| {
        let i = Instruction(*word);
        let is_pair = i.opcode() == Some(Opcode::Return) && i.b() >= 3;
        (is_pair && !is_nil(prototype, pc, i.a() + 1)).then_some(pc)
    };
    prototype.code.iter().enumerate().find_map(returns)
}

fn is_nil(prototype: &Prototype, pc: usize, register: usize) -> bool {
    let setter = prototype.only_setter(pc, register);
    setter.is_some_and(|setter| Instruction(prototype.code[setter]).opcode() == Some(Opcode::LoadNil))
}

fn place(snapshot: &Snapshot, prototype: &Prototype, pc: usize, name: Option<&[u8]>) -> Option<Place> {
    let source = snapshot.source(prototype.source?);
    let line = *prototype.lines.get(pc)?;
    let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
    Some(Place { file: source.name.clone(), line, text: source.line(line).to_owned(), name })
}
