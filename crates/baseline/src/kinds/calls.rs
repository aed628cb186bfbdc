//! What calls give: of the script's own functions what they return, of library functions what their rows say.

use super::Kinds;
use super::graph::{Held, Node, Object, Owner, Place, Rule, Which};
use super::instructions::OPEN;
use moonhook_library::own::dns::{NEXT_RECORD, RECORD};
use moonhook_library::{Callback, Gives, With, find_called};
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::Opcode;
use moonhook_specialise::shared::SeenType;
use std::rc::Rc;

/// A call: its function and the instruction.
type Site = (usize, usize);

impl Kinds<'_, '_> {
    /// An argument of a call, `first` being the register of the first one.
    fn argument(&mut self, (function, pc): Site, first: usize, number: usize) -> Node {
        let i = self.instruction(function, pc);
        // The second argument of an iterator is the control variable, behind the variable to be closed.
        let iterates = i.opcode() == Some(Opcode::TForCall) && first + number == i.a() + 2;
        self.at(function, pc, if iterates { i.a() + 3 } else { first + number })
    }

    /// How many arguments there are from register `first` on; whether the last one stands for more of them.
    fn extent(&self, (function, pc): Site, first: usize) -> (usize, bool) {
        let i = self.instruction(function, pc);
        let (end, open) = match (i.opcode(), i.b()) {
            (Some(Opcode::TForCall), _) => (i.a() + 3, false),
            (_, 0) => (self.open_end(function, pc), true),
            (_, b) => (i.a() + b, false),
        };
        (end.saturating_sub(first), open)
    }

    fn count(&self, site: Site, first: usize) -> usize {
        self.extent(site, first).0
    }

    fn arguments(&mut self, site: Site, first: usize) -> Vec<Node> {
        (0..self.count(site, first)).map(|number| self.argument(site, first, number)).collect()
    }

    /// The argument with a number, or it and all later ones.
    fn arguments_from(&mut self, site: Site, first: usize, Which { number, rest }: Which) -> Vec<Node> {
        let (values, open) = (self.arguments(site, first), self.extent(site, first).1);
        let number = if open { number.min(values.len().saturating_sub(1)) } else { number };
        values.into_iter().skip(number).take(if rest { usize::MAX } else { 1 }).collect()
    }

    /// What a call gives to a function that it may be of.
    pub(super) fn pass(&mut self, called: Object, site: Site, first: usize) {
        match called {
            Object::Function(called) => {
                let values = self.arguments(site, first);
                self.give_parameters(called, &values, self.extent(site, first).1);
            }
            Object::Named(number) => {
                let name = self.names[number].clone();
                self.pass_to_library(&name, site, first);
            }
            Object::Owner(owner) => {
                let function = self.of_metatable(owner, "__call");
                let own = self.place(Place::Itself(owner));
                self.graph.give(own, &called.into());
                let values = [vec![own], self.arguments(site, first)].concat();
                let open = self.extent(site, first).1;
                self.graph.watch(function, Rule::Given { values, open });
            }
        }
    }

    /// The arguments of a call, of which the last one may stand for more of them.
    pub(super) fn give_parameters(&mut self, called: usize, values: &[Node], open: bool) {
        for (number, value) in values.iter().enumerate() {
            self.give_parameter(called, number, *value);
        }
        if let (Some(last), true) = (values.last(), open) {
            for number in values.len()..=usize::from(self.prototype(called).parameters) {
                self.give_parameter(called, number, *last);
            }
        }
    }

    fn give_parameter(&mut self, called: usize, number: usize, value: Node) {
        if self.functions.is_hidden(called) {
            return;
        }
        let prototype = self.prototype(called);
        let place = match number < usize::from(prototype.parameters) {
            true => Place::Parameter { function: called, register: number },
            false if prototype.is_vararg => Place::Extra { function: called },
            false => return,
        };
        let to = self.place(place);
        self.graph.flow(value, to);
    }

    fn pass_to_library(&mut self, name: &str, site: Site, first: usize) {
        self.store(name, site, first);
        let calls = find_called(name).map_or(&[][..], |function| function.calls);
        let count = self.count(site, first);
        for callback in calls.iter().filter(|callback| callback.argument < count) {
            self.call_back(callback, site, first);
        }
    }

