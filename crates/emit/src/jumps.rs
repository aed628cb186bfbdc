//! Blocks in their final order become one run of words: jumps to what follows vanish, jumps to blocks that only jump go
//! to the end of the chain, the first jump to nothing but a return is that return (the kernel's JIT leaves the function right there
//! at the first `exit`, and jumps to it from all others), and jumps that 16 bits cannot span use `gotol`.

use crate::assemble::{CodeBlock, CodeWord, End};
use crate::isa::{self, Source, Word};
use moonhook_ir::{CompareOp, Loc};

/// The farthest that a short jump goes, in slots. The kernel makes several instructions of some (of `may_goto`, calls of helpers, divisions and
/// reads of the context: `bpf_do_misc_fixups`, `bpf_convert_ctx_accesses`, kernel/bpf/verifier.c), and refuses a program in which a jump no longer
/// reaches then ("cannot be patched due to 16-bit range"). No code that is made here grows to twice its size.
const FARTHEST: i64 = i16::MAX as i64 / 2;

/// A jump of a block's end; `to` is a block.
#[derive(Clone, Copy, Debug)]
enum Jump {
    Always { to: usize },
    If { op: CompareOp, lhs: u8, rhs: Source, to: usize },
    MayGoto { to: usize },
}

impl Jump {
    fn to(self) -> usize {
        match self {
            Jump::Always { to } | Jump::If { to, .. } | Jump::MayGoto { to } => to,
        }
    }

    /// Slots it takes. A far conditional jump is one over a `gotol`, on the opposite condition; where there is none, it skips a jump over it:
    /// `jcc +1; ja +1; gotol`.
    fn len(self, far: bool) -> usize {
        match self {
            Jump::Always { .. } => 1,
            _ if !far => 1,
            Jump::If { op, .. } if op.negated().is_some() => 2,
            Jump::If { .. } | Jump::MayGoto { .. } => 3,
        }
    }
}

/// A jump and where it stands.
struct Site {
    block: usize,
    jump: Jump,
    far: bool,
}

/// Joins the blocks of a function, of which the first is the entry. Only blocks that can be reached are kept: the
/// verifier refuses others.
pub fn join(blocks: &[CodeBlock]) -> Vec<CodeWord> {
    let layout = Layout::new(blocks);
    let mut sites = layout.sites();
    let mut starts = layout.starts(&sites);
    while widen(&mut sites, &layout, &starts) {
        starts = layout.starts(&sites);
    }
    layout.write(&sites, &starts)
}

struct Layout<'a> {
    blocks: &'a [CodeBlock],
    /// By block.
    ends: Vec<End>,
    /// By block: the first that does something on the path of jumps from here.
    resolved: Vec<usize>,
    /// The blocks that are kept, in order.
    kept: Vec<usize>,
}

