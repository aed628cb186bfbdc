//! Chains as Lua: those that call functions in Lua, which have to be able to run whatever those do.
//!
//! Each line of a chain is a line of the same number. What Lua has no words for (the packet's numbers, programs, maps, and a verdict that ends the
//! packet) are chains of one step, which are called as all chains are. Numbers are integers of 64 bits, which their types fill with zeros or
//! with the sign, as in [`crate::eval`].

mod expression;

use crate::ast::Type;
use crate::token::At;
use crate::tree::{Callee, Chain, Chains, Line, LineKind, Value, ValueKind, Variable, VariableId};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A function in Lua that chains call.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// It gets the packet before the numbers.
    pub takes_packet: bool,
}

/// What the text calls the table of these functions.
const FUNCTIONS: &str = "functions";

/// Who knows what chains call.
pub trait Callees {
    /// The program of that number, if it is in Lua.
    fn function(&self, program: usize) -> Option<Function>;
    /// The number by which a chain is called that is not in Lua.
    fn chain(&mut self, number: usize) -> usize;
    /// The same of a chain of one step, of the same programs and maps.
    fn step(&mut self, chain: Chain) -> usize;
}

/// The chains that call functions in Lua, themselves or by other chains, in the order in which they are written.
pub fn callers(chains: &Chains, is_function: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut found: BTreeSet<usize> = BTreeSet::new();
    loop {
        let is_caller = |number: &usize| {
            calls(&chains.chains[*number].body, &|callee| match callee {
                Callee::Program(program) => is_function(program),
                Callee::Chain(chain) => found.contains(&chain),
                _ => false,
            })
        };
        let new: Vec<usize> =
            (0..chains.chains.len()).filter(|number| !found.contains(number)).filter(is_caller).collect();
        if new.is_empty() {
            return found.into_iter().collect();
        }
        found.extend(new);
    }
}

fn calls(lines: &[Line], is_it: &impl Fn(Callee) -> bool) -> bool {
    lines.iter().any(|line| match &line.kind {
        LineKind::Assign(_, value) | LineKind::Call(value) | LineKind::Return(Some(value)) => {
            asks(value, is_it)
        }
        LineKind::Return(None) => false,
        LineKind::If { arms, otherwise } => {
            arms.iter().any(|(condition, then)| asks(condition, is_it) || calls(then, is_it))
                || calls(otherwise, is_it)
        }
        LineKind::While { condition, body } => asks(condition, is_it) || calls(body, is_it),
    })
}

/// Whether a value has a call that is it.
fn asks(value: &Value, is_it: &impl Fn(Callee) -> bool) -> bool {
    match &value.kind {
        ValueKind::Number(_) | ValueKind::Variable(_) => false,
        ValueKind::Convert(of) | ValueKind::Unary(_, of) => asks(of, is_it),
        ValueKind::Binary(_, both) => both.iter().any(|value| asks(value, is_it)),
        ValueKind::Call(callee, arguments) => {
            is_it(*callee) || arguments.iter().any(|value| asks(value, is_it))
        }
    }
}

/// The text of these chains. It gets the function that calls chains by their numbers, and a table with the functions that chains call by the names of
/// programs; it gives a table with a function for each chain by its name, which takes the packet and the arguments.
pub fn write(chains: &Chains, which: &[usize], callees: &mut impl Callees) -> String {
    let mut writer =
        Writer { chains, which, callees, text: String::new(), line: 1, temporaries: 0, steps: Vec::new() };
    writer.begin();
    let mut order = which.to_vec();
    order.sort_by_key(|number| chains.chains[*number].at.line);
    for number in order {
        writer.chain(number);
    }
    writer.put(" return chains");
    writer.text
}

struct Writer<'a, C> {
    chains: &'a Chains,
    which: &'a [usize],
    callees: &'a mut C,
    text: String,
    /// The line that is written.
    line: u32,
    /// Names that a statement has taken for what calls have given.
    temporaries: usize,
    /// Steps that have a number, by what they do and where.
    steps: Vec<((Callee, Type, At), usize)>,
}

