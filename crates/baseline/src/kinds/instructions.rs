//! What each instruction does with values.

use super::Kinds;
use super::graph::{Held, Node, Object, Owner, Place, Rule, Which};
use super::notes;
use super::results::Result;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::operation::Operand;
use moonhook_specialise::shared::SeenType;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Values of an open list that are told apart: the last one stands for all later ones, too.
pub const OPEN: usize = 16;

impl Kinds<'_, '_> {
    /// Where the functions inside of a function are made.
    pub(super) fn note_makers(&mut self, function: usize) {
        for (pc, word) in self.prototype(function).code.iter().enumerate() {
            let i = Instruction(*word);
            if i.opcode() == Some(Opcode::Closure) {
                let made = self.functions.inner(function, i.bx());
                self.makers.entry(made).or_default().push((function, pc));
            }
        }
    }

    /// What a function assigns, calls and returns. What it puts into registers is looked at where it is asked for ([`Kinds::set`]).
    pub(super) fn instructions(&mut self, function: usize) {
        use Opcode::*;
        for pc in 0..self.prototype(function).code.len() {
            let i = self.instruction(function, pc);
            match i.opcode() {
                Some(SetTable) => {
                    let (owner, key) = (self.at(function, pc, i.a()), self.at(function, pc, i.b()));
                    self.assigned_by_key(owner, function, pc, key);
                }
                Some(SetI) => {
                    let (owner, key) = (self.at(function, pc, i.a()), self.constant(SeenType::Integer));
                    self.assigned_by_key(owner, function, pc, key);
                }
                Some(SetField) => {
                    let owner = self.at(function, pc, i.a());
                    self.assigned_field(owner, function, pc);
                }
                Some(SetTabUp) => {
                    let owner = self.upvalue(function, i.a());
                    self.assigned_field(owner, function, pc);
                }
                Some(SetList) => self.list(function, pc),
                Some(SetUpval) => {
                    let value = self.at(function, pc, i.a());
                    for variable in self.variables(function, i.b()) {
                        self.graph.flow(value, variable);
                    }
                }
                Some(opcode @ (Call | TailCall | TForCall)) => {
                    let (called, first) = (self.at(function, pc, i.a()), i.a() + 1);
                    self.graph.watch(called, Rule::Arguments { function, pc, first });
                    // What is behind a tail call is never reached.
                    if opcode == TailCall {
                        self.returns_all_of(called, (function, pc), first);
                    }
                }
                Some(Return | Return1) => self.returns(function, pc),
                _ => {}
            }
        }
        self.captured(function);
    }

    fn assigned_by_key(&mut self, owner: Node, function: usize, pc: usize, key: Node) {
        let i = self.instruction(function, pc);
        let value = self.operand(function, pc, i);
        let loc = self.loc(function, pc);
        self.graph.watch(owner, Rule::Write { name: None, key: Some(key), value });
        self.graph.watch(owner, Rule::Assigned { function, loc });
    }

    fn assigned_field(&mut self, owner: Node, function: usize, pc: usize) {
        let i = self.instruction(function, pc);
        let Some(name) = self.name(function, i.b()) else { return };
        let value = self.operand(function, pc, i);
        if *name == *notes::FIELD {
            self.assigned_note(value, (function, pc));
        }
        self.graph.watch(owner, Rule::Write { name: Some(name), key: None, value });
    }

    /// The values that a constructor lists.
    fn list(&mut self, function: usize, pc: usize) {
        let i = self.instruction(function, pc);
        let owner = self.at(function, pc, i.a());
        for n in 1..=i.vb() {
            let value = self.at(function, pc, i.a() + n);
            let name = Some(Rc::from((i.vc() + n).to_string()));
            self.graph.watch(owner, Rule::Write { name, key: None, value });
        }
        if i.vb() == 0 {
            for register in i.a() + 1..self.open_end(function, pc) {
                let value = self.at(function, pc, register);
                self.graph.watch(owner, Rule::Write { name: None, key: None, value });
            }
        }
    }

    fn returns(&mut self, function: usize, pc: usize) {
        let i = self.instruction(function, pc);
        let end = match (i.opcode(), i.b()) {
            (Some(Opcode::Return1), _) => i.a() + 1,
            (_, 0) => self.open_end(function, pc),
            (_, b) => i.a() + b - 1,
        };
        for register in i.a()..end {
            let value = self.at(function, pc, register);
            let result = self.place(Place::Result { function, number: register - i.a() });
            self.graph.flow(value, result);
            if i.b() == 0 && i.opcode() == Some(Opcode::Return) && register + 1 == end {
                let rest = self.place(Place::Rest { function });
                self.graph.flow(value, rest);
            }
        }
    }

