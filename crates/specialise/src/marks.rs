//! Programs that are for packets with a certain mark only: they let others pass before they do anything else.

use moonhook_hook::{Hook, NetfilterPlace, Path, Place, Source};
use moonhook_ir::{
    Block, BlockData, CompareOp, Condition, Function, KernelField, Loc, Module, Op, Operand, Size, Target,
    Terminator, Value,
};
use moonhook_snapshot::Snapshot;

/// Has the module's programs compare the mark, where their points ask for one.
pub fn compare_marks(module: &mut Module, snapshot: &Snapshot) {
    for (program, point) in module.functions.iter_mut().zip(snapshot.points()) {
        if let Place::Netfilter(NetfilterPlace { mark: Some(wanted), .. }) = point.place
            && let Some(Source::Structures([path])) = point.hook.metadata("mark").map(|mark| mark.source)
        {
            compare_first(program, point.hook, path, wanted);
        }
    }
}

/// Puts the comparison in front of the program's code, to which nothing jumps back.
fn compare_first(program: &mut Function, hook: &Hook, path: &Path, wanted: u32) {
    let entry = Block(0);
    let code = std::mem::take(program.block_mut(entry));
    let mark = follow(program, entry, path);
    let wanted = push(program, entry, Op::Const(wanted.into()));
    let (own, others) = (program.new_block(), program.new_block());
    let passed = Terminator::Return(Operand::Imm(hook.default << hook.answer_shift()));
    *program.block_mut(own) = code;
    *program.block_mut(others) =
        BlockData { terminator: Some((passed, Loc::default())), ..BlockData::default() };
    let branch = Terminator::Branch {
        condition: Condition::new(CompareOp::Eq, mark, wanted),
        then: Target::new(own, Vec::new()),
        otherwise: Target::new(others, Vec::new()),
    };
    program.block_mut(entry).terminator = Some((branch, Loc::default()));
}

/// The number at the end of the path.
fn follow(program: &mut Function, block: Block, path: &Path) -> Value {
    let first = Op::Load { size: Size::B8, signed: false, base: program.params[0], disp: path.at };
    let mut found = push(program, block, first);
    for field in path.fields.iter().filter_map(|field| KernelField::named(field)) {
        found = push(program, block, Op::KernelField { base: found, field });
    }
    found
}

fn push(program: &mut Function, block: Block, op: Op) -> Value {
    program.push(block, op, Loc::default()).unwrap_or(Value::NONE)
}
