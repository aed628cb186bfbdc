//! Which registers may hold a string, and whether it may be one that the packet's code has made.
//!
//! Follows values back to the instructions that may have set them. Where they come out of a variable, a table, an argument or a
//! result of the script's functions, one answer holds for all: whether any string made at packet time is put there.

use super::Computed;
use crate::stores::Tables;
use moonhook_library::standard::STRING;
use moonhook_library::{Function, Kind, any_with_key, find};
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use std::collections::HashSet;
use std::sync::LazyLock;

/// What a register may hold, as far as strings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    None,
    /// One that stands in the code, or in what load time has made.
    Known,
    /// One made at packet time.
    Made,
}

/// What is called.
enum Called {
    Library(&'static Function),
    /// A method by its name.
    Method(String),
    Script,
    Unknown,
}

/// Fields of packets that are strings of any content.
static MADE_FIELDS: LazyLock<Vec<&str>> = LazyLock::new(moonhook_specialise::text_fields);

fn is_made_field(name: &[u8]) -> bool {
    MADE_FIELDS.iter().any(|made| made.as_bytes() == name)
}

/// Whether what has this name makes strings.
pub fn is_maker(name: &[u8]) -> bool {
    is_made_field(name) || any_with_key(name, Function::makes_text)
}

/// Metamethods of operators give anything.
pub fn is_operator(name: &[u8]) -> bool {
    let others: [&[u8]; 4] = [b"__index", b"__newindex", b"__gc", b"__mode"];
    name.starts_with(b"__") && !others.contains(&name)
}

impl Computed<'_, '_> {
    /// What comes out of places that are not told apart.
    fn kept(&self) -> Text {
        if self.keeps_made { Text::Made } else { Text::Known }
    }

    /// What a register may hold before an instruction.
    pub fn text(&mut self, function: usize, pc: usize, register: usize) -> Text {
        let mut found = Text::None;
        let (mut work, mut seen) = (vec![(pc, register)], HashSet::new());
        while let Some((pc, register)) = work.pop() {
            if found == Text::Made || !seen.insert((pc, register)) {
                continue;
            }
            let code = self.code(function);
            if code.captured_at(pc, register).is_some_and(|captured| captured.made < pc) {
                found = found.max(self.kept());
            }
            let (setters, from_start) = code.definitions(pc, register);
            self.work += setters.len() + 1;
            if from_start {
                found = found.max(self.kept());
            }
            for setter in setters {
                let i = self.instruction(function, setter);
                match i.opcode() {
                    Some(Opcode::Move) => work.push((setter, i.b())),
                    Some(Opcode::Self_) if register == i.a() + 1 => work.push((setter, i.b())),
                    Some(Opcode::TestSet) => work.extend([(setter, i.a()), (setter, i.b())]),
                    _ => found = found.max(self.set_by(function, setter, i)),
                }
            }
        }
        if self.is_tired() { Text::Made } else { found }
    }

    /// What an instruction that copies no register puts into one.
    pub fn set_by(&mut self, function: usize, pc: usize, i: Instruction) -> Text {
        use Opcode::*;
        match i.opcode() {
            Some(LoadK) => match self.prototype(function).constants.get(i.bx()) {
                Some(Value::String(_)) => Text::Known,
                _ => Text::None,
            },
            Some(
                LoadI | LoadF | LoadTrue | LoadFalse | LFalseSkip | LoadNil | NewTable | Closure | Not
                | ForLoop | ForPrep,
            ) => Text::None,
            Some(
                AddI | AddK | SubK | MulK | ModK | PowK | DivK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI
                | Add | Sub | Mul | Mod | Pow | Div | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot | Len,
            ) => {
                if self.has_operators {
                    self.kept()
                } else {
                    Text::None
                }
            }
            Some(Concat) => Text::Made,
            Some(GetField | Self_ | GetTabUp) => {
                let name = self.constant(function, i.c());
                if name.is_some_and(is_made_field) { Text::Made } else { self.kept() }
            }
            Some(GetTable) if MADE_FIELDS.iter().any(|name| self.is_mentioned(name.as_bytes())) => Text::Made,
            Some(Call | TailCall) => self.result(function, pc, i.a()),
            Some(TForCall) => self.iterated(function, pc, i.a()),
            _ => self.kept(),
        }
    }

