//! Small functions that another compiler has made are put in the places where they are called.
//!
//! A call costs more than what such a function does, often enough. Their words stay what they are, but for three things: the frame lies below
//! the caller's, registers that the caller needs are others or are kept in the frame, and what returns jumps to the end.

use crate::assemble::{CodeWord, Reference};
use crate::cleanup;
use crate::frame::MAX_STACK;
use crate::given;
use crate::isa::{self, Source, Word, class};
use crate::lines::{Lines, jump_of};
use crate::program::Code;
use crate::registers::{Registers, SAVED, bit, live, written};
use moonhook_ir::{FunctionId, Module, Size};
use std::ops::Range;

/// Slots of a function that is put in the place of each of its calls, at most.
const SMALL: usize = 200;
/// Slots of one that is called once.
const LARGE: usize = 1000;
/// A function does not grow beyond so many slots: jumps have 16 bits, and the kernel makes several instructions of some.
const MOST: usize = 12_000;

/// Puts what can be put into its callers; what nobody calls any more then has no words.
pub fn run(module: &Module, codes: &mut [Code]) {
    let is_given: Vec<bool> = module.functions.iter().map(|function| function.given.is_some()).collect();
    if !is_given.contains(&true) {
        return;
    }
    for index in callees_first(codes) {
        let calls = count_calls(codes);
        let is_meant = |callee: usize| {
            let words = &codes[callee].words;
            let limit = if calls[callee] == 1 { LARGE } else { SMALL };
            is_given[callee] && callee != index && words.len() <= limit && can_move(words)
        };
        if let Some(code) = expanded(&codes[index], codes, is_meant) {
            codes[index] = cleanup::run(&code).unwrap_or(code);
        }
    }
    let calls = count_calls(codes);
    for (index, code) in codes.iter_mut().enumerate() {
        if is_given[index] && calls[index] == 0 {
            *code = Code { words: Vec::new(), offset: 0, stack: 0, parts: Vec::new() };
        }
    }
}

/// By function, in how many places it is called, or its address taken.
fn count_calls(codes: &[Code]) -> Vec<usize> {
    let mut calls = vec![0; codes.len()];
    for callee in codes.iter().flat_map(callees) {
        if let Some(count) = calls.get_mut(callee) {
            *count += 1;
        }
    }
    calls
}

fn callees(code: &Code) -> impl Iterator<Item = usize> {
    code.words.iter().filter_map(|word| match word.reference {
        Some(Reference::Function(FunctionId(id)) | Reference::Callback(FunctionId(id))) => Some(id as usize),
        _ => None,
    })
}

/// All functions, each behind those that it calls, unless they call each other in circles.
fn callees_first(codes: &[Code]) -> Vec<usize> {
    let (mut order, mut met) = (Vec::new(), vec![false; codes.len()]);
    for start in 0..codes.len() {
        let mut work = vec![(start, false)];
        while let Some((index, is_done)) = work.pop() {
            if is_done {
                order.push(index);
            } else if !std::mem::replace(&mut met[index], true) {
                work.push((index, true));
                work.extend(
                    callees(&codes[index])
                        .filter(|callee| *callee < codes.len())
                        .map(|callee| (callee, false)),
                );
            }
        }
    }
    order
}

/// Whether it is known where in its frame a function reads and writes, and where it jumps.
fn can_move(words: &[CodeWord]) -> bool {
    let targets = || (0..words.len()).filter_map(|index| Some(jump_of(&words[index].word)?.target(index)));
    let is_address = |index: usize| index > 0 && is_frame_address(&words[index - 1].word);
    let is_plain = !words.iter().any(|word| word.word.is_legacy());
    is_plain && given::stack(words).1 && targets().all(|target| target < words.len() && !is_address(target))
}

fn is_frame_address(word: &Word) -> bool {
    isa::mov(word.dst, Source::Register(isa::FRAME)) == *word
}

