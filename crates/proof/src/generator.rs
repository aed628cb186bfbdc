//! Random Lua programs: integers, branches, loops, helper functions, packet reads and writes, state kept between frames.
//!
//! Gives a tree of statements ([`Program`]) that prints as a script and from which statements can be left out
//! ([`crate::shrink`]). Every program ends: loops count. Errors are rare but there: reads out of bounds, divisions by
//! zero, `for` steps of zero.

use crate::random::Random;
use std::fmt::Write;

mod expression;

/// A statement: a line, or lines around nested statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    Line(String),
    /// Each part is a line and what follows it indented; the last line ends the statement.
    Block {
        parts: Vec<(String, Vec<Statement>)>,
        end: String,
    },
}

/// A script: the body of its helper functions and of its handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub statements: Vec<Statement>,
}

impl Program {
    /// As a Lua file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        write_all(&self.statements, 0, &mut text);
        text
    }
}

fn write_all(statements: &[Statement], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for statement in statements {
        match statement {
            Statement::Line(line) => {
                let _ = writeln!(text, "{indent}{line}");
            }
            Statement::Block { parts, end } => {
                for (line, body) in parts {
                    let _ = writeln!(text, "{indent}{line}");
                    write_all(body, depth + 1, text);
                }
                let _ = writeln!(text, "{indent}{end}");
            }
        }
    }
}

/// A program that depends on nothing but the numbers of `random`.
pub fn program(random: &mut Random) -> Program {
    let mut generator =
        Generator { random, scope: Scope::default(), names: 0, depth: 0, functions: Vec::new() };
    let mut statements = vec![line("local xdp = require \"xdp\"")];
    for index in 0..generator.random.below(4) {
        let value = generator.constant();
        statements.push(line(&format!("local u{index} = {value}")));
        generator.scope.assignable.push(format!("u{index}"));
        generator.scope.integers.push(format!("u{index}"));
    }
    statements.push(line("local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }"));
    for index in 0..generator.random.below(3) {
        statements.push(generator.helper(index));
    }
    let body = generator.handler();
    statements.push(Statement::Block {
        parts: vec![("xdp.attach(function(pkt)".to_string(), body)],
        end: "end)".to_string(),
    });
    Program { statements }
}

fn line(text: &str) -> Statement {
    Statement::Line(text.to_string())
}

fn block(head: String, body: Vec<Statement>) -> Statement {
    Statement::Block { parts: vec![(head, body)], end: "end".to_string() }
}

/// The names that can be used at a place.
#[derive(Clone, Default)]
struct Scope {
    integers: Vec<String>,
    /// Of those, the ones that may be assigned: no counters of loops.
    assignable: Vec<String>,
    booleans: Vec<String>,
    /// The packet can be used: not so in helper functions.
    packet: bool,
    /// The label that ends the iteration of the innermost loop.
    label: Option<String>,
}

struct Generator<'a> {
    random: &'a mut Random,
    scope: Scope,
    names: usize,
    depth: usize,
    /// Helper functions with the number of their parameters and results.
    functions: Vec<(String, usize, usize)>,
}

/// Nested blocks at most.
const MAX_DEPTH: usize = 2;

