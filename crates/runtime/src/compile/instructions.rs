//! Instructions of bytecode: which of them there are, and what those do that load, look up and test.

use super::body::Body;
use super::registers::Word;
use super::sources::find;
use super::{Result, intrinsics};
use crate::layout;
use moonhook_ir::{BinaryOp, CompareOp, Condition};
use moonhook_snapshot::Value as Constant;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use std::rc::Rc;

impl Body<'_, '_> {
    /// Compiles one instruction; gives the next one, or `None` at the block's end.
    pub(super) fn instruction(&mut self, i: Instruction) -> Result<Option<usize>> {
        use Opcode::*;
        let Some(opcode) = i.opcode() else { return self.fail("no instruction") };
        match opcode {
            Move | LoadI | LoadK | LoadNil | LoadFalse | LoadTrue => self.load(opcode, i)?,
            LFalseSkip => {
                self.load(opcode, i)?;
                return Ok(Some(self.pc + 2));
            }
            GetUpval | GetTabUp | GetField => self.look_up(opcode, i)?,
            MmBin | MmBinI | MmBinK | VarArgPrep => {}
            Not => self.not(i)?,
            AddI | AddK | SubK | MulK | ModK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI | Add | Sub
            | Mul | Mod | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot => self.arithmetic(opcode, i)?,
            Call => self.call(i)?,
            _ => {
                self.leave(opcode, i)?;
                return Ok(None);
            }
        }
        Ok(Some(self.pc + 1))
    }

    /// An instruction that ends its block.
    fn leave(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        use Opcode::*;
        match opcode {
            Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet => self.test(opcode, i),
            Jmp => self.go_to((self.pc as i64 + 1 + i.sj()) as usize),
            TailCall => self.tail_call(i),
            Return | Return0 | Return1 => self.give_back_registers(opcode, i),
            ForPrep => self.for_prepare(i),
            ForLoop => self.for_loop(i),
            other => self.fail(format!("the instruction {other:?}")),
        }
    }

    /// Sets registers to another register or to something constant.
    fn load(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        let word = match opcode {
            Opcode::Move => self.get(i.b()),
            Opcode::LoadI => Word::Constant(i.sbx()),
            Opcode::LoadK => self.constant(i.bx())?,
            Opcode::LoadNil => {
                (i.a()..=i.a() + i.b()).for_each(|register| self.set(register, Word::Constant(0)));
                return Ok(());
            }
            _ => Word::Truth(self.builder.code.constant(i64::from(opcode == Opcode::LoadTrue))),
        };
        self.set(i.a(), word);
        Ok(())
    }

    /// A local function of the file, a global name, or a field of `inline`.
    fn look_up(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        let word = match opcode {
            Opcode::GetUpval => {
                let name = &self.prototype().upvalues[i.b()].name;
                Word::Name(format!("{}:{name}", self.routine.file).into())
            }
            Opcode::GetTabUp => self.global(&self.name(i.c()))?,
            _ => match self.get(i.b()) {
                Word::Name(table) if &*table == "inline" => {
                    Word::Name(format!("inline.{}", self.name(i.c())).into())
                }
                _ => return self.fail("indexing anything but `inline`"),
            },
        };
        self.set(i.a(), word);
        Ok(())
    }

    /// A global name: a constant of the layout, a function, or `inline`.
    fn global(&mut self, name: &str) -> Result<Word> {
        if let Some(value) = layout::constant(name) {
            return Ok(Word::Constant(value));
        }
        // A function that has an inline form is always expanded.
        let expanded = format!("inline.{name}");
        if find(&expanded).is_some() {
            return Ok(Word::Name(expanded.into()));
        }
        if name == "inline" || intrinsics::exists(name) || find(name).is_some() {
            return Ok(Word::Name(Rc::from(name)));
        }
        self.fail(format!("the unknown name '{name}'"))
    }

    /// A constant of the function by its index: an integer, or a text's payload.
    pub(super) fn constant(&mut self, index: usize) -> Result<Word> {
        match self.prototype().constants.get(index) {
            Some(Constant::Integer(value)) => Ok(Word::Constant(*value)),
            Some(Constant::String(text)) => Ok(Word::Constant(self.builder.host.text(text) as i64)),
            Some(Constant::Float(value)) => self.fail(format!("the float {value}")),
            _ => self.fail("a constant that is no integer or text"),
        }
    }

    /// A constant of the function that is a name.
    fn name(&self, index: usize) -> String {
        match self.prototype().constants.get(index) {
            Some(Constant::String(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }

    fn not(&mut self, i: Instruction) -> Result<()> {
        let Word::Truth(value) = self.get(i.b()) else { return self.fail("`not` of an integer") };
        let value = self.builder.code.binary(BinaryOp::Xor, value, 1);
        self.set(i.a(), Word::Truth(value));
        Ok(())
    }

    /// A comparison or test, and the jump that follows it.
    fn test(&mut self, opcode: Opcode, i: Instruction) -> Result<()> {
        let jump = Instruction(self.prototype().code[self.pc + 1]);
        let (taken, skipped) = ((self.pc as i64 + 2 + jump.sj()) as usize, self.pc + 2);
        if matches!(opcode, Opcode::Test | Opcode::TestSet) {
            return self.test_truth(opcode, i, taken, skipped);
        }
        let condition = self.comparison(opcode, i)?;
        self.branch(condition, i.k(), taken, skipped)
    }

    /// What a comparison asks of register A: two registers are compared, or one with a constant.
    fn comparison(&mut self, opcode: Opcode, i: Instruction) -> Result<Condition> {
        use CompareOp::{Eq, SGe, SGt, SLe, SLt};
        Ok(match opcode {
            Opcode::Eq | Opcode::Lt | Opcode::Le => {
                let op = [Eq, SLt, SLe][opcode as usize - Opcode::Eq as usize];
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(op, lhs, self.builder.operand(&self.get(i.b())))
            }
            Opcode::EqK => {
                let rhs = self.constant(i.b())?;
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(Eq, lhs, self.builder.operand(&rhs))
            }
            _ => {
                let op = [Eq, SLt, SLe, SGt, SGe][opcode as usize - Opcode::EqI as usize];
                let lhs = self.builder.value(&self.get(i.a()));
                Condition::new(op, lhs, i.sb() as i32)
            }
        })
    }

    /// A test of one register, and with `TestSet` its copy to another.
    fn test_truth(&mut self, opcode: Opcode, i: Instruction, taken: usize, skipped: usize) -> Result<()> {
        let register = if opcode == Opcode::Test { i.a() } else { i.b() };
        let word = self.get(register);
        let Word::Truth(value) = word else {
            // Integers are true.
            if opcode == Opcode::TestSet && i.k() {
                self.set(i.a(), word);
            }
            return self.go_to(if i.k() { taken } else { skipped });
        };
        if opcode == Opcode::TestSet {
            // Set only on the path that jumps; the other one does not read it.
            self.set(i.a(), Word::Truth(value));
        }
        self.branch(Condition::new(CompareOp::Ne, value, 0), i.k(), taken, skipped)
    }
}
