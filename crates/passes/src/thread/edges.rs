//! The edges of a function while some of them are led elsewhere.
//!
//! Says what a new [`ControlFlow`] would say, without looking at all of the function again.

use moonhook_ir::*;
use std::cell::RefCell;

pub(super) struct Edges<'f> {
    /// The graph as it was at first.
    pub flow: &'f ControlFlow,
    /// What there is instead, once an edge leads elsewhere.
    now: Option<Now>,
    /// Blocks whose edges lead elsewhere now.
    changed: Vec<Block>,
    seen: RefCell<Seen>,
}

/// A set of blocks that is emptied at once: there are many walks through all of a large function.
#[derive(Default)]
struct Seen {
    walk: u32,
    /// By block, the walk that saw it last.
    last: Vec<u32>,
}

impl Seen {
    /// Whether this walk sees the block for the first time.
    fn insert(&mut self, block: Block) -> bool {
        if self.last.len() <= block.index() {
            self.last.resize(block.index() + 1, 0);
        }
        std::mem::replace(&mut self.last[block.index()], self.walk) != self.walk
    }
}

struct Now {
    /// By block, the sources of the edges to it, in the order of the blocks; only of blocks that can be reached.
    to: Vec<Vec<Block>>,
    /// By block, where its edges lead, as `to` has them.
    from: Vec<[Option<Block>; 2]>,
}

impl<'f> Edges<'f> {
    pub fn new(flow: &'f ControlFlow) -> Self {
        Edges { flow, now: None, changed: Vec::new(), seen: RefCell::default() }
    }

    /// The sources of the edges to a block, one entry an edge.
    pub fn to(&self, block: Block) -> &[Block] {
        match &self.now {
            Some(now) => &now.to[block.index()],
            None => self.flow.predecessors(block),
        }
    }

    /// The only edge's source, if there is one edge to this block.
    pub fn single(&self, block: Block) -> Option<Block> {
        match *self.to(block) {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The first block of those that only lead one to the next, up to this one.
    pub fn head(&self, block: Block) -> Block {
        let mut head = block;
        while let Some(before) = self.single(head) {
            head = before;
        }
        head
    }

    pub fn is_loop_header(&self, block: Block) -> bool {
        self.to(block).iter().any(|from| self.flow.position(*from) >= self.flow.position(block))
    }

    /// The edges of `from` lead elsewhere, which [`Edges::update`] will see.
    pub fn note_change(&mut self, from: Block) {
        self.changed.push(from);
    }

    /// Makes the edges those of the function. They lead on, never back, but where they have done so before.
    pub fn update(&mut self, function: &Function) {
        let flow = self.flow;
        let now = self.now.get_or_insert_with(|| Now::new(function.blocks.len(), flow));
        let mut lost = Vec::new();
        for from in std::mem::take(&mut self.changed) {
            // A block that cannot be reached has no edges.
            if now.from[from.index()] != [None; 2] {
                now.replace(flow, from, targets(function, from), &mut lost);
            }
        }
        while let Some(block) = lost.pop() {
            let back = |from: &Block| flow.position(*from) >= flow.position(block);
            // What comes from behind a block that nothing else leads to cannot be reached either.
            if block != Block(0) && now.to[block.index()].iter().all(back) {
                now.replace(flow, block, [None; 2], &mut lost);
            }
        }
    }

    /// Whether each path from `block`, which all paths to `user` go by, to `user` is by way of `target`; `None` if there is none.
    pub fn all_lead_by(&self, block: Block, target: Block, user: Block) -> Option<bool> {
        if self.flow.dominates(target, user) {
            return Some(true);
        }
        let mut by_target = None;
        let mut seen = self.seen.borrow_mut();
        seen.walk += 1;
        seen.insert(user);
        let mut work = vec![user];
        while let Some(at) = work.pop() {
            if at == block {
                return Some(false);
            }
            if at == target || self.flow.dominates(target, at) {
                by_target = Some(true);
                continue;
            }
            work.extend(self.to(at).iter().filter(|from| seen.insert(**from)));
        }
        by_target
    }
}

impl Now {
    fn new(count: usize, flow: &ControlFlow) -> Now {
        let mut now = Now { to: vec![Vec::new(); count], from: vec![[None; 2]; count] };
        for block in &flow.order {
            now.to[block.index()] = flow.predecessors(*block).to_vec();
            for from in flow.predecessors(*block) {
                let [first, second] = &mut now.from[from.index()];
                *(if first.is_none() { first } else { second }) = Some(*block);
            }
        }
        now
    }

    fn replace(&mut self, flow: &ControlFlow, from: Block, now: [Option<Block>; 2], lost: &mut Vec<Block>) {
        for to in std::mem::replace(&mut self.from[from.index()], now).into_iter().flatten() {
            let sources = &mut self.to[to.index()];
            if let Some(place) = sources.iter().position(|source| *source == from) {
                sources.remove(place);
            }
            lost.push(to);
        }
        for to in now.into_iter().flatten() {
            let sources = &mut self.to[to.index()];
            let place = sources.partition_point(|source| flow.position(*source) <= flow.position(from));
            sources.insert(place, from);
        }
    }
}

fn targets(function: &Function, block: Block) -> [Option<Block>; 2] {
    let terminator = function.block(block).terminator.as_ref().map(|(terminator, _)| terminator);
    [0, 1].map(|edge| terminator.and_then(|terminator| terminator.target(edge)).map(|target| target.block))
}
