//! What is wrong with a function's instructions by themselves, whatever they are to do.
//!
//! The kernel's verifier sees to these things before it follows a program, and tells of them without a line, some even without saying which
//! instruction it means (`resolve_pseudo_ldimm64`, `check_cfg`, `check_subprogs`: kernel/bpf/verifier.c).

use crate::object::Function;

/// Something that no verifier takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The instruction, in slots from the function's start.
    pub slot: usize,
    pub problem: String,
}

/// Classes of instructions, the lowest bits of their codes (include/uapi/linux/bpf_common.h).
const CLASS: u8 = 0x07;
const LD: u8 = 0x00;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU: u8 = 0x04;
const ALU64: u8 = 0x07;
const JMP: u8 = 0x05;

/// Whole codes (include/uapi/linux/bpf.h).
const LOAD: u8 = 0x18;
const JUMP: u8 = 0x05;
const LONG_JUMP: u8 = 0x06;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// What the second register of a call says: a function of the object, or a helper.
const OF_OBJECT: u8 = 1;

impl Function {
    /// The first thing that is wrong with the instructions.
    pub fn flaw(&self) -> Option<Flaw> {
        let starts = self.starts();
        let wrong = starts.iter().find_map(|slot| {
            let problem = self.problem(*slot, &starts)?;
            Some(Flaw { slot: *slot, problem })
        });
        wrong.or_else(|| self.unreachable(&starts))
    }

    /// The slots where instructions begin: loads of 64 bits take two.
    fn starts(&self) -> Vec<usize> {
        let (mut starts, mut slot) = (Vec::new(), 0);
        while let Some([code, ..]) = self.code.get(slot) {
            starts.push(slot);
            slot += if *code == LOAD { 2 } else { 1 };
        }
        starts
    }

    fn problem(&self, slot: usize, starts: &[usize]) -> Option<String> {
        let [code, registers, _, _, imm @ ..] = self.code[slot];
        let (dst, src, imm) = (registers & 0xf, registers >> 4, i32::from_le_bytes(imm));
        if !is_code(code) {
            return Some(format!("there is no instruction {code:#04x}"));
        }
        let (mode, class) = (code & 0xe0, code & CLASS);
        let is_reserved = match class {
            LDX => imm != 0,
            STX => mode == 0x60 && imm != 0,
            ST => src != 0,
            LD if code == LOAD => self.is_reserved_in_load(slot),
            _ => false,
        };
        if is_reserved {
            return Some("an instruction uses reserved fields".into());
        }
        // In a load of 64 bits, and in a call, the second register says of what.
        let is_register = !matches!(code, LOAD | CALL);
        if dst > 10 || is_register && src > 10 {
            return Some("there is no such register".into());
        }
        let is_given = self.references.iter().any(|reference| reference.slot == slot);
        match code {
            LOAD if src != 0 && !is_given => Some("an address is loaded of something that is nowhere".into()),
            CALL if src > OF_OBJECT => {
                Some("a call is of something that is no function of the object".into())
            }
            _ => {
                let target = self.target(slot)?;
                (starts.binary_search(&target).is_err()).then(|| "a jump leads out of the function".into())
            }
        }
    }

    fn is_reserved_in_load(&self, slot: usize) -> bool {
        let [_, _, off0, off1, ..] = self.code[slot];
        let second =
            self.code.get(slot + 1).map(|[code, registers, off0, off1, ..]| [code, registers, off0, off1]);
        [off0, off1] != [0, 0] || second.is_none_or(|fields| fields.iter().any(|byte| **byte != 0))
    }

    /// Where an instruction jumps, if it does; a slot that is none where that is in front of the function.
    fn target(&self, slot: usize) -> Option<usize> {
        let [code, _, off0, off1, imm @ ..] = self.code[slot];
        let distance = match code {
            CALL | EXIT => return None,
            LONG_JUMP => i32::from_le_bytes(imm) as isize,
            _ if code & CLASS == JMP || code & CLASS == LONG_JUMP => i16::from_le_bytes([off0, off1]).into(),
            _ => return None,
        };
        Some((slot + 1).checked_add_signed(distance).unwrap_or(usize::MAX))
    }

    /// An instruction that nothing leads to, or the end of the function, if something leads there.
    fn unreachable(&self, starts: &[usize]) -> Option<Flaw> {
        let (mut met, mut work) = (vec![false; self.code.len()], vec![0]);
        while let Some(slot) = work.pop() {
            let Some(met) = met.get_mut(slot) else {
                let slot = starts.last().copied().unwrap_or_default();
                return Some(Flaw { slot, problem: "the function has no end".into() });
            };
            if std::mem::replace(met, true) {
                continue;
            }
            work.extend(self.target(slot));
            match self.code[slot][0] {
                EXIT | JUMP | LONG_JUMP => {}
                LOAD => work.push(slot + 2),
                _ => work.push(slot + 1),
            }
        }
        let slot = *starts.iter().find(|slot| !met[**slot])?;
        Some(Flaw { slot, problem: "nothing leads to an instruction".into() })
    }
}

