//! Which functions of a module call which, and how long and how large chains of calls get.

use super::frame;
use moonhook_ir::*;

/// The larger a function is, the less values that are spilled in different parts of it share their places: the allocator needs about
/// one more for so many instructions.
const UNSHARED: usize = 500;

/// What two functions were before they became one.
pub struct Alone {
    first: usize,
    other: usize,
    /// How many the first one calls.
    callees: usize,
    frame: u32,
}

/// The calls of a module. Functions that were combined are one, under the index of the first.
pub struct Calls {
    /// By function, each once.
    callees: Vec<Vec<usize>>,
    /// By function, in how many places it is called.
    sites: Vec<u32>,
    /// By function, whether the kernel is told to call it.
    referenced: Vec<bool>,
    /// By function: frames in the longest chain of calls that starts there.
    heights: Vec<usize>,
    /// The functions by height: each behind those that it calls.
    upwards: Vec<usize>,
    /// Instructions.
    sizes: Vec<usize>,
    /// By function, the bytes of its frame at the place where most are needed, by estimate; 0 as long as they are not known.
    frames: Vec<u32>,
    /// Frames are rounded as where the kernel compiles programs: a library may be for one that does not.
    has_jit: bool,
    /// By function, what it is part of: itself, unless it was combined with another.
    whole: Vec<usize>,
}

impl Calls {
    /// `None` if functions call each other in circles, or one that does not exist.
    pub fn new(module: &Module) -> Option<Self> {
        let count = module.functions.len();
        let mut sites = vec![0; count];
        let mut referenced = vec![false; count];
        let mut callees = Vec::with_capacity(count);
        for function in &module.functions {
            let mut called = Vec::new();
            for inst in function.blocks.iter().flat_map(|block| &block.insts) {
                match inst.op {
                    Op::Call { function, .. } => {
                        *sites.get_mut(function.0 as usize)? += 1;
                        called.push(function.0 as usize);
                    }
                    Op::FunctionReference(function) => {
                        *referenced.get_mut(function.0 as usize)? = true;
                        called.push(function.0 as usize);
                    }
                    _ => {}
                }
            }
            for callee in function.given.iter().flat_map(Given::callees) {
                // Such calls cannot say which part of a function is meant.
                *referenced.get_mut(callee.0 as usize)? = true;
                called.push(callee.0 as usize);
            }
            called.sort_unstable();
            called.dedup();
            callees.push(called);
        }
        let heights = heights(&callees)?;
        let mut upwards: Vec<usize> = (0..count).collect();
        upwards.sort_by_key(|index| heights[*index]);
        let sizes = module.functions.iter().map(size).collect();
        Some(Calls {
            callees,
            sites,
            referenced,
            heights,
            upwards,
            sizes,
            frames: vec![0; count],
            has_jit: !module.is_library(),
            whole: (0..count).collect(),
        })
    }

    pub fn estimate_frames(&mut self, module: &Module) {
        self.frames = parallel::map(module.functions.iter(), || (), |_, function| frame::estimate(function));
    }

    /// In how many places a function is called.
    pub fn sites(&self, index: usize) -> u32 {
        self.sites[index]
    }

    /// Whether the kernel is told to call a function.
    pub fn is_referenced(&self, index: usize) -> bool {
        self.referenced[index]
    }

    /// Frames in the longest chain of calls that starts with a function.
    pub fn height(&self, index: usize) -> usize {
        self.heights[index]
    }

    /// Bytes of a function's frame, by estimate, rounded as the verifier rounds them (`round_up_stack_depth`, kernel/bpf/verifier.c).
    pub fn frame(&self, index: usize) -> u32 {
        let unshared = 8 * (self.sizes[index] / UNSHARED) as u32;
        let bytes = self.frames[index] + unshared;
        if self.has_jit { bytes.next_multiple_of(16) } else { bytes.max(1).next_multiple_of(32) }
    }

    /// The functions that are part of a program with these entries, which are included, in ascending order; combined ones once.
    pub fn reached(&self, entries: &[usize]) -> Vec<usize> {
        let mut reached = vec![false; self.callees.len()];
        let mut work = entries.to_vec();
        while let Some(index) = work.pop() {
            let index = self.whole[index];
            if !std::mem::replace(&mut reached[index], true) {
                work.extend(&self.callees[index]);
            }
        }
        (0..reached.len()).filter(|index| reached[*index]).collect()
    }

    /// Notes that two functions of the same height become one; gives what [`Calls::separate`] takes.
    pub fn combine(&mut self, first: usize, other: usize) -> Alone {
        let callees = std::mem::take(&mut self.callees[other]);
        let alone = Alone { first, other, callees: self.callees[first].len(), frame: self.frames[first] };
        self.callees[first].extend(callees);
        self.frames[first] = self.frames[first].max(self.frames[other]);
        self.sizes[first] += self.sizes[other];
        self.whole[other] = first;
        alone
    }

    /// Undoes the last [`Calls::combine`].
    pub fn separate(&mut self, Alone { first, other, callees, frame }: Alone) {
        self.callees[other] = self.callees[first].split_off(callees);
        self.frames[first] = frame;
        self.sizes[first] -= self.sizes[other];
        self.whole[other] = other;
    }

    /// Whether a function is one made of several.
    pub fn is_combined(&self, index: usize) -> bool {
        self.whole.iter().filter(|whole| **whole == index).count() > 1
    }

    /// Bytes of the frames of the largest chain of calls, by estimate.
    pub fn deepest(&self) -> u32 {
        let mut bytes = vec![0; self.upwards.len()];
        for &index in &self.upwards {
            let below = self.callees[index].iter().map(|callee| bytes[self.whole[*callee]]);
            bytes[index] = self.frame(index) + below.max().unwrap_or(0);
        }
        bytes.into_iter().max().unwrap_or(0)
    }
}

/// Instructions of a function, terminators included.
pub fn size(function: &Function) -> usize {
    let given = function.given.as_ref().map_or(0, |given| given.words.len());
    given + function.blocks.iter().map(|block| block.insts.len() + 1).sum::<usize>()
}

/// By function, frames in the longest chain of calls from there; `None` if there is no longest.
fn heights(callees: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut heights = vec![1; callees.len()];
    // Each round settles one more height; a round that is one too many means a circle.
    for _ in 0..=callees.len() {
        let mut changed = false;
        for index in (0..callees.len()).rev() {
            let height = 1 + callees[index].iter().map(|callee| heights[*callee]).max().unwrap_or(0);
            changed |= std::mem::replace(&mut heights[index], height) != height;
        }
        if !changed {
            return Some(heights);
        }
    }
    None
}
