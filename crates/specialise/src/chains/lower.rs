//! Chains become code: each call of a chain is that chain's lines, where it is called.
//!
//! Numbers are words of 64 bits, which their types fill with zeros or with the sign, as in [`moonhook_eclat::eval`].

use super::numbers::{comparison, filled, is_within};
use moonhook_eclat::ast::{Binary, Unary};
use moonhook_eclat::token::At;
use moonhook_eclat::tree::{Callee, Chains, Line, LineKind, Value, ValueKind, VariableId};
use moonhook_ir::words::{Branches, Cond, Iteration, Path, PathState, Word};
use moonhook_ir::{BinaryOp, CompareOp, UnaryOp};
use std::collections::HashSet;

/// Who makes code for chains.
pub trait Host: Branches {
    /// Code is made for that place of the script from now on. The host may end it: chains are code wherever they are called, and loops where
    /// it is found out what varies in them are executed several times.
    fn at(&mut self, file: &str, at: At) -> Result<(), Self::Stop>;
    /// `bits` from an offset of the packet, the first byte being the highest; goes on where they are there.
    fn read(&mut self, offset: Word, bits: u32) -> Result<Word, Self::Stop>;
    fn write(&mut self, offset: Word, bits: u32, number: Word) -> Result<(), Self::Stop>;
    /// An entry of a map, by the number of the read and the parts of the key; 0 where there is none.
    fn map(&mut self, chains: &Chains, read: usize, key: &[Word]) -> Result<Word, Self::Stop>;
    /// Calls the program with that number.
    fn call(&mut self, chains: &Chains, program: usize, arguments: &[Word]) -> Result<Word, Self::Stop>;
    /// Ends the packet with a verdict that the program with that number has given.
    fn decide(&mut self, chains: &Chains, program: usize, verdict: Word) -> Result<(), Self::Stop>;
}

/// What the chain with that number gives, in the current state; 0 where it does not say.
///
/// # Errors
/// What the host ends with.
pub fn lower<H: Host>(
    host: &mut H,
    chains: &Chains,
    number: usize,
    arguments: &[Word],
) -> Result<Word, H::Stop> {
    let chain = &chains.chains[number];
    let mut variables = vec![Word::Imm(0); chain.variables.len()];
    for (number, argument) in arguments.iter().enumerate().take(chain.parameters) {
        variables[number] = filled(host, *argument, chain.variables[number].ty);
    }
    let mut frame = Frame { host, chains, variables, returns: Vec::new() };
    frame.lines(&chain.body)?;
    if frame.host.alive() {
        frame.give(Word::Imm(0));
    }
    let Frame { host, returns, .. } = frame;
    host.meet_word(returns)
}

struct Frame<'a, H: Branches> {
    host: &'a mut H,
    chains: &'a Chains,
    variables: Vec<Word>,
    /// States in which the chain has ended, with what it gives.
    returns: Vec<Path<H::State, Vec<Word>>>,
}

/// What an exit of a loop begins with: the chain goes on behind the loop, or it has ended.
const GOES_ON: Word = Word::Imm(0);
const RETURNS: Word = Word::Imm(1);

/// The states in which something holds, and those in which it does not.
type Sides<S> = (Vec<S>, Vec<S>);

