//! Memory of programs that others of them can interrupt on the same CPU.
//!
//! Programs of some hooks run in the context of a process, in the middle of which the CPU may turn to packets that have come in, or to another
//! process. So there is memory for several of them at once on each CPU ([`moonhook_hook::Hook::levels`]), and each takes a level that is free while it
//! runs. None of them moves to another CPU meanwhile (`migrate_disable`, include/linux/filter.h).

use moonhook_hook::Hook;
use moonhook_ir::{
    self as ir, AtomicOp, BinaryOp, Builder, CompareOp, FunctionId, FunctionKind, MapId, MapKind, Op,
    Operand, Size, Value,
};

/// Where the memory of a program is among that of all: a number for each CPU, program and level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The program's first one, counted from the CPU's first.
    pub first: u32,
    /// How many a CPU has.
    pub all: u32,
}

impl Parts {
    /// Of the program with that number, among those for these hooks, whose handlers may send copies of packets.
    pub fn of(hooks: &[&Hook], program: usize, clones: bool) -> Parts {
        let sum = |hooks: &[&Hook]| hooks.iter().map(|hook| hook.levels(clones)).sum();
        Parts { first: sum(&hooks[..program]), all: sum(hooks) }
    }
}

/// The bytes of [`ir::maps::TAKEN`]: a word for each CPU and each program, a bit of it for each level.
pub fn taken(programs: usize, cpus: u32) -> MapKind {
    MapKind::Data(vec![0; programs * cpus as usize * 8])
}

/// `(cpu) -> level`: takes a level, or gives [`Hook::levels`] where none is free, or where there is no memory for the CPU.
pub fn take(name: &str, hook: &Hook, program: usize, (map, cpus): (MapId, u32)) -> ir::Function {
    let mut code = function(name, 1);
    let (none, _) = code.cold_block(0);
    let cpu = code.param(0);
    let most = code.number(cpus.into());
    code.leave_if(CompareOp::UGe, cpu, most, none, &[]);
    let word = word(&mut code, cpu, program, (map, cpus));
    for level in 0..hook.levels(true) {
        let (free, _) = code.new_block(0);
        let bit = code.constant(1 << level);
        let before =
            code.emit(Op::Atomic { op: AtomicOp::Or, size: Size::B8, base: word, disp: 0, value: bit });
        let before = code.binary(BinaryOp::And, before, Operand::Imm(1 << level));
        code.leave_if(CompareOp::Eq, before, 0, free, &[]);
        let rest = std::mem::replace(&mut code.block, free);
        code.ret(Operand::Imm(level as i32));
        code.block = rest;
    }
    code.jump(none, &[]);
    code.block = none;
    code.ret(Operand::Imm(hook.levels(true) as i32));
    code.function
}

/// A level that was taken.
#[derive(Clone, Copy)]
pub struct Level {
    /// Which one; [`Hook::levels`], where none was free.
    pub number: Value,
    /// The address of the CPU's word.
    word: Value,
}

/// Takes a level of a CPU that there is memory for. The first one is nearly always free, and taken here: calling `take` takes longer than all else
/// of this.
pub fn take_here(
    code: &mut Builder,
    take: FunctionId,
    cpu: Value,
    program: usize,
    section: (MapId, u32),
) -> Level {
    let word = word(code, cpu, program, section);
    let first = code.constant(1);
    let before =
        code.emit(Op::Atomic { op: AtomicOp::Or, size: Size::B8, base: word, disp: 0, value: first });
    let before = code.binary(BinaryOp::And, before, Operand::Imm(1));
    let (taken, numbers) = code.new_block(1);
    let (busy, _) = code.cold_block(0);
    let number = code.constant(0);
    code.branch(CompareOp::Eq, before, 0, (taken, &[number]), (busy, &[]));
    code.block = busy;
    let number = code.call(take, &[cpu]);
    code.jump(taken, &[number]);
    code.block = taken;
    Level { number: numbers[0], word }
}

