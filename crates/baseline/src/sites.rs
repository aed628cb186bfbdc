//! Sites: the instructions of the script that can raise an error or call a function, with what messages need to know of them.

use super::General;
use moonhook_runtime::layout::*;
use moonhook_snapshot::Prototype;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::names::{self, Name};
use moonhook_snapshot::operation::Operand;

/// One site, as the routines of `error.lua` find it in the image; texts are payload words, 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Site {
    line: u64,
    source: u64,
    file: u64,
    first: u64,
    second: u64,
    called: u64,
    method: u64,
    trace: u64,
    event: u64,
    /// See [`super::counts`].
    pub read: u64,
    /// See [`super::compact`].
    pub code: u64,
}

impl Site {
    pub fn new(general: &mut General<'_>, function: usize, pc: usize) -> Site {
        let prototype = general.functions.get(function);
        let mut site = Site { line: prototype.lines.get(pc).copied().unwrap_or(0).into(), ..Site::default() };
        if general.functions.is_hidden(function) {
            return site;
        }
        let source = prototype.source.map_or(0, |source| source.index());
        site.source = source as u64;
        let snapshot = general.functions.snapshot;
        let file = snapshot.sources.get(source).map_or("?", |source| source.name.as_str());
        site.file = general.image.text(moonhook_snapshot::short_name(file).as_bytes());
        let i = Instruction(prototype.code[pc]);
        if let Some(opcode) = i.opcode() {
            site.name_operands(general, prototype, pc, i, opcode);
        }
        site
    }

    fn name_operands(
        &mut self,
        general: &mut General<'_>,
        prototype: &Prototype,
        pc: usize,
        i: Instruction,
        opcode: Opcode,
    ) {
        use Opcode::*;
        let register = |register: usize| names::suffix(&names::of_register(prototype, pc, register));
        let constant = |index: usize| {
            names::suffix(&names::constant_name(prototype, index).map(|name| ("constant", name)))
        };
        let upvalue = |index: usize| names::suffix(&Some(names::of_upvalue(prototype, index)));
        let (first, second) = match opcode {
            Call | TailCall | TForCall => {
                let called = names::of_callee(prototype, pc);
                self.name_call(general, &called);
                (names::suffix(&called), Vec::new())
            }
            GetTabUp => (upvalue(i.b()), Vec::new()),
            SetTabUp => (upvalue(i.a()), Vec::new()),
            GetTable | GetI | GetField | Self_ | Unm | BNot | Len => (register(i.b()), Vec::new()),
            SetTable | SetI | SetField => (register(i.a()), Vec::new()),
            opcode if opcode.is_binary() => {
                let name = |operand| match operand {
                    Operand::Register(number) => register(number),
                    Operand::Constant(number) => constant(number),
                    Operand::Integer(_) => Vec::new(),
                };
                let [first, second] =
                    prototype.operation(pc).map(|it| it.operands.map(name)).unwrap_or_default();
                (first, second)
            }
            Tbc => (closed_name(prototype, pc, i.a()).into(), Vec::new()),
            TForPrep => (b"(for state)".to_vec(), Vec::new()),
            Concat => {
                let list: Vec<u64> = (0..i.b())
                    .map(|n| {
                        let name = register(i.a() + n);
                        if name.is_empty() { 0 } else { general.image.text(&name) }
                    })
                    .collect();
                self.first = general.image.words(&list) | (list.len() as u64) << 32;
                self.name_event(general, prototype, pc, opcode);
                return;
            }
            _ => (Vec::new(), Vec::new()),
        };
        self.name_event(general, prototype, pc, opcode);
        let mut text = |text: Vec<u8>| if text.is_empty() { 0 } else { general.image.text(&text) };
        (self.first, self.second) = (text(first), text(second));
    }

    /// The metamethod that the instruction calls where it calls one (`funcnamefromcode` in ldebug.c).
    fn name_event(&mut self, general: &mut General<'_>, prototype: &Prototype, pc: usize, opcode: Opcode) {
        use Opcode::*;
        let event = match opcode {
            GetTabUp | GetTable | GetI | GetField | Self_ => "index",
            SetTabUp | SetTable | SetI | SetField => "newindex",
            Len => "len",
            Concat => "concat",
            Eq => "eq",
            Lt | LtI | GtI => "lt",
            Le | LeI | GeI => "le",
            Close | Return => "close",
            _ => prototype.operation(pc).map_or("", |operation| &operation.event()[2..]),
        };
        if !event.is_empty() {
            self.event = general.image.text(format!(" (metamethod '{event}')").as_bytes());
            self.trace = general.image.text(format!("metamethod '{event}'").as_bytes());
            self.called = general.image.text(event.as_bytes());
        }
    }

    fn name_call(&mut self, general: &mut General<'_>, called: &Option<Name>) {
        let Some((kind, name)) = called else { return };
        self.called = general.image.text(name);
        self.method = u64::from(*kind == "method");
        let trace = match *kind {
            "global" => "function",
            kind => kind,
        };
        self.trace = general.image.text(&names::quoted(&format!("{trace} '"), name, "'"));
    }

    /// The record's words, in the order of the layout.
    pub fn words(&self) -> [u64; (SITE_SIZE / 8) as usize] {
        let mut words = [0; (SITE_SIZE / 8) as usize];
        let fields = [
            (S_LINE, self.line),
            (S_SOURCE, self.source),
            (S_FILE, self.file),
            (S_A, self.first),
            (S_B, self.second),
            (S_CALL, self.called),
            (S_METHOD, self.method),
            (S_TRACE, self.trace),
            (S_EVENT, self.event),
            (S_READ, self.read),
            (S_CODE, self.code),
        ];
        for (offset, word) in fields {
            words[(offset / 8) as usize] = word;
        }
        words
    }
}

/// The variable's bare name, for `variable 'x' got a non-closable value`. It becomes active with the next instruction.
fn closed_name(prototype: &Prototype, pc: usize, register: usize) -> &str {
    names::local_name(prototype, register, pc + 1).unwrap_or("?")
}
