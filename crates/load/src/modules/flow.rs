//! `require "flow"`: tables that give a function to each flow (docs/flows.md).

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_flows::{Field, Flow, KeyError, KeyKind, KeyValue, Layout, field_names};
use moonhook_library::own::flow::CALL;
use moonhook_snapshot::FlowTable;
use std::time::Instant;

use super::module::{Context, Module, type_error};
use crate::flows::{FlowFunction, Flows, Given, Made};

pub(super) const MODULE: Module = Module { name: "flow", open };

/// Flows that a table has room for unless the script says otherwise.
const CAPACITY: u32 = 65_536;

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let call = caller(context)?;
    let flows = context.registry.flows.clone();
    let (methods, globals) = (table.clone(), context.globals.clone());
    let declared = context.registry.declared.clone();
    let new = context.function("flow.new", move |lua, arguments| {
        if declared.is_closed() {
            return Err("flow tables are made at load time, before packets arrive".to_string());
        }
        let Some(Value::Table(options)) = arguments.first() else {
            return Err(type_error(arguments, 1, "new", "table"));
        };
        let made = make(lua, &flows, options, (&call, &methods, &globals))?;
        let handle = made.handle.clone();
        flows.add(made);
        Ok(Value::Table(handle))
    })?;
    table.raw_set("new", new)?;
    for (name, body) in METHODS {
        let flows = context.registry.flows.clone();
        let method = context.values_function(name, move |lua, arguments| {
            let number = arguments.first().and_then(Value::as_table).and_then(|table| flows.number_of(table));
            let number =
                number.ok_or_else(|| type_error(arguments, 1, moonhook_library::key(name), "flow table"))?;
            body(lua, &flows, number, arguments)
        })?;
        table.raw_set(moonhook_library::key(name), method)?;
    }
    Ok(table)
}

type Method = fn(&Lua, &Flows, usize, &[Value]) -> Result<MultiValue, String>;

const METHODS: [(&str, Method); 4] =
    [("flow.set", set), ("flow.get", get), ("flow.delete", delete), ("flow.pairs", pairs)];

/// What handlers call: `flow call` of the library.
fn caller(context: &mut Context) -> mlua::Result<Function> {
    let flows = context.registry.flows.clone();
    let find = context.lua.create_function(move |_, arguments: MultiValue| {
        let mut arguments = arguments.into_iter();
        let number = arguments.next().and_then(|number| number.as_integer()).unwrap_or_default() as usize;
        let values: Vec<Value> = arguments.collect();
        let key = flows.key_kind(number).ok_or(()).and_then(|kind| words(&kind, &values).map_err(drop));
        Ok(key.ok().and_then(|key| flows.function(number, &key)).map(|found| found.function))
    })?;
    let call: Function = context.chunk::<Function>(include_str!("flow.lua"))?.call(find)?;
    context.names.add_function(CALL.name, call.clone());
    Ok(call)
}

/// The words of a key as handlers give it: the values of the fields, numbers of which are put together already, or those of a function.
fn words(kind: &KeyKind, values: &[Value]) -> Result<Vec<u64>, KeyError> {
    let is_there = |value: &&Value| !value.is_nil();
    let own = values.iter().take_while(is_there).map(key_value).collect::<Result<Vec<_>, KeyError>>()?;
    match kind {
        KeyKind::Values => kind.encode(&own),
        KeyKind::Fields(_) => Ok(own.iter().flat_map(|value| value.words()).collect()),
    }
}

