//! Network interfaces that handlers name.
//!
//! A name that stands in the code has a place in a data section, where whoever runs the program writes the interface's number
//! ([`ir::maps::Port`]). Other names are looked up in a map of all interfaces.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::shared::keys::Unfit;
use crate::shared::map_calls::lookup;
use crate::state::State;
use crate::tables::row_of;
use crate::value::{Abs, Object, Str, Union, Variant, Word};
use moonhook_ir as ir;
use moonhook_ir::maps::Port;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Piece, Size};
use moonhook_schema::{Schema, Type, WhenFull};

/// What the map of all interfaces has: numbers by names. Of more interfaces than its capacity some are not known.
pub fn interfaces() -> Schema {
    Schema {
        key: Type::Text { capacity: Port::LONGEST as u16 },
        value: Type::Integer,
        capacity: 1 << 16,
        when_full: WhenFull::Error,
        lifetime: None,
        per_cpu: false,
    }
}

/// `BPF_F_NO_PREALLOC`: entries take memory when there are some.
const NO_PREALLOC: u32 = 1;

/// Places for each name at most where they are found by its tag: other objects have tags between theirs.
const SPARSE: usize = 4;

impl Context<'_> {
    /// What the value may be, but for all that is no interface's name which stands in the code; `None` if those are not several, or
    /// too few of many objects.
    pub fn names_of_interfaces(&self, value: &Union) -> Option<Union> {
        let is_name = |variant: &Variant| match variant {
            Variant::Object(id) => {
                matches!(self.known.objects.get(*id), Some(Object::Text(name)) if Port::is_name(name))
            }
            _ => false,
        };
        let variants: Vec<Variant> = value.variants.iter().copied().filter(is_name).collect();
        let (first, last) = (variants.first()?.tag(), variants.last()?.tag());
        let fits = variants.len() > 1 && last - first < (variants.len() * SPARSE) as i64;
        (fits && !self.options.any_interface).then(|| Union { variants, ..value.clone() })
    }

    /// The number of the interface of one of several names ([`Context::names_of_interfaces`]); an error where there is none.
    pub fn interface_of(&mut self, names: &Union) -> Result<Word> {
        let mut absent = Vec::new();
        let number = self.one_of_ports(names, &mut absent)?;
        self.or_fail(number, absent, |context| {
            context.arms_of_each(&Abs::Union(names.clone().into()), &mut |context, name| {
                if let Abs::Str(name) = name {
                    context.fail_for_want_of(name)?;
                }
                Ok(vec![])
            })?;
            Ok(())
        })
    }

    /// The number, which is that of an interface from then on: where it is 0, and in the states of `absent`, `fail` raises an error.
    fn or_fail(
        &mut self,
        number: Word,
        mut absent: Vec<State>,
        fail: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Word> {
        if self.state.alive() {
            let none = self.compare(CompareOp::Eq, number, 0);
            self.leave_if(none, &mut absent);
        }
        let there = self.take_state();
        self.enter(absent)?;
        if self.state.alive() {
            self.make_cold();
            fail(self)?;
        }
        self.state = there;
        Ok(number)
    }

    /// The number in the place of one of several names. Places that follow each other as the names' tags do are found by those; others by
    /// rows of data.
    fn one_of_ports(&mut self, names: &Union, absent: &mut Vec<State>) -> Result<Word> {
        let Some(first) = names.variants.first().map(|variant| variant.tag()) else {
            return Ok(Word::Imm(0));
        };
        let mut places = Vec::new();
        for variant in &names.variants {
            if let Abs::Str(Str::Const(name)) = self.known.objects.concrete(names, *variant)
                && let Some(place) = self.port_place(&String::from_utf8_lossy(&name), self.code.loc)
            {
                places.push(((variant.tag() - first) as usize, place));
            }
        }
        let Some(map) = self.output.known_map(ir::maps::PORTS) else { return Ok(Word::Imm(0)) };
        let row = self.sub(names.tag, first);
        let start = places.first().map_or(0, |(_, place)| *place);
        let (place, start) = match places.iter().all(|(row, place)| *place == start + row) {
            true => (row, start),
            false => {
                let mut rows = vec![Abs::int(0); places.last().map_or(0, |(row, _)| row + 1)];
                places.iter().for_each(|(row, place)| rows[*row] = Abs::int(*place as i64));
                let Abs::Int(place) = row_of(self, rows, row)? else { return Ok(Word::Imm(0)) };
                (place, 0)
            }
        };
        // That it is one of them is news to the kernel's verifier alone.
        let count = places.iter().map(|(_, place)| place - start + 1).max().unwrap_or(0);
        let wrong = self.compare(CompareOp::UGe, place, count as i64);
        self.leave_if(wrong, absent);
        let offset = self.binary(BinaryOp::Mul, place, Port::SIZE as i64);
        let offset = self.value(offset);
        let base = self.emit(Op::DataAddress { map, offset: (start * Port::SIZE + Port::NUMBER) as u32 });
        let number = self.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        Ok(self.load(number, 0, Size::B4, false))
    }

    /// The number of the interface of that name; an error where there is none.
    pub fn interface_named(&mut self, name: &Str) -> Result<Word> {
        if self.options.any_interface {
            return Ok(Word::Imm(1));
        }
        let mut absent = Vec::new();
        let number = match name {
            Str::Const(name) => self.port(name),
            name => self.looked_up(name, &mut absent)?,
        };
        self.or_fail(number, absent, |context| context.fail_for_want_of(name))
    }

    /// The number in the place of a name that stands in the code; 0 where there can be no such interface.
    fn port(&mut self, name: &[u8]) -> Word {
        let name = Some(name).filter(|name| Port::is_name(name)).map(String::from_utf8_lossy);
        let found = name.and_then(|name| {
            let place = self.port_place(&name, self.code.loc)?;
            Some((self.output.known_map(ir::maps::PORTS)?, place))
        });
        let Some((map, place)) = found else { return Word::Imm(0) };
        let base = self.emit(Op::DataAddress { map, offset: (place * Port::SIZE + Port::NUMBER) as u32 });
        self.load(base, 0, Size::B4, false)
    }

    /// The place among the section's interfaces of a name, or of what stands for a number, that a line of the script has.
    pub fn port_place(&mut self, name: &str, loc: ir::Loc) -> Option<usize> {
        let port = Port { name: name.to_string(), source: loc.source as u8, line: loc.line };
        let bytes = port.bytes()?;
        let section = self.output.section(ir::maps::PORTS)?;
        let known = Port::all(section).position(|known| known.name == port.name);
        Some(known.unwrap_or_else(|| {
            section.extend_from_slice(&bytes);
            section.len() / Port::SIZE - 1
        }))
    }

    /// The number that the map of all interfaces has; where it has none, the state goes to `absent`.
    fn looked_up(&mut self, name: &Str, absent: &mut Vec<State>) -> Result<Word> {
        let schema = interfaces();
        let definition = ir::MapDefinition {
            map_type: ir::MapType::Hash,
            key_size: schema.key_size() as u32,
            value_size: schema.value_size() as u32,
            max_entries: schema.capacity,
            flags: NO_PREALLOC,
        };
        let map = self.output.map(ir::maps::INTERFACES, || ir::MapKind::Map(definition));
        let mut unfit = Unfit::default();
        let key = self.key_address(&schema.key, &Abs::Str(name.clone()), &mut unfit)?;
        absent.extend(unfit.states());
        if !self.state.alive() {
            return Ok(Word::Imm(0));
        }
        let entry = lookup(self, map, key);
        let none = self.compare(CompareOp::Eq, Word::Value(entry), 0);
        self.leave_if(none, absent);
        Ok(self.load(entry, 0, Size::B4, false))
    }

    pub fn fail_for_want_of(&mut self, name: &Str) -> Result<()> {
        let (before, after) = (b"no interface '".to_vec(), b"'".to_vec());
        if let Str::Const(name) = name {
            self.fail(Message::new([&before[..], name, &after].concat()));
            return Ok(());
        }
        let pieces = vec![Piece::Text(before), Piece::Argument("%s".into()), Piece::Text(after)];
        self.fail_with(Message { pieces, positioned: true }, &[Abs::Str(name.clone())])
    }
}