    /// A function of the script that a library function calls.
    fn call_back(&mut self, Callback { argument, with }: &Callback, site: Site, first: usize) {
        let called = self.argument(site, first, *argument);
        let (value, count) = match *with {
            With::Arguments(from) => {
                let (function, pc) = site;
                self.graph.watch(called, Rule::Arguments { function, pc, first: first + from });
                return;
            }
            With::Elements(count) => {
                let table = self.argument(site, first, 0);
                (self.element_of(table), count)
            }
            With::Parts(count) => (self.constant(SeenType::Text), count),
            With::Message => (self.constant(SeenType::Text), 1),
        };
        self.graph.watch(called, Rule::Given { values: vec![value; count], open: false });
    }

    /// What a library function assigns.
    fn store(&mut self, name: &str, site: Site, first: usize) {
        let (count, open) = self.extent(site, first);
        if name == "redirect" {
            self.note_target(site, first);
        }
        let mut argument = |n: usize| self.argument(site, first, n);
        match name {
            "setmetatable" => {
                let (table, metatable) = (argument(0), argument(1));
                self.graph.watch(table, Rule::SetMetatable { metatable });
            }
            "rawset" => {
                let (table, key, value) = (argument(0), argument(1), argument(2));
                self.graph.watch(table, Rule::Write { name: None, key: Some(key), value });
            }
            "table.insert" if count > 1 => {
                // The position comes before the value, if it is there.
                let values = if open { vec![argument(1), argument(2)] } else { vec![argument(count - 1)] };
                let (table, key) = (argument(0), Some(self.constant(SeenType::Integer)));
                for value in values {
                    self.graph.watch(table, Rule::Write { name: None, key, value });
                }
            }
            "table.move" => {
                let (from, to) = (argument(0), argument(if count > 4 { 4 } else { 0 }));
                let (key, value) = (Some(self.constant(SeenType::Integer)), self.element_of(from));
                self.graph.watch(to, Rule::Write { name: None, key, value });
            }
            _ => {}
        }
    }

    /// Where packets may be sent to.
    fn note_target(&mut self, site: Site, first: usize) {
        let (target, targets) = (self.argument(site, first, 0), self.place(Place::Targets));
        self.graph.flow(target, targets);
        let loc = self.loc(site.0, site.1);
        self.redirects.insert(loc);
    }

    /// Whatever is in a table.
    fn element_of(&mut self, table: Node) -> Node {
        let (element, new) = self.graph.node(Place::Element(table));
        if new {
            self.graph.watch(table, Rule::Read { name: None, to: element });
        }
        element
    }

    /// A result of a call.
    pub(super) fn result(&mut self, called: Object, site: Site, first: usize, which: Which, to: Node) {
        match called {
            Object::Function(called) => self.returned(called, which, to),
            Object::Named(name) => {
                let name = self.names[name].clone();
                self.library_result(&name, site, first, which, to);
            }
            Object::Owner(owner) => {
                let function = self.of_metatable(owner, "__call");
                self.graph.watch(function, Rule::Returned { which, to });
            }
        }
    }

    /// What a function of the script returns.
    pub(super) fn returned(&mut self, called: usize, Which { number, rest }: Which, to: Node) {
        let end = if rest { self.most_results(called).max(number + 1) } else { number + 1 };
        for number in number..end {
            let result = self.place(Place::Result { function: called, number });
            self.graph.flow(result, to);
        }
        if end >= OPEN {
            let rest = self.place(Place::Rest { function: called });
            self.graph.flow(rest, to);
        }
    }

    /// The metamethod that an operand has for the operator.
    pub(super) fn event(&mut self, operand: Object, event: &'static str, operands: [Node; 2], to: Node) {
        if let Object::Owner(owner) = operand {
            let function = self.of_metatable(owner, event);
            self.graph.watch(function, Rule::Given { values: operands.to_vec(), open: false });
            self.graph.watch(function, Rule::Returned { which: Which::only(0), to });
        }
    }