/// The code with functions in the place of their calls; `None` if there are none, or if it would become too large.
fn expanded(code: &Code, codes: &[Code], is_meant: impl Fn(usize) -> bool) -> Option<Code> {
    let meant = |word: &CodeWord| match word.reference {
        Some(Reference::Function(FunctionId(callee))) if is_meant(callee as usize) => Some(callee as usize),
        _ => None,
    };
    if !code.words.iter().any(|word| meant(word).is_some()) {
        return None;
    }
    let live = live(&code.words);
    let mut lines = Lines::of(&code.words);
    let own = std::mem::take(&mut lines.items);
    let (above, mut stack) = (code.stack.next_multiple_of(8), code.stack);
    let mut size = own.len();
    let mut parts = code.parts.clone();
    for (index, item) in own.into_iter().enumerate() {
        let callee = meant(&item.word).map(|callee| &codes[callee]);
        let fits = |callee: &&Code| {
            let largest = callee.words.len() + 2 * SAVED.len();
            size + largest <= MOST && above + callee.stack + 8 * SAVED.len() as u32 <= MAX_STACK
        };
        match callee.filter(fits) {
            Some(callee) => {
                let site = Site { above, needed: live[index], call: &item.word };
                size += callee.words.len();
                parts.extend(site.parts(callee));
                stack = stack.max(above + site.put(&mut lines, callee, item.id));
            }
            None => lines.items.push(item),
        }
    }
    Some(Code { words: lines.join()?, offset: 0, stack, parts })
}

/// A call that a function takes the place of.
struct Site<'a> {
    /// Bytes of the caller's frame.
    above: u32,
    /// Registers that the caller still needs behind the call.
    needed: Registers,
    call: &'a CodeWord,
}

impl Site<'_> {
    /// Adds the function's words, of which the first one has the number of the call. Gives how many bytes of stack they take.
    fn put(&self, lines: &mut Lines, callee: &Code, call: usize) -> u32 {
        let used = callee.words.iter().fold(0, |used, word| used | written(&word.word));
        let (names, kept) = self.names(used);
        let slot = |number: usize| -((self.above + callee.stack) as i16) - 8 * (number as i16 + 1);
        let around = |word: Word| CodeWord { word, loc: self.call.loc, reference: None };
        // What jumps to the call comes here.
        lines.place(call, *self.call);
        for (number, register) in kept.iter().enumerate() {
            lines.add(around(isa::store(Size::B8, isa::FRAME, slot(number), Source::Register(*register))));
        }
        let body = lines.append(&callee.words, |index| self.moved(&callee.words, index, &names));
        let end = lines.next_id();
        let last = body.end - 1;
        for index in body {
            let item = &mut lines.items[index];
            if item.word.word == isa::exit() {
                item.is_there = index != last;
                (item.word.word, item.to) = (isa::jump(0), Some(end));
            }
        }
        lines.place(end, *self.call);
        for (number, register) in kept.iter().enumerate() {
            lines.add(around(isa::load(Size::B8, false, *register, isa::FRAME, slot(number))));
        }
        callee.stack + 8 * kept.len() as u32
    }

    /// The parts of the function's frame, in the caller's.
    fn parts(&self, callee: &Code) -> impl Iterator<Item = Range<i32>> {
        let above = self.above as i32;
        callee.parts.iter().map(move |part| part.start - above..part.end - above)
    }

    /// Names for the registers that a function uses: those that the caller does not need, as far as there are any. The others are kept.
    fn names(&self, used: Registers) -> ([u8; 16], Vec<u8>) {
        let mut names: [u8; 16] = std::array::from_fn(|register| register as u8);
        let mut free: Vec<u8> =
            SAVED.into_iter().filter(|register| self.needed & bit(*register) == 0).collect();
        // One that is free itself keeps its name.
        let (own, others): (Vec<u8>, Vec<u8>) = SAVED
            .into_iter()
            .filter(|register| used & bit(*register) != 0)
            .partition(|register| free.contains(register));
        free.retain(|register| !own.contains(register));
        let mut kept = Vec::new();
        for register in others {
            match free.pop() {
                Some(name) => names[usize::from(register)] = name,
                None => kept.push(register),
            }
        }
        (names, kept)
    }

    /// A word with other registers, and with another place in the stack.
    fn moved(&self, words: &[CodeWord], index: usize, names: &[u8; 16]) -> CodeWord {
        let before = words[index].word;
        let below = |off: i16| off - self.above as i16;
        let mut after = before;
        let is_pseudo = before.is_wide() || before.code == isa::call_helper(0).code;
        after.dst = names[usize::from(before.dst & 0xf)];
        if !is_pseudo {
            after.src = names[usize::from(before.src & 0xf)];
        }
        match before.class() {
            class::LDX if before.src == isa::FRAME => after.off = below(before.off),
            class::ST | class::STX if before.dst == isa::FRAME => after.off = below(before.off),
            // The address of something in the frame: the distance is in the word behind the pointer's.
            _ if index > 0 && is_frame_address(&words[index - 1].word) => after.imm -= self.above as i32,
            _ => {}
        }
        CodeWord { word: after, ..words[index] }
    }
}
