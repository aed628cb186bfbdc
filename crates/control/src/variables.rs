//! Variables that handlers assign: before control code runs they get the values that packets left, and what it has assigned
//! goes to the handlers behind it.

use mlua::{Lua, Table, Value};
use moonhook_install::{ArenaSection, DataSection, Program, Section};
use moonhook_ir::maps::sections;
use moonhook_ir::{Sums, Variable, VariableContent, VariableHome, VariableKind};
use moonhook_load::{Loaded, Upvalue};
use moonhook_snapshot::{CellId, TableId};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use crate::ControlError;
use crate::variable_objects::{Objects, ObjectsOfKinds};

/// The variables that the handlers of a program assign.
pub(crate) struct Variables {
    memory: Memory,
    all: Vec<Shared>,
}

/// Where the handlers have them.
enum Memory {
    None,
    Section(Section),
    /// Of general code: values that any variable can have.
    Arena(ArenaSection),
}

/// One of them, in both places.
struct Shared {
    name: String,
    offset: usize,
    sums: Option<Sums>,
    is_summed: bool,
    kinds: Arc<[VariableKind]>,
    /// Of each kind, the tables and functions that it has.
    objects: Vec<Rc<Objects>>,
    home: Home,
}

/// Where the Lua state has it.
enum Home {
    Upvalue(Upvalue),
    Field(Table, Vec<u8>),
}

/// The variables on the handlers' side; any thread can have them.
pub(crate) struct Handlers {
    memory: Memory,
    variables: Vec<Variable>,
}

impl Handlers {
    /// No variables.
    pub fn none() -> Handlers {
        Handlers { memory: Memory::None, variables: Vec::new() }
    }

    /// Those of a module that is loaded as `program`.
    ///
    /// # Errors
    /// `Install`.
    pub fn open(variables: &[Variable], program: &Program) -> Result<Handlers, ControlError> {
        let memory = match program.arena_section() {
            _ if variables.is_empty() => Memory::None,
            Some(arena) => Memory::Arena(arena),
            None => Memory::Section(program.section(sections::STATE)?),
        };
        Ok(Handlers { memory, variables: variables.to_vec() })
    }
}

impl Variables {
    /// No variables.
    pub fn none() -> Variables {
        Variables { memory: Memory::None, all: Vec::new() }
    }

    /// The variables of both sides. The Lua state is as it was.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn connect(loaded: &Loaded, handlers: Handlers) -> mlua::Result<Variables> {
        let mut of_kinds = ObjectsOfKinds::new(loaded);
        let shared = |variable: &Variable| {
            let home = match &variable.home {
                VariableHome::Cell(cell) => loaded.cell(CellId(*cell)).map(Home::Upvalue),
                VariableHome::Field { table, key } => {
                    loaded.table(TableId(*table)).map(|table| Home::Field(table, key.clone()))
                }
            };
            let Some(home) = home else { return Ok(None) };
            Ok(Some(Shared {
                name: variable.name.clone(),
                offset: variable.offset as usize,
                sums: variable.sums,
                is_summed: variable.is_summed,
                kinds: variable.kinds.clone(),
                objects: variable.kinds.iter().map(|kind| of_kinds.of(kind)).collect::<mlua::Result<_>>()?,
                home,
            }))
        };
        let all = handlers.variables.iter().map(shared).filter_map(mlua::Result::transpose);
        let all: Vec<Shared> = all.collect::<mlua::Result<_>>()?;
        Ok(Variables { memory: if all.is_empty() { Memory::None } else { handlers.memory }, all })
    }

    /// Gives the Lua state the handlers' values. The result is what the variables have there now, for [`Variables::publish`].
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn fetch(&self, lua: &Lua) -> mlua::Result<Vec<Value>> {
        let fetched = |section: &DataSection<'_>| {
            let fetched = |variable: &Shared| match variable.load(lua, section)? {
                Some(value) => variable.home.set(lua, &value).map(|()| value),
                None => variable.home.get(lua),
            };
            self.all.iter().map(fetched).collect()
        };
        self.memory.with(fetched).unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Gives the handlers what has been assigned since [`Variables::fetch`].
    ///
    /// # Errors
    /// Says of the last variable for which it is so that the handlers can have no such value; it is as it was for them, and here.
    pub fn publish(&self, lua: &Lua, fetched: &[Value]) -> Result<(), String> {
        let published = |section: &DataSection<'_>| {
            let mut result = Ok(());
            for (variable, before) in self.all.iter().zip(fetched) {
                let now = variable.home.get(lua).map_err(|error| error.to_string())?;
                if is_same(&now, before) {
                    continue;
                }
                let stored = variable.store(section, &now);
                if stored.is_err() {
                    variable.home.set(lua, before).map_err(|error| error.to_string())?;
                }
                result = stored.and(result);
            }
            result
        };
        self.memory.with(published).unwrap_or(Ok(()))
    }

    /// The tables that hold variables.
    pub fn holders(&self) -> Vec<Table> {
        let holder = |variable: &Shared| match &variable.home {
            Home::Field(table, _) => Some(table.clone()),
            Home::Upvalue(_) => None,
        };
        self.all.iter().filter_map(holder).collect()
    }

    /// The upvalues by name, as tables of function and number, and the tables that hold the others; the first of a name counts.
    pub fn by_name(&self, lua: &Lua) -> mlua::Result<(Table, Table)> {
        let (upvalues, holders) = (lua.create_table()?, lua.create_table()?);
        for variable in &self.all {
            let name = variable.name.as_str();
            match &variable.home {
                Home::Upvalue(upvalue) if !upvalues.contains_key(name)? => {
                    let place = lua.create_sequence_from([Value::Function(upvalue.function.clone())])?;
                    place.raw_set(2, upvalue.number)?;
                    upvalues.raw_set(name, place)?;
                }
                Home::Field(table, _) if !holders.contains_key(name)? => holders.raw_set(name, table)?,
                _ => {}
            }
        }
        Ok((upvalues, holders))
    }
}

