//! What keys and values of a shared table were seen to be, and the type that follows.
//!
//! Kinds are only ever added, so that starting again with what was learned comes to an end.

use crate::region::MAX_VALUE;
use crate::value::{Abs, Object};
use moonhook_schema::{Field, MAX_DEPTH, MAX_FIELDS, Mixed, Type};
use moonhook_snapshot::{Snapshot, TableId, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a string where nothing longer was seen.
const TEXT: u16 = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SeenType {
    Boolean,
    Integer,
    Float,
    Ipv4,
    Ipv6,
    Mac,
    /// A string made at packet time, or a constant that is no address.
    Text,
    /// Constants that are exactly an address's text.
    Ipv4Text,
    Ipv6Text,
    MacText,
    /// Something that cannot be told from the bytecode.
    Unknown,
}

/// What no map can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// A value of the type with that name.
    Type(&'static str),
    /// A table with numbers as keys that are no places of a list.
    LongList,
    /// A table with keys that are no names and no numbers, or names that are numbers.
    Unnamed,
    /// A table with a metatable.
    Object,
    /// A table with more tables within one another than a record can have; one that holds itself, too.
    Deep,
    /// A table with more fields, those of the tables in it included, than a value has room for.
    Large,
    /// A key that is a float.
    FloatKey,
    /// The metatable of the table that is to be a map.
    Metatable,
}

/// How much of a value is still looked at. Any graph of tables can be in a variable, cycles included.
pub struct Room {
    depth: usize,
    fields: usize,
}

impl Default for Room {
    fn default() -> Self {
        // A field takes 8 bytes at least.
        Room { depth: MAX_DEPTH, fields: MAX_VALUE / 8 }
    }
}

impl Room {
    /// Goes into a table; [`Room::leave`] goes back.
    pub fn enter(&mut self) -> Result<(), Misfit> {
        self.depth = self.depth.checked_sub(1).ok_or(Misfit::Deep)?;
        Ok(())
    }

    pub fn take_field(&mut self) -> Result<(), Misfit> {
        self.fields = self.fields.checked_sub(1).ok_or(Misfit::Large)?;
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth += 1;
    }
}

impl Misfit {
    pub fn problem(self) -> String {
        match self {
            Misfit::Metatable => "it has a metatable".to_string(),
            misfit => format!("it has a {} in it", misfit.what()),
        }
    }

    /// What does not fit, as it follows "a".
    pub fn what(self) -> &'static str {
        match self {
            Misfit::Metatable => "metatable",
            Misfit::FloatKey => "float as a key",
            Misfit::Deep => "table with more than 16 tables within one another",
            Misfit::Large => "table with more than 512 fields",
            Misfit::Type(name) => name,
            Misfit::LongList => "table with other numbers as keys than 1 to 64",
            Misfit::Unnamed => "table whose keys are no names",
            Misfit::Object => "table with a metatable",
        }
    }
}

/// What was seen so far.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    kinds: BTreeSet<SeenType>,
    /// The longest constant string.
    longest: usize,
    /// Fields of tables.
    fields: Option<BTreeMap<String, Seen>>,
}

impl Seen {
    pub fn kind(kind: SeenType) -> Seen {
        Seen { kinds: BTreeSet::from([kind]), ..Seen::default() }
    }

    /// It, and a value of that kind.
    pub fn with(mut self, kind: SeenType) -> Seen {
        self.kinds.insert(kind);
        self
    }

    /// The kinds of plain values.
    pub fn kinds(&self) -> impl Iterator<Item = SeenType> {
        self.kinds.iter().copied()
    }

    pub fn constant(text: &[u8]) -> Seen {
        Seen { longest: text.len(), ..Seen::kind(Seen::kind_of_text(text)) }
    }

    pub fn record(fields: BTreeMap<String, Seen>) -> Seen {
        Seen { fields: Some(fields), ..Seen::default() }
    }

    /// What was seen of a field.
    pub fn field(&self, name: &str) -> Option<&Seen> {
        self.fields.as_ref()?.get(name)
    }

    /// As keys: those that are floats must have integral values, for they are integers then (Lua manual § 2.1).
    #[must_use]
    pub fn as_keys(mut self) -> Seen {
        if self.kinds.remove(&SeenType::Float) {
            self.kinds.insert(SeenType::Integer);
        }
        self
    }

