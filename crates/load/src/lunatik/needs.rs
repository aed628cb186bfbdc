//! What handlers of netfilter need that no program in the kernel can do there: their packets are queued for a process then, or handled at tc.
//!
//! Read off the bytecode of the functions that a handler can reach: its own, those in its variables, and those in tables under names that it
//! spells. Whether a line is ever reached is not asked.

mod layers;
mod objects;
mod reach;
mod results;
mod values;

pub(crate) use layers::unknown_layers;
use moonhook_diagnostic::Place;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{ClosureId, Prototype, Snapshot, Value};
use objects::{Object, Objects};
use reach::{Reached, reached};
use results::{answering, returned, second_result};
use values::{Known, known, variable};

/// The first thing that needs something, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    pub what: String,
    pub place: Option<Place>,
    /// Programs at netfilter may have it, if that is all.
    pub is_of_copies: bool,
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
        let is_of_copies = matches!(self, Wish::Copy | Wish::Send);
        Need { what: self.text().to_string(), place, is_of_copies }
    }
}

/// What was found in a handler.
pub(super) enum Found {
    Nothing,
    Need(Need),
    /// Nothing but that it forwards copies of packets.
    Forwards(Need),
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

const FORWARD: &[u8] = b"forward";

/// Methods of an `skb` that need more than its bytes.
const OF_SKB: &[(&[u8], Wish)] = &[
    (b"resize", Wish::Length),
    (b"checksum", Wish::Checksums),
    (b"copy", Wish::Copy),
    (FORWARD, Wish::Send),
    (b"connmark", Wish::ConnectionMark),
];

/// Verdicts by number (`NF_STOLEN` …, include/uapi/linux/netfilter.h) that are not for scripts: after the first one the packet is the
/// function's own, the second one asks it again for ever, and there is no third one any more.
const NEVER: &[(i64, &str)] = &[(2, "STOLEN"), (4, "REPEAT"), (5, "STOP")];

/// `NF_QUEUE`.
const QUEUE: i64 = 3;

/// What that handler needs of what `counts`. Where it runs there are copies of packets, to be edited and forwarded, if it `has_copies`.
pub(super) fn of_handler(
    snapshot: &Snapshot,
    handler: ClosureId,
    has_copies: bool,
    counts: impl Fn(Wish) -> bool + Copy,
) -> Found {
    let reach = reached(snapshot, handler);
    let objects = Objects::new(snapshot, &reach);
    let asks_for_link = reach.functions.iter().any(|function| names_link(snapshot, function));
    let examined = Examined { snapshot, functions: &reach.functions, objects, has_copies, asks_for_link };
    match examined.wishes(counts) {
        Err(never) => never,
        Ok(need) => examined.of_results(need, counts),
    }
}

/// A handler, and what it can reach.
struct Examined<'s> {
    snapshot: &'s Snapshot,
    functions: &'s [Reached],
    objects: Objects<'s>,
    has_copies: bool,
    /// Somewhere the link's layer is named.
    asks_for_link: bool,
}

/// What an instruction needs, and the name that it spells.
type Wanted<'a> = (Wish, Option<&'a [u8]>);

impl<'s> Examined<'s> {
    /// The first wish that counts, of what instructions do.
    fn wishes(&self, counts: impl Fn(Wish) -> bool) -> Result<Option<Need>, Found> {
        let mut need = None;
        for (number, function) in self.functions.iter().enumerate() {
            let prototype = self.snapshot.prototype(function.prototype);
            let place = |pc: usize, name: Option<&[u8]>| place(self.snapshot, prototype, pc, name);
            for (pc, word) in prototype.code.iter().enumerate() {
                let verdict = verdict(self.snapshot, function, prototype, Instruction(*word));
                if let Some((_, name)) = NEVER.iter().find(|(number, _)| verdict == Some(*number)) {
                    return Err(Found::Never { verdict: name, place: place(pc, Some(name.as_bytes())) });
                }
                let found = match verdict {
                    Some(QUEUE) => Some((Wish::OtherQueue, None)),
                    _ => self.wish(number, pc),
                };
                if let (None, Some((wish, name))) = (&need, found.filter(|(wish, _)| counts(*wish))) {
                    need = Some(wish.at(place(pc, name)));
                }
            }
        }
        Ok(need)
    }

