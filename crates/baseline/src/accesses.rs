//! Accesses to fields with constant names: what routines know of each, and where each takes note of what it found.

use super::General;
use super::known::Known;
use moonhook_library::standard::STRING;
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value;

/// Of one instruction.
#[derive(Clone, Copy)]
pub struct Access {
    /// Address of its record (`A_…`).
    pub record: u64,
    /// Payload of the name.
    pub name: u64,
    /// Of the half of `T_FILTER` that has the name's bit: its offset, and the bit.
    pub filter: (i64, i32),
    /// Where in the state the position of the field is noted.
    pub position: i64,
    /// Where what a metatable leads to is noted; None where that may change, or there is no more room.
    pub inherited: Option<i64>,
}

/// Places in the state.
#[derive(Default)]
pub struct Places {
    positions: i64,
    inherited: i64,
}

impl Places {
    /// Accesses can have this one in common: what stands there is compared with what is looked for.
    fn position(&mut self) -> i64 {
        let place = L_POSITIONS + self.positions % (L_INHERITED - L_POSITIONS);
        self.positions += 8;
        place
    }

    fn inherited(&mut self) -> Option<i64> {
        let place = L_INHERITED + self.inherited;
        if place + INHERITED_SIZE > L_NOTES {
            return None;
        }
        self.inherited += INHERITED_SIZE;
        Some(place)
    }
}

impl General<'_> {
    /// The access of a function's instruction to the field of that name.
    pub fn access(&mut self, function: usize, pc: usize, name: &[u8]) -> Access {
        if let Some(known) = self.accesses.get(&(function, pc)) {
            return *known;
        }
        let may_change = |name: &[u8]| self.reach.assigned_names.contains(name);
        let changes = may_change(name) || may_change(b"__index");
        let payload = self.image.text(name);
        let hash = moonhook_runtime::text_hash(name);
        let position = self.places.position();
        let inherited = if changes { None } else { self.places.inherited() };
        let words = [TAG_STRING as u64, payload, hash, position as u64, inherited.unwrap_or(0) as u64];
        let bit = hash >> 58;
        let access = Access {
            record: self.image.words(&words),
            name: payload,
            filter: (bit as i64 / 32 * 4, (1u32 << (bit % 32)).cast_signed()),
            position,
            inherited,
        };
        self.accesses.insert((function, pc), access);
        access
    }

    /// What strings have under a name that cannot change.
    pub fn method_of_strings(&mut self, name: &[u8]) -> Option<(i64, u64)> {
        let Some(table) = self.table_of_strings() else {
            let text = std::str::from_utf8(name).ok()?;
            let found = STRING.functions.iter().find(|function| function.key() == text)?;
            return found.is_for_packets().then(|| self.builtin(found.name));
        };
        match self.known_field(Some(&Known::Value(Value::Table(table))), name)? {
            Known::Builtin(name) => Some(self.builtin(&name)),
            Known::Value(value) => Some(self.constant(&value)),
            Known::Library(_) | Known::Integer => None,
        }
    }
}