impl Generator<'_> {
    fn fresh(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    fn helper(&mut self, index: usize) -> Statement {
        let outer = self.scope.clone();
        let parameters: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.fresh("p")).collect();
        self.scope.integers.extend(parameters.clone());
        self.scope.assignable.extend(parameters.clone());
        let count = self.random.below(3);
        let mut body = self.statements(count);
        let results: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.integer(2)).collect();
        body.push(line(&format!("return {}", results.join(", "))));
        self.scope = outer;
        let name = format!("f{index}");
        let head = format!("local function {name}({})", parameters.join(", "));
        self.functions.push((name, parameters.len(), results.len()));
        block(head, body)
    }

    fn handler(&mut self) -> Vec<Statement> {
        self.scope.packet = true;
        let mut body = vec![line("local n = #pkt")];
        self.scope.integers.push("n".to_string());
        let count = 2 + self.random.below(7);
        body.extend(self.statements(count));
        if self.random.below(3) > 0 {
            let verdict = self.integer(2);
            body.push(line(&format!("return {verdict} & 3")));
        }
        body
    }

    fn statements(&mut self, count: usize) -> Vec<Statement> {
        (0..count).flat_map(|_| self.statement()).collect()
    }

    /// A nested body with names of its own.
    fn body(&mut self, most: usize) -> Vec<Statement> {
        let outer = self.scope.clone();
        self.depth += 1;
        let count = 1 + self.random.below(most.min(2));
        let body = self.statements(count);
        self.depth -= 1;
        self.scope = outer;
        body
    }

    fn statement(&mut self) -> Vec<Statement> {
        let nested = self.depth < MAX_DEPTH;
        match self.random.below(20) {
            0..=3 => vec![self.local()],
            4..=6 => vec![self.assignment()],
            7..=8 => vec![self.print()],
            9 if self.scope.packet => vec![self.write()],
            10 => vec![self.multiple()],
            11..=13 if nested => vec![self.branch()],
            14..=15 if nested => vec![self.numeric_for()],
            16 if nested => self.while_loop(),
            17 if nested => self.repeat_loop(),
            18 if self.scope.label.is_some() => vec![self.leave()],
            19 if self.scope.packet && self.depth > 0 => {
                let (condition, verdict) = (self.condition(1), self.random.below(5));
                vec![block(format!("if {condition} then"), vec![line(&format!("return {verdict}"))])]
            }
            _ => vec![self.local()],
        }
    }

    fn local(&mut self) -> Statement {
        if self.random.once_in(5) {
            let (name, value) = (self.fresh("b"), self.condition(2));
            self.scope.booleans.push(name.clone());
            return line(&format!("local {name} = {value}"));
        }
        let value = self.integer(3);
        let name = self.fresh("v");
        self.scope.integers.push(name.clone());
        self.scope.assignable.push(name.clone());
        line(&format!("local {name} = {value}"))
    }

    fn assignment(&mut self) -> Statement {
        if self.scope.assignable.is_empty() {
            return self.local();
        }
        let value = self.integer(3);
        let name = self.random.pick(&self.scope.assignable).clone();
        if self.random.once_in(3) {
            let by = self.integer(1);
            return line(&format!("{name} = {name} + {by}"));
        }
        line(&format!("{name} = {value}"))
    }

    /// Several results of a function.
    fn multiple(&mut self) -> Statement {
        let Some((call, results)) = self.call(1) else { return self.local() };
        let names: Vec<String> = (0..results).map(|_| self.fresh("v")).collect();
        self.scope.integers.extend(names.clone());
        self.scope.assignable.extend(names.clone());
        line(&format!("local {} = {call}", names.join(", ")))
    }

    fn print(&mut self) -> Statement {
        let mut arguments = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            arguments.push(match self.random.below(12) {
                0..=1 => self.condition(1),
                2 => format!("\"x\" .. {}", self.integer(1)),
                _ => self.integer(2),
            });
        }
        line(&format!("print({})", arguments.join(", ")))
    }

    fn write(&mut self) -> Statement {
        let (method, size) = *self.random.pick(&[
            ("setuint8", 1),
            ("setuint16", 2),
            ("setint32", 4),
            ("setint64", 8),
            ("setbyte", 1),
        ]);
        let (offset, value) = (self.offset(size), self.integer(2));
        line(&format!("pkt:{method}({offset}, {value})"))
    }

    fn branch(&mut self) -> Statement {
        let mut parts = vec![(format!("if {} then", self.condition(2)), self.body(3))];
        if self.random.once_in(4) {
            parts.push((format!("elseif {} then", self.condition(2)), self.body(2)));
        }
        if self.random.once_in(2) {
            parts.push(("else".to_string(), self.body(2)));
        }
        Statement::Block { parts, end: "end".to_string() }
    }

    /// The body of a loop: what `goto` skips, and its label.
    fn iteration(&mut self, extra: Option<&str>) -> Vec<Statement> {
        let outer = self.scope.clone();
        let label = self.fresh("next");
        self.scope.label = Some(label.clone());
        if let Some(name) = extra {
            self.scope.integers.push(name.to_string());
        }
        let body = self.body(3);
        self.scope = outer;
        vec![
            Statement::Block { parts: vec![("do".to_string(), body)], end: "end".to_string() },
            line(&format!("::{label}::")),
        ]
    }

    fn numeric_for(&mut self) -> Statement {
        let (from, to) = match self.random.below(3) {
            0 => (self.random.below(4).to_string(), self.random.below(9).to_string()),
            1 => ("1".to_string(), format!("{} & 7", self.integer(1))),
            _ => (format!("{} & 15", self.integer(1)), format!("{} & 7", self.integer(1))),
        };
        let step = match self.random.below(8) {
            0..=3 => String::new(),
            4 => ", -1".to_string(),
            5 => ", 3".to_string(),
            6 => ", -2".to_string(),
            _ => format!(", {} & 3", self.integer(1)),
        };
        let name = self.fresh("i");
        let body = self.iteration(Some(&name));
        block(format!("for {name} = {from}, {to}{step} do"), body)
    }

    fn while_loop(&mut self) -> Vec<Statement> {
        let (name, condition, most) = (self.fresh("c"), self.condition(1), 1 + self.random.below(12));
        let mut body = vec![line(&format!("{name} = {name} + 1"))];
        body.extend(self.iteration(Some(&name)));
        let head = format!("while {name} < {most} and {condition} do");
        vec![line(&format!("local {name} = 0")), block(head, body)]
    }

    fn repeat_loop(&mut self) -> Vec<Statement> {
        let (name, condition, most) = (self.fresh("c"), self.condition(1), 1 + self.random.below(9));
        let mut body = vec![line(&format!("{name} = {name} + 1"))];
        body.extend(self.iteration(Some(&name)));
        let end = format!("until {name} >= {most} or {condition}");
        vec![
            line(&format!("local {name} = 0")),
            Statement::Block { parts: vec![("repeat".to_string(), body)], end },
        ]
    }

    /// Out of the iteration, or out of the loop.
    fn leave(&mut self) -> Statement {
        let condition = self.condition(1);
        let how = match &self.scope.label {
            Some(label) if self.random.once_in(2) => format!("goto {label}"),
            _ => "break".to_string(),
        };
        block(format!("if {condition} then"), vec![line(&how)])
    }
}
