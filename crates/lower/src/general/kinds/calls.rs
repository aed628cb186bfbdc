//! What calls give: of the script's own functions what they return, of library functions what is listed here.

use super::{Held, Kinds};
use crate::opcode::Opcode;
use crate::shared::Kind;
use moonhook_snapshot::Value;
use std::collections::BTreeSet;

/// Library functions whose results are all strings, by the last part of their names.
const TEXTS: &[&str] = &[
    "char",
    "concat",
    "format",
    "getstring",
    "gsub",
    "lower",
    "match",
    "pack",
    "rep",
    "reverse",
    "sub",
    "tostring",
    "type",
    "upper",
];

/// Library functions whose results are all integers.
const INTEGERS: &[&str] = &[
    "abs",
    "byte",
    "ceil",
    "codepoint",
    "difftime",
    "find",
    "floor",
    "fmod",
    "getbyte",
    "getint16",
    "getint32",
    "getint64",
    "getint8",
    "getnumber",
    "getuint16",
    "getuint32",
    "getuint8",
    "hton16",
    "hton32",
    "hton64",
    "len",
    "max",
    "min",
    "ntoh16",
    "ntoh32",
    "ntoh64",
    "offset",
    "packsize",
    "random",
    "rawlen",
    "time",
    "tointeger",
    "tonumber",
];

/// Library functions whose results are all booleans.
const BOOLEANS: &[&str] = &["rawequal", "ult"];

impl Kinds<'_, '_> {
    /// A result of the call at `pc`, from 0.
    pub(super) fn of_call(&mut self, function: usize, pc: usize, number: usize) -> Held {
        let base = self.instruction(function, pc).a();
        let called = self.of_register(function, pc, base);
        let mut held = Held::default();
        for called in called.functions {
            let result = self.of_result(called, number);
            held.add(result);
        }
        for name in called.named {
            let result = self.of_library(function, pc, &name, number);
            held.add(result);
        }
        held
    }

    fn of_library(&mut self, function: usize, pc: usize, name: &str, number: usize) -> Held {
        let i = self.instruction(function, pc);
        let argument = |n: usize| i.a() + 1 + n;
        match name {
            "pcall" | "xpcall" if number == 0 => Kind::Boolean.into(),
            // An error's message, where the call fails, is not what a script keeps.
            "pcall" => {
                let called = self.of_register(function, pc, argument(0));
                let mut held = Held::default();
                for called in called.functions {
                    let result = self.of_result(called, number - 1);
                    held.add(result);
                }
                called.named.iter().for_each(|name| held.add(of_named(name)));
                held
            }
            "assert" | "setmetatable" => self.of_register(function, pc, argument(number)),
            "rawget" => Held::default(),
            "select" => {
                let mut held = Held::default();
                for n in 1..i.b().saturating_sub(1) {
                    let value = self.of_register(function, pc, argument(n));
                    held.add(value);
                }
                held
            }
            name => of_named(name),
        }
    }

    /// What a function of the script returns.
    fn of_result(&mut self, called: usize, number: usize) -> Held {
        let mut held = Held::default();
        if self.functions.is_hidden(called) || self.is_too_far() {
            return held;
        }
        for pc in 0..self.prototype(called).code.len() {
            let i = self.instruction(called, pc);
            let found = match i.opcode() {
                Some(Opcode::Return1) if number == 0 => self.of_register(called, pc, i.a()),
                Some(Opcode::Return) if i.b() == 0 || number + 1 < i.b() => {
                    self.of_register(called, pc, i.a() + number)
                }
                _ => continue,
            };
            held.add(found);
        }
        held
    }

    /// A parameter: what the functions of the script call the function with.
    pub(super) fn of_parameter(&mut self, function: usize, parameter: usize) -> Held {
        let mut held = Held::default();
        if parameter >= usize::from(self.prototype(function).parameters) {
            return held;
        }
        for number in 0..self.index.calls.len() {
            let (caller, pc) = self.index.calls[number];
            let i = self.instruction(caller, pc);
            let given = i.b() == 0 || parameter + 1 < i.b();
            if given && self.of_register(caller, pc, i.a()).functions.contains(&function) {
                let value = self.of_register(caller, pc, i.a() + 1 + parameter);
                held.add(value);
            }
        }
        held
    }

    /// A variable of a generic `for`, from 0.
    pub(super) fn of_iterator(&mut self, function: usize, pc: usize, variable: usize) -> Held {
        let iterator = self.instruction(function, pc).a();
        let mut held = Held::default();
        for origin in self.origins(function, pc, iterator) {
            let super::reaching::Origin::At(at) = origin else { continue };
            let i = self.instruction(function, at);
            if i.opcode() != Some(Opcode::Call) {
                continue;
            }
            for name in self.of_register(function, at, i.a()).named {
                let found = match name.as_str() {
                    "gmatch" => Kind::Text.into(),
                    "ipairs" if variable == 0 => Kind::Integer.into(),
                    "pairs" | "ipairs" => {
                        let tables = self.of_register(function, at, i.a() + 1).tables;
                        self.of_entries(tables, variable)
                    }
                    _ => Held::default(),
                };
                held.add(found);
            }
        }
        held
    }

    /// The keys (`part` 0) or values of tables.
    fn of_entries(&mut self, tables: BTreeSet<moonhook_snapshot::TableId>, part: usize) -> Held {
        let mut held = Held::default();
        for table in tables {
            if let Some(entries) = self.shared.get(&table) {
                let seen = if part == 0 { &entries.key } else { &entries.value };
                held.seen.add(seen);
                held.entries.extend((part > 0).then_some(table));
                continue;
            }
            let known = self.functions.snapshot.table(table);
            for (index, value) in known.array.iter().enumerate() {
                let key = Value::Integer(index as i64 + 1);
                held.add(self.of_value(if part == 0 { &key } else { value }));
            }
            for (key, value) in &known.entries {
                held.add(self.of_value(if part == 0 { key } else { value }));
            }
        }
        held
    }
}

fn of_named(name: &str) -> Held {
    match name {
        name if TEXTS.contains(&name) => Kind::Text.into(),
        name if INTEGERS.contains(&name) => Kind::Integer.into(),
        name if BOOLEANS.contains(&name) => Kind::Boolean.into(),
        _ => Held::default(),
    }
}