fn make(
    lua: &Lua,
    flows: &Flows,
    options: &Table,
    (call, methods, globals): (&Function, &Table, &Table),
) -> Result<Made, String> {
    const NAMES: [&str; 5] = ["key", "capacity", "default", "idle", "name"];
    for pair in options.pairs::<Value, Value>() {
        let (name, _) = pair.map_err(said)?;
        let known =
            name.as_string().is_some_and(|name| NAMES.iter().any(|known| **known == *name.to_string_lossy()));
        if !known {
            let name = name.to_string().unwrap_or_default();
            return Err(bad(&format!(
                "there is no option '{name}', but 'key', 'capacity', 'default', 'idle', 'name'"
            )));
        }
    }
    let option = |name: &str| options.raw_get::<Value>(name).map_err(said);
    let (key, function) = key_option(option("key")?)?;
    let default = match option("default")? {
        Value::Nil => None,
        Value::Function(function) => Some(function),
        _ => return Err(bad("field 'default': function expected")),
    };
    let capacity = match option("capacity")? {
        Value::Nil => CAPACITY,
        value => integer(&value)
            .filter(|number| (1..=i64::from(Layout::MOST)).contains(number))
            .ok_or_else(|| bad(&format!("field 'capacity': integer from 1 to {} expected", Layout::MOST)))?
            as u32,
    };
    let number = flows.count();
    let name = match option("name")? {
        Value::Nil if number == 0 => "flows".to_string(),
        Value::Nil => format!("flows{}", number + 1),
        Value::String(name) => name.to_string_lossy(),
        _ => return Err(bad("field 'name': string expected")),
    };
    if flows.described().iter().any(|other| other.name == name) {
        return Err(bad(&format!("there is another flow table '{name}'")));
    }
    let idle = idle(&option("idle")?)?;
    let handler = handler(lua, &key).map_err(said)?;
    let handler: Function = handler.call((call, number, default, function)).map_err(said)?;
    let handle = handle(lua, methods, &handler).map_err(said)?;
    let globals = globals.clone();
    Ok(Made { name, key, capacity, idle, handle, handler, globals, flows: Default::default() })
}

/// What keys are made of, and the script's function if it is one.
fn key_option(value: Value) -> Result<(KeyKind, Option<Function>), String> {
    let expected = || bad("field 'key': \"5tuple\", list of fields or function expected");
    let named = |name: &str| {
        let names: Vec<&str> = field_names().collect();
        Field::named(name).ok_or_else(|| bad(&format!("field 'key': no '{name}', but {}", names.join(", "))))
    };
    let kind = match value {
        Value::String(name) if name.as_bytes() == b"5tuple" => KeyKind::five_tuple(),
        Value::String(name) => KeyKind::Fields(vec![named(&name.to_string_lossy())?]),
        Value::Table(list) => {
            let names = list.sequence_values::<String>().collect::<mlua::Result<Vec<_>>>();
            let fields = names
                .map_err(|_| expected())?
                .iter()
                .map(|name| named(name))
                .collect::<Result<Vec<_>, _>>()?;
            let is_twice = |(at, field): (usize, &Field)| fields[..at].contains(field);
            if let Some(twice) = fields.iter().enumerate().position(is_twice) {
                return Err(bad(&format!("field 'key': '{}' is there twice", fields[twice].name)));
            }
            KeyKind::Fields(fields)
        }
        Value::Function(function) => return Ok((KeyKind::Values, Some(function))),
        _ => return Err(expected()),
    };
    if kind.is_possible() { Ok((kind, None)) } else { Err(expected()) }
}

fn idle(value: &Value) -> Result<Option<u32>, String> {
    let seconds = match value {
        Value::Nil => return Ok(None),
        Value::Integer(seconds) => *seconds as f64,
        Value::Number(seconds) => *seconds,
        _ => -1.0,
    };
    let ticks = seconds * 1000.0 / f64::from(FlowTable::TICK);
    let fits = (1.0..f64::from(u32::MAX)).contains(&ticks);
    fits.then_some(Some(ticks.ceil() as u32)).ok_or_else(|| {
        bad(&format!(
            "field 'idle': number of seconds, {} or more, expected",
            f64::from(FlowTable::TICK) / 1000.0
        ))
    })
}