    fn called(&mut self, function: usize, pc: usize, register: usize) -> Called {
        let code = self.code(function);
        let ([setter], false) = (&code.definitions(pc, register).0[..], code.definitions(pc, register).1)
        else {
            return Called::Unknown;
        };
        let i = self.instruction(function, *setter);
        if i.opcode() == Some(Opcode::Self_) {
            let name = self.constant(function, i.c()).unwrap_or_default();
            return Called::Method(String::from_utf8_lossy(name).into_owned());
        }
        let tables = Tables::new(self.functions, self.reach, function);
        match tables.value_in_register(pc, register) {
            Some(Value::Builtin(name)) => find(name).map_or(Called::Unknown, Called::Library),
            Some(Value::Closure(_)) => Called::Script,
            _ if i.opcode() == Some(Opcode::Closure) => Called::Script,
            _ => Called::Unknown,
        }
    }

    fn unknown_result(&self) -> Text {
        if self.makes { Text::Made } else { self.kept() }
    }

    fn result(&mut self, function: usize, pc: usize, register: usize) -> Text {
        match self.called(function, pc, register) {
            Called::Script => self.kept(),
            Called::Library(called) if called.gives_results_of_others() => self.unknown_result(),
            Called::Library(called) => match called.kind() {
                Some(Kind::Integer | Kind::Boolean) => Text::None,
                Some(Kind::Given) => self.kept(),
                Some(Kind::Text | Kind::Mixed) | None => Text::Made,
            },
            Called::Method(name) if is_maker(name.as_bytes()) => Text::Made,
            // A number, or what a function of the script gives.
            Called::Method(name) if !self.is_aliased && STRING.function(&name).is_some() => self.kept(),
            Called::Method(_) | Called::Unknown => self.unknown_result(),
        }
    }

    /// What a generic `for` gives.
    fn iterated(&mut self, function: usize, pc: usize, register: usize) -> Text {
        let (setters, from_start) = self.code(function).definitions(pc, register);
        if from_start {
            return self.unknown_result();
        }
        let mut found = Text::None;
        for setter in setters {
            let i = self.instruction(function, setter);
            let calls = i.opcode() == Some(Opcode::Call);
            let (at, register) = if calls { (setter, i.a()) } else { (pc, register) };
            found = found.max(match self.called(function, at, register) {
                Called::Library(called) => match if calls { called.iterator() } else { Some(called) } {
                    Some(next) if next.gives_elements() => self.kept(),
                    _ => self.unknown_result(),
                },
                Called::Script if !calls => self.kept(),
                _ => self.unknown_result(),
            });
        }
        found
    }

    /// Whether an instruction puts a string made at packet time where [`Computed::kept`] finds it, or another one where control code
    /// can put one.
    pub fn keeps(&mut self, function: usize, pc: usize) -> bool {
        use Opcode::*;
        let i = self.instruction(function, pc);
        match i.opcode() {
            Some(SetTable | SetField | SetI | SetTabUp) => {
                let is_new = i.opcode() != Some(SetTabUp) && self.is_new(function, pc, i.a());
                let least = if is_new { Text::Made } else { Text::Known };
                let of_constant = i.k() && self.constant(function, i.c()).is_some();
                let value = if of_constant { Text::Known } else { Text::None };
                let value = if i.k() { value } else { self.text(function, pc, i.c()) };
                value >= least || i.opcode() == Some(SetTable) && self.text(function, pc, i.b()) >= least
            }
            Some(SetUpval) => self.text(function, pc, i.a()) >= Text::Known,
            Some(SetList) => self.any_made(function, pc, i.a() + 1, i.vb().checked_sub(1)),
            Some(Return) => self.any_made(function, pc, i.a(), i.b().checked_sub(2)),
            Some(Return1) => self.text(function, pc, i.a()) == Text::Made,
            Some(TailCall) if self.result(function, pc, i.a()) == Text::Made => true,
            Some(Call | TailCall) => self.call_keeps(function, pc, i),
            Some(GetTable) => self.has_index && self.text(function, pc, i.c()) == Text::Made,
            Some(Concat) => self.has_operators,
            Some(opcode) if self.has_operators && is_operation(opcode) => [i.a(), i.b(), i.c()]
                .into_iter()
                .any(|operand| self.text(function, pc, operand) == Text::Made),
            _ => false,
        }
    }