    /// Makes texts of addresses.
    pub fn take_addresses_for_texts(&mut self) {
        use SeenType::{Boolean, Float, Integer, Text, Unknown};
        let others = self.kinds.len();
        self.kinds.retain(|kind| matches!(kind, Boolean | Integer | Float | Text | Unknown));
        if self.kinds.len() < others {
            self.kinds.insert(Text);
        }
        self.fields.iter_mut().flat_map(BTreeMap::values_mut).for_each(Seen::take_addresses_for_texts);
    }

    /// A field that was seen to be more than nil, and that the type has not.
    pub fn unknown_field(&self, ty: &Type) -> Option<String> {
        let Type::Record(_) = ty else { return None };
        let seen = self.fields.iter().flatten().filter(|(_, seen)| !seen.is_empty());
        seen.into_iter().find_map(|(name, seen)| match ty.field(name) {
            None => Some(name.clone()),
            Some((_, _, inside)) => seen.unknown_field(inside),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.fields.is_none()
    }

    /// Nothing but tables in which nothing was seen.
    pub fn has_no_fields(&self) -> bool {
        let empty = |fields: &BTreeMap<String, Seen>| fields.values().all(Seen::is_empty);
        self.kinds.is_empty() && self.fields.as_ref().is_some_and(empty)
    }

    /// Adds what another value was seen to be; says whether that is something new.
    pub fn add(&mut self, other: &Seen) -> bool {
        let before = self.kinds.len();
        self.kinds.extend(&other.kinds);
        let mut new = self.kinds.len() > before;
        // A shorter string than is provided for says nothing new.
        let provided = self.longest.max(usize::from(TEXT));
        if other.longest > provided {
            self.longest = other.longest;
            new = true;
        }
        if let Some(fields) = &other.fields {
            new |= self.fields.is_none();
            let known = self.fields.get_or_insert_default();
            for (name, field) in fields {
                new |= !known.contains_key(name);
                new |= known.entry(name.clone()).or_default().add(field);
            }
        }
        new
    }

    /// Adds the sorts of plain values that others were seen to be, and this one, which is plain too, was not; in fields of both, too.
    pub fn add_other_sorts(&mut self, others: &Seen) {
        if let (Some(fields), Some(more)) = (&mut self.fields, &others.fields) {
            let common = fields.iter_mut().filter_map(|(name, field)| Some((field, more.get(name)?)));
            common.for_each(|(field, more)| field.add_other_sorts(more));
        } else if self.fields.is_none() && others.fields.is_none() && !self.is_empty() {
            let [own, more] = [self.sorts(), others.sorts()];
            let kinds = [SeenType::Boolean, SeenType::Integer, SeenType::Float, SeenType::Text];
            let new =
                kinds.into_iter().zip(own.into_iter().zip(more)).filter(|(_, (own, more))| *more && !own);
            self.kinds.extend(new.map(|(kind, _)| kind));
            if more[3] && !own[3] {
                self.longest = others.longest;
            }
        }
    }

    /// Whether it, or a field of it, is of types that cannot be together: tables and others.
    pub fn is_mixed(&self) -> bool {
        let fields = self.fields.iter().flat_map(BTreeMap::values);
        self.mixed_kinds().is_some() || fields.into_iter().any(Seen::is_mixed)
    }

    /// In words for a person, where there are several: "integers and strings".
    pub fn mixed_kinds(&self) -> Option<String> {
        let sorts = self.sorts();
        (self.has_several_sorts() && self.fields.is_some()).then(|| self.words(sorts))
    }

    /// Whether there is more than one sort of values.
    pub fn has_several_sorts(&self) -> bool {
        self.sorts().iter().filter(|sort| **sort).count() > 1
    }

    /// A table, this one or one in it, has more than a record can have.
    pub fn has_many_fields(&self) -> bool {
        let inside = |fields: &BTreeMap<String, Seen>| fields.values().any(Seen::has_many_fields);
        self.fields.as_ref().is_some_and(|fields| fields.len() > MAX_FIELDS || inside(fields))
    }

    /// The way to a field, in this table or in one in it, of which nothing is known but that it is a table.
    pub fn unknown_table(&self) -> Option<String> {
        self.fields.iter().flatten().find_map(|(name, seen)| match seen.has_no_fields() {
            true => Some(name.clone()),
            false => seen.unknown_table().map(|inside| format!("{name}.{inside}")),
        })
    }

    /// Whether strings are longer than any type has room for.
    pub fn is_very_long(&self) -> bool {
        self.longest.next_multiple_of(4) > usize::from(u16::MAX)
    }

    /// The type, with another one for what is not known.
    pub fn guessed(&self, unknown: Type) -> Type {
        let field = |(name, seen): (&String, &Seen)| {
            (!seen.is_empty()).then(|| Field { name: name.clone(), ty: seen.guessed(unknown.clone()) })
        };
        match (&self.fields, self.ty()) {
            (_, Ok(ty)) => ty,
            (Some(fields), Err(_)) => Type::Record(fields.iter().filter_map(field).collect()),
            (None, Err(_)) => unknown,
        }
    }

    /// The type; `Err` says what there is instead, in words for a person ("integers and strings").
    pub fn ty(&self) -> Result<Type, String> {
        use SeenType::*;
        let any = |kinds: &[SeenType]| kinds.iter().any(|kind| self.kinds.contains(kind));
        if self.mixed_kinds().is_some() || self.sorts() == [false; 5] {
            return Err(self.words(self.sorts()));
        }
        if let Some(fields) = &self.fields {
            return record(fields);
        }
        if self.has_several_sorts() {
            return self.mixed().map(Type::Mixed);
        }
        let address = any(&[Ipv4, Ipv6, Ipv4Text, Ipv6Text]);
        let mac = any(&[Mac, MacText]);
        Ok(match () {
            () if any(&[Boolean]) => Type::Boolean,
            () if any(&[Integer]) => Type::Integer,
            () if any(&[Float]) => Type::Float,
            () if any(&[Text]) || address && mac => Type::Text { capacity: self.text_capacity()? },
            () if mac => Type::Mac,
            () if any(&[Ipv6, Ipv6Text]) => Type::Address,
            () => Type::Ipv4,
        })
    }

    fn text_capacity(&self) -> Result<u16, String> {
        let capacity = self.longest.max(usize::from(TEXT)).next_multiple_of(4);
        u16::try_from(capacity).map_err(|_| "very long strings".to_string())
    }

    /// Several plain types.
    fn mixed(&self) -> Result<Mixed, String> {
        let [boolean, integer, float, has_text, _] = self.sorts();
        let text = if has_text { Some(self.text_capacity()?) } else { None };
        Ok(Mixed { boolean, integer, float, text })
    }

    /// The type of keys, which are of one sort; `Err` as of [`Seen::ty`].
    pub fn key_ty(&self) -> Result<Type, String> {
        match self.has_several_sorts() {
            true => Err(self.words(self.sorts())),
            false => self.ty(),
        }
    }

    /// Whether there are booleans, integers, floats, strings, tables.
    fn sorts(&self) -> [bool; 5] {
        use SeenType::*;
        let any = |kinds: &[SeenType]| kinds.iter().any(|kind| self.kinds.contains(kind));
        let text = any(&[Text, Ipv4, Ipv6, Mac, Ipv4Text, Ipv6Text, MacText]);
        [any(&[Boolean]), any(&[Integer]), any(&[Float]), text, self.fields.is_some()]
    }

    fn words(&self, sorts: [bool; 5]) -> String {
        let names = ["booleans", "integers", "floats", "strings", "tables"];
        let words: Vec<&str> =
            names.iter().zip(sorts).filter(|(_, sort)| *sort).map(|(name, _)| *name).collect();
        match words.split_last() {
            None => "unknown".to_string(),
            Some((last, [])) => last.to_string(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        }
    }

    /// What a key of load time is; `Err` where it has no place in a map. Floats of integral value are integers there.
    pub fn of_key(snapshot: &Snapshot, key: &Value) -> Result<Seen, Misfit> {
        match key {
            Value::Float(_) => Err(Misfit::FloatKey),
            key => Seen::of_value(snapshot, key),
        }
    }

    /// What a value of load time is; `Err` where it has no place in a map.
    pub fn of_value(snapshot: &Snapshot, value: &Value) -> Result<Seen, Misfit> {
        Seen::of_nested(snapshot, value, &mut Room::default())
    }

    fn of_nested(snapshot: &Snapshot, value: &Value, room: &mut Room) -> Result<Seen, Misfit> {
        Ok(match value {
            Value::Boolean(_) => Seen::kind(SeenType::Boolean),
            Value::Integer(_) => Seen::kind(SeenType::Integer),
            Value::String(text) => Seen::constant(text),
            Value::Table(table) => Seen::of_record(snapshot, *table, room)?,
            Value::Float(_) => Seen::kind(SeenType::Float),
            other => return Err(Misfit::Type(other.type_name())),
        })
    }

    /// What a field of a header is.
    pub fn of_field(value: &Abs) -> Seen {
        match value {
            Abs::Bool(_) => Seen::kind(SeenType::Boolean),
            Abs::Int(_) => Seen::kind(SeenType::Integer),
            Abs::Float(_) => Seen::kind(SeenType::Float),
            Abs::Str(_) | Abs::Object(Object::Text(_)) => Seen::kind(SeenType::Text),
            Abs::Union(union) => {
                let mut seen = Seen::default();
                for value in union.variants.iter().filter_map(|schema| schema.value(union.payload)) {
                    seen.add(&Seen::of_field(&value));
                }
                seen
            }
            _ => Seen::default(),
        }
    }

    /// Of the types that strings have in tables, the one that a constant has.
    pub fn kind_of_text(text: &[u8]) -> SeenType {
        match text {
            text if crate::literals::ipv4(text).is_some() => SeenType::Ipv4Text,
            text if crate::literals::ipv6(text).is_some() => SeenType::Ipv6Text,
            text if crate::literals::mac(text).is_some() => SeenType::MacText,
            _ => SeenType::Text,
        }
    }

    fn of_record(snapshot: &Snapshot, table: TableId, room: &mut Room) -> Result<Seen, Misfit> {
        let table = snapshot.table(table);
        if table.metatable.is_some() {
            return Err(Misfit::Object);
        }
        room.enter()?;
        let mut fields = BTreeMap::new();
        for (key, value) in super::loaded::entries(table).filter(|(_, value)| **value != Value::Nil) {
            let name = super::loaded::field_name(&key).ok_or(match key {
                Value::Integer(_) => Misfit::LongList,
                _ => Misfit::Unnamed,
            })?;
            room.take_field()?;
            fields.insert(name, Seen::of_nested(snapshot, value, room)?);
        }
        room.leave();
        Ok(Seen::record(fields))
    }
}

fn record(fields: &BTreeMap<String, Seen>) -> Result<Type, String> {
    // A field that was only ever nil is none.
    let fields: Vec<_> = fields.iter().filter(|(_, seen)| !seen.is_empty()).collect();
    if fields.is_empty() || fields.len() > MAX_FIELDS {
        return Err(format!("tables with {} fields", fields.len()));
    }
    let field = |(name, seen): (&String, &Seen)| match seen.ty() {
        Ok(ty) => Ok(Field { name: name.clone(), ty }),
        Err(words) => Err(format!("tables whose field `{name}` is {words}")),
    };
    Ok(Type::Record(fields.into_iter().map(field).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(all: &[Seen]) -> String {
        let mut seen = Seen::default();
        all.iter().for_each(|other| {
            seen.add(other);
            assert!(!seen.add(other), "{other:?} is nothing new the second time");
        });
        seen.ty().map_or_else(|words| format!("!{words}"), |ty| ty.to_string())
    }

    #[test]
    fn types_follow_from_what_was_seen() {
        let kind = Seen::kind;
        let text = |text: &str| Seen::constant(text.as_bytes());
        let record = |ty: Seen| Seen::record(BTreeMap::from([("n".to_string(), ty)]));
        for (seen, expected) in [
            (vec![kind(SeenType::Integer)], "int"),
            (vec![kind(SeenType::Boolean)], "boolean"),
            (vec![kind(SeenType::Ipv4)], "ipv4"),
            (vec![kind(SeenType::Ipv4), kind(SeenType::Ipv6)], "ip"),
            (vec![text("192.0.2.7"), text("::1")], "ip"),
            (vec![kind(SeenType::Ipv4), text("02:00:00:00:00:01")], "string:64"),
            (vec![kind(SeenType::Mac), text("02:00:00:00:00:01")], "mac"),
            (vec![kind(SeenType::Ipv4), text("localhost")], "string:64"),
            (vec![text(&"x".repeat(65))], "string:68"),
            (vec![record(kind(SeenType::Integer))], "{n = \"int\"}"),
            (vec![kind(SeenType::Float)], "float"),
            (vec![kind(SeenType::Integer), kind(SeenType::Float)], "int|float"),
            (vec![kind(SeenType::Integer), text("x")], "int|string:64"),
            (vec![kind(SeenType::Boolean), record(text("x"))], "!booleans and tables"),
            (
                vec![record(kind(SeenType::Integer)), record(record(text("x")))],
                "!tables whose field `n` is integers and tables",
            ),
            (vec![], "!unknown"),
        ] {
            assert_eq!(ty(&seen), expected);
        }
    }
}