/// Gives back what was taken; where none was free, that is a bit of no level.
pub fn give_back(code: &mut Builder, Level { number, word }: Level) {
    let one = code.constant(1);
    let bit = code.binary(BinaryOp::Shl, one, number);
    let others = code.binary(BinaryOp::Xor, bit, Operand::Imm(-1));
    code.emit(Op::Atomic { op: AtomicOp::And, size: Size::B8, base: word, disp: 0, value: others });
}

fn function(name: &str, parameters: u32) -> Builder {
    Builder::new(name, FunctionKind::Subprogram { global: true, context: None }, parameters)
}

/// The address of the word of a CPU, of which there is one.
fn word(code: &mut Builder, cpu: Value, program: usize, (map, cpus): (MapId, u32)) -> Value {
    let base = code.emit(Op::DataAddress { map, offset: program as u32 * cpus * 8 });
    let offset = code.binary(BinaryOp::Shl, cpu, 3);
    code.binary(BinaryOp::Add, base, offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_hook::{CGROUP_EGRESS, XDP};

    const CPUS: u32 = 2;
    const CPU: u32 = 1;

    /// A program that does something with levels of the last CPU, by calling the first function.
    fn program(name: &str, work: impl FnOnce(&mut Builder, Value, (MapId, u32)) -> Value) -> ir::Function {
        let kind = FunctionKind::Program { section: CGROUP_EGRESS.section.to_string() };
        let mut code = Builder::new(name, kind, 1);
        let cpu = code.constant(CPU.into());
        let result = work(&mut code, cpu, (MapId(0), CPUS));
        code.ret(result);
        code.function
    }

    /// Gives back the level with that number.
    fn giving_back(name: &str, number: u32) -> ir::Function {
        program(name, |code, cpu, section| {
            let (number, word) = (code.constant(number.into()), word(code, cpu, 1, section));
            give_back(code, Level { number, word });
            code.constant(0)
        })
    }

    /// The function that takes a level, and programs: that takes one, here or by the function, and that gives back one or none.
    fn module() -> ir::Module {
        let hook = &CGROUP_EGRESS;
        let map = ir::Map { name: ir::maps::TAKEN.into(), kind: taken(2, CPUS) };
        let functions = vec![
            take("take_level", hook, 1, (MapId(0), CPUS)),
            program("take_there", |code, cpu, _| code.call(FunctionId(0), &[cpu])),
            program("take", |code, cpu, section| take_here(code, FunctionId(0), cpu, 1, section).number),
            giving_back("give_back", 2),
            giving_back("give_back_none", hook.levels(true)),
            giving_back("give_back_first", 0),
        ];
        ir::Module { functions, maps: vec![map], ..ir::Module::default() }
    }

    #[test]
    fn each_level_is_taken_once_until_it_is_given_back() {
        let module = module();
        module.functions.iter().for_each(|function| ir::verify::verify(function).unwrap());
        let mut machine = ir::eval::Machine::new(&module, Vec::new());
        let mut run = |function: u32| machine.run(&module, ir::FunctionId(function)).unwrap();
        let levels = u64::from(CGROUP_EGRESS.levels(false));
        assert_eq!((0..levels).map(|_| run(2)).collect::<Vec<_>>(), (0..levels).collect::<Vec<_>>());
        assert_eq!((run(2), run(4), run(2)), (levels, 0, levels));
        assert_eq!((run(3), run(2), run(2)), (0, 2, levels));
        assert_eq!((run(5), run(2), run(5), run(1), run(1)), (0, 0, 0, 0, levels));
        // The word of the last CPU's second program, and no other.
        assert_eq!(machine.data[0].iter().rposition(|byte| *byte != 0), Some(24));
        assert!(machine.data[0][..24].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn parts_of_programs_do_not_overlap() {
        let hooks = [&XDP, &CGROUP_EGRESS, &XDP];
        let levels = CGROUP_EGRESS.levels(false);
        let firsts: Vec<u32> = (0..3).map(|program| Parts::of(&hooks, program, false).first).collect();
        assert_eq!((firsts, Parts::of(&hooks, 0, false).all), (vec![0, 1, 1 + levels], 2 + levels));
    }
}
