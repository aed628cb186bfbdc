//! `bpf_luaxdp_run`, by which programs in C call the handlers of a script of Lunatik's: with the script's name and memory of their own.

use super::memory::{BYTES, MOST, definition};
use moonhook_hook::{Place, XDP};
use moonhook_ir as ir;
use moonhook_ir::helper::{MAP_LOOKUP_ELEM, PROBE_READ_KERNEL};
use moonhook_ir::{Builder, CType, CompareOp, FunctionId, Op, Prototype, Size, Value};
use moonhook_snapshot::{BY_KEY, Snapshot};

/// The structure that the function takes.
const CONTEXT: &str = "xdp_md";

/// Where Lunatik has its scripts.
const ROOT: &str = "/lib/modules/lua/";

/// A key is compared in the memory that has the argument later.
pub const LONGEST: usize = MOST - 1;

/// The key by which C names the script: its path, without the folder where Lunatik has scripts, and without `.lua`.
pub fn key(snapshot: &Snapshot) -> &str {
    let path = snapshot.script.as_str();
    let path = path.strip_prefix(ROOT).unwrap_or_else(|| path.trim_start_matches("./"));
    path.strip_suffix(".lua").unwrap_or(path)
}

/// Adds the function to a module that has a program for it.
pub fn add(module: &mut ir::Module, snapshot: &Snapshot) {
    let program = snapshot.points().iter().position(|point| point.place == Place::Called);
    let key = key(snapshot).as_bytes();
    let Some(program) = program.filter(|_| key.len() <= LONGEST) else { return };
    let known = module.maps.iter().position(|map| map.name == ir::maps::ARGUMENT);
    let map = known.unwrap_or_else(|| {
        let kind = ir::MapKind::Map(definition());
        module.maps.push(ir::Map { name: ir::maps::ARGUMENT.into(), kind });
        module.maps.len() - 1
    });
    module.functions.push(function(key, ir::MapId(map as u32), FunctionId(program as u32)));
}

fn prototype() -> Prototype {
    let parameters = vec![
        ("key", CType::Text),
        ("key__sz", CType::Size),
        ("xdp_ctx", CType::Context(CONTEXT)),
        ("arg", CType::Memory),
        ("arg__sz", CType::Size),
    ];
    // What C gives has any length, and lies anywhere. Several libraries can have the function.
    Prototype { result: CType::Int, parameters, is_hidden: true, is_weak: true }
}

/// The handlers' verdict; less than 0 if the key is another one, if there is too much memory or none that can be read, or after an error.
fn function(key: &[u8], map: ir::MapId, handlers: FunctionId) -> ir::Function {
    let kind = ir::FunctionKind::Subprogram { global: true, context: None };
    let mut code = Builder::new(BY_KEY, kind, 5);
    code.function.prototype = Some(prototype());
    let [text, size, context, memory, length] = [0, 1, 2, 3, 4].map(|index| code.param(index));
    let (no, _) = code.cold_block(0);
    code.leave_if(CompareOp::UGt, length, MOST as i32, no, &[]);
    let slot = code.function.new_slot(8);
    let place = code.emit(Op::SlotAddress(slot));
    code.store(place, 0, 0);
    let map = code.emit(Op::MapReference(map));
    let found = code.emit(Op::Helper { id: MAP_LOOKUP_ELEM, args: vec![map, place] });
    code.leave_if(CompareOp::Eq, found, 0, no, &[]);
    let bytes = code.add(found, BYTES.into());
    compare_key(&mut code, (text, size), (key, bytes), no);
    code.function.push(
        code.block,
        Op::Store { size: Size::B4, base: found, disp: 0, value: length.into() },
        code.loc,
    );
    let (go_on, _) = code.new_block(0);
    // No memory is as good as any other where no bytes of it are meant.
    code.leave_if(CompareOp::Eq, length, 0, go_on, &[]);
    let unread = code.emit(Op::Helper { id: PROBE_READ_KERNEL, args: vec![bytes, length, memory] });
    code.leave_if(CompareOp::Ne, unread, 0, no, &[]);
    code.jump(go_on, &[]);
    code.block = go_on;
    let verdict = code.call(handlers, &[context]);
    code.ret(verdict);
    code.block = no;
    code.ret(super::no_verdict(&XDP) as i32);
    code.function
}

/// Goes on where the text of that size is the key, with or without a NUL behind it. It is compared in the memory at `place`: the kernel gives all
/// functions together 512 bytes of stack, of which the others have use.
fn compare_key(
    code: &mut Builder,
    (text, size): (Value, Value),
    (key, place): (&[u8], Value),
    no: ir::Block,
) {
    let shortest = key.len() as i32;
    code.leave_if(CompareOp::ULt, size, shortest, no, &[]);
    code.leave_if(CompareOp::UGt, size, shortest + 1, no, &[]);
    let mut expected = key.to_vec();
    expected.resize((key.len() + 1).next_multiple_of(8), 0);
    for offset in (0..expected.len()).step_by(8) {
        code.store(place, offset as i64, 0);
    }
    code.emit(Op::Helper { id: PROBE_READ_KERNEL, args: vec![place, size, text] });
    for (index, word) in expected.as_chunks::<8>().0.iter().enumerate() {
        let word = code.number(i64::from_le_bytes(*word));
        let found = code.load(place, 8 * index as i64);
        code.leave_if(CompareOp::Ne, found, word, no, &[]);
    }
}
