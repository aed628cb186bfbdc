//! Chains that call chains: none calls itself, for a program in the kernel has no stack that grows, and with those that it calls none has more
//! levels than who goes through them has stack for.

use crate::error::{CheckError, CheckErrorKind};
use crate::tree::{Callee, Chain, Line, LineKind, Value, ValueKind};

/// Levels of a chain with those that it calls, at most: lines within lines, operands of operators, chains that are called.
const MOST_LEVELS: u32 = 500;

/// Refuses chains that come back to themselves, and those with too many levels.
pub fn check(chains: &[Chain]) -> Result<(), CheckError> {
    let outlines: Vec<Outline> = chains.iter().map(Outline::of).collect();
    let mut states = vec![State::New; chains.len()];
    for chain in 0..chains.len() {
        let mut around = vec![(chain, 0)];
        while let Some((chain, next)) = around.pop() {
            match (states[chain], outlines[chain].calls.get(next)) {
                (State::Done { .. }, _) => {}
                (_, None) => {
                    let levels = outlines[chain].with_callees(&states);
                    if levels > MOST_LEVELS {
                        let Chain { name, at, .. } = &chains[chain];
                        return Err(CheckErrorKind::TooDeep { chain: name.clone() }.at(*at));
                    }
                    states[chain] = State::Done { levels };
                }
                (_, Some((callee, _))) => {
                    states[chain] = State::Open;
                    around.push((chain, next + 1));
                    if states[*callee] == State::Open {
                        let Chain { name, at, .. } = &chains[*callee];
                        return Err(CheckErrorKind::Recursive { chain: name.clone() }.at(*at));
                    }
                    around.push((*callee, 0));
                }
            }
        }
    }
    Ok(())
}

/// The chains that others call.
pub fn called(chains: &[Chain]) -> impl Iterator<Item = usize> + '_ {
    chains.iter().flat_map(|chain| Outline::of(chain).calls).map(|(callee, _)| callee)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// It is being looked at what it calls.
    Open,
    /// With those that it calls, it has so many.
    Done {
        levels: u32,
    },
}

/// What of a chain matters here.
#[derive(Default)]
struct Outline {
    levels: u32,
    /// Chains that it calls, with the levels down to the call.
    calls: Vec<(usize, u32)>,
}

impl Outline {
    fn of(chain: &Chain) -> Outline {
        let mut outline = Outline::default();
        outline.lines(&chain.body, 1);
        outline
    }

    /// How many levels there are with those of the chains that are called.
    fn with_callees(&self, states: &[State]) -> u32 {
        let of_callee = |(callee, level): &(usize, u32)| match states[*callee] {
            State::Done { levels } => level + levels,
            State::New | State::Open => *level,
        };
        self.calls.iter().map(of_callee).fold(self.levels, u32::max)
    }

    fn lines(&mut self, lines: &[Line], level: u32) {
        for line in lines {
            match &line.kind {
                LineKind::Assign(_, value) | LineKind::Call(value) | LineKind::Return(Some(value)) => {
                    self.value(value, level + 1);
                }
                LineKind::Return(None) => {}
                LineKind::If { arms, otherwise } => {
                    for (condition, then) in arms {
                        self.value(condition, level + 1);
                        self.lines(then, level + 1);
                    }
                    self.lines(otherwise, level + 1);
                }
                LineKind::While { condition, body } => {
                    self.value(condition, level + 1);
                    self.lines(body, level + 1);
                }
            }
        }
    }

    fn value(&mut self, value: &Value, level: u32) {
        self.levels = self.levels.max(level);
        match &value.kind {
            ValueKind::Number(_) | ValueKind::Variable(_) => {}
            ValueKind::Convert(of) | ValueKind::Unary(_, of) => self.value(of, level + 1),
            ValueKind::Binary(_, both) => both.iter().for_each(|value| self.value(value, level + 1)),
            ValueKind::Call(callee, arguments) => {
                if let Callee::Chain(chain) = callee {
                    self.calls.push((*chain, level));
                }
                arguments.iter().for_each(|value| self.value(value, level + 1));
            }
        }
    }
}