    fn library_result(&mut self, name: &str, site: Site, first: usize, which: Which, to: Node) {
        let Some(called) = find_called(name) else { return };
        let (function, pc) = site;
        let Which { number, rest } = which;
        let mut argument = |n: usize| self.argument(site, first, n);
        match called.result(number) {
            Gives::Text => self.graph.give(to, &SeenType::Text.into()),
            Gives::Integer => self.graph.give(to, &SeenType::Integer.into()),
            Gives::Float => self.graph.give(to, &SeenType::Float.into()),
            Gives::Number => {
                let operands = self.arguments(site, first);
                self.number_from(operands, to);
            }
            Gives::Boolean => self.graph.give(to, &SeenType::Boolean.into()),
            Gives::Argument(given) => {
                let from = argument(given);
                self.graph.flow(from, to);
            }
            Gives::Arguments => {
                for value in self.arguments_from(site, first, which) {
                    self.graph.flow(value, to);
                }
            }
            Gives::Key => {
                let table = argument(0);
                self.graph.watch(table, Rule::Key { to });
            }
            Gives::Element => {
                let table = argument(0);
                self.graph.watch(table, Rule::Read { name: None, to });
            }
            Gives::Field => {
                let owner = argument(0);
                let name = self.literal(function, pc, first + 1);
                self.graph.watch(owner, Rule::Read { name, to });
            }
            Gives::Metatable => {
                let owner = argument(0);
                self.graph.watch(owner, Rule::Metatable { to });
            }
            Gives::Iterator(next) => {
                let object = self.named(next.name);
                self.graph.give(to, &object.into());
            }
            // An error's message, where the call fails, is not what a script keeps.
            Gives::Called => {
                if let Some(&Callback { argument: n, with: With::Arguments(from) }) = called.calls.first() {
                    let before = called.gives.len() - 1;
                    let (called, first) = (argument(n), first + from);
                    let which = Which { number: number.saturating_sub(before), rest };
                    self.graph.watch(called, Rule::Result { function, pc, first, which, to });
                }
            }
            Gives::Given | Gives::Mixed => self.other_result(name, site, first, which, to),
            Gives::Nothing => {}
        }
    }

    /// What a function gives that its row says less of.
    fn other_result(&mut self, name: &str, site: Site, first: usize, which: Which, to: Node) {
        match (name, which.number) {
            ("select", _) => self.selected(site, first, to),
            ("table.pack", 0) => self.packed(site, first, to),
            (name, 0) if name == NEXT_RECORD.name => self.record(site, to),
            ("table.move", 0) => {
                let count = self.count(site, first);
                let from = self.argument(site, first, if count > 4 { 4 } else { 0 });
                self.graph.flow(from, to);
            }
            ("string.unpack", _) => {
                if let Some(format) = self.literal(site.0, site.1, first) {
                    unpacked(&format, which).iter().for_each(|held| self.graph.give(to, held));
                }
            }
            _ => {}
        }
    }

    /// `table.pack(…)` gives a table of its arguments and of their number (Lua manual § 6.7).
    fn packed(&mut self, site: Site, first: usize, to: Node) {
        let owner = Object::Owner(Owner::Made { function: site.0, pc: site.1 });
        self.graph.give(to, &owner.into());
        let integer = self.constant(SeenType::Integer);
        self.write(owner, Some(&"n".into()), None, integer);
        for value in self.arguments_from(site, first, Which { number: 0, rest: true }) {
            self.write(owner, None, Some(integer), value);
        }
    }

    /// A record of a DNS message is a table with fields.
    fn record(&mut self, site: Site, to: Node) {
        let owner = Object::Owner(Owner::Made { function: site.0, pc: site.1 });
        self.graph.give(to, &owner.into());
        for (names, ty) in RECORD.into_iter().zip([SeenType::Integer, SeenType::Text]) {
            let value = self.constant(ty);
            names.iter().for_each(|name| self.write(owner, Some(&(*name).into()), None, value));
        }
    }

    /// `select(n, …)` gives some of its arguments, or their number.
    fn selected(&mut self, site: Site, first: usize, to: Node) {
        if self.literal(site.0, site.1, first).is_some_and(|text| &*text == "#") {
            self.graph.give(to, &SeenType::Integer.into());
            return;
        }
        for number in 1..self.count(site, first) {
            let value = self.argument(site, first, number);
            self.graph.flow(value, to);
        }
    }

    /// The constant string that a register surely holds.
    fn literal(&self, function: usize, pc: usize, register: usize) -> Option<Rc<str>> {
        let setter = self.functions.only_setter(function, pc, register)?;
        let i = self.instruction(function, setter);
        match self.prototype(function).constants.get(i.bx()) {
            Some(Value::String(text)) if i.opcode() == Some(Opcode::LoadK) => {
                Some(String::from_utf8_lossy(text).into())
            }
            _ => None,
        }
    }
}

/// What a result of `string.unpack` (Lua manual § 6.5.2) may be, from 0; behind those of the format is the position.
fn unpacked(format: &str, Which { number, rest }: Which) -> Vec<Held> {
    let items = format.chars().filter(|option| option.is_ascii_alphabetic() && !"xX".contains(*option));
    let held = |item| match item {
        's' | 'z' | 'c' => SeenType::Text.into(),
        'f' | 'd' | 'n' => SeenType::Float.into(),
        _ => SeenType::Integer.into(),
    };
    let most = if rest { usize::MAX } else { 1 };
    items.chain(['j']).skip(number).take(most).map(held).collect()
}
