//! Names and operands of Lua 5.5 instructions (`lopcodes.h`), for people to read.

/// Which bits of an instruction are which operand.
#[derive(Clone, Copy)]
enum Format {
    /// Three operands A (8 bits), B, C (8 bits each) and the bit k.
    Abc,
    /// A, B (6 bits), C (10 bits) and k.
    WideC,
    /// A, and 17 bits unsigned.
    ABx,
    /// A, and 17 bits signed.
    AsBx,
    /// 25 bits unsigned.
    Ax,
    /// 25 bits signed.
    Jump,
}

use Format::{ABx, Abc, AsBx, Ax, Jump, WideC};

/// In the order of the numbers: `ORDER OP` in `lopcodes.h`.
const OPCODES: &[(&str, Format)] = &[
    ("MOVE", Abc),
    ("LOADI", AsBx),
    ("LOADF", AsBx),
    ("LOADK", ABx),
    ("LOADKX", ABx),
    ("LOADFALSE", Abc),
    ("LFALSESKIP", Abc),
    ("LOADTRUE", Abc),
    ("LOADNIL", Abc),
    ("GETUPVAL", Abc),
    ("SETUPVAL", Abc),
    ("GETTABUP", Abc),
    ("GETTABLE", Abc),
    ("GETI", Abc),
    ("GETFIELD", Abc),
    ("SETTABUP", Abc),
    ("SETTABLE", Abc),
    ("SETI", Abc),
    ("SETFIELD", Abc),
    ("NEWTABLE", WideC),
    ("SELF", Abc),
    ("ADDI", Abc),
    ("ADDK", Abc),
    ("SUBK", Abc),
    ("MULK", Abc),
    ("MODK", Abc),
    ("POWK", Abc),
    ("DIVK", Abc),
    ("IDIVK", Abc),
    ("BANDK", Abc),
    ("BORK", Abc),
    ("BXORK", Abc),
    ("SHLI", Abc),
    ("SHRI", Abc),
    ("ADD", Abc),
    ("SUB", Abc),
    ("MUL", Abc),
    ("MOD", Abc),
    ("POW", Abc),
    ("DIV", Abc),
    ("IDIV", Abc),
    ("BAND", Abc),
    ("BOR", Abc),
    ("BXOR", Abc),
    ("SHL", Abc),
    ("SHR", Abc),
    ("MMBIN", Abc),
    ("MMBINI", Abc),
    ("MMBINK", Abc),
    ("UNM", Abc),
    ("BNOT", Abc),
    ("NOT", Abc),
    ("LEN", Abc),
    ("CONCAT", Abc),
    ("CLOSE", Abc),
    ("TBC", Abc),
    ("JMP", Jump),
    ("EQ", Abc),
    ("LT", Abc),
    ("LE", Abc),
    ("EQK", Abc),
    ("EQI", Abc),
    ("LTI", Abc),
    ("LEI", Abc),
    ("GTI", Abc),
    ("GEI", Abc),
    ("TEST", Abc),
    ("TESTSET", Abc),
    ("CALL", Abc),
    ("TAILCALL", Abc),
    ("RETURN", Abc),
    ("RETURN0", Abc),
    ("RETURN1", Abc),
    ("FORLOOP", ABx),
    ("FORPREP", ABx),
    ("TFORPREP", ABx),
    ("TFORCALL", Abc),
    ("TFORLOOP", ABx),
    ("SETLIST", WideC),
    ("CLOSURE", ABx),
    ("VARARG", Abc),
    ("GETVARG", Abc),
    ("ERRNNIL", ABx),
    ("VARARGPREP", Abc),
    ("EXTRAARG", Ax),
];

/// The mnemonic; `?` for a number that is no opcode.
pub(crate) fn mnemonic(instruction: u32) -> &'static str {
    OPCODES.get((instruction & 0x7f) as usize).map_or("?", |(name, _)| name)
}

/// The operands, separated by spaces. Signed 8-bit operands stand with their offset of 127 taken off, `k` only if set.
pub(crate) fn operands(instruction: u32) -> String {
    let Some((name, format)) = OPCODES.get((instruction & 0x7f) as usize) else {
        return format!("{instruction:#010x}");
    };
    let field = |position: u32, size: u32| i64::from(instruction >> position & ((1 << size) - 1));
    let (a, k) = (field(7, 8), if field(15, 1) == 1 { " k" } else { "" });
    match format {
        Abc => {
            let b = field(16, 8) - if has_signed_b(name) { 127 } else { 0 };
            let c = field(24, 8) - if has_signed_c(name) { 127 } else { 0 };
            format!("{a} {b} {c}{k}")
        }
        WideC => format!("{a} {} {}{k}", field(16, 6), field(22, 10)),
        ABx => format!("{a} {}", field(15, 17)),
        AsBx => format!("{a} {}", field(15, 17) - 0xffff),
        Ax => format!("{}", field(7, 25)),
        Jump => format!("{}", field(7, 25) - 0xff_ffff),
    }
}

fn has_signed_b(name: &str) -> bool {
    matches!(name, "MMBINI" | "EQI" | "LTI" | "LEI" | "GTI" | "GEI")
}

fn has_signed_c(name: &str) -> bool {
    matches!(name, "ADDI" | "SHLI" | "SHRI")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcode_numbers_are_those_of_lua() {
        let number = |name| OPCODES.iter().position(|(opcode, _)| *opcode == name);
        // Counted in lopcodes.h; NUM_OPCODES is OP_EXTRAARG + 1.
        for (name, expected) in
            [("MOVE", 0), ("GETTABUP", 11), ("CALL", 68), ("FORLOOP", 73), ("EXTRAARG", 84)]
        {
            assert_eq!(number(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn operands_of_every_format() {
        for (instruction, expected) in [
            // MOVE 1 2
            (1 << 7 | 2 << 16, "MOVE 1 2 0"),
            // ADDI 1 2 -1: C stands with 127 added
            (21 | 1 << 7 | 2 << 16 | 126 << 24, "ADDI 1 2 -1"),
            // EQI 1 5 k: B stands with 127 added
            (61 | 1 << 7 | 1 << 15 | 132 << 16, "EQI 1 5 0 k"),
            // LOADI 3 -2: 65535 added
            (1 | 3 << 7 | 65533 << 15, "LOADI 3 -2"),
            // LOADK 3 100000
            (3 | 3 << 7 | 100_000 << 15, "LOADK 3 100000"),
            // NEWTABLE 2 3 1000
            (19 | 2 << 7 | 3 << 16 | 1000 << 22, "NEWTABLE 2 3 1000"),
            // JMP -3: 16777215 added
            (56 | 16_777_212 << 7, "JMP -3"),
            (84 | 7 << 7, "EXTRAARG 7"),
            (127, "? 0x0000007f"),
        ] {
            assert_eq!(format!("{} {}", mnemonic(instruction), operands(instruction)), expected);
        }
    }
}
