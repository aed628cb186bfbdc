//! Variables that packet code assigns: upvalues, globals and fields with constant names.
//!
//! Which variables are assigned is learned while lowering: where an assignment is met, or a value of a new variant, specialisation
//! starts again at the attempt's end ([`Context::learned`]), and the next attempt knows. A variable lives in the data section `state`, from
//! packet to packet, shared by all CPUs; `x = x + n` is an atomic addition (`sums.rs`).

pub mod known;
mod sums;
mod unions;

pub use known::{VariableId, Variables};
pub use sums::MetSum;

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::interned::Objects;
use crate::knowledge::Knowledge;
use crate::output::Output;
use crate::paths::Form;
use crate::value::{Abs, Object, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::words::Words;
use moonhook_ir::{Op, Size};
use moonhook_snapshot::{CellId, Snapshot, Value};
use std::collections::{BTreeSet, HashMap};

const SIZE: u32 = ir::Variable::SIZE;
const PAYLOAD: i16 = ir::Variable::PAYLOAD as i16;

// What to keep instead.
const STRINGS: &str = "keep an integer, or keep strings in a table that is declared: `map{key = \"string:16\", value = \"string:64\"}`";
const ADDRESSES: &str =
    "keep addresses in a table that is declared: `map{key = \"string:16\", value = \"ip\"}`";
const ENTRIES: &str = "keep its key, and look the entry up again";
const FIELDS: &str = "keep the integers of it that are needed, like `#pkt`";
const FUNCTIONS: &str = "make functions at load time, and keep integers";

impl Context<'_> {
    /// The variable's value.
    pub fn read_assigned(&mut self, id: &VariableId) -> Option<Abs> {
        let index = self.known.variables.find(id)?;
        let refused = self.check_given(index);
        if refused.is_err() {
            // A refusal is none that a restart takes back.
            let _ = self.findings.refuse_later(refused);
            return Some(Abs::Nil);
        }
        let (map, offset) = self.place_of_variable(index);
        let base = self.emit(Op::DataAddress { map, offset });
        let form = self.known.variables.form(index);
        let words = match &form {
            Form::Union(variants) => self.load_union(base, variants, form.words()),
            _ => vec![self.load(base, PAYLOAD, Size::B8, false)],
        };
        if let (Form::One(Variant::Int), Some(Word::Value(value))) = (&form, words.first()) {
            self.known.variables.note_load(*value, index);
        }
        self.note_read_of_union(index, &form, &words);
        Some(form.value(&words))
    }

    /// Assigns; `initial` is what load time left in the variable.
    pub fn assign(&mut self, id: VariableId, initial: &Value, value: &Abs, name: &str) -> Result<()> {
        if let VariableId::Field(table, key) = &id
            && key.starts_with(b"__")
            && !self.snapshot.table(*table).is_library
        {
            return self.unsupported(
                "assigning a field that a metatable may have",
                "set the metatables' fields at load time, outside the handler",
                Some(name),
            );
        }
        let mut variants = self.storable(value, name)?;
        let index = match self.known.variables.find(&id) {
            Some(index) => {
                self.check_given(index)?;
                self.check_assigned(index, &variants, name)?;
                index
            }
            None => {
                self.check_assignable(&id, name)?;
                let initial = Abs::of_load_time(self.snapshot, initial);
                variants.extend(self.storable(&initial, name)?);
                let index = self.known.variables.add(id, variants.clone());
                self.learned()?;
                index
            }
        };
        if !variants.is_subset(&self.known.variables.known[index].1) {
            self.known.variables.known[index].1.extend(variants);
            self.learned()?;
        }
        self.store_assigned(index, value)
    }

    fn store_assigned(&mut self, index: usize, value: &Abs) -> Result<()> {
        let (map, offset) = self.place_of_variable(index);
        let base = self.emit(Op::DataAddress { map, offset });
        let form = self.known.variables.form(index);
        if self.add_to_variable(index, (base, &form), value)? {
            return Ok(());
        }
        self.known.variables.forget_loads(index);
        if let Form::Union(_) = form {
            return self.store_union(index, (base, &form), value);
        }
        for word in self.encode(value, &form) {
            self.store(base, PAYLOAD, Size::B8, word);
        }
        Ok(())
    }

    /// The variants of a value that can be kept between packets.
    fn storable(&mut self, value: &Abs, name: &str) -> Result<BTreeSet<Variant>> {
        let what = |what: &str, help| LowerErrorKind::StateType { what: what.to_string(), help };
        let Form::Union(variants) = (match self.form_of(&[value, &Abs::Nil], true)? {
            Form::One(variant) => Form::Union(vec![variant]),
            other => other,
        }) else {
            return Ok(BTreeSet::from([Variant::Nil]));
        };
        let mut result = BTreeSet::new();
        for variant in variants {
            match variant {
                Variant::Slice(_) | Variant::Cased(..) => {
                    return self.refuse(what("a string made of packet bytes", STRINGS), Some(name));
                }
                Variant::Ipv6 => return self.refuse(what("an IPv6 address", ADDRESSES), Some(name)),
                Variant::Entry(_) => {
                    return self.refuse(what("an entry of a shared table", ENTRIES), Some(name));
                }
                Variant::Structure(_) => {
                    return self.refuse(what("a structure of the kernel's", FIELDS), Some(name));
                }
                Variant::Object(id) => {
                    if let Some(Object::Made(_) | Object::Stored(_)) = self.known.objects.get(id) {
                        return self.refuse(LowerErrorKind::TableConstructor, Some(name));
                    }
                    if let Some(Object::Packet | Object::Argument | Object::Header(_)) =
                        self.known.objects.get(id)
                    {
                        return self.refuse(what("the packet or a header of it", FIELDS), Some(name));
                    }
                    if self.known.objects.get(id).is_some_and(Object::has_cells) {
                        let what = what("a function that captures the handler's local variables", FUNCTIONS);
                        return self.refuse(what, Some(name));
                    }
                    result.insert(variant);
                }
                Variant::Nil if !can_be_nil(value) => {}
                variant => {
                    result.insert(variant);
                }
            }
        }
        Ok(result)
    }

    /// Fills the section with what load time left in the variables.
    pub fn finish_variables(&mut self) {
        let given = self.options.of_flow.as_ref().map_or(0, |script| script.variables.len());
        let mut bytes = Vec::new();
        for index in given..self.known.variables.known.len() {
            let id = self.known.variables.known[index].0.clone();
            let initial = match &id {
                VariableId::Cell(cell) => self.snapshot.cell(*cell).value.clone(),
                VariableId::Field(table, key) => {
                    crate::tables::raw_get(self.snapshot, *table, &Value::String(key.clone()))
                }
            };
            let value = Abs::of_load_time(self.snapshot, &initial);
            let variants: Vec<Variant> = self.known.variables.known[index].1.iter().copied().collect();
            bytes.extend(self.initial_bytes(&value, &variants));
        }
        let state = self.output.known_map(ir::maps::STATE);
        if given > 0 {
            // The script's section, which has its bytes, takes this one's place.
            let size = given * SIZE as usize;
            self.output.fill(state, vec![0; size]);
            self.output.fill(self.output.known_map(ir::maps::OWN_STATE), bytes);
        } else if state.is_some() {
            self.output.fill(state, bytes);
            self.output.module.variables = self.known.described_variables(self.snapshot);
        }
    }
}