    /// What an instruction needs.
    fn wish(&self, number: usize, pc: usize) -> Option<Wanted<'s>> {
        let function = &self.functions[number];
        let prototype = self.snapshot.prototype(function.prototype);
        let i = Instruction(prototype.code[pc]);
        match i.opcode()? {
            Opcode::GetUpval => of_process(variable(self.snapshot, function, i.b()).as_ref(), None),
            opcode @ (Opcode::Self_ | Opcode::GetField) => {
                let Value::String(name) = prototype.constants.get(i.c())? else { return None };
                let known = known(self.snapshot, function, pc, i.b());
                match known.filter(|_| !self.objects.is_assigned((number, pc), i.b())) {
                    None => self.method((number, pc), opcode == Opcode::Self_, name),
                    Some(Known::Table(table)) => {
                        of_process(self.snapshot.table(table).field(name), Some(name.as_ref()))
                    }
                    Some(Known::Other) => None,
                }
            }
            _ => None,
        }
    }

    /// What a method needs, by its name, and by whose it is where it is called and that is known.
    fn method(&self, site: (usize, usize), is_called: bool, name: &'s [u8]) -> Option<Wanted<'s>> {
        let register =
            Instruction(self.snapshot.prototype(self.functions[site.0].prototype).code[site.1]).b();
        let object = self.objects.at(site, register).filter(|_| is_called && self.has_copies);
        let wish = match (object, name) {
            (Some(Object::Copy), b"data" | b"copy" | b"resize" | b"checksum" | b"forward")
            | (Some(Object::Packet), b"copy" | b"forward")
            | (Some(Object::Bytes | Object::BytesOfCopy), b"checksum") => return None,
            (Some(Object::BytesOfCopy), name) if WRITERS.contains(&name) => return None,
            (_, name) if WRITERS.contains(&name) => Wish::Write,
            (_, b"data") if self.asks_for_link && !(is_called && self.objects.names_no_link(site)) => {
                Wish::Link
            }
            (_, name) => OF_SKB.iter().find(|(method, _)| *method == name)?.1,
        };
        Some((wish, Some(name)))
    }

    /// With what its results need.
    fn of_results(&self, mut need: Option<Need>, counts: impl Fn(Wish) -> bool + Copy) -> Found {
        let snapshot = self.snapshot;
        let answering = answering(snapshot, self.functions);
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
        match need.or_else(marked) {
            Some(need) => Found::Need(need),
            None => self.forwarding().map_or(Found::Nothing, Found::Forwards),
        }
    }

    /// Where it forwards packets, if it does.
    fn forwarding(&self) -> Option<Need> {
        let forwards = |number: usize| {
            let prototype = self.snapshot.prototype(self.functions[number].prototype);
            let is = |pc: &usize| {
                let i = Instruction(prototype.code[*pc]);
                let named =
                    matches!(prototype.constants.get(i.c()), Some(Value::String(name)) if **name == *FORWARD);
                let object = || self.objects.at((number, *pc), i.b());
                i.opcode() == Some(Opcode::Self_)
                    && named
                    && matches!(object(), Some(Object::Packet | Object::Copy))
            };
            let pc = (0..prototype.code.len()).find(is)?;
            Some(Wish::Send.at(place(self.snapshot, prototype, pc, Some(FORWARD))))
        };
        (0..self.functions.len()).find_map(forwards)
    }
}

/// A value that is only in the process: objects and functions of the modules for processes.
fn of_process<'a>(value: Option<&Value>, name: Option<&'a [u8]>) -> Option<Wanted<'a>> {
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