/// What the script has of the table: methods, and in handlers it can be called.
fn handle(lua: &Lua, methods: &Table, handler: &Function) -> mlua::Result<Table> {
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", methods)?;
    metatable.raw_set("__metatable", false)?;
    let called = lua.load("local handler = ... return function(_, ...) return handler(...) end");
    metatable.raw_set("__call", called.set_name("=moonhook").call::<Function>(handler)?)?;
    let handle = lua.create_table()?;
    handle.set_metatable(Some(metatable))?;
    Ok(handle)
}

/// A function that makes the handler: what is called for each packet, given what calls the flow's function, the table's number, the
/// function for other packets and the one that makes keys.
fn handler(lua: &Lua, kind: &KeyKind) -> mlua::Result<Function> {
    let body = match kind {
        KeyKind::Values => {
            "local a, b, c, d = key(pkt)\n if a ~= nil then CALL(a, b, c, d) END end".to_string()
        }
        KeyKind::Fields(fields) => of_fields(fields, *kind == KeyKind::five_tuple()),
    };
    let call = "local found, verdict = call(number, pkt, arg, ";
    let body = body.replace("CALL(", call).replace("END", "if found then return verdict end");
    let text = format!(
        "local call, number, default, key = ...\n\
         if default then return function(pkt, arg) {body}\n return default(pkt, arg) end end\n\
         return function(pkt, arg) {body}\n end"
    );
    // Without lines: what is wrong in it is nothing that a person could mend.
    let stripped = lua.load(text).into_function()?.dump(true);
    lua.load(stripped).set_name("=moonhook").set_mode(mlua::chunk::ChunkMode::Binary).into_function()
}

/// The body of a handler that finds the fields. `defaults_ports`: packets without ports have 0 there.
fn of_fields(fields: &[Field], defaults_ports: bool) -> String {
    let has = |names: &[&str]| fields.iter().any(|field| names.contains(&field.name));
    let (mut before, mut tests) = (String::new(), Vec::new());
    if has(&["src", "dst", "proto"]) {
        before.push_str("local ip = pkt.ip\n");
        tests.push("ip");
    }
    if has(&["sport", "dport"]) {
        let ports = "local ports = pkt.tcp or pkt.udp or pkt.sctp\n";
        before.push_str(ports);
        tests.push("ports");
    }
    if defaults_ports {
        return of_five_tuple();
    }
    if has(&["smac", "dmac"]) {
        before.push_str("local eth = pkt.eth\n");
        tests.push("eth");
    }
    if has(&["vlan"]) {
        before.push_str("local vlan = pkt.vlan\n");
        tests.push("vlan");
    }
    format!("{before} if {} then CALL{} END end", tests.join(" and "), packed(fields))
}

/// The arguments that a key of these fields is: addresses, and numbers put together as [`KeyKind`] says.
fn packed(fields: &[Field]) -> String {
    use moonhook_flows::FieldKind::{Address, Mac, Number};
    let expression = |field: &Field| match field.name {
        "src" | "dst" | "proto" => format!("ip.{}", field.name),
        "sport" | "dport" => format!("ports.{}", field.name),
        "vlan" => "vlan.id".to_string(),
        "smac" => "eth.src".to_string(),
        _ => "eth.dst".to_string(),
    };
    let mut arguments: Vec<String> = Vec::new();
    let mut open: Option<(usize, u32)> = None;
    for field in fields {
        match (field.kind, open) {
            (Number(bits), Some((at, used))) if used + bits <= 64 => {
                arguments[at].push_str(&format!(" | {} << {used}", expression(field)));
                open = Some((at, used + bits));
            }
            (Number(bits), _) => {
                open = Some((arguments.len(), bits));
                arguments.push(expression(field));
            }
            (Address | Mac, _) => arguments.push(expression(field)),
        }
    }
    format!("({})", arguments.join(", "))
}

