//! Where `redirect{…}` may send packets: the groups of interfaces and the lengths of queues in the tables that it may be called with.
//!
//! What is not found here is an error at packet time, where the target is compared with those that are known.

use super::Kinds;
use super::graph::{Owner, Place, Rule};
use crate::stores::Tables;
use moonhook_hook::targets::{MOST_QUEUED, QUEUE};
use moonhook_ir::Loc;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::Opcode;
use moonhook_specialise::LowerErrorKind;
use moonhook_specialise::targets::{Group, Interface, Targets};

impl Kinds<'_, '_> {
    /// Before the analysis.
    pub(super) fn watch_targets(&mut self) {
        let (targets, to) = (self.place(Place::Targets), self.place(Place::Groups));
        self.graph.watch(targets, Rule::Read { name: Some("group".into()), to });
    }

    /// After it.
    pub(super) fn targets(&mut self) -> Targets {
        let mut found = Targets::default();
        let mut unknown = |kind, loc| {
            let _ = found.unknown.get_or_insert((kind, loc));
        };
        for owner in self.owners(&Place::Targets) {
            match self.queue(owner) {
                Some(Some(queue)) if !found.queues.contains(&queue) => found.queues.push(queue),
                Some(None) => unknown(LowerErrorKind::unknown_queue(false), self.loc_of(owner)),
                _ => {}
            }
        }
        for owner in self.owners(&Place::Groups) {
            let Some(values) = self.listed(owner) else {
                unknown(LowerErrorKind::unknown_group(false), self.loc_of(owner));
                continue;
            };
            let group = group(values, self.loc_of(owner));
            found.groups.extend(group.filter(|group| !found.groups.contains(group)));
        }
        found
    }

    /// Where a table is made; of those of load time where packets are first sent elsewhere.
    fn loc_of(&self, owner: Owner) -> Loc {
        match owner {
            Owner::LoadTime(_) => self.redirects.first().copied().unwrap_or_default(),
            Owner::Made { function, pc } => self.loc(function, pc),
        }
    }

    pub(super) fn owners(&self, place: &Place) -> Vec<Owner> {
        let node = self.graph.known(place);
        node.map(|node| self.graph.held(node).owners().collect()).unwrap_or_default()
    }

    /// The length of the queues, if the table is a target that is a CPU; `Some(None)` where it is not known.
    fn queue(&self, owner: Owner) -> Option<Option<u32>> {
        self.value_under(owner, "cpu")?;
        match self.value_under(owner, "queue") {
            None => Some(Some(QUEUE)),
            Some(None) => Some(None),
            Some(Some(Value::Integer(queue))) => {
                u32::try_from(queue).ok().filter(|queue| (1..=MOST_QUEUED).contains(queue)).map(Some)
            }
            // An error at packet time.
            Some(Some(_)) => None,
        }
    }

    /// What a table has under a name: `None` for nothing, `Some(None)` for what is not known.
    fn value_under(&self, owner: Owner, name: &str) -> Option<Option<Value>> {
        match owner {
            Owner::LoadTime(table) => {
                let is_assigned = self.fields.get(&owner).is_some_and(|fields| fields.contains(name));
                let value = self.functions.snapshot.table(table).field(name.as_bytes()).cloned();
                if is_assigned { Some(None) } else { value.map(Some) }
            }
            Owner::Made { function, pc } => self.assigned_after(function, pc, name),
        }
    }

    /// The same, of a table that an instruction makes and instructions behind it assign.
    fn assigned_after(&self, function: usize, maker: usize, name: &str) -> Option<Option<Value>> {
        let prototype = self.prototype(function);
        let made = self.instruction(function, maker).a();
        let mut found = None;
        for pc in maker + 1..prototype.code.len() {
            let i = self.instruction(function, pc);
            let is_name = matches!(prototype.constants.get(i.b()), Some(Value::String(text)) if **text == *name.as_bytes());
            if i.opcode() == Some(Opcode::SetField)
                && is_name
                && i.a() == made
                && self.functions.only_setter(function, pc, made) == Some(maker)
            {
                let value = match i.k() {
                    true => prototype.constants.get(i.c()).cloned(),
                    false => self.constant_in(function, pc, i.c()),
                };
                found = Some(if found.is_none() { value } else { None });
            }
        }
        found
    }

    /// The values that a table lists, if all are known.
    fn listed(&self, owner: Owner) -> Option<Vec<Value>> {
        match owner {
            Owner::LoadTime(table) => Some(self.functions.snapshot.table(table).array.clone()),
            Owner::Made { function, pc } => self.listed_by(function, pc),
        }
    }

    /// The constants that a constructor lists, if it lists nothing else.
    fn listed_by(&self, function: usize, maker: usize) -> Option<Vec<Value>> {
        let made = self.instruction(function, maker).a();
        let mut values = Vec::new();
        for pc in maker + 1..self.prototype(function).code.len() {
            let i = self.instruction(function, pc);
            let is_it = i.opcode() == Some(Opcode::SetList)
                && i.a() == made
                && self.functions.only_setter(function, pc, made) == Some(maker);
            if !is_it {
                continue;
            }
            if i.vb() == 0 {
                return None;
            }
            for place in 1..=i.vb() {
                values.push(self.constant_in(function, pc, made + place)?);
            }
        }
        Some(values)
    }

    /// The constant, or the value of load time, that a register surely holds at an instruction.
    fn constant_in(&self, function: usize, pc: usize, register: usize) -> Option<Value> {
        let i = self.instruction(function, self.functions.only_setter(function, pc, register)?);
        match i.opcode()? {
            Opcode::LoadK => self.prototype(function).constants.get(i.bx()).cloned(),
            Opcode::LoadI => Some(Value::Integer(i.sbx())),
            Opcode::LoadF => Some(Value::Float(i.sbx() as f64)),
            Opcode::LoadTrue => Some(Value::Boolean(true)),
            Opcode::LoadFalse => Some(Value::Boolean(false)),
            Opcode::LoadNil => Some(Value::Nil),
            _ => Tables::new(self.functions, self.reach, function).value_in_register(pc, register),
        }
    }
}

/// The group that values are, if they are interfaces.
fn group(values: Vec<Value>, loc: Loc) -> Option<Group> {
    let interface = |value: Value| match value {
        Value::String(name) => Some(Interface::Name(name.to_vec())),
        Value::Integer(number) => Interface::of_number(number),
        _ => None,
    };
    let interfaces: Vec<Interface> = values.into_iter().map(interface).collect::<Option<_>>()?;
    (!interfaces.is_empty()).then_some(Group { interfaces, loc })
}
