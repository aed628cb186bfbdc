//! Functions whose code another compiler has made: instructions as the kernel takes them, and what they refer to.
//!
//! Passes leave such a function alone: it has no blocks but an empty one. Its parameters are as [`crate::Function`] says them.

use crate::{FunctionId, Loc, MapId};
use std::sync::Arc;

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Given {
    /// `struct bpf_insn` (include/uapi/linux/bpf.h). What refers to something has 0 there, or what is added to its address.
    pub words: Arc<[[u8; 8]]>,
    /// Where the words come from, one for each.
    pub locs: Arc<[Loc]>,
    /// In the order of their words.
    pub references: Vec<(usize, GivenReference)>,
}

/// What an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GivenReference {
    /// A function that is called.
    Call(FunctionId),
    /// The address of a function, for helpers that call it.
    Function(FunctionId),
    Map(MapId),
    /// A byte of a data section.
    Data(MapId, u32),
    /// A call by which the function ends: it gives its second argument, and [`GivenReference::STARTS`].
    Start,
}

impl GivenReference {
    /// What tells such a number from others that the function gives.
    pub const STARTS: u32 = 1 << 30;
}

/// Of an instruction that calls a helper: the code, and the register field of one that does not call a function of the program.
const CALL: u8 = 0x85;
/// The second word of an instruction that loads 64 bits has this in the place of a code.
const LOAD: u8 = 0x18;

impl Given {
    /// The functions that are mentioned, each as often as they are.
    pub fn callees(&self) -> impl Iterator<Item = FunctionId> {
        self.references.iter().filter_map(|(_, reference)| match reference {
            GivenReference::Call(function) | GivenReference::Function(function) => Some(*function),
            GivenReference::Map(_) | GivenReference::Data(..) | GivenReference::Start => None,
        })
    }

    /// The maps that are mentioned, each as often as they are.
    pub fn maps(&self) -> impl Iterator<Item = MapId> {
        self.references.iter().filter_map(|(_, reference)| match reference {
            GivenReference::Map(map) | GivenReference::Data(map, _) => Some(*map),
            GivenReference::Call(_) | GivenReference::Function(_) | GivenReference::Start => None,
        })
    }

    /// Calls a helper of the kernel with that number.
    pub fn calls_helper(&self, id: u32) -> bool {
        self.instructions().any(|[code, registers, _, _, number @ ..]| {
            code == CALL && registers >> 4 == 0 && u32::from_le_bytes(number) == id
        })
    }

    /// Words that are instructions, or their first halves.
    fn instructions(&self) -> impl Iterator<Item = [u8; 8]> {
        let mut is_half = false;
        self.words.iter().copied().filter(move |word| {
            let is_whole = !is_half;
            is_half = is_whole && word[0] == LOAD;
            is_whole
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_half_of_a_load_is_no_call() {
        let words = |words: &[[u8; 8]]| Given {
            words: words.into(),
            locs: vec![Loc::default(); words.len()].into(),
            references: Vec::new(),
        };
        let (load, call, of_program) =
            ([LOAD, 0, 0, 0, 0, 0, 0, 0], [CALL, 0, 0, 0, 12, 0, 0, 0], [CALL, 0x10, 0, 0, 12, 0, 0, 0]);
        assert!(words(&[call]).calls_helper(12));
        assert!(!words(&[call]).calls_helper(1));
        assert!(!words(&[of_program]).calls_helper(12));
        assert!(!words(&[load, call]).calls_helper(12));
        assert!(words(&[load, load, call]).calls_helper(12));
    }
}