/// Packets without ports have 0 there.
fn of_five_tuple() -> String {
    "local ip = pkt.ip\n\
     if ip then\n\
       local ports, sport, dport = pkt.tcp or pkt.udp or pkt.sctp, 0, 0\n\
       if ports then sport, dport = ports.sport, ports.dport end\n\
       CALL(ip.src, ip.dst, ip.proto | sport << 8 | dport << 24) END end"
        .to_string()
}

fn set(lua: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let begin = Instant::now();
    let key = key_argument(flows, table, arguments, "set")?;
    let own = match arguments.get(2) {
        Some(Value::Function(function)) if function.info().what != "C" => {
            FlowFunction { function: function.clone(), source: None }
        }
        Some(Value::String(text)) => {
            flows.function_of(lua, table, &text.to_string_lossy(), None).map_err(|error| match error {
                mlua::Error::SyntaxError { message, .. } => message,
                error => error.to_string(),
            })?
        }
        _ => return Err(type_error(arguments, 3, "set", "function or string")),
    };
    match flows.owner() {
        Some(owner) => {
            let changed = owner.set((lua, flows), table, &key, own)?;
            let form = lua.create_string(changed.form).map_err(said)?;
            Ok(MultiValue::from_iter([
                Value::Integer(begin.elapsed().as_micros() as i64),
                Value::String(form),
            ]))
        }
        None => {
            let full = flows.change(table, |made| {
                let full = made.flows.len() >= made.capacity as usize && !made.flows.contains_key(&key);
                if !full {
                    made.flows.insert(key, own);
                }
                full.then_some(made.capacity)
            });
            match full.flatten() {
                Some(capacity) => Err(format!("the table has room for {capacity} flows")),
                None => Ok(MultiValue::new()),
            }
        }
    }
}

fn get(lua: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let key = key_argument(flows, table, arguments, "get")?;
    let found = match flows.owner() {
        Some(owner) => owner.get(table, &key),
        None => flows.function(table, &key).map(|own| {
            let flow = Flow { key, function: 0, packets: 0, errors: 0, idle: 0 };
            (own.given(), flow)
        }),
    };
    let Some((own, flow)) = found else { return Ok(MultiValue::from_iter([Value::Nil])) };
    let given = given(lua, &own).map_err(said)?;
    let about = lua.create_table().map_err(said)?;
    let idle = f64::from(flow.idle) * f64::from(FlowTable::TICK) / 1000.0;
    let fields = [
        ("packets", Value::Integer(flow.packets as i64)),
        ("errors", Value::Integer(flow.errors.into())),
        ("idle", Value::Number(idle)),
    ];
    fields.into_iter().try_for_each(|(name, value)| about.raw_set(name, value)).map_err(said)?;
    Ok(MultiValue::from_iter([given, Value::Table(about)]))
}

/// What a flow was given: a text, or a function; `false` for a function of a state that is gone.
fn given(lua: &Lua, own: &Given) -> mlua::Result<Value> {
    Ok(match own {
        Given::Text(source) => Value::String(lua.create_string(&*source.text)?),
        Given::Function(function) => Value::Function(function.clone()),
        Given::Lost => Value::Boolean(false),
    })
}

fn delete(_: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let key = key_argument(flows, table, arguments, "delete")?;
    let was_there = match flows.owner() {
        Some(owner) => owner.delete(table, &key),
        None => flows.change(table, |made| made.flows.remove(&key).is_some()).unwrap_or_default(),
    };
    Ok(MultiValue::from_iter([Value::Boolean(was_there)]))
}