impl Memory {
    /// `None` where there is none, or no longer.
    fn with<R>(&self, use_bytes: impl FnOnce(&DataSection<'_>) -> R) -> Option<R> {
        match self {
            Memory::None => None,
            Memory::Section(section) => Some(use_bytes(&section.data())),
            Memory::Arena(arena) => arena.with(use_bytes),
        }
    }
}

/// Nothing was assigned, as far as anyone can see. A float is not the integer of its value: it has to become that.
fn is_same(now: &Value, before: &Value) -> bool {
    std::mem::discriminant(now) == std::mem::discriminant(before) && now == before
}

impl Shared {
    /// The handlers' value; `None` for what only they can have.
    fn load(&self, lua: &Lua, section: &DataSection<'_>) -> mlua::Result<Option<Value>> {
        // The tag comes first, as for handlers: the payload that is its own is one that was assigned with it.
        let tag = section.load(self.offset).unwrap_or_default();
        let Some((number, kind)) = self.kind(tag) else { return Ok(None) };
        let payload = section.load(self.offset + kind.payload as usize).unwrap_or_default();
        let payload = payload.wrapping_add(self.added(section));
        Ok(Some(match &kind.content {
            VariableContent::Nil => Value::Nil,
            VariableContent::Boolean => Value::Boolean(payload != 0),
            VariableContent::Integer => Value::Integer(payload as i64),
            VariableContent::Ipv4 => text(lua, Ipv4Addr::from(payload as u32).to_string().as_bytes())?,
            VariableContent::Mac => text(lua, moonhook_schema::mac_text(payload).as_bytes())?,
            VariableContent::Text(bytes) => text(lua, bytes)?,
            VariableContent::Truth(truth) => Value::Boolean(*truth),
            VariableContent::Float => Value::Number(f64::from_bits(payload)),
            VariableContent::Texts(_) => match section.part(range_of(payload)) {
                Some(bytes) => text(lua, &bytes)?,
                None => return Ok(None),
            },
            VariableContent::Object(_) => return self.objects[number].value(0),
            VariableContent::Objects(_) => return self.objects[number].value(payload),
        }))
    }

    /// What the handlers have added in words of their CPUs.
    fn added(&self, section: &DataSection<'_>) -> u64 {
        self.sums.map_or(0, |sums| sums.added(|at| section.load(at)))
    }

    /// The kind that a tag means, and its number; of a single one with a payload no tag is written.
    fn kind(&self, tag: u64) -> Option<(usize, &VariableKind)> {
        match &self.kinds[..] {
            [only] if only.content.has_payload() => Some((0, only)),
            kinds => kinds.iter().enumerate().find(|(_, kind)| kind.tag == tag),
        }
    }

    /// The kind that a value of the script has here, and its payload.
    fn encoded(&self, value: &Value) -> Option<(&VariableKind, u64)> {
        self.kinds.iter().zip(&self.objects).find_map(|(kind, objects)| {
            let payload = payload(&kind.content, value).or_else(|| objects.payload(value))?;
            Some((kind, payload))
        })
    }

