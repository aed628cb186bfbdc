//! Variables that handlers assign: before control code runs they get the values that packets left, and what it has assigned
//! goes to the handlers behind it.

use mlua::{Lua, Table, Value};
use moonhook_install::{DataSection, Program, Section};
use moonhook_ir::{Module, Variable, VariableContent, VariableHome, VariableKind};
use moonhook_load::{Loaded, Upvalue};
use moonhook_snapshot::{CellId, TableId};
use std::net::Ipv4Addr;

use crate::ControlError;

/// The data section that the variables are in.
const SECTION: &str = ".data.state";

/// How often words are read again that a handler changes meanwhile.
const ATTEMPTS: usize = 8;

/// The variables that the handlers of a program assign.
pub(crate) struct Variables {
    section: Option<Section>,
    all: Vec<Shared>,
}

/// One of them, in both places.
struct Shared {
    name: String,
    offset: usize,
    kinds: Vec<VariableKind>,
    home: Home,
}

/// Where the Lua state has it.
enum Home {
    Upvalue(Upvalue),
    Field(Table, Vec<u8>),
}

impl Variables {
    /// Those of `module`, which is loaded as `program`. The Lua state is as it was.
    ///
    /// # Errors
    /// `Install`.
    pub fn open(loaded: &Loaded, module: &Module, program: &Program) -> Result<Variables, ControlError> {
        let shared = |variable: &Variable| {
            let home = match &variable.home {
                VariableHome::Cell(cell) => Home::Upvalue(loaded.cell(CellId(*cell))?),
                VariableHome::Field { table, key } => {
                    Home::Field(loaded.table(TableId(*table))?, key.clone())
                }
            };
            Some(Shared {
                name: variable.name.clone(),
                offset: variable.offset as usize,
                kinds: variable.kinds.clone(),
                home,
            })
        };
        let all: Vec<Shared> = module.variables.iter().filter_map(shared).collect();
        let section = if all.is_empty() { None } else { Some(program.section(SECTION)?) };
        Ok(Variables { section, all })
    }

    /// Gives the Lua state the handlers' values. The result is what the variables have there now, for [`Variables::publish`].
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn fetch(&self, lua: &Lua) -> mlua::Result<Vec<Value>> {
        let Some(section) = &self.section else { return Ok(Vec::new()) };
        let fetched = |variable: &Shared| match variable.load(lua, &section.data())? {
            Some(value) => variable.home.set(lua, &value).map(|()| value),
            None => variable.home.get(lua),
        };
        self.all.iter().map(fetched).collect()
    }

    /// Gives the handlers what has been assigned since [`Variables::fetch`].
    ///
    /// # Errors
    /// Says of the last variable for which it is so that the handlers can have no such value; it is as it was for them.
    pub fn publish(&self, lua: &Lua, fetched: &[Value]) -> Result<(), String> {
        let Some(section) = &self.section else { return Ok(()) };
        let mut result = Ok(());
        for (variable, before) in self.all.iter().zip(fetched) {
            let now = variable.home.get(lua).map_err(|error| error.to_string())?;
            if is_same(&now, before) {
                continue;
            }
            match variable.words(&now) {
                Some(words) => variable.store(&section.data(), words),
                None => result = Err(variable.refusal(&now)),
            }
        }
        result
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

/// Nothing was assigned, as far as anyone can see. A float is not the integer of its value: it has to become that.
fn is_same(now: &Value, before: &Value) -> bool {
    std::mem::discriminant(now) == std::mem::discriminant(before) && now == before
}

impl Shared {
    /// The handlers' value; `None` for what only they can have.
    fn load(&self, lua: &Lua, section: &DataSection<'_>) -> mlua::Result<Option<Value>> {
        let [tag, payload] = self.steady(section);
        let Some(kind) = self.kind(tag) else { return Ok(None) };
        Ok(Some(match &kind.content {
            VariableContent::Nil => Value::Nil,
            VariableContent::Boolean => Value::Boolean(payload != 0),
            VariableContent::Integer => Value::Integer(payload as i64),
            VariableContent::Ipv4 => text(lua, Ipv4Addr::from(payload as u32).to_string().as_bytes())?,
            VariableContent::Mac => text(lua, moonhook_shape::mac_text(payload).as_bytes())?,
            VariableContent::Text(bytes) => text(lua, bytes)?,
            VariableContent::Object => return Ok(None),
        }))
    }

    /// Tag and payload that belong together: handlers write one after the other.
    fn steady(&self, section: &DataSection<'_>) -> [u64; 2] {
        let read = || [0, 8].map(|word| section.load(self.offset + word).unwrap_or_default());
        let mut words = read();
        for _ in 0..ATTEMPTS {
            let again = read();
            if again == words {
                break;
            }
            words = again;
        }
        words
    }

    /// The kind that a tag means; of a single one with a payload no tag is written.
    fn kind(&self, tag: u64) -> Option<&VariableKind> {
        match self.kinds.as_slice() {
            [only] if only.content.has_payload() => Some(only),
            kinds => kinds.iter().find(|kind| kind.tag == tag),
        }
    }

    /// Tag and payload of a value of the script.
    fn words(&self, value: &Value) -> Option<[u64; 2]> {
        let words = |kind: &VariableKind| Some([kind.tag, payload(&kind.content, value)?]);
        self.kinds.iter().find_map(words)
    }

    /// The tag comes last: it says what the payload is.
    fn store(&self, section: &DataSection<'_>, [tag, payload]: [u64; 2]) {
        section.store(self.offset + 8, payload);
        section.store(self.offset, tag);
    }

    fn refusal(&self, value: &Value) -> String {
        let possible: Vec<String> = self.kinds.iter().map(|kind| described(&kind.content)).collect();
        let what = match value {
            Value::String(text) => format!("the string '{}'", text.to_string_lossy()),
            Value::Number(number) => format!("the number {number}"),
            other => format!("a {} value", other.type_name()),
        };
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

/// What a person calls the values of a kind.
fn described(content: &VariableContent) -> String {
    match content {
        VariableContent::Nil => "nil".to_string(),
        VariableContent::Boolean => "a boolean".to_string(),
        VariableContent::Integer => "an integer".to_string(),
        VariableContent::Ipv4 => "an IPv4 address".to_string(),
        VariableContent::Mac => "a MAC address".to_string(),
        VariableContent::Text(text) => format!("'{}'", text.escape_ascii()),
        VariableContent::Object => "an object".to_string(),
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
        VariableContent::Ipv4 => {
            let address: Ipv4Addr = std::str::from_utf8(text).ok()?.parse().ok()?;
            (address.to_string().as_bytes() == text).then_some(u32::from(address).into())
        }
        VariableContent::Mac => {
            let mac = moonhook_shape::mac(text).ok()?;
            (moonhook_shape::mac_text(mac).as_bytes() == text).then_some(mac)
        }
        _ => None,
    }
}
