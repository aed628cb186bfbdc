//! Chains that call chains: none calls itself, for a program in the kernel has no stack that grows.

use crate::error::{CheckError, CheckErrorKind};
use crate::tree::{Callee, Chain, Line, LineKind, Value, ValueKind};

/// Refuses chains that come back to themselves.
pub fn check(chains: &[Chain]) -> Result<(), CheckError> {
    let calls: Vec<Vec<usize>> = chains.iter().map(|chain| in_lines(&chain.body)).collect();
    let mut states = vec![State::New; chains.len()];
    for chain in 0..chains.len() {
        let mut around = vec![(chain, 0)];
        while let Some((chain, next)) = around.pop() {
            match (states[chain], calls[chain].get(next)) {
                (State::Done, _) => {}
                (_, None) => states[chain] = State::Done,
                (_, Some(callee)) => {
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
    chains.iter().flat_map(|chain| in_lines(&chain.body))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// It is being looked at what it calls.
    Open,
    Done,
}

fn in_lines(lines: &[Line]) -> Vec<usize> {
    let line = |line: &Line| match &line.kind {
        LineKind::Assign(_, value) | LineKind::Call(value) | LineKind::Return(Some(value)) => in_value(value),
        LineKind::Return(None) => Vec::new(),
        LineKind::If { condition, then, otherwise } => {
            [in_value(condition), in_lines(then), in_lines(otherwise)].concat()
        }
        LineKind::While { condition, body } => [in_value(condition), in_lines(body)].concat(),
    };
    lines.iter().flat_map(line).collect()
}

fn in_value(value: &Value) -> Vec<usize> {
    match &value.kind {
        ValueKind::Number(_) | ValueKind::Variable(_) => Vec::new(),
        ValueKind::Convert(of) | ValueKind::Unary(_, of) => in_value(of),
        ValueKind::Binary(_, both) => both.iter().flat_map(in_value).collect(),
        ValueKind::Call(callee, arguments) => {
            let own = if let Callee::Chain(chain) = callee { vec![*chain] } else { Vec::new() };
            own.into_iter().chain(arguments.iter().flat_map(in_value)).collect()
        }
    }
}