impl<'a> Layout<'a> {
    fn new(blocks: &'a [CodeBlock]) -> Self {
        let resolved: Vec<usize> = (0..blocks.len()).map(|block| resolve(blocks, block)).collect();
        let mut ends: Vec<End> = blocks.iter().map(|block| block.end).collect();
        // Only the first: for the verifier it is good to have paths meet.
        let to_return = |end: &End| matches!(end, End::Jump(to) if returns_only(&blocks[resolved[*to]]));
        if let Some(first) = ends.iter().position(to_return) {
            ends[first] = End::Return;
        }
        let mut reached = vec![false; blocks.len()];
        let mut work = vec![resolved[0]];
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                work.extend(successors(&ends[block]).map(|to| resolved[to]));
            }
        }
        let mut kept: Vec<usize> = (0..blocks.len()).filter(|block| reached[*block]).collect();
        // Where the entry itself only jumps, what it jumps to must still come first.
        if kept.first() != Some(&resolved[0]) {
            kept.insert(0, 0);
        }
        Layout { blocks, ends, resolved, kept }
    }

    /// The jumps at the ends of the kept blocks, in order.
    fn sites(&self) -> Vec<Site> {
        let mut sites = Vec::new();
        for (position, &block) in self.kept.iter().enumerate() {
            let next = self.kept.get(position + 1).copied();
            let mut push = |jump: Jump| sites.push(Site { block, jump, far: false });
            match self.ends[block] {
                End::Return => {}
                End::Jump(to) => self.jump_unless_next(to, next, &mut push),
                End::MayGoto { go, stop } => {
                    push(Jump::MayGoto { to: self.resolved[stop] });
                    self.jump_unless_next(go, next, &mut push);
                }
                End::Branch { op, lhs, rhs, then, otherwise } => {
                    let (then, otherwise) = (self.resolved[then], self.resolved[otherwise]);
                    match op.negated() {
                        _ if then == otherwise => {}
                        Some(op) if Some(then) == next => push(Jump::If { op, lhs, rhs, to: otherwise }),
                        _ => push(Jump::If { op, lhs, rhs, to: then }),
                    }
                    let falls = Some(then) == next && (then == otherwise || op.negated().is_some());
                    if !falls {
                        self.jump_unless_next(otherwise, next, &mut push);
                    }
                }
            }
        }
        sites
    }

    fn jump_unless_next(&self, to: usize, next: Option<usize>, push: &mut impl FnMut(Jump)) {
        let to = self.resolved[to];
        if Some(to) != next {
            push(Jump::Always { to });
        }
    }

    /// By block: the number of its first slot.
    fn starts(&self, sites: &[Site]) -> Vec<usize> {
        let mut starts = vec![usize::MAX; self.blocks.len()];
        let mut sites = sites.iter().peekable();
        let mut at = 0;
        for &block in &self.kept {
            starts[block] = at;
            at += self.blocks[block].words.len();
            at += usize::from(self.ends[block] == End::Return);
            while let Some(site) = sites.next_if(|site| site.block == block) {
                at += site.jump.len(site.far);
            }
        }
        starts
    }

    fn write(&self, sites: &[Site], starts: &[usize]) -> Vec<CodeWord> {
        let mut out: Vec<CodeWord> = Vec::new();
        let mut sites = sites.iter().peekable();
        for &block in &self.kept {
            let CodeBlock { words, loc, .. } = &self.blocks[block];
            out.extend_from_slice(words);
            if self.ends[block] == End::Return {
                push(&mut out, isa::exit(), *loc);
            }
            while let Some(site) = sites.next_if(|site| site.block == block) {
                write_jump(&mut out, site, starts[site.jump.to()], *loc);
            }
        }
        out
    }
}

fn push(out: &mut Vec<CodeWord>, word: Word, loc: Loc) {
    out.push(CodeWord { word, loc, reference: None });
}

fn write_jump(out: &mut Vec<CodeWord>, site: &Site, target: usize, loc: Loc) {
    let conditional = |off: i16| match site.jump {
        Jump::If { op, lhs, rhs, .. } => Some(isa::jump_if(op, lhs, rhs, off)),
        Jump::MayGoto { .. } => Some(isa::may_goto(off)),
        Jump::Always { .. } => None,
    };
    // Offsets count from the slot after the jump.
    let mut distance = target as i64 - out.len() as i64 - 1;
    if !site.far {
        let off = distance as i16;
        push(out, conditional(off).unwrap_or_else(|| isa::jump(off)), loc);
        return;
    }
    let opposite = |op: CompareOp, lhs, rhs| Some(isa::jump_if(op.negated()?, lhs, rhs, 1));
    if let Jump::If { op, lhs, rhs, .. } = site.jump
        && let Some(word) = opposite(op, lhs, rhs)
    {
        push(out, word, loc);
        distance -= 1;
    } else if let Some(word) = conditional(1) {
        push(out, word, loc);
        push(out, isa::jump(1), loc);
        distance -= 2;
    }
    push(out, isa::jump_far(distance as i32), loc);
}

/// Makes jumps far that have to be; true if there were any.
fn widen(sites: &mut [Site], layout: &Layout, starts: &[usize]) -> bool {
    let mut changed = false;
    let mut previous = None;
    let mut at = 0;
    for site in sites {
        if previous != Some(site.block) {
            previous = Some(site.block);
            at = starts[site.block] + layout.blocks[site.block].words.len();
        }
        let distance = starts[site.jump.to()] as i64 - at as i64 - 1;
        at += site.jump.len(site.far);
        if !site.far && distance.abs() > FARTHEST {
            site.far = true;
            changed = true;
        }
    }
    changed
}

/// Follows blocks that only jump. A cycle of them ends where it was entered for the second time.
fn resolve(blocks: &[CodeBlock], from: usize) -> usize {
    let mut block = from;
    for _ in 0..blocks.len() {
        match blocks[block].end {
            End::Jump(to) if blocks[block].words.is_empty() && to != block => block = to,
            _ => break,
        }
    }
    block
}

fn returns_only(block: &CodeBlock) -> bool {
    block.words.is_empty() && block.end == End::Return
}

