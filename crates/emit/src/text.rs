//! Instructions as text, in the notation of the kernel's verifier log.

use crate::assemble::Reference;
use crate::isa::{SOURCE_REGISTER, Word, class};
use moonhook_ir::Module;

/// One instruction; `next` is the immediate of the slot that follows, `index` its own slot in its function.
pub fn text(module: &Module, word: Word, next: i32, reference: Option<Reference>, index: usize) -> String {
    match word.class() {
        class::LD => wide(module, word, next, reference),
        class::LDX => {
            let sign = if word.code & 0xe0 == 0x80 { 's' } else { 'u' };
            format!("r{} = {}", word.dst, memory(sign, word, word.src))
        }
        class::ST => format!("{} = {}", memory('u', word, word.dst), word.imm),
        class::STX if word.code & 0xe0 == 0xc0 => atomic(word),
        class::STX => format!("{} = r{}", memory('u', word, word.dst), word.src),
        class::ALU | class::ALU64 => arithmetic(word),
        _ => jump(module, word, reference, index),
    }
}

fn wide(module: &Module, word: Word, next: i32, reference: Option<Reference>) -> String {
    let name = |map: moonhook_ir::MapId| &module.map(map).name;
    match reference {
        Some(Reference::Data(map)) => format!("r{} = &{}[{}]", word.dst, name(map), word.imm),
        Some(Reference::Map(map)) => format!("r{} = map {}", word.dst, name(map)),
        Some(Reference::Callback(function)) => format!("r{} = &{}", word.dst, module.function(function).name),
        _ => format!("r{} = {:#x} ll", word.dst, u64::from(next as u32) << 32 | u64::from(word.imm as u32)),
    }
}

fn bits(word: Word) -> u32 {
    match word.code & 0x18 {
        0x00 => 32,
        0x08 => 16,
        0x10 => 8,
        _ => 64,
    }
}

fn memory(sign: char, word: Word, base: u8) -> String {
    format!("*({sign}{} *)(r{base} {:+})", bits(word), word.off)
}

fn atomic(word: Word) -> String {
    let place = memory('u', word, word.dst);
    match word.imm {
        0 => format!("lock {place} += r{}", word.src),
        _ => format!("r{0} = atomic_fetch_add({place}, r{0})", word.src),
    }
}

fn arithmetic(word: Word) -> String {
    let name = if word.class() == class::ALU { 'w' } else { 'r' };
    let dst = format!("{name}{}", word.dst);
    let rhs = rhs(word, name);
    let signed = if word.off == 1 { "s" } else { "" };
    let operator = match word.code & 0xf0 {
        0x00 => "+=",
        0x10 => "-=",
        0x20 => "*=",
        0x30 => "/=",
        0x40 => "|=",
        0x50 => "&=",
        0x60 => "<<=",
        0x70 => ">>=",
        0x80 => return format!("{dst} = -{dst}"),
        0x90 => "%=",
        0xa0 => "^=",
        0xb0 if word.off == 1 => return format!("{dst} = addr_space_cast({rhs}, 0, 1)"),
        0xb0 if word.off != 0 => return format!("{dst} = (s{}){rhs}", word.off),
        0xb0 => "=",
        0xc0 => "s>>=",
        _ => return format!("{dst} = bswap{} {dst}", word.imm),
    };
    format!("{dst} {signed}{operator} {rhs}")
}

fn rhs(word: Word, name: char) -> String {
    match word.code & SOURCE_REGISTER {
        0 => word.imm.to_string(),
        _ => format!("{name}{}", word.src),
    }
}

fn jump(module: &Module, word: Word, reference: Option<Reference>, index: usize) -> String {
    let far = word.class() == class::JMP32;
    let distance = if far { i64::from(word.imm) } else { i64::from(word.off) };
    let to = index as i64 + 1 + distance;
    let operator = match word.code & 0xf0 {
        0x00 => return format!("goto{} {to}", if far { "l" } else { "" }),
        0x80 => {
            return match reference {
                Some(Reference::Function(function)) => format!("call {}", module.function(function).name),
                _ => format!("call helper {}", word.imm),
            };
        }
        0x90 => return "exit".to_string(),
        0xe0 => return format!("may_goto {to}"),
        0x10 => "==",
        0x20 => ">",
        0x30 => ">=",
        0x40 => "&",
        0x50 => "!=",
        0x60 => "s>",
        0x70 => "s>=",
        0xa0 => "<",
        0xb0 => "<=",
        0xc0 => "s<",
        _ => "s<=",
    };
    format!("if r{} {operator} {} goto {to}", word.dst, rhs(word, 'r'))
}
