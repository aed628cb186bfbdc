//! Calls and returns. A call is an operation, a subprogram's call, or the other function's code in place of it.

use super::body::Body;
use super::builder::MAX_DEPTH;
use super::registers::{StaticType, Word};
use super::sources::find;
use super::{Result, intrinsics};
use moonhook_ir::{Block, Operand, Value};
use moonhook_snapshot::instruction::{Instruction, Opcode};

/// Where an expanded function goes on, and what it gives there: known once it first returns.
pub(super) struct Returns {
    block: Block,
    kinds: Option<Vec<StaticType>>,
    params: Vec<Value>,
}

impl Body<'_, '_> {
    /// A call whose results are left in the registers from A on.
    pub(super) fn call(&mut self, i: Instruction) -> Result<()> {
        let results = self.called(i, i.c().checked_sub(1))?;
        self.open = i.a() + results.len();
        for (n, word) in results.into_iter().enumerate() {
            self.set(i.a() + n, word);
        }
        Ok(())
    }

    /// A call whose results are the function's own.
    pub(super) fn tail_call(&mut self, i: Instruction) -> Result<()> {
        let results = self.called(i, None)?;
        self.give_back(results)
    }

    /// Calls what register A names; gives as many results as wanted, or as many as there are.
    fn called(&mut self, i: Instruction, want: Option<usize>) -> Result<Vec<Word>> {
        let Word::Name(name) = self.get(i.a()) else { return self.fail("a call of no known function") };
        let end = if i.b() == 0 { self.open } else { i.a() + i.b() };
        let arguments: Vec<Word> = (i.a() + 1..end).map(|register| self.get(register)).collect();
        let mut results = if intrinsics::exists(&name) {
            match intrinsics::emit(self.builder, &name, &arguments) {
                Some(word) => vec![word],
                None => return self.fail(format!("{name} with {} arguments", arguments.len())),
            }
        } else if name.contains(['.', ':']) {
            self.expand(&name, arguments)?
        } else {
            vec![self.call_routine(&name, &arguments)?]
        };
        if let Some(want) = want {
            results.resize(want, Word::Constant(0));
        }
        Ok(results)
    }

    /// Calls the subprogram that another routine becomes.
    fn call_routine(&mut self, name: &str, arguments: &[Word]) -> Result<Word> {
        let values: Vec<Value> = arguments.iter().map(|word| self.builder.value(word)).collect();
        let parameters = find(name).map_or(0, |routine| usize::from(routine.prototype.parameters));
        if values.len() != parameters || parameters > 5 {
            return self.fail(format!("{name} with {} arguments", values.len()));
        }
        let function = self.builder.host.routine(name);
        Ok(Word::Integer(self.builder.code.call(function, &values)))
    }

    /// Compiles another function in place of its call.
    fn expand(&mut self, name: &str, arguments: Vec<Word>) -> Result<Vec<Word>> {
        let Some(routine) = find(name) else { return self.fail(format!("the unknown function '{name}'")) };
        if self.builder.depth >= MAX_DEPTH {
            return self.fail(format!("'{name}' expands into itself"));
        }
        let (block, _) = self.builder.code.new_block(0);
        self.builder.depth += 1;
        let returns = Some(Returns { block, kinds: None, params: Vec::new() });
        let mut inner = Body::new(self.builder, routine, arguments, returns);
        inner.run()?;
        let Some(returns) = inner.returns.take() else { return Ok(Vec::new()) };
        self.builder.depth -= 1;
        self.builder.code.block = block;
        let kinds = returns.kinds.unwrap_or_default();
        let word = |(kind, value): (StaticType, Value)| match kind {
            StaticType::Truth => Word::Truth(value),
            _ => Word::Integer(value),
        };
        Ok(kinds.into_iter().zip(returns.params).map(word).collect())
    }

    /// A return of the registers from A on.
    pub(super) fn give_back_registers(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        let count = match opcode {
            Opcode::Return0 => 0,
            Opcode::Return1 => 1,
            _ if i.b() == 0 => self.open - i.a(),
            _ => i.b() - 1,
        };
        let results = (i.a()..i.a() + count).map(|register| self.get(register)).collect();
        self.give_back(results)
    }

    /// Ends the block with a return from the subprogram, or with a jump to where an expanded function goes on.
    fn give_back(&mut self, results: Vec<Word>) -> Result<()> {
        let mut values: Vec<Value> = results.iter().map(|word| self.builder.value(word)).collect();
        let code = &mut self.builder.code;
        let Some(returns) = &mut self.returns else {
            code.ret(values.first().map_or(Operand::Imm(0), |value| Operand::Value(*value)));
            return Ok(());
        };
        if returns.kinds.is_none() {
            returns.kinds = Some(results.iter().map(Word::kind).collect());
            returns.params = results.iter().map(|_| code.function.add_param(returns.block)).collect();
        }
        // The implicit `return` at a function's end is dead code where every path returns before.
        while values.len() < returns.params.len() {
            values.push(code.constant(0));
        }
        values.truncate(returns.params.len());
        code.jump(returns.block, &values);
        Ok(())
    }
}