impl Variables {
    fn form(&self, index: usize) -> Form {
        let variants: Vec<Variant> = self.known[index].1.iter().copied().collect();
        match variants.as_slice() {
            [variant] if variant.words() > 0 => Form::One(*variant),
            _ => Form::Union(variants),
        }
    }
}

impl Knowledge {
    /// Notes that `sum` is `a + b`: assigned to where `a` or `b` was read from, it is an addition.
    pub fn note_addition(&mut self, sum: Word, a: Word, b: Word) {
        self.variables.note_addition(sum, a, b);
        self.shared.additions.note_addition(sum, a, b);
    }

    /// Notes that `difference` is `from` less something.
    pub fn note_difference(&mut self, difference: Word, from: Word) {
        self.variables.note_change(difference, from, &|_| None);
        self.shared.additions.note_difference(difference, from);
    }

    /// What user space should know of the variables.
    fn described_variables(&self, snapshot: &Snapshot) -> Vec<ir::Variable> {
        let names = variable_names(snapshot, self.variables.known.iter().map(|(id, _)| id));
        let variable = |(index, (id, variants)): (usize, &(VariableId, BTreeSet<Variant>))| {
            let types: Vec<&str> = variants.iter().map(|variant| type_name(*variant)).collect();
            let is_number = |variant: &Variant| variant.words() == 1 || *variant == Variant::Nil;
            ir::Variable {
                name: names[index].0.clone(),
                offset: index as u32 * SIZE,
                ty: types.join(" or "),
                // Strings and objects are places and numbers of this program.
                portable: names[index].1 && variants.iter().all(is_number),
                home: match id {
                    VariableId::Cell(cell) => ir::VariableHome::Cell(cell.0),
                    VariableId::Field(table, key) => {
                        ir::VariableHome::Field { table: table.0, key: key.to_vec() }
                    }
                },
                sums: None,
                is_summed: !snapshot.flows.is_empty() || self.variables.summed.contains(&index),
                kinds: variants
                    .iter()
                    .map(|variant| self.objects.kind(snapshot, *variant, variants.len()))
                    .collect(),
            }
        };
        self.variables.known.iter().enumerate().map(variable).collect()
    }
}

