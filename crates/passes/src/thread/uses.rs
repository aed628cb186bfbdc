//! How often values are used, and in which blocks, while uses come and go.

use crate::values::use_counts;
use moonhook_ir::graph::Lists;
use moonhook_ir::*;
use std::cell::OnceCell;
use std::collections::HashMap;

pub(super) struct Uses {
    counts: Vec<u32>,
    /// Changes of the counts, which [`Uses::update`] makes.
    changes: Vec<(Value, i32)>,
    /// By value, the blocks that used it when this was first asked for, with repetitions.
    first: OnceCell<Lists<Block>>,
    /// Blocks that use it since.
    since: HashMap<Value, Vec<Block>>,
}

impl Uses {
    pub fn new(function: &Function) -> Uses {
        Uses {
            counts: use_counts(function),
            changes: Vec::new(),
            first: OnceCell::new(),
            since: HashMap::new(),
        }
    }

    /// By value, how often it is used, as of the last [`Uses::update`].
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    pub fn update(&mut self, function: &Function) {
        self.counts.resize(function.value_count as usize, 0);
        for (value, change) in std::mem::take(&mut self.changes) {
            let count = &mut self.counts[value.index()];
            *count = count.saturating_add_signed(change);
        }
    }

    /// The blocks that may use a value, all that do among them, with repetitions.
    pub fn blocks(&self, function: &Function, value: Value) -> impl Iterator<Item = Block> {
        let lists = self.first.get_or_init(|| blocks_by_value(function));
        let first = if value.index() < lists.count() { lists.of(value.index()) } else { &[] };
        first.iter().chain(self.since.get(&value).into_iter().flatten()).copied()
    }

    pub fn add(&mut self, value: Value, block: Block, count: i32) {
        self.changes.push((value, count));
        self.since.entry(value).or_default().push(block);
    }

    pub fn remove(&mut self, value: Value, count: i32) {
        self.changes.push((value, -count));
    }

    /// The block had another terminator, and only that many instructions.
    pub fn note_change(
        &mut self,
        now: &BlockData,
        block: Block,
        before: Option<(Terminator, Loc)>,
        length: usize,
    ) {
        if let Some((terminator, _)) = before {
            terminator.for_each_value(|value| self.remove(value, 1));
        }
        now.insts[length..].iter().for_each(|inst| inst.op.for_each_value(|value| self.add(value, block, 1)));
        if let Some((terminator, _)) = &now.terminator {
            terminator.for_each_value(|value| self.add(value, block, 1));
        }
    }
}

fn blocks_by_value(function: &Function) -> Lists<Block> {
    Lists::new(function.value_count as usize, |user| {
        for (index, data) in function.blocks.iter().enumerate() {
            for_each_use(data, |value| user(value.index(), Block(index as u32)));
        }
    })
}

pub(super) fn for_each_use(block: &BlockData, mut visit: impl FnMut(Value)) {
    block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut visit));
    if let Some((terminator, _)) = &block.terminator {
        terminator.for_each_value(&mut visit);
    }
}