    /// Whether a call keeps one of its arguments, or part of one: functions that are called back get parts of strings.
    fn call_keeps(&mut self, function: usize, pc: usize, i: Instruction) -> bool {
        let (called_back, keeps) = match self.called(function, pc, i.a()) {
            Called::Library(called) => match called.parts_go_to() {
                Some(argument) => (self.calls_back(function, pc, i, argument), false),
                None => {
                    // What a coroutine is resumed with it has as arguments, or as what it has waited for.
                    let keeps = called.kind() == Some(Kind::Given) || called.name == "coroutine.resume";
                    (keeps && self.may_call_back(), keeps)
                }
            },
            Called::Method(name) => match STRING.function(&name) {
                Some(method) => {
                    let to = method.parts_go_to();
                    (to.is_some_and(|argument| self.calls_back(function, pc, i, argument)), true)
                }
                None => (self.may_call_back(), true),
            },
            Called::Unknown => (self.may_call_back(), true),
            Called::Script => (false, true),
        };
        called_back || keeps && self.any_made(function, pc, i.a() + 1, i.b().checked_sub(2))
    }

    /// Whether a call may call that argument, to which parts of strings go.
    fn calls_back(&mut self, function: usize, pc: usize, i: Instruction, argument: usize) -> bool {
        let register = i.a() + 1 + argument;
        self.text(function, pc, register) == Text::None || !self.is_literal(function, pc, register)
    }

    /// Whether a function that calls others with parts of strings may be called otherwise than by its name.
    fn may_call_back(&self) -> bool {
        self.may_use(|function| function.parts_go_to().is_some())
    }

    /// Whether captured variables of a function get a string made at packet time.
    pub fn captures_made(&mut self, function: usize) -> bool {
        let code = self.code(function);
        code.captured.iter().any(|captured| {
            let first = self.text(function, captured.made, captured.register);
            let later: Vec<usize> = code.setters_of(captured).collect();
            first == Text::Made
                || later.into_iter().any(|pc| {
                    let i = self.instruction(function, pc);
                    match i.opcode() {
                        Some(Opcode::Move | Opcode::TestSet) => self.text(function, pc, i.b()) == Text::Made,
                        _ => self.set_by(function, pc, i) == Text::Made,
                    }
                })
        })
    }

    /// Whether one of the registers from `first` on, so many behind it or all, may hold a string made at packet time.
    fn any_made(&mut self, function: usize, pc: usize, first: usize, more: Option<usize>) -> bool {
        let i = self.instruction(function, pc);
        let open = match i.opcode() {
            Some(Opcode::SetList) => i.vb() == 0,
            _ => i.b() == 0,
        };
        let stack = usize::from(self.prototype(function).stack_size);
        let end = match (open, more) {
            (true, _) => stack,
            (false, Some(more)) => first + more + 1,
            (false, None) => first,
        };
        (first..end.min(stack.max(first))).any(|register| self.text(function, pc, register) == Text::Made)
    }

    fn is_literal(&mut self, function: usize, pc: usize, register: usize) -> bool {
        let (setters, from_start) = self.code(function).definitions(pc, register);
        let is = |setter: &usize| self.instruction(function, *setter).opcode() == Some(Opcode::LoadK);
        !from_start && setters.iter().all(is)
    }
}

/// Whether an instruction may call a metamethod with its operands. (Of those that take constants, the other fields are registers that
/// do no harm.)
fn is_operation(opcode: Opcode) -> bool {
    use Opcode::*;
    opcode.is_binary() || opcode.is_test() || matches!(opcode, Unm | BNot | Len | MmBin | MmBinI | MmBinK)
}