impl Output {
    pub fn state_map(&mut self) -> ir::MapId {
        self.map(ir::maps::STATE, || ir::MapKind::Data(Vec::new()))
    }

    /// The section of variables that only a flow's function has.
    pub fn own_state_map(&mut self) -> ir::MapId {
        self.map(ir::maps::OWN_STATE, || ir::MapKind::Data(Vec::new()))
    }

    fn fill(&mut self, section: Option<ir::MapId>, bytes: Vec<u8>) {
        if let Some(map) = section {
            self.module.maps[map.0 as usize].kind = ir::MapKind::Data(bytes);
        }
    }
}

fn can_be_nil(value: &Abs) -> bool {
    match value {
        Abs::Nil => true,
        Abs::Union(union) => union.variants.contains(&Variant::Nil),
        _ => false,
    }
}

impl Objects {
    /// What a variant of a variable means to user space, if it is one of so many.
    pub fn kind(&self, snapshot: &Snapshot, variant: Variant, count: usize) -> ir::VariableKind {
        let object = |object: &Object| match object {
            Object::Table(table) => Some(ir::ObjectId::Table(table.0)),
            Object::Closure(closure) => {
                closure.only_one_of_load_time(snapshot).map(|id| ir::ObjectId::Closure(id.0))
            }
            _ => None,
        };
        let content = match variant {
            Variant::Nil => ir::VariableContent::Nil,
            Variant::Bool => ir::VariableContent::Boolean,
            Variant::Int => ir::VariableContent::Integer,
            Variant::Float => ir::VariableContent::Float,
            Variant::Ipv4 => ir::VariableContent::Ipv4,
            Variant::Mac => ir::VariableContent::Mac,
            Variant::Object(id) => match self.get(id) {
                Some(Object::Text(text)) => ir::VariableContent::Text(text.to_vec()),
                known => ir::VariableContent::Object(known.and_then(object)),
            },
            Variant::Slice(_)
            | Variant::Cased(..)
            | Variant::Ipv6
            | Variant::Entry(_)
            | Variant::Structure(_) => ir::VariableContent::Object(None),
        };
        let payload = if count > 1 { variant.place() } else { ir::Variable::PAYLOAD };
        ir::VariableKind { tag: variant.tag() as u64, payload, content }
    }
}

/// What the script calls variables, and whether none of the others has that name in that script.
pub fn variable_names<'a>(
    snapshot: &Snapshot,
    ids: impl Iterator<Item = &'a VariableId>,
) -> Vec<(String, bool)> {
    let mut of_cells: HashMap<CellId, &str> = HashMap::new();
    for closure in &snapshot.closures {
        let described = &snapshot.prototype(closure.prototype).upvalues;
        for (cell, upvalue) in closure.upvalues.iter().zip(described) {
            of_cells.entry(*cell).or_insert(&upvalue.name);
        }
    }
    let name = |id: &VariableId| match id {
        VariableId::Cell(cell) => of_cells.get(cell).copied().unwrap_or("?").to_string(),
        VariableId::Field(table, key) => {
            let key = String::from_utf8_lossy(key);
            match snapshot.table(*table).name.as_deref() {
                Some("_G") => key.into_owned(),
                table => format!("{}.{key}", table.unwrap_or("?")),
            }
        }
    };
    let named: Vec<(String, String)> = ids.map(|id| (own_name(snapshot, id, &name(id)), name(id))).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    named.iter().for_each(|(own_name, _)| *counts.entry(own_name).or_default() += 1);
    let unique: Vec<bool> = named.iter().map(|(own_name, _)| counts[own_name.as_str()] == 1).collect();
    named.into_iter().map(|(_, name)| name).zip(unique).collect()
}

/// The name that a variable has among those of several scripts.
fn own_name(snapshot: &Snapshot, id: &VariableId, name: &str) -> String {
    let script = match id {
        VariableId::Cell(cell) => snapshot.owners.of_cell(*cell),
        VariableId::Field(table, _) => snapshot.owners.of_table(*table),
    };
    moonhook_snapshot::qualified(script, name)
}

fn type_name(variant: Variant) -> &'static str {
    match variant {
        Variant::Nil => "nil",
        Variant::Bool => "boolean",
        Variant::Int => ir::Variable::INTEGER,
        Variant::Float => "float",
        Variant::Slice(_) | Variant::Cased(..) => "string",
        Variant::Ipv4 => "IPv4 address",
        Variant::Ipv6 => "IPv6 address",
        Variant::Mac => "MAC address",
        Variant::Entry(_) => "entry",
        Variant::Structure(_) => "structure",
        Variant::Object(_) => "object",
    }
}
