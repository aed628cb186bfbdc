//! Terminators: how a block ends, and where control goes from there.

use crate::{Block, Condition, Operand, Value};

/// A jump's target and the arguments for its parameters.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Target {
    pub block: Block,
    pub args: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Terminator {
    Jump(Target),
    Branch {
        condition: Condition,
        then: Target,
        otherwise: Target,
    },
    /// Goes on to `go`, or, once the kernel's own limit for loops is used up, to `stop`.
    MayGoto {
        go: Target,
        stop: Target,
    },
    Return(Operand),
}

impl Target {
    pub fn new(block: Block, args: Vec<Value>) -> Self {
        Target { block, args }
    }
}

impl Terminator {
    pub fn targets(&self) -> Vec<&Target> {
        match self {
            Terminator::Jump(target) => vec![target],
            Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
            Terminator::MayGoto { go, stop } => vec![go, stop],
            Terminator::Return(_) => vec![],
        }
    }

    pub fn targets_mut(&mut self) -> Vec<&mut Target> {
        match self {
            Terminator::Jump(target) => vec![target],
            Terminator::Branch { then, otherwise, .. } => vec![then, otherwise],
            Terminator::MayGoto { go, stop } => vec![go, stop],
            Terminator::Return(_) => vec![],
        }
    }

    /// The target at `index` of [`Terminator::targets`].
    pub fn target(&self, index: usize) -> Option<&Target> {
        match (self, index) {
            (Terminator::Jump(target), 0) => Some(target),
            (Terminator::Branch { then, .. }, 0) => Some(then),
            (Terminator::Branch { otherwise, .. }, 1) => Some(otherwise),
            (Terminator::MayGoto { go, .. }, 0) => Some(go),
            (Terminator::MayGoto { stop, .. }, 1) => Some(stop),
            _ => None,
        }
    }

    /// Calls `visit` with each of [`Terminator::targets`].
    pub fn for_each_target<'a>(&'a self, visit: impl FnMut(&'a Target)) {
        (0..2).map_while(|index| self.target(index)).for_each(visit);
    }

    /// Calls `visit` with each of [`Terminator::targets_mut`].
    pub fn for_each_target_mut(&mut self, mut visit: impl FnMut(&mut Target)) {
        match self {
            Terminator::Jump(target) => visit(target),
            Terminator::Branch { then: first, otherwise: second, .. }
            | Terminator::MayGoto { go: first, stop: second } => {
                visit(first);
                visit(second);
            }
            Terminator::Return(_) => {}
        }
    }

    /// Calls `visit` with each value the terminator uses, arguments of targets included.
    pub fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match self {
            Terminator::Branch { condition, .. } => condition.for_each_value(&mut visit),
            Terminator::Return(Operand::Value(value)) => visit(*value),
            Terminator::Return(Operand::Imm(_)) | Terminator::Jump(_) | Terminator::MayGoto { .. } => {}
        }
        self.for_each_target(|target| target.args.iter().copied().for_each(&mut visit));
    }

    /// Replaces each value the terminator uses, arguments of targets included.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        match self {
            Terminator::Branch { condition, .. } => condition.map_values(&mut map),
            Terminator::Return(operand) => operand.map_value(&mut map),
            Terminator::Jump(_) | Terminator::MayGoto { .. } => {}
        }
        self.for_each_target_mut(|target| target.args.iter_mut().for_each(|arg| *arg = map(*arg)));
    }
}
