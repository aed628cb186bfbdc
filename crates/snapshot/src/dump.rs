//! A snapshot as text: `moonhook dump --stage snapshot`.

use std::fmt::{self, Write};

use crate::opcode::{mnemonic, operands};
use crate::{Closure, Prototype, PrototypeId, Snapshot, Table, Value};

/// Entries of a table, and bytes of a string, that are shown; of longer ones the rest is counted only.
const SHOWN_ENTRIES: usize = 16;
const SHOWN_BYTES: usize = 64;

/// The whole snapshot, for people: handlers, closures with their variables, tables, prototypes instruction by instruction.
/// Ends with a line end. The form may change between versions.
pub fn dump(snapshot: &Snapshot) -> String {
    Dump(snapshot).to_string()
}

struct Dump<'a>(&'a Snapshot);

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.0;
        writeln!(f, "script {}", snapshot.script)?;
        for handler in snapshot.handlers.iter() {
            writeln!(f, "handler {} closure{}", handler.point, handler.closure.0)?;
        }
        for (index, closure) in snapshot.closures.iter().enumerate() {
            self.closure(f, index, closure)?;
        }
        for (index, table) in snapshot.tables.iter().enumerate() {
            self.table(f, index, table)?;
        }
        for index in 0..snapshot.prototypes.len() {
            self.prototype(f, PrototypeId(index as u32))?;
        }
        Ok(())
    }
}

impl Dump<'_> {
    /// `file:first-last` of a prototype; `file` for a main chunk.
    fn place(&self, prototype: &Prototype) -> String {
        let name = prototype.source.map_or("?", |id| self.0.source(id).name.as_str());
        match prototype.line_defined {
            0 => name.to_owned(),
            first => format!("{name}:{first}-{}", prototype.last_line_defined),
        }
    }

    fn closure(&self, f: &mut fmt::Formatter<'_>, index: usize, closure: &Closure) -> fmt::Result {
        let prototype = self.0.prototype(closure.prototype);
        writeln!(f, "\nclosure{index} = prototype{} ({})", closure.prototype.0, self.place(prototype))?;
        for (number, cell) in closure.upvalues.iter().enumerate() {
            let name = prototype.upvalues.get(number).map_or("?", |upvalue| upvalue.name.as_str());
            writeln!(
                f,
                "  upvalue {number} {name}: cell{} = {}",
                cell.0,
                self.value(&self.0.cell(*cell).value)
            )?;
        }
        Ok(())
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, index: usize, table: &Table) -> fmt::Result {
        write!(f, "\ntable{index}")?;
        if let Some(name) = &table.name {
            write!(f, " {name}")?;
        }
        write!(f, " ({} in sequence, {} others)", table.array.len(), table.entries.len())?;
        if let Some(metatable) = table.metatable {
            write!(f, " metatable table{}", metatable.0)?;
        }
        writeln!(f)?;
        for (number, value) in table.array.iter().take(SHOWN_ENTRIES).enumerate() {
            writeln!(f, "  [{}] = {}", number + 1, self.value(value))?;
        }
        cut(f, table.array.len())?;
        for (key, value) in table.entries.iter().take(SHOWN_ENTRIES) {
            writeln!(f, "  [{}] = {}", self.value(key), self.value(value))?;
        }
        cut(f, table.entries.len())
    }

    fn prototype(&self, f: &mut fmt::Formatter<'_>, id: PrototypeId) -> fmt::Result {
        let prototype = self.0.prototype(id);
        let vararg = if prototype.is_vararg { ", ..." } else { "" };
        writeln!(
            f,
            "\nprototype{} {} ({} parameters{vararg}, {} registers)",
            id.0,
            self.place(prototype),
            prototype.parameters,
            prototype.stack_size
        )?;
        for (number, upvalue) in prototype.upvalues.iter().enumerate() {
            let from = if upvalue.in_stack { "register" } else { "upvalue" };
            writeln!(f, "  upvalue {number} {} from {from} {}", upvalue.name, upvalue.index)?;
        }
        for (number, constant) in prototype.constants.iter().enumerate() {
            writeln!(f, "  constant {number} {}", self.value(constant))?;
        }
        for (number, inner) in prototype.prototypes.iter().enumerate() {
            writeln!(f, "  function {number} prototype{}", inner.0)?;
        }
        for local in &prototype.locals {
            writeln!(f, "  local {} at {}..{}", local.name, local.start_pc, local.end_pc)?;
        }
        for (pc, instruction) in prototype.code.iter().enumerate() {
            let line = prototype.lines.get(pc).map_or_else(|| "?".to_owned(), u32::to_string);
            let operands = operands(*instruction);
            writeln!(f, "  {pc:4} [{line}] {:<10} {operands}", mnemonic(*instruction))?;
        }
        Ok(())
    }

    /// A value on one line; a table with its name, a long string cut.
    fn value(&self, value: &Value) -> String {
        let mut shown = String::new();
        // Writing to a string does not fail.
        let _ = match value {
            Value::Table(id) => match &self.0.table(*id).name {
                Some(name) => write!(shown, "{value} ({name})"),
                None => write!(shown, "{value}"),
            },
            Value::String(bytes) if bytes.len() > SHOWN_BYTES => {
                write!(shown, "\"{}…\" ({} bytes)", bytes[..SHOWN_BYTES].escape_ascii(), bytes.len())
            }
            _ => write!(shown, "{value}"),
        };
        shown
    }
}