    /// A call in tail position.
    fn returns_all_of(&mut self, called: Node, (function, pc): (usize, usize), first: usize) {
        let last = self.place(Place::Rest { function });
        let results = (0..OPEN).map(|number| (number, self.place(Place::Result { function, number })));
        for (number, to) in results.chain([(OPEN - 1, last)]).collect::<Vec<_>>() {
            let which = Which { number, rest: number == OPEN - 1 };
            self.graph.watch(called, Rule::Result { function, pc, first, which, to });
        }
    }

    /// How many results a function has at most, but for those that [`Place::Rest`] stands for.
    pub(super) fn most_results(&self, function: usize) -> usize {
        let code = self.prototype(function).code.iter().map(|word| Instruction(*word));
        let count = |(pc, i): (usize, Instruction)| match (i.opcode(), i.b()) {
            (Some(Opcode::Return1), _) => 1,
            (Some(Opcode::TailCall), _) => OPEN,
            (Some(Opcode::Return), 0) => self.open_end(function, pc).saturating_sub(i.a()),
            (Some(Opcode::Return), b) => b - 1,
            _ => 0,
        };
        code.enumerate().map(count).max().unwrap_or(0)
    }

    /// Behind the last register of the open list that an instruction takes: the instruction before makes its end.
    pub(super) fn open_end(&self, function: usize, pc: usize) -> usize {
        pc.checked_sub(1).map_or(0, |before| self.instruction(function, before).a() + OPEN)
    }

    /// Variables that functions made here share with it.
    fn captured(&mut self, function: usize) {
        let code = self.code(function);
        for captured in &code.captured {
            let variable = self.place(captured.place(function));
            let value = self.at(function, captured.made, captured.register);
            self.graph.flow(value, variable);
            for setter in code.setters_of(captured).collect::<Vec<_>>() {
                let value = self.set(function, setter, captured.register);
                self.graph.flow(value, variable);
            }
        }
    }

    /// The value that an assignment to a table gives it.
    fn operand(&mut self, function: usize, pc: usize, i: Instruction) -> Node {
        match i.k() {
            true => self.of_constant(function, i.c()),
            false => self.at(function, pc, i.c()),
        }
    }

    fn of_constant(&mut self, function: usize, number: usize) -> Node {
        let (node, new) = self.graph.node(Place::Literal { function, number });
        if let (true, Some(value)) = (new, self.prototype(function).constants.get(number)) {
            let held = self.of_value(value);
            self.graph.give(node, &held);
        }
        node
    }

    fn name(&self, function: usize, number: usize) -> Option<Rc<str>> {
        match self.prototype(function).constants.get(number) {
            Some(Value::String(name)) => Some(String::from_utf8_lossy(name).into()),
            _ => None,
        }
    }

    /// What an instruction puts into a register.
    pub(super) fn set(&mut self, function: usize, pc: usize, register: usize) -> Node {
        let (node, new) = self.graph.node(Place::Set { function, pc, register });
        if new {
            self.define(function, pc, register, node);
        }
        node
    }