/// An iterator over the keys that there are now, and what these flows were given.
fn pairs(lua: &Lua, flows: &Flows, table: usize, _: &[Value]) -> Result<MultiValue, String> {
    let kind = flows.key_kind(table).unwrap_or(KeyKind::Values);
    let keys = match flows.owner() {
        Some(owner) => owner.keys(table),
        None => flows.change(table, |made| made.flows.keys().cloned().collect()).unwrap_or_default(),
    };
    let (flows, mut keys) = (flows.clone(), keys.into_iter());
    let next = lua.create_function_mut(move |lua, _: MultiValue| {
        for words in keys.by_ref() {
            let own = match flows.owner() {
                Some(owner) => owner.get(table, &words).map(|(own, _)| own),
                None => flows.function(table, &words).map(|own| own.given()),
            };
            if let Some(own) = own {
                let key = shown_key(lua, &kind, &words)?;
                return Ok(MultiValue::from_iter([key, given(lua, &own)?]));
            }
        }
        Ok(MultiValue::new())
    });
    Ok(MultiValue::from_iter([Value::Function(next.map_err(said)?)]))
}

/// A key for Lua: the value where it has one, else a table of the fields or a list.
fn shown_key(lua: &Lua, kind: &KeyKind, words: &[u64]) -> mlua::Result<Value> {
    let shown = |value: &KeyValue| {
        Ok(match value {
            KeyValue::Integer(integer) => Value::Integer(*integer),
            other => Value::String(lua.create_string(other.to_string())?),
        })
    };
    let values = kind.decode(words);
    if let [value] = values.as_slice() {
        return shown(value);
    }
    let table = lua.create_table()?;
    for (number, value) in values.iter().enumerate() {
        match kind {
            KeyKind::Fields(fields) => table.raw_set(fields[number].name, shown(value)?)?,
            KeyKind::Values => table.raw_set(number + 1, shown(value)?)?,
        }
    }
    Ok(Value::Table(table))
}

/// The words of the key that is the second argument.
fn key_argument(flows: &Flows, table: usize, arguments: &[Value], name: &str) -> Result<Vec<u64>, String> {
    let kind = flows.key_kind(table).unwrap_or(KeyKind::Values);
    let key = arguments.get(1).cloned().unwrap_or(Value::Nil);
    let encoded = key_values(&kind, &key).and_then(|values| kind.encode(&values));
    encoded.map_err(|problem| format!("bad argument #2 to '{name}' ({problem})"))
}

fn key_values(kind: &KeyKind, key: &Value) -> Result<Vec<KeyValue>, KeyError> {
    match (key, kind) {
        (Value::String(text), KeyKind::Fields(_)) => kind.parse(&text.to_string_lossy()),
        (Value::Table(table), KeyKind::Fields(fields)) if table.raw_len() == 0 => {
            let mut unknown = None;
            for (name, _) in table.pairs::<Value, Value>().flatten() {
                let name = name.to_string().unwrap_or_default();
                unknown = unknown.or(fields.iter().all(|field| field.name != name).then_some(name));
            }
            if let Some(name) = unknown {
                return Err(kind.no_such_field(&name));
            }
            let value = |field: &Field| match table.raw_get::<Value>(field.name) {
                Ok(Value::String(text)) => field.parse(&text.to_string_lossy()),
                Ok(Value::Nil) | Err(_) => Err(KeyError::Missing { name: field.name }),
                Ok(value) => key_value(&value),
            };
            fields.iter().map(value).collect()
        }
        (Value::Table(table), _) => {
            table.sequence_values::<Value>().flatten().map(|value| key_value(&value)).collect()
        }
        (value, _) => Ok(vec![key_value(value)?]),
    }
}

fn key_value(value: &Value) -> Result<KeyValue, KeyError> {
    match value {
        Value::String(text) => KeyValue::parse(&text.to_string_lossy()),
        value => integer(value).map(KeyValue::Integer).ok_or_else(|| KeyError::Value {
            text: value.to_string().unwrap_or_default(),
            expected: "integer, IP address or MAC address".to_string(),
        }),
    }
}

/// An integer, or a float that is one.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Number(float) if float.fract() == 0.0 && float.abs() < 9e18 => Some(*float as i64),
        _ => None,
    }
}

fn bad(problem: &str) -> String {
    format!("bad argument #1 to 'new' ({problem})")
}

fn said(error: mlua::Error) -> String {
    error.to_string()
}