    /// Gives the handlers a value of one of the kinds that the variable has. The tag comes last: it says which payload is meant. What
    /// handlers add to in words of their CPUs is added to from here on, too.
    fn store(&self, section: &DataSection<'_>, value: &Value) -> Result<(), String> {
        let (kind, payload) = self.encoded(value).ok_or_else(|| self.refusal(value))?;
        if kind.content.has_payload() {
            section.store(self.offset + kind.payload as usize, payload.wrapping_sub(self.added(section)));
        }
        section.store(self.offset, kind.tag);
        if self.is_summed && kind.content == VariableContent::Nil {
            let integer = self.kinds.iter().find(|kind| kind.content == VariableContent::Integer);
            integer.map(|integer| section.store(self.offset + integer.payload as usize, 0));
        }
        Ok(())
    }

    fn refusal(&self, value: &Value) -> String {
        let is_assignable = |content: &VariableContent| {
            !matches!(content, VariableContent::Float | VariableContent::Object(None))
        };
        let assignable = self.kinds.iter().filter(|kind| is_assignable(&kind.content));
        let mut possible: Vec<String> = assignable.map(|kind| described(&kind.content)).collect();
        possible.dedup();
        if self.kinds.iter().any(|kind| kind.content == VariableContent::Object(None)) {
            possible.push("what only handlers can assign".to_string());
        }
        let what = given(value);
        format!("variable '{}' of the handlers is {}: it cannot be {what}", self.name, possible.join(" or "))
    }
}

impl Home {
    fn get(&self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Home::Upvalue(upvalue) => upvalue.get(lua),
            Home::Field(table, key) => table.raw_get(lua.create_string(key)?),
        }
    }

    fn set(&self, lua: &Lua, value: &Value) -> mlua::Result<()> {
        match self {
            Home::Upvalue(upvalue) => upvalue.set(lua, value),
            Home::Field(table, key) => table.raw_set(lua.create_string(key)?, value),
        }
    }
}

/// What a person calls a value that was assigned.
fn given(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string '{}'", text.to_string_lossy()),
        Value::Integer(number) => format!("the integer {number}"),
        Value::Number(number) => format!("the number {number}"),
        other => format!("a {} value", other.type_name()),
    }
}

/// The bytes of a string in the arena.
fn range_of(payload: u64) -> std::ops::Range<usize> {
    let (start, length) = (payload as u32 as usize, (payload >> 32) as usize);
    start..start + length
}

/// What a person calls the values of a kind.
fn described(content: &VariableContent) -> String {
    match content {
        VariableContent::Nil => "nil".to_string(),
        VariableContent::Boolean => "a boolean".to_string(),
        VariableContent::Integer => "an integer".to_string(),
        VariableContent::Ipv4 => "an IPv4 address".to_string(),
        VariableContent::Mac => "a MAC address".to_string(),
        VariableContent::Text(text) => format!("'{}'", text.escape_ascii()),
        VariableContent::Object(_) => "a table or function that handlers assign".to_string(),
        VariableContent::Objects(_) => "a table or function of load time".to_string(),
        VariableContent::Truth(_) => "a boolean".to_string(),
        VariableContent::Float => "a float".to_string(),
        VariableContent::Texts(_) => "a string of the script".to_string(),
    }
}

fn text(lua: &Lua, bytes: &[u8]) -> mlua::Result<Value> {
    lua.create_string(bytes).map(Value::String)
}

/// The payload of a value, if it is of that kind.
fn payload(content: &VariableContent, value: &Value) -> Option<u64> {
    let integral = |number: f64| number.fract() == 0.0 && number.abs() < 9.2e18;
    match (content, value) {
        (VariableContent::Nil, Value::Nil) => Some(0),
        (VariableContent::Boolean, Value::Boolean(value)) => Some((*value).into()),
        (VariableContent::Truth(truth), Value::Boolean(value)) => (truth == value).then_some(0),
        (VariableContent::Integer, Value::Integer(value)) => Some(*value as u64),
        (VariableContent::Integer, Value::Number(number)) if integral(*number) => Some(*number as i64 as u64),
        (content, Value::String(text)) => address(content, &text.as_bytes()),
        _ => None,
    }
}

/// The payload of a string. Only texts that are exactly those of addresses are addresses.
fn address(content: &VariableContent, text: &[u8]) -> Option<u64> {
    match content {
        VariableContent::Text(known) => (known == text).then_some(0),
        VariableContent::Texts(known) => known.get(text).copied(),
        VariableContent::Ipv4 => {
            let address: Ipv4Addr = std::str::from_utf8(text).ok()?.parse().ok()?;
            (address.to_string().as_bytes() == text).then_some(u32::from(address).into())
        }
        VariableContent::Mac => {
            let mac = moonhook_schema::mac(text).ok()?;
            (moonhook_schema::mac_text(mac).as_bytes() == text).then_some(mac)
        }
        _ => None,
    }
}