    fn define(&mut self, function: usize, pc: usize, register: usize, to: Node) {
        use Opcode::*;
        let i = self.instruction(function, pc);
        let Some(opcode) = i.opcode() else { return };
        match opcode {
            LoadF => self.graph.give(to, &SeenType::Float.into()),
            LoadI | Len | ForLoop | ForPrep => self.graph.give(to, &SeenType::Integer.into()),
            LoadNil => self.graph.give(to, &Held::nil()),
            LoadTrue | LoadFalse | LFalseSkip | Not => self.graph.give(to, &SeenType::Boolean.into()),
            LoadK => {
                let from = self.of_constant(function, i.bx());
                self.graph.flow(from, to);
            }
            Move => self.flow_from(function, pc, i.b(), to),
            TestSet => {
                self.flow_from(function, pc, i.b(), to);
                self.flow_from(function, pc, i.a(), to);
            }
            Self_ if register == i.a() + 1 => self.flow_from(function, pc, i.b(), to),
            GetUpval => {
                let from = self.upvalue(function, i.b());
                self.graph.flow(from, to);
            }
            NewTable => self.graph.give(to, &Object::Owner(Owner::Made { function, pc }).into()),
            GetTabUp => {
                let owner = self.upvalue(function, i.b());
                let name = self.name(function, i.c());
                self.element(owner, name, to);
            }
            GetField | Self_ => {
                let owner = self.at(function, pc, i.b());
                let name = self.name(function, i.c());
                self.element(owner, name, to);
            }
            GetI => {
                let owner = self.at(function, pc, i.b());
                self.element(owner, Some(i.c().to_string().into()), to);
            }
            GetTable => {
                let owner = self.at(function, pc, i.b());
                self.element(owner, None, to);
            }
            Closure => {
                let made = self.functions.inner(function, i.bx());
                self.graph.give(to, &Object::Function(made).into());
            }
            Call => {
                let called = self.at(function, pc, i.a());
                let number = register - i.a();
                let which = Which { number, rest: i.c() == 0 && number + 1 >= OPEN };
                self.graph.watch(called, Rule::Result { function, pc, first: i.a() + 1, which, to });
            }
            TForCall => {
                let called = self.at(function, pc, i.a());
                let which = Which::only(register - (i.a() + 3));
                self.graph.watch(called, Rule::Result { function, pc, first: i.a() + 1, which, to });
            }
            VarArg | GetVArg => {
                let from = self.place(Place::Extra { function });
                self.graph.flow(from, to);
            }
            _ => self.computed(function, pc, to),
        }
    }

    fn flow_from(&mut self, function: usize, pc: usize, register: usize, to: Node) {
        let from = self.at(function, pc, register);
        self.graph.flow(from, to);
    }

    fn element(&mut self, owner: Node, name: Option<Rc<str>>, to: Node) {
        if let Some(name) = &name {
            self.later.fields.push((owner, name.clone(), to));
        }
        self.graph.watch(owner, Rule::Read { name, to });
    }

    /// The result of an operator: of its metamethod (Lua manual § 2.4), or what numbers or strings give.
    fn computed(&mut self, function: usize, pc: usize, to: Node) {
        let i = self.instruction(function, pc);
        let (event, result, operands): (_, _, Vec<Node>) = match self.prototype(function).operation(pc) {
            Some(operation) => {
                let node = |operand| match operand {
                    Operand::Register(register) => self.at(function, pc, register),
                    Operand::Integer(_) => self.constant(SeenType::Integer),
                    Operand::Constant(number) => self.of_constant(function, number),
                };
                let event = operation.event();
                (event, Result::of_event(event), operation.operands.map(node).to_vec())
            }
            None if i.opcode() == Some(Opcode::Concat) => {
                let operands = (0..i.b()).map(|n| self.at(function, pc, i.a() + n)).collect();
                ("__concat", Result::Kind(SeenType::Text), operands)
            }
            None => return,
        };
        let (first, last) = (operands[0], operands[operands.len() - 1]);
        for operand in &operands {
            self.graph.watch(*operand, Rule::Operand { event, operands: [first, last], to });
        }
        self.later.results.push((operands, result, to));
    }

    /// The variable behind an upvalue.
    pub(super) fn upvalue(&mut self, function: usize, upvalue: usize) -> Node {
        let (node, new) = self.graph.node(Place::Upvalue { function, upvalue });
        if new {
            for variable in self.variables(function, upvalue) {
                self.graph.flow(variable, node);
            }
        }
        node
    }

    /// The variables that an upvalue may be: of load time, or of functions around.
    fn variables(&mut self, function: usize, upvalue: usize) -> Vec<Node> {
        let mut found = Vec::new();
        let (mut work, mut seen) = (vec![(function, upvalue)], BTreeSet::new());
        while let Some((function, upvalue)) = work.pop() {
            if !seen.insert((function, upvalue)) {
                continue;
            }
            let captured = self.reach.upvalues.get(&function).and_then(|upvalues| upvalues.get(upvalue));
            for cell in captured.iter().flat_map(|captured| &captured.cells) {
                let (node, new) = self.graph.node(Place::Cell(*cell));
                if new {
                    let held: Held = self.of_value(&self.functions.snapshot.cell(*cell).value);
                    self.graph.give(node, &held);
                }
                found.push(node);
            }
            let Some(description) = self.prototype(function).upvalues.get(upvalue) else { continue };
            let index = usize::from(description.index);
            for (outer, pc) in self.makers.get(&function).cloned().unwrap_or_default() {
                if !description.in_stack {
                    work.push((outer, index));
                } else if let Some(captured) = self.code(outer).captured_at(pc, index) {
                    found.push(self.place(captured.place(outer)));
                }
            }
        }
        found
    }
}