impl<H: Host> Frame<'_, H> {
    /// The chain ends here, and gives that.
    fn give(&mut self, number: Word) {
        let path = self.host.take_path(vec![number]);
        self.returns.push(path);
    }

    fn lines(&mut self, lines: &[Line]) -> Result<(), H::Stop> {
        for line in lines {
            if !self.host.alive() {
                break;
            }
            self.host.at(&self.chains.file, line.at)?;
            self.line(&line.kind)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &LineKind) -> Result<(), H::Stop> {
        match line {
            LineKind::Assign(id, value) => self.variables[*id] = self.value(value)?,
            LineKind::Call(value) => {
                self.value(value)?;
            }
            LineKind::Return(value) => {
                let number = value.as_ref().map_or(Ok(Word::Imm(0)), |value| self.value(value))?;
                if self.host.alive() {
                    self.give(number);
                }
            }
            LineKind::If { arms, otherwise } => self.choose(arms, otherwise)?,
            LineKind::While { condition, body } => self.repeat(condition, body)?,
        }
        Ok(())
    }

    /// The lines behind the first condition that holds. Paths meet behind all of them, at once.
    fn choose(&mut self, arms: &[(Value, Vec<Line>)], otherwise: &[Line]) -> Result<(), H::Stop> {
        let before = self.variables.clone();
        let mut paths = Vec::new();
        for (number, (condition, then)) in arms.iter().enumerate() {
            if !self.host.alive() {
                break;
            }
            if number > 0 {
                self.host.at(&self.chains.file, condition.at)?;
            }
            let (yes, no) = self.branch(condition)?;
            self.host.enter(yes)?;
            self.lines(then)?;
            self.leave(&before, &mut paths);
            self.host.enter(no)?;
        }
        self.lines(otherwise)?;
        self.leave(&before, &mut paths);
        if let Some(variables) = self.host.meet(paths)? {
            self.variables = variables;
        }
        Ok(())
    }

    /// Takes the path that has come to an end of lines; the variables are again what they were `before`.
    fn leave(&mut self, before: &[Word], paths: &mut Vec<Path<H::State, Vec<Word>>>) {
        let variables = std::mem::replace(&mut self.variables, before.to_vec());
        paths.push(self.host.take_path(variables));
    }

    fn repeat(&mut self, condition: &Value, body: &[Line]) -> Result<(), H::Stop> {
        let mut changed = Vec::new();
        assigned(body, &mut changed, &mut HashSet::new());
        let initial: Vec<Word> = changed.iter().map(|id| self.variables[*id]).collect();
        let Frame { host, chains, variables, returns } = self;
        let exits = host.iterate(&initial, &mut |host, words| {
            let mut inner = Frame { host, chains, variables: variables.clone(), returns: Vec::new() };
            for (id, word) in changed.iter().zip(words) {
                inner.variables[*id] = *word;
            }
            inner.turn(condition, body, &changed)
        })?;
        let mut behind = Vec::new();
        for Path { state, values } in exits {
            let (first, values) = (values[0], values[1..].to_vec());
            match first == RETURNS {
                true => returns.push(Path { state, values }),
                false => behind.push(Path { state, values }),
            }
        }
        let values = self.host.meet(behind)?;
        for (id, word) in changed.into_iter().zip(values.into_iter().flatten()) {
            self.variables[id] = word;
        }
        Ok(())
    }

    /// A loop's condition and lines.
    fn turn(
        &mut self,
        condition: &Value,
        body: &[Line],
        changed: &[VariableId],
    ) -> Result<Iteration<H::State, Vec<Word>>, H::Stop> {
        let mut turn = Iteration::default();
        let now = |frame: &Self| changed.iter().map(|id| frame.variables[*id]).collect::<Vec<Word>>();
        let (yes, no) = self.branch(condition)?;
        for state in no {
            turn.leave_in(state, [vec![GOES_ON], now(self)].concat());
        }
        self.host.enter(yes)?;
        self.lines(body)?;
        if self.host.alive() {
            let words = now(self);
            turn.again(self.host, words);
        }
        for Path { state, values } in std::mem::take(&mut self.returns) {
            turn.leave_in(state, [vec![RETURNS], values].concat());
        }
        Ok(turn)
    }

    /// The states in which a value is not 0, and those in which it is.
    fn branch(&mut self, value: &Value) -> Result<Sides<H::State>, H::Stop> {
        match &value.kind {
            ValueKind::Unary(Unary::Not, of) => {
                let (yes, no) = self.branch(of)?;
                Ok((no, yes))
            }
            ValueKind::Binary(operator @ (Binary::And | Binary::Or), both) => {
                let (mut yes, mut no) = self.branch(&both[0])?;
                let undecided = std::mem::take(if *operator == Binary::And { &mut yes } else { &mut no });
                self.host.enter(undecided)?;
                let (then, otherwise) = self.branch(&both[1])?;
                yes.extend(then);
                no.extend(otherwise);
                Ok((yes, no))
            }
            _ => {
                let condition = self.condition(value)?;
                let (yes, no) = self.host.split(condition);
                let alive = |state: H::State| if state.alive() { vec![state] } else { Vec::new() };
                Ok((alive(yes), alive(no)))
            }
        }
    }

    /// Whether a value is not 0.
    fn condition(&mut self, value: &Value) -> Result<Cond, H::Stop> {
        if let ValueKind::Binary(operator, both) = &value.kind
            && let Some(operator) = comparison(*operator, both[0].ty)
        {
            let [one, other] = [self.value(&both[0])?, self.value(&both[1])?];
            return Ok(self.host.compare(operator, one, other));
        }
        let number = self.value(value)?;
        Ok(self.host.compare(CompareOp::Ne, number, 0))
    }

    fn value(&mut self, value: &Value) -> Result<Word, H::Stop> {
        let number = match &value.kind {
            ValueKind::Number(number) => Word::Imm(*number as i64),
            ValueKind::Variable(id) => return Ok(self.variables[*id]),
            ValueKind::Convert(of) => {
                let number = self.value(of)?;
                if is_within(of.ty, value.ty) {
                    return Ok(number);
                }
                number
            }
            ValueKind::Unary(Unary::Not, _) | ValueKind::Binary(Binary::And | Binary::Or, _) => {
                return self.truth(value);
            }
            ValueKind::Unary(Unary::Negate, of) => {
                let number = self.value(of)?;
                self.host.unary(UnaryOp::Neg, number)
            }
            ValueKind::Unary(Unary::Complement, of) => {
                let number = self.value(of)?;
                self.host.binary(BinaryOp::Xor, number, -1)
            }
            ValueKind::Binary(operator, both) => match comparison(*operator, both[0].ty) {
                Some(_) => {
                    let condition = self.condition(value)?;
                    return Ok(self.host.condition_word(condition));
                }
                None => self.computed(*operator, both)?,
            },
            ValueKind::Call(callee, arguments) => self.call(*callee, arguments, value.at)?,
        };
        Ok(filled(self.host, number, value.ty))
    }

    /// 1 where a value is not 0, which is made of others.
    fn truth(&mut self, value: &Value) -> Result<Word, H::Stop> {
        let (yes, no) = self.branch(value)?;
        let path = |(states, number): (Vec<H::State>, i64)| {
            states.into_iter().map(move |state| Path { state, values: vec![Word::Imm(number)] })
        };
        let paths = [(yes, 1), (no, 0)].into_iter().flat_map(path).collect();
        self.host.meet_word(paths)
    }

    fn computed(&mut self, operator: Binary, both: &[Value; 2]) -> Result<Word, H::Stop> {
        let (one, mut other) = (self.value(&both[0])?, self.value(&both[1])?);
        let is_signed = both[0].ty.is_signed;
        let operator = match operator {
            Binary::BitOr => BinaryOp::Or,
            Binary::BitXor => BinaryOp::Xor,
            Binary::BitAnd => BinaryOp::And,
            Binary::ShiftLeft => BinaryOp::Shl,
            Binary::ShiftRight if is_signed => BinaryOp::AShr,
            Binary::ShiftRight => BinaryOp::LShr,
            Binary::Subtract => BinaryOp::Sub,
            Binary::Multiply => BinaryOp::Mul,
            Binary::Divide if is_signed => BinaryOp::SDiv,
            Binary::Divide => BinaryOp::UDiv,
            Binary::Remainder if is_signed => BinaryOp::SMod,
            Binary::Remainder => BinaryOp::UMod,
            _ => BinaryOp::Add,
        };
        if matches!(operator, BinaryOp::Shl | BinaryOp::AShr | BinaryOp::LShr) {
            other = self.host.and(other, i64::from(both[0].ty.bits) - 1);
        }
        Ok(self.host.binary(operator, one, other))
    }

    fn call(&mut self, callee: Callee, arguments: &[Value], at: At) -> Result<Word, H::Stop> {
        let mut words = Vec::new();
        for argument in arguments {
            words.push(self.value(argument)?);
        }
        if !self.host.alive() {
            return Ok(Word::Imm(0));
        }
        match (callee, words.as_slice()) {
            (Callee::Chain(number), _) => {
                let given = lower(self.host, self.chains, number, &words)?;
                // What follows is in this chain's line again.
                self.host.at(&self.chains.file, at)?;
                Ok(given)
            }
            (Callee::Program(program), arguments) => self.host.call(self.chains, program, arguments),
            (Callee::Map(read), key) => self.host.map(self.chains, read, key),
            (Callee::Read(bits), [offset, ..]) => self.host.read(*offset, bits),
            (Callee::Write(bits), [offset, number, ..]) => {
                self.host.write(*offset, bits, *number)?;
                Ok(Word::Imm(0))
            }
            (Callee::Decide(program), [verdict, ..]) => {
                self.host.decide(self.chains, program, *verdict)?;
                Ok(Word::Imm(0))
            }
            (Callee::Read(_) | Callee::Write(_) | Callee::Decide(_), _) => Ok(Word::Imm(0)),
        }
    }
}

/// Adds the variables that lines assign, of which some are known.
fn assigned(lines: &[Line], ids: &mut Vec<VariableId>, known: &mut HashSet<VariableId>) {
    for line in lines {
        match &line.kind {
            LineKind::Assign(id, _) if known.insert(*id) => ids.push(*id),
            LineKind::If { arms, otherwise } => {
                arms.iter().for_each(|(_, then)| assigned(then, ids, known));
                assigned(otherwise, ids, known);
            }
            LineKind::While { body, .. } => assigned(body, ids, known),
            _ => {}
        }
    }
}
