//! Interfaces that the script's code names. General code looks them up by their names; whoever runs the program is to know of them all the
//! same, and to say so where there is none.

use super::reach::Reach;
use super::script::Functions;
use super::stores::Tables;
use moonhook_hook::HOOKS;
use moonhook_ir as ir;
use moonhook_ir::maps::{PORTS, Port};
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};

/// The data section that has them ([`Port`]); `None` where the code names none.
pub fn named(functions: &Functions<'_>, reach: &Reach) -> Option<ir::Map> {
    let mut ports: Vec<Port> = Vec::new();
    for index in reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)) {
        let tables = Tables::new(functions, reach, index);
        for pc in 0..functions.get(index).code.len() {
            if let Some(port) = sent_to(functions, &tables, (index, pc))
                && ports.iter().all(|known| known.name != port.name)
            {
                ports.push(port);
            }
        }
    }
    let bytes: Vec<u8> = ports.iter().filter_map(Port::bytes).flatten().collect();
    (!bytes.is_empty()).then(|| ir::Map { name: PORTS.into(), kind: ir::MapKind::Data(bytes) })
}

/// The interface of a call that sends packets to one by a name in the code.
fn sent_to(functions: &Functions<'_>, tables: &Tables<'_, '_>, (index, pc): (usize, usize)) -> Option<Port> {
    let prototype = functions.get(index);
    let call = Instruction(prototype.code[pc]);
    if !matches!(call.opcode()?, Opcode::Call | Opcode::TailCall) || call.b() == 1 {
        return None;
    }
    let Value::Builtin(name) = tables.value_in_register(pc, call.a())? else { return None };
    if !HOOKS.iter().any(|hook| hook.forward(name).is_some()) {
        return None;
    }
    let setter = functions.only_setter(index, pc, call.a() + 1)?;
    let setter = Instruction(prototype.code[setter]);
    let constant =
        matches!(setter.opcode()?, Opcode::LoadK).then(|| prototype.constants.get(setter.bx()))??;
    let Value::String(text) = constant else { return None };
    let loc = Some(tables.loc(pc)).filter(|_| Port::is_name(text))?;
    Some(Port { name: String::from_utf8_lossy(text).into_owned(), source: loc.source as u8, line: loc.line })
}
