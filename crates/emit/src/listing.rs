//! What a person is shown of an object: sizes, and the instructions with the script lines they come from.

use crate::describe::section_of;
use crate::program::{Code, data_section};
use crate::text::text;
use moonhook_hook::Hook;
use moonhook_ir::{Function, FunctionKind, Loc, MapKind, Module};
use serde::Serialize;
use std::fmt::Write;

/// What one function became.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport {
    pub name: String,
    /// The ELF section with its code.
    pub section: String,
    /// The hook that it is a program for; `None` for other functions.
    #[serde(skip)]
    pub hook: Option<&'static Hook>,
    /// In slots of 8 bytes.
    pub instructions: usize,
    /// The size of its stack frame in bytes.
    pub stack: u32,
    pub listing: Vec<ListedInstruction>,
}

/// One slot of 8 bytes.
#[derive(Clone, Debug, Serialize)]
pub struct ListedInstruction {
    /// Slots from the function's start.
    pub index: usize,
    /// Empty for the second slot of a two-slot instruction, and where no texts are wanted ([`crate::Options::texts`]).
    pub text: String,
    /// Index into [`Module::sources`].
    pub source: u16,
    /// Line in that source, from 1; 0 if it comes from no line.
    pub line: u32,
    /// As in the object file: little-endian, before relocation.
    pub word: [u8; 8],
}

/// Reports on the function that became `code`, with the instructions' texts if these are wanted.
pub fn report(module: &Module, function: &Function, code: &Code, texts: bool) -> FunctionReport {
    let mut listing = Vec::with_capacity(code.words.len());
    let mut wide = None;
    for (index, at) in code.words.iter().enumerate() {
        let next = code.words.get(index + 1).map_or(0, |next| next.word.imm);
        let second_half = wide.take().is_some();
        let text = if second_half || !texts {
            String::new()
        } else {
            text(module, at.word, next, at.reference, index)
        };
        wide = (!second_half && at.word.is_wide()).then_some(());
        let Loc { source, line } = at.loc;
        listing.push(ListedInstruction { index, text, source, line, word: at.word.bytes() });
    }
    FunctionReport {
        name: function.name.clone(),
        section: section_of(function).to_string(),
        hook: match &function.kind {
            FunctionKind::Program { section } => Hook::of_section(section),
            FunctionKind::Subprogram { .. } => None,
        },
        instructions: code.words.len(),
        stack: code.stack,
        listing,
    }
}

/// The object as text: maps, then each function's instructions below the script lines they come from.
pub fn dump(object: &crate::Object, module: &Module) -> String {
    let mut out = String::new();
    for map in &module.maps {
        let _ = match (data_section(map), &map.kind) {
            (Some(section), _) => writeln!(out, "; {}: {} bytes", section.name, section.own_size),
            (None, MapKind::Map(d)) => writeln!(
                out,
                "; map {}: {:?}, {} entries, key {} and value {} bytes, flags {:#x}",
                map.name, d.map_type, d.max_entries, d.key_size, d.value_size, d.flags
            ),
            (None, MapKind::Arena { pages, image }) => {
                writeln!(out, "; arena {}: {pages} pages, the image has {} bytes", map.name, image.len())
            }
            (None, _) => Ok(()),
        };
    }
    for function in &object.functions {
        let FunctionReport { name, section, hook: _, instructions, stack, listing } = function;
        if listing.is_empty() {
            let _ = writeln!(out, "\n{name}: in the places of its calls");
            continue;
        }
        let _ =
            writeln!(out, "\n{name} in \"{section}\": {instructions} instructions, {stack} bytes of stack");
        let mut last = Loc::default();
        for inst in listing.iter().filter(|inst| !inst.text.is_empty()) {
            let loc = Loc { source: inst.source, line: inst.line };
            if loc != last && loc.line != 0 {
                let _ = writeln!(out, "; {}", place(module, loc));
                last = loc;
            }
            let _ = writeln!(out, "{:6}: {}", inst.index, inst.text);
        }
    }
    out
}

fn place(module: &Module, loc: Loc) -> String {
    let Some(source) = module.sources.get(usize::from(loc.source)) else {
        return format!("?:{}", loc.line);
    };
    let text = source.text.lines().nth((loc.line as usize).saturating_sub(1)).unwrap_or_default();
    format!("{}:{}: {}", source.name, loc.line, text.trim())
}
