//! Which registers words read and write, and which ones code still needs.

use crate::assemble::CodeWord;
use crate::isa::{self, SOURCE_REGISTER, Word, class};
use crate::lines::jump_of;

/// A set of registers: bit n stands for register n.
pub type Registers = u16;

/// Those that calls keep.
pub const SAVED: [u8; 4] = [6, 7, 8, 9];

/// r0 to r5: a call leaves nothing in them but its result.
const OF_CALLS: Registers = 0b11_1111;

pub fn bit(register: u8) -> Registers {
    1 << (register & 0xf)
}

/// The registers that a word gives a value, or takes it from. Of an instruction with two words it is the first one that does.
pub fn written(word: &Word) -> Registers {
    match word.class() {
        class::LDX | class::ALU | class::ALU64 => bit(word.dst),
        class::LD if word.is_wide() => bit(word.dst),
        class::LD => OF_CALLS * Registers::from(word.is_legacy()),
        // An atomic operation that fetches what was there.
        class::STX if word.is_exchange() => bit(0),
        class::STX if word.is_fetching() => bit(word.src),
        class::JMP if word.is_call() => OF_CALLS,
        _ => 0,
    }
}

/// The registers that a word reads. Of calls it is all that they may take.
pub fn read(word: &Word) -> Registers {
    let source = if word.code & SOURCE_REGISTER != 0 { bit(word.src) } else { 0 };
    match word.class() {
        class::ALU | class::ALU64 if word.is_mov() => source,
        class::ALU64 | class::ALU if word.is_swap() => bit(word.dst),
        class::ALU | class::ALU64 => source | bit(word.dst),
        class::JMP if word.is_call() => OF_CALLS & !bit(0),
        class::JMP | class::JMP32 if jump_of(word).is_some() => source | bit(word.dst),
        class::JMP if *word == isa::exit() => bit(0),
        class::LDX => bit(word.src),
        class::ST => bit(word.dst),
        class::STX => bit(word.dst) | bit(word.src) | (bit(0) * Registers::from(word.is_exchange())),
        class::LD if word.is_legacy() => bit(6) | source,
        _ => 0,
    }
}

/// By word, the registers that are needed when it is reached.
pub fn live(words: &[CodeWord]) -> Vec<Registers> {
    let mut live = vec![0; words.len()];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for (index, CodeWord { word, .. }) in words.iter().enumerate().rev() {
            let at = |index: usize| live.get(index).copied().unwrap_or_default();
            let jump = jump_of(word).map(|jump| at(jump.target(index))).unwrap_or_default();
            let goes_on =
                *word != isa::exit() && word.code != isa::jump(0).code && word.code != isa::jump_far(0).code;
            let next = if goes_on { at(index + 1) } else { 0 };
            let needed = (jump | next) & !written(word) | read(word);
            is_changed |= needed != live[index];
            live[index] = needed;
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Source;
    use moonhook_ir::{AtomicOp, BinaryOp, CompareOp, Loc, Size};

    fn needed(words: &[Word]) -> Vec<Vec<u8>> {
        let words: Vec<CodeWord> =
            words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None }).collect();
        let of = |set: &Registers| SAVED.into_iter().filter(|register| set & bit(*register) != 0).collect();
        live(&words).iter().map(of).collect()
    }

    #[test]
    fn a_register_is_needed_from_its_value_to_its_last_use() {
        let words = [
            isa::mov(6, Source::Register(1)),
            isa::call_helper(5),
            isa::binary(BinaryOp::Add, 6, Source::Register(0)),
            isa::mov(0, Source::Register(6)),
            isa::exit(),
        ];
        assert_eq!(needed(&words), [vec![], vec![6], vec![6], vec![6], vec![]]);
    }

    #[test]
    fn what_a_turn_of_a_loop_needs_is_needed_at_its_end() {
        let words = [
            isa::mov(7, Source::Imm(9)),
            isa::load(Size::B8, false, 0, 7, 0),
            isa::jump_if(CompareOp::Ne, 0, Source::Register(8), -2),
            isa::store(Size::B8, 9, 0, Source::Imm(1)),
            isa::exit(),
        ];
        assert_eq!(needed(&words), [vec![8, 9], vec![7, 8, 9], vec![7, 8, 9], vec![9], vec![]]);
    }

    #[test]
    fn an_atomic_operation_reads_and_may_write() {
        let add = |fetch| isa::atomic((AtomicOp::Add, Size::B8), 6, 0, 7, fetch);
        assert_eq!(read(&add(false)), bit(6) | bit(7));
        assert_eq!((written(&add(false)), written(&add(true))), (0, bit(7)));
        let exchange = Word { imm: 0xf1, ..add(true) };
        assert_eq!((written(&exchange), read(&exchange)), (bit(0), bit(0) | bit(6) | bit(7)));
    }
}