/// Whether there is an instruction with that code (`bpf_opcode_in_insntable`, kernel/bpf/core.c).
fn is_code(code: u8) -> bool {
    let (mode, size, operation, is_register) = (code & 0xe0, code & 0x18, code & 0xf0, code & 0x08 != 0);
    match code & CLASS {
        LD => code == LOAD || matches!(mode, 0x20 | 0x40) && size != 0x18,
        // Of memory; with the sign; what is atomic.
        LDX => mode == 0x60 || mode == 0x80 && size != 0x18,
        ST => mode == 0x60,
        STX => matches!(mode, 0x60 | 0xc0),
        ALU64 | ALU => match operation {
            0x80 => !is_register,
            // Bytes the other way round, which has no second form of 64 bits.
            0xd0 => code != 0xdf,
            _ => operation <= 0xc0,
        },
        JMP => matches!(code, JUMP | CALL | EXIT | 0xe5) || is_comparison(operation),
        _ => code == LONG_JUMP || is_comparison(operation),
    }
}

fn is_comparison(operation: u8) -> bool {
    !matches!(operation, 0x00 | 0x80 | 0x90 | 0xe0 | 0xf0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Linkage, Reference, Target};

    fn function(code: &[[u8; 8]]) -> Function {
        Function {
            name: "f".into(),
            section: ".text".into(),
            linkage: Linkage::Global,
            code: code.to_vec(),
            start: 0,
            references: Vec::new(),
            lines: Vec::new(),
            ty: None,
        }
    }

    const END: [u8; 8] = [EXIT, 0, 0, 0, 0, 0, 0, 0];
    const MOVE: [u8; 8] = [0xb7, 0, 0, 0, 1, 0, 0, 0];

    #[test]
    fn what_is_wrong_with_instructions_is_said() {
        let with = |code: u8, registers: u8, off: i16, imm: i32| {
            let [off, imm] = [off.to_le_bytes().to_vec(), imm.to_le_bytes().to_vec()];
            <[u8; 8]>::try_from([vec![code, registers], off, imm].concat()).unwrap()
        };
        let zero = [0; 8];
        for (code, expected) in [
            (vec![MOVE, END], None),
            (vec![with(LOAD, 0, 0, 7), zero, END], None),
            (vec![with(JUMP, 0, 0, 0), END], None),
            (vec![with(0x15, 1, 1, 0), MOVE, END], None),
            (vec![with(LONG_JUMP, 0, 9, 0), END], None),
            (vec![with(0xdb, 0x10, 0, 0xf1), END], None),
            (vec![MOVE, zero, END], Some((1, "no instruction 0x00"))),
            (vec![with(0x8d, 0, 0, 0), END], Some((0, "no instruction 0x8d"))),
            (vec![with(0x8f, 0, 0, 0), END], Some((0, "no instruction 0x8f"))),
            (vec![with(0x79, 0x10, 0, 5), END], Some((0, "reserved"))),
            (vec![with(0x7b, 0x10, 0, 5), END], Some((0, "reserved"))),
            (vec![with(0x7a, 0x10, 0, 5), END], Some((0, "reserved"))),
            (vec![with(LOAD, 0, 1, 7), zero, END], Some((0, "reserved"))),
            (vec![with(LOAD, 0, 0, 7), MOVE, END], Some((0, "reserved"))),
            (vec![with(LOAD, 0x10, 0, 7), zero, END], Some((0, "nowhere"))),
            (vec![with(0xbf, 0xb0, 0, 0), END], Some((0, "no such register"))),
            (vec![with(CALL, 0x20, 0, 7), END], Some((0, "no function of the object"))),
            (vec![with(JUMP, 0, 1, 0), END], Some((0, "out of the function"))),
            (vec![MOVE, with(0x15, 1, -3, 0), END], Some((1, "out of the function"))),
            (vec![with(0x15, 1, 1, 0), with(LOAD, 0, 0, 7), zero, END], Some((0, "out of the function"))),
            (vec![END, MOVE, END], Some((1, "nothing leads"))),
            (vec![MOVE], Some((0, "no end"))),
        ] {
            let flaw = function(&code).flaw();
            let found = flaw.as_ref().map(|flaw| (flaw.slot, flaw.problem.as_str()));
            let is_it = match (found, expected) {
                (Some((slot, problem)), Some((at, part))) => slot == at && problem.contains(part),
                (found, expected) => found == expected,
            };
            assert!(is_it, "{code:?}: {found:?}, not {expected:?}");
        }
        let mut loads = function(&[with(LOAD, 0x10, 0, 0), zero, END]);
        loads.references.push(Reference { slot: 0, target: Target::Map(0) });
        assert_eq!(loads.flaw(), None);
    }

    /// As many codes of each class as the kernel's table has (`BPF_INSN_MAP`, include/linux/filter.h).
    #[test]
    fn codes_are_those_of_the_kernel() {
        let count = |class: u8| (0..=u8::MAX).filter(|code| code & CLASS == class && is_code(*code)).count();
        assert_eq!((0..8).map(count).collect::<Vec<_>>(), [7, 7, 4, 8, 27, 26, 23, 26]);
    }
}
