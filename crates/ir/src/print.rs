//! The IR as text, for `moonhook dump --stage ir|opt` and for tests.
//!
//! One line an instruction; `; @source:line` follows where the place in the script changes (`; @-`: to no place). Values
//! keep their numbers. [`crate::parse`] reads this form back; what it lacks is the text of sources, what lies beyond the
//! first bytes of a data section, and code that another compiler has made, of which it says how many instructions there are.

use crate::*;
use std::fmt::{self, Display, Formatter};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, source) in self.sources.iter().enumerate() {
            writeln!(f, "source @{index} {}", Quoted(source.name.as_bytes()))?;
        }
        for (index, map) in self.maps.iter().enumerate() {
            writeln!(f, "map m{index} {} {}", map.name, map.kind)?;
        }
        for (index, event) in self.events.iter().enumerate() {
            let Event { kind, source, line, format, traceback } = event;
            write!(f, "event e{index} {kind:?} @{source}:{line} {}", Pieces(format))?;
            for (source, line, name) in traceback {
                write!(f, " in @{source}:{line} {}", Quoted(name.as_bytes()))?;
            }
            writeln!(f)?;
        }
        for function in &self.functions {
            writeln!(f, "\n{function}")?;
        }
        Ok(())
    }
}

/// Bytes as a string literal with the escapes of [`u8::escape_ascii`].
struct Quoted<'a>(&'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A data section: its size, and its bytes up to the last that is not zero, or `…` after as many as a line can show.
struct Bytes<'a>(&'a [u8]);

const SHOWN_BYTES: usize = 64;

impl Display for Bytes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())?;
        let used = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        match used {
            0 => Ok(()),
            1..=SHOWN_BYTES => write!(f, " {}", Quoted(&self.0[..used])),
            _ => write!(f, " {} …", Quoted(&self.0[..SHOWN_BYTES])),
        }
    }
}

struct Pieces<'a>(&'a [Piece]);

impl Display for Pieces<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"")?;
        for piece in self.0 {
            match piece {
                Piece::Text(bytes) => write!(f, "{}", bytes.escape_ascii().to_string().replace('%', "%%"))?,
                Piece::Argument(conversion) => write!(f, "{conversion}")?,
            }
        }
        write!(f, "\"")
    }
}

impl Display for MapKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MapKind::ReadOnlyData(bytes) => write!(f, "rodata {}", Bytes(bytes)),
            MapKind::Data(bytes) => write!(f, "data {}", Bytes(bytes)),
            MapKind::Zeros(size) => write!(f, "zeros {size}"),
            MapKind::Arena { pages, image } => write!(f, "arena pages={pages} {}", Bytes(image)),
            MapKind::Map(d) => {
                let MapDefinition { map_type, key_size, value_size, max_entries, flags } = d;
                write!(
                    f,
                    "{map_type:?} key={key_size} value={value_size} entries={max_entries} flags={flags}"
                )
            }
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            FunctionKind::Program { section } => format!("program \"{section}\""),
            FunctionKind::Subprogram { global, context } => {
                let linkage = if *global { "global" } else { "static" };
                let context = context.as_ref().map(|section| format!(" context \"{section}\""));
                format!("{linkage}{}", context.unwrap_or_default())
            }
        };
        if let Some(given) = &self.given {
            let (name, count) = (&self.name, given.words.len());
            return write!(f, "function {name}({}) {kind} given {count}", List(&self.params));
        }
        writeln!(f, "function {}({}) {kind} {{", self.name, List(&self.params))?;
        for (index, size) in self.slots.iter().enumerate() {
            writeln!(f, "  slot s{index} {size}")?;
        }
        for (index, block) in self.blocks.iter().enumerate() {
            let cold = if block.cold { " cold" } else { "" };
            writeln!(f, "b{index}({}){cold}:", List(&block.params))?;
            let mut last = Loc::default();
            let mut line = |f: &mut Formatter<'_>, text: String, loc: Loc| {
                let loc = if loc.line == 0 { Loc::default() } else { loc };
                if std::mem::replace(&mut last, loc) == loc {
                    writeln!(f, "  {text}")
                } else if loc.line == 0 {
                    writeln!(f, "  {text:<44} ; @-")
                } else {
                    writeln!(f, "  {text:<44} ; @{}:{}", loc.source, loc.line)
                }
            };
            for inst in &block.insts {
                let text = match inst.result {
                    Some(result) => format!("{result} = {}", inst.op),
                    None => inst.op.to_string(),
                };
                line(f, text, inst.loc)?;
            }
            match &block.terminator {
                Some((terminator, loc)) => line(f, terminator.to_string(), *loc)?,
                None => writeln!(f, "  (no terminator)")?,
            }
        }
        write!(f, "}}")
    }
}

struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{item}")?;
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Op::Const(value) => write!(f, "const {value}"),
            Op::Binary(op, lhs, rhs) => write!(f, "{} {lhs}, {rhs}", format!("{op:?}").to_lowercase()),
            Op::Unary(op, value) => write!(f, "{} {value}", format!("{op:?}").to_lowercase()),
            Op::Compare(condition) => write!(f, "compare {condition}"),
            Op::Load { size, signed, base, disp } => {
                let sign = if *signed { "s" } else { "u" };
                write!(f, "load.{sign}{} {base}{disp:+}", *size as u32 * 8)
            }
            Op::KernelField { base, field } => write!(f, "field {base} {}.{}", field.structure, field.name),
            Op::FieldFact { field, fact } => {
                write!(f, "fact {} {}.{}", fact.name(), field.structure, field.name)
            }
            Op::Store { size, base, disp, value } => {
                write!(f, "store.{} {base}{disp:+}, {value}", *size as u32 * 8)
            }
            Op::Atomic { op, size, base, disp, value } => {
                let op = format!("{op:?}").to_lowercase();
                write!(f, "atomic_{op}.{} {base}{disp:+}, {value}", *size as u32 * 8)
            }
            Op::DataAddress { map, offset } => write!(f, "data m{}+{offset}", map.0),
            Op::MapReference(map) => write!(f, "map m{}", map.0),
            Op::FunctionReference(function) => write!(f, "function f{}", function.0),
            Op::SlotAddress(slot) => write!(f, "slot {slot}"),
            Op::Helper { id, args } => write!(f, "helper {id}({})", List(args)),
            Op::Call { function, args } => write!(f, "call f{}({})", function.0, List(args)),
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Value(value) => write!(f, "{value}"),
            Operand::Imm(imm) => write!(f, "{imm}"),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", format!("{:?}", self.op).to_lowercase(), self.lhs, self.rhs)
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.block, List(&self.args))
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Terminator::Jump(target) => write!(f, "jump {target}"),
            Terminator::Branch { condition, then, otherwise } => {
                write!(f, "branch {condition}, {then}, {otherwise}")
            }
            Terminator::MayGoto { go, stop } => write!(f, "may_goto {go}, {stop}"),
            Terminator::Return(value) => write!(f, "return {value}"),
        }
    }
}
