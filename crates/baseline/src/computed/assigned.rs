//! Which fields of packet objects functions may assign.

use super::tables::STEPS;
use super::texts::Text;
use super::{Computed, Reach};
use crate::script::Functions;
use crate::stores::Tables;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of fields that may be those of a packet object, where functions assign one.
pub fn assigned_names(functions: &Functions<'_>, reach: &Reach) -> Option<BTreeSet<Arc<[u8]>>> {
    let mut computed = Computed::of(functions, reach);
    let mut names = None;
    for function in computed.visible() {
        let prototype = functions.get(function);
        for pc in 0..prototype.code.len() {
            let i = Instruction(prototype.code[pc]);
            if !computed.assigns_unknown(function, pc, i) {
                continue;
            }
            let names = names.get_or_insert_with(BTreeSet::new);
            match (i.opcode(), prototype.constants.get(i.b())) {
                (Some(Opcode::SetField | Opcode::SetTabUp), Some(Value::String(name))) => {
                    names.insert(name.clone());
                }
                (Some(Opcode::SetTable), _) if computed.text(function, pc, i.b()) != Text::None => {
                    names.extend(reach.mentions.iter().cloned());
                }
                _ => {}
            }
        }
    }
    names
}

impl Computed<'_, '_> {
    /// Whether the instruction assigns a field of what may be something else than a table.
    fn assigns_unknown(&mut self, function: usize, pc: usize, i: Instruction) -> bool {
        use Opcode::{SetField, SetI, SetTabUp, SetTable};
        let tables = Tables::new(self.functions, self.reach, function);
        let follows = !self.functions.redirects();
        match i.opcode() {
            Some(SetTabUp) => {
                tables.in_upvalue(i.a()).is_none()
                    && !(follows && self.is_table_of_upvalue(function, i.a(), STEPS))
            }
            Some(SetField | SetTable | SetI) => {
                tables.in_register(pc, i.a()).is_none()
                    && !(follows && self.is_table(function, pc, i.a(), STEPS))
            }
            _ => false,
        }
    }
}