fn successors(end: &End) -> impl Iterator<Item = usize> {
    let (first, second) = match *end {
        End::Jump(to) => (Some(to), None),
        End::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
        End::MayGoto { go, stop } => (Some(go), Some(stop)),
        End::Return => (None, None),
    };
    first.into_iter().chain(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: usize, end: End) -> CodeBlock {
        let word = CodeWord { word: isa::mov(1, Source::Imm(7)), loc: Loc::default(), reference: None };
        CodeBlock { words: vec![word; words], end, loc: Loc::default() }
    }

    fn branch(op: CompareOp, then: usize, otherwise: usize) -> End {
        End::Branch { op, lhs: 1, rhs: Source::Imm(0), then, otherwise }
    }

    /// The jumps of the joined blocks, each with the slot it stands in.
    fn jumps(blocks: &[CodeBlock]) -> Vec<(usize, Word)> {
        let words = join(blocks).into_iter().map(|at| at.word).enumerate();
        words.filter(|(_, word)| *word != isa::mov(1, Source::Imm(7))).collect()
    }

    #[test]
    fn the_block_that_follows_is_not_jumped_to() {
        let (eq, ne, imm) = (CompareOp::Eq, CompareOp::Ne, Source::Imm(0));
        let end = || [block(1, End::Return), block(2, End::Return)];
        let [one, two] = end();
        let then_next = [block(0, branch(eq, 1, 2)), one, two];
        assert_eq!(jumps(&then_next)[0], (0, isa::jump_if(ne, 1, imm, 2)));
        let [one, two] = end();
        let otherwise_next = [block(0, branch(eq, 2, 1)), one, two];
        assert_eq!(jumps(&otherwise_next)[0], (0, isa::jump_if(eq, 1, imm, 2)));
        // `Test` has no opposite.
        let [one, two] = end();
        let test = [block(0, branch(CompareOp::Test, 1, 2)), one, two];
        let expected = [(0, isa::jump_if(CompareOp::Test, 1, imm, 1)), (1, isa::jump(2))];
        assert_eq!(jumps(&test)[..2], expected);
    }

    #[test]
    fn blocks_that_only_jump_and_unreachable_ones_vanish() {
        let blocks = [
            block(0, branch(CompareOp::Eq, 1, 2)),
            block(0, End::Jump(3)),
            block(0, End::Jump(3)),
            block(1, End::Return),
            block(1, End::Return),
        ];
        assert_eq!(jumps(&blocks), [(1, isa::exit())]);
    }

    #[test]
    fn the_first_jump_to_a_return_is_one() {
        let blocks = [
            block(0, branch(CompareOp::Eq, 1, 2)),
            block(1, End::Jump(3)),
            block(2, End::Jump(3)),
            block(0, End::Return),
        ];
        let expected =
            [(0, isa::jump_if(CompareOp::Ne, 1, Source::Imm(0), 2)), (2, isa::exit()), (5, isa::exit())];
        assert_eq!(jumps(&blocks), expected);
    }

    #[test]
    fn an_entry_that_only_jumps_still_comes_first() {
        let blocks =
            [block(0, End::Jump(2)), block(1, End::Return), block(1, End::MayGoto { go: 2, stop: 1 })];
        let expected = [(0, isa::jump(2)), (2, isa::exit()), (4, isa::may_goto(-4)), (5, isa::jump(-3))];
        assert_eq!(jumps(&blocks), expected);
    }

    #[test]
    fn jumps_are_long_only_where_they_may_have_to_be() {
        let with = |op, words| {
            jumps(&[block(0, branch(op, 2, 1)), block(words, End::Jump(2)), block(1, End::Return)])
        };
        let conditional = |words| with(CompareOp::Eq, words);
        let most = FARTHEST as usize;
        let near = isa::jump_if(CompareOp::Eq, 1, Source::Imm(0), FARTHEST as i16);
        assert_eq!(conditional(most)[0], (0, near));
        let over = isa::jump_if(CompareOp::Ne, 1, Source::Imm(0), 1);
        assert_eq!(conditional(most + 1)[..2], [(0, over), (1, isa::jump_far(FARTHEST as i32 + 1))]);
        // `Test` has no opposite.
        let far = isa::jump_if(CompareOp::Test, 1, Source::Imm(0), 1);
        let expected = [(0, far), (1, isa::jump(1)), (2, isa::jump_far(FARTHEST as i32 + 1))];
        assert_eq!(with(CompareOp::Test, most + 1)[..3], expected);
        let back = |words| jumps(&[block(words, End::MayGoto { go: 0, stop: 1 }), block(0, End::Return)]);
        assert_eq!(back(most - 2)[1], (most - 1, isa::jump(-(FARTHEST as i16))));
        assert_eq!(back(most - 1)[1], (most, isa::jump_far(-(FARTHEST as i32) - 1)));
    }
}
