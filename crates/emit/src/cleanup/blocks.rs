//! Code as blocks, whose words stay words.

use crate::assemble::CodeWord;
use crate::isa;
use crate::lines::{Item, Lines, jump_of};
use moonhook_ir::CompareOp;

/// How a block ends; targets are numbers of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Return,
    Jump(usize),
    /// The word is the jump.
    Branch {
        word: CodeWord,
        to: usize,
        next: usize,
    },
}

#[derive(Clone, Debug)]
pub struct Block {
    pub words: Vec<CodeWord>,
    pub end: End,
    /// The word at its end, or the last one: the line that jumps are of.
    pub last: CodeWord,
}

/// The blocks of a function, of which the first one is the entry.
pub struct Graph {
    pub blocks: Vec<Block>,
}

impl Graph {
    /// `None` for words that jump where no word is.
    pub fn of(words: &[CodeWord]) -> Option<Graph> {
        let starts = starts(words)?;
        let number = |at: usize| starts.binary_search(&at).ok();
        let mut blocks = Vec::with_capacity(starts.len());
        for (position, &start) in starts.iter().enumerate() {
            let end = starts.get(position + 1).copied().unwrap_or(words.len());
            let last = words[end - 1];
            let jump = if is_second(words, end - 1) { None } else { jump_of(&last.word) };
            let (len, end) = match jump {
                Some(jump) => {
                    let to = number(jump.target(end - 1))?;
                    let end = match is_always(&last) {
                        true => End::Jump(to),
                        false => End::Branch { word: last, to, next: number(end)? },
                    };
                    (1, end)
                }
                None if last.word == isa::exit() => (1, End::Return),
                None => (0, End::Jump(number(end)?)),
            };
            let range = start..starts.get(position + 1).copied().unwrap_or(words.len()) - len;
            blocks.push(Block { words: words[range].to_vec(), end, last });
        }
        Some(Graph { blocks })
    }

    /// The numbers of the blocks that may follow.
    pub fn successors(&self, block: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (first, second) = match self.blocks[block].end {
            End::Return => (None, None),
            End::Jump(to) => (Some(to), None),
            End::Branch { to, next, .. } => (Some(next), Some(to)),
        };
        first.into_iter().chain(second)
    }

    /// Whether loops end when the kernel's limit is used up. Such loops have words that only the verifier needs.
    pub fn has_limited_loops(&self) -> bool {
        let is_limit =
            |end: &End| matches!(end, End::Branch { word, .. } if word.word.code == isa::may_goto(0).code);
        self.blocks.iter().any(|block| is_limit(&block.end))
    }

    /// The words, without those that nothing leads to; `None` if they would jump too far.
    pub fn join(&self) -> Option<Vec<CodeWord>> {
        let order = self.order();
        let mut lines = Lines::default();
        let ids: Vec<usize> = self.blocks.iter().map(|_| lines.next_id()).collect();
        for (position, &block) in order.iter().enumerate() {
            let Block { words, end, last } = &self.blocks[block];
            let after = order.get(position + 1).copied();
            lines.place(ids[block], *last);
            words.iter().for_each(|word| lines.add(*word));
            let mut jump = |word: CodeWord, to: usize| {
                let id = lines.next_id();
                let to = Some(ids[self.resolved(to)]);
                lines.items.push(Item { id, word, to, is_there: true });
            };
            let always = CodeWord { word: isa::jump(0), reference: None, ..*last };
            let is_after = |to: usize| after == Some(self.resolved(to));
            match *end {
                End::Return => lines.add(CodeWord { word: isa::exit(), reference: None, ..*last }),
                End::Jump(to) if is_after(to) => {}
                End::Jump(to) => jump(always, to),
                End::Branch { to, next, .. } if self.resolved(to) == self.resolved(next) && is_after(to) => {}
                End::Branch { word, to, next } => match negated(&word).filter(|_| is_after(to)) {
                    Some(negated) => jump(negated, next),
                    None => {
                        jump(word, to);
                        if !is_after(next) {
                            jump(always, next);
                        }
                    }
                },
            }
        }
        lines.join()
    }