fn cut(f: &mut fmt::Formatter<'_>, entries: usize) -> fmt::Result {
    match entries.checked_sub(SHOWN_ENTRIES) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(f, "  … {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Cell, CellId, ClosureId, Handler, LocalVariable, Source, SourceId, TableId, UpvalueDescription,
    };
    use moonhook_hook::{Point, XDP};

    fn sample() -> Snapshot {
        let prototype = Prototype {
            source: Some(SourceId(0)),
            line_defined: 1,
            last_line_defined: 2,
            parameters: 1,
            stack_size: 3,
            code: vec![1 << 7 | 2 << 16],
            lines: vec![2],
            constants: vec![Value::string("a\0b")],
            upvalues: vec![UpvalueDescription { name: "set".into(), in_stack: true, index: 4 }],
            locals: vec![LocalVariable { name: "pkt".into(), start_pc: 0, end_pc: 1 }],
            lookup: Default::default(),
            ..Prototype::default()
        };
        let entries = (0..20).map(|key| (Value::Integer(100 + key), Value::Boolean(true))).collect();
        Snapshot {
            script: "x.lua".into(),
            handlers: [Handler {
                point: Point::at_interface(&XDP),
                closure: ClosureId(0),
                written: ClosureId(0),
            }]
            .into_iter()
            .collect(),
            closures: vec![Closure { prototype: PrototypeId(0), upvalues: vec![CellId(0)] }],
            cells: vec![Cell { value: Value::Table(TableId(0)) }],
            tables: vec![Table {
                array: vec![Value::string("y".repeat(100))],
                entries,
                metatable: Some(TableId(0)),
                name: Some("set".into()),
                is_library: false,
                declaration: None,
            }],
            prototypes: vec![prototype],
            sources: vec![Source::new("x.lua", "")],
            ..Snapshot::default()
        }
    }

    #[test]
    fn shows_everything_and_cuts_what_is_long() {
        let expected_entries: String = (100..116).map(|key| format!("  [{key}] = true\n")).collect();
        let expected = format!(
            "script x.lua
handler xdp closure0

closure0 = prototype0 (x.lua:1-2)
  upvalue 0 set: cell0 = table0 (set)

table0 set (1 in sequence, 20 others) metatable table0
  [1] = \"{}…\" (100 bytes)
{expected_entries}  … 4 more

prototype0 x.lua:1-2 (1 parameters, 3 registers)
  upvalue 0 set from register 4
  constant 0 \"a\\x00b\"
  local pkt at 0..1
     0 [2] MOVE       1 2 0
",
            "y".repeat(64)
        );
        assert_eq!(dump(&sample()), expected);
    }
}
