//! Code into which words can be put: jumps name words by numbers that do not change.

use crate::assemble::CodeWord;
use crate::isa::{self, Word, class};
use std::ops::Range;

/// The farthest that a jump goes, in slots ([`crate::jumps`] says why).
const FARTHEST: i64 = i16::MAX as i64 / 2;

/// A word with its number.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: usize,
    pub word: CodeWord,
    /// The number of the word to which it jumps.
    pub to: Option<usize>,
    /// Otherwise it is only a place, which what comes behind it has.
    pub is_there: bool,
}

/// Code under construction.
#[derive(Debug, Default)]
pub struct Lines {
    pub items: Vec<Item>,
    /// The number of the next word.
    next: usize,
}

impl Lines {
    /// The words of a function, whose jumps stay within it.
    pub fn of(words: &[CodeWord]) -> Lines {
        let mut lines = Lines::default();
        lines.append(words, |index| words[index]);
        lines
    }

    /// A number for a word that comes later.
    pub fn next_id(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// A word that does not jump.
    pub fn add(&mut self, word: CodeWord) {
        let id = self.next_id();
        self.items.push(Item { id, word, to: None, is_there: true });
    }

    /// The words of a function, whose jumps stay within it; each as `change` says. Gives where they are among the items.
    pub fn append(&mut self, words: &[CodeWord], change: impl Fn(usize) -> CodeWord) -> Range<usize> {
        let (first, start) = (self.next, self.items.len());
        self.next += words.len();
        for (index, word) in words.iter().enumerate() {
            // What jumps out of the code reaches no word.
            let to = jump_of(&word.word).map(|jump| first.saturating_add(jump.target(index)));
            self.items.push(Item { id: first + index, word: change(index), to, is_there: true });
        }
        start..self.items.len()
    }

    /// A place that what comes next has.
    pub fn place(&mut self, id: usize, word: CodeWord) {
        self.items.push(Item { id, word, to: None, is_there: false });
    }

    /// The words in their order; `None` if one would jump too far, or out of the code.
    pub fn join(&self) -> Option<Vec<CodeWord>> {
        let mut positions = vec![0; self.next];
        let mut at = 0;
        for item in &self.items {
            positions[item.id] = at;
            at += usize::from(item.is_there);
        }
        let mut words = Vec::with_capacity(at);
        for item in self.items.iter().filter(|item| item.is_there) {
            let mut word = item.word;
            if let Some(to) = item.to {
                let distance = *positions.get(to)? as i64 - words.len() as i64 - 1;
                word.word = with_distance(word.word, distance)?;
            }
            words.push(word);
        }
        Some(words)
    }
}

fn with_distance(word: Word, distance: i64) -> Option<Word> {
    if is_far(&word) {
        return Some(Word { imm: i32::try_from(distance).ok()?, ..word });
    }
    let off = i16::try_from(distance).ok().filter(|_| distance.abs() <= FARTHEST)?;
    Some(Word { off, ..word })
}

/// A jump, by how many slots from the next word on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump(i64);

impl Jump {
    /// The index of the word to which one jumps that has `index`; out of all ranges where that is before the first one.
    pub fn target(self, index: usize) -> usize {
        usize::try_from(index as i64 + 1 + self.0).unwrap_or(usize::MAX)
    }
}

/// How a word jumps, if it does.
pub fn jump_of(word: &Word) -> Option<Jump> {
    let is_jump = matches!(word.class(), class::JMP | class::JMP32);
    let is_other = word.code == isa::call_function().code || word.code == isa::exit().code;
    if !is_jump || is_other {
        return None;
    }
    Some(Jump(if is_far(word) { word.imm.into() } else { word.off.into() }))
}

/// `gotol`.
fn is_far(word: &Word) -> bool {
    word.code == isa::jump_far(0).code
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Source;
    use moonhook_ir::{CompareOp, Loc};

    fn words(words: &[Word]) -> Vec<CodeWord> {
        words.iter().map(|word| CodeWord { word: *word, loc: Loc::default(), reference: None }).collect()
    }

    #[test]
    fn jumps_reach_what_they_reached_whatever_is_put_between() {
        let set = |number| isa::mov(0, Source::Imm(number));
        let branch = |off| isa::jump_if(CompareOp::Eq, 1, Source::Imm(0), off);
        let code = words(&[branch(2), set(1), isa::jump_far(1), set(2), isa::exit(), branch(-6)]);
        let mut lines = Lines::of(&code);
        assert_eq!(lines.join().unwrap(), code);
        let id = lines.next_id();
        lines.items.insert(2, Item { id, word: words(&[set(7)])[0], to: None, is_there: true });
        let joined: Vec<Word> = lines.join().unwrap().iter().map(|word| word.word).collect();
        assert_eq!(joined, [branch(3), set(1), set(7), isa::jump_far(1), set(2), isa::exit(), branch(-7)]);
    }

    #[test]
    fn a_place_is_what_comes_behind_it() {
        let code = words(&[isa::jump(1), isa::exit(), isa::exit()]);
        let mut lines = Lines::of(&code);
        lines.items[1].is_there = false;
        let joined: Vec<Word> = lines.join().unwrap().iter().map(|word| word.word).collect();
        assert_eq!(joined, [isa::jump(0), isa::exit()]);
    }

    #[test]
    fn what_jumps_too_far_is_not_made() {
        let mut code = vec![isa::exit(); 20_000];
        code[0] = isa::jump(19_998);
        assert_eq!(Lines::of(&words(&code)).join(), None);
        code[0] = isa::jump_far(19_998);
        assert!(Lines::of(&words(&code)).join().is_some());
    }
}