    /// Joins blocks with those that only they jump to.
    pub fn merge(&mut self) {
        let mut counts = self.counts();
        counts[0] += 1;
        for block in 0..self.blocks.len() {
            while let End::Jump(to) = self.blocks[block].end
                && to != block
                && counts[block] > 0
                && counts[to] == 1
            {
                let Block { words, end, last } = self.blocks[to].clone();
                counts[to] = 0;
                let first = &mut self.blocks[block];
                first.words.extend(words);
                (first.end, first.last) = (end, last);
            }
        }
    }

    /// By block, how many ways lead to it from blocks that are reached.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.blocks.len()];
        let mut is_reached = vec![false; self.blocks.len()];
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut is_reached[block], true) {
                work.extend(self.successors(block).inspect(|to| counts[*to] += 1));
            }
        }
        counts
    }

    /// The blocks that are reached, in their order; but one that only one block leads to comes behind that one, unless what that one goes on
    /// with is next.
    fn order(&self) -> Vec<usize> {
        let entry = self.resolved(0);
        let mut counts = vec![0; self.blocks.len()];
        counts[entry] += 1;
        let mut work = vec![entry];
        while let Some(block) = work.pop() {
            for to in self.successors(block).map(|to| self.resolved(to)) {
                counts[to] += 1;
                if counts[to] == 1 {
                    work.push(to);
                }
            }
        }
        let (mut order, mut is_placed) = (Vec::new(), vec![false; self.blocks.len()]);
        let reached: Vec<usize> = (0..self.blocks.len()).filter(|block| counts[*block] > 0).collect();
        for (position, first) in [entry].into_iter().chain(reached.iter().copied()).enumerate() {
            let mut block = first;
            while !std::mem::replace(&mut is_placed[block], true) {
                order.push(block);
                let next = reached.iter().skip(position).find(|next| !is_placed[**next]);
                let mut followers = self.successors(block).map(|to| self.resolved(to));
                if followers.clone().next().is_some_and(|to| Some(&to) == next) {
                    break;
                }
                match followers.find(|to| counts[*to] == 1 && !is_placed[*to]) {
                    Some(to) => block = to,
                    None => break,
                }
            }
        }
        order
    }

    /// The first block that does something on the path of jumps from here.
    pub fn resolved(&self, from: usize) -> usize {
        let mut block = from;
        for _ in 0..self.blocks.len() {
            match self.blocks[block].end {
                End::Jump(to) if self.blocks[block].words.is_empty() && to != block => block = to,
                _ => break,
            }
        }
        block
    }
}

/// Where blocks start.
fn starts(words: &[CodeWord]) -> Option<Vec<usize>> {
    let mut starts = vec![0];
    for (index, word) in words.iter().enumerate().filter(|(index, _)| !is_second(words, *index)) {
        if let Some(jump) = jump_of(&word.word) {
            starts.extend([jump.target(index), index + 1]);
        } else if word.word == isa::exit() {
            starts.push(index + 1);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.pop_if(|last| *last == words.len());
    let is_there = |start: &usize| *start < words.len() && !is_second(words, *start);
    starts.iter().all(is_there).then_some(starts)
}

/// The second word of an instruction with two.
fn is_second(words: &[CodeWord], index: usize) -> bool {
    index > 0 && words[index - 1].word.is_wide()
}

fn is_always(word: &CodeWord) -> bool {
    word.word.code == isa::jump(0).code || word.word.code == isa::jump_far(0).code
}

/// The jump that is taken exactly when this one is not.
fn negated(word: &CodeWord) -> Option<CodeWord> {
    let op: CompareOp = word.word.compare_op()?.negated()?;
    let code = word.word.code & 0x0f | isa::compare_bits(op);
    Some(CodeWord { word: isa::Word { code, ..word.word }, ..*word })
}
