//! Words of the arena, which general code and its stubs share with the process.

use crate::value::Word;
use moonhook_ir::words::{Address, Words};
use moonhook_ir::{Op, Size, UnaryOp};
use moonhook_packet::MAX_DISPLACEMENT;

/// The bytes of the arena at an address. They can be accessed whatever the address is.
pub fn address(words: &mut impl Words, address: Word) -> Address {
    let (base, disp) = match address {
        Word::Value(value) => match words.code().sums.get(&value) {
            Some(&(root, sum)) if (-MAX_DISPLACEMENT..=MAX_DISPLACEMENT).contains(&sum) => {
                (Word::Value(root), sum)
            }
            _ => (address, 0),
        },
        Word::Imm(_) => (address, 0),
    };
    let base = words.value(base);
    Address { base: words.emit(Op::Unary(UnaryOp::Arena, base)), disp: disp as i16 }
}

pub fn load(words: &mut impl Words, address: Word) -> Word {
    let address = self::address(words, address);
    words.load_at(address, Size::B8, false)
}

pub fn store(words: &mut impl Words, address: Word, word: Word) {
    let address = self::address(words, address);
    words.store(address.base, address.disp, Size::B8, word);
}