impl<C: Callees> Writer<'_, C> {
    fn begin(&mut self) {
        write!(self.text, "local call, {FUNCTIONS} = ... local chains = {{}}").ok();
        let lines = include_str!("prelude.lua").lines().filter(|line| !line.starts_with("--"));
        lines.for_each(|line| {
            write!(self.text, " {}", line.trim()).ok();
        });
    }

    /// Goes on at that line, if what was written has not come further.
    fn at(&mut self, at: At) {
        let lines = at.line.saturating_sub(self.line);
        self.text.push_str(&"\n".repeat(lines as usize));
        self.line += lines;
        self.text.push(' ');
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push(' ');
    }

    fn chain(&mut self, number: usize) {
        let chain = &self.chains.chains[number];
        self.at(chain.at);
        let names: String = (0..chain.parameters).map(|id| format!(", {}", variable(id))).collect();
        write!(self.text, "{} = function(pkt{names}) ", self::chain(&chain.name)).ok();
        for (id, Variable { ty, .. }) in chain.variables.iter().enumerate() {
            let name = variable(id);
            let value = if id < chain.parameters { expression::filled(&name, *ty) } else { "0".into() };
            let local = if id < chain.parameters { "" } else { "local " };
            write!(self.text, "{local}{name} = {value} ").ok();
        }
        self.lines(&chain.body);
        self.put("do return 0 end end");
    }

    fn lines(&mut self, lines: &[Line]) {
        for line in lines {
            self.at(line.at);
            self.put("do");
            let temporaries = self.temporaries;
            self.statement(&line.kind);
            self.temporaries = temporaries;
            self.put("end");
        }
    }

    fn statement(&mut self, line: &LineKind) {
        match line {
            LineKind::Assign(id, value) => {
                let value = self.value(value).text;
                self.put(&format!("{} = {value}", variable(*id)));
            }
            // All calls are statements, and nothing else is wanted.
            LineKind::Call(value) => {
                self.value(value);
            }
            LineKind::Return(value) => {
                let value = value.as_ref().map_or("0".to_string(), |value| self.value(value).text);
                self.put(&format!("return {value}"));
            }
            LineKind::If { arms, otherwise } => self.choose(arms, otherwise),
            LineKind::While { condition, body } => {
                self.put("while true do");
                let condition = self.condition(condition).text;
                self.put(&format!("if not ({condition}) then break end"));
                self.lines(body);
                self.put("end");
            }
        }
    }

    /// Not one in the other: there can be very many. What a condition calls is called only if no other one has held.
    fn choose(&mut self, arms: &[(Value, Vec<Line>)], otherwise: &[Line]) {
        let is_done = self.temporary();
        self.put(&format!("local {is_done} = false"));
        for (number, (condition, then)) in arms.iter().enumerate() {
            if number > 0 {
                self.at(condition.at);
                self.put(&format!("if not {is_done} then"));
            }
            let condition = self.condition(condition).text;
            self.put(&format!("if {condition} then {is_done} = true"));
            self.lines(then);
            self.put(if number > 0 { "end end" } else { "end" });
        }
        if !otherwise.is_empty() {
            self.put(&format!("if not {is_done} then"));
            self.lines(otherwise);
            self.put("end");
        }
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t{}", self.temporaries)
    }

    /// The number of the chain that does what is called there with so many arguments.
    fn step(&mut self, callee: Callee, (ty, at): (Type, At), arguments: usize) -> usize {
        let key = (callee, ty, at);
        if let Some((_, number)) = self.steps.iter().find(|(known, _)| *known == key) {
            return *number;
        }
        let word = |kind: ValueKind, ty: Type| Value { kind, ty, at };
        let arguments: Vec<Value> =
            (0..arguments).map(|id| word(ValueKind::Variable(id), Type::U64)).collect();
        let variable = |id: usize| Variable { name: variable(id), ty: Type::U64 };
        let number = self.callees.step(Chain {
            name: "step".into(),
            parameters: arguments.len(),
            variables: (0..arguments.len()).map(variable).collect(),
            body: vec![Line {
                kind: LineKind::Return(Some(word(ValueKind::Call(callee, arguments), ty))),
                at,
            }],
            at,
        });
        self.steps.push((key, number));
        number
    }
}

/// A chain, by its name, which may be a word of Lua's.
fn chain(name: &str) -> String {
    format!("chains['{name}']")
}

fn variable(id: VariableId) -> String {
    format!("v{id}")
}
