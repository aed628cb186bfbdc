//! What an `skb` can do. Messages number arguments as Lua does for methods: the object is not counted (`luaL_argerror`).

use super::{Bytes, Line, Sent, Skb, checksums, metadata};
use crate::object;
use mlua::{AnyUserData, Lua, MetaMethod, MultiValue, Table, UserDataFields, UserDataRefMut, Value};
use moonhook_load::{raising, userdata_name};

type Results = Result<MultiValue, String>;

/// A method: what it is called, and its body, which gets the object and the arguments behind it.
type Method = (&'static str, fn(&Lua, &AnyUserData, &[Value]) -> Results);

const METHODS: &[Method] = &[
    ("data", data),
    ("resize", resize),
    ("checksum", checksum),
    ("copy", copy),
    ("connmark", connection_mark),
    ("ifindex", interface),
    // IP packets have no tag any more: the interface for it has taken it off (`vlan_do_receive`, net/8021q/vlan_core.c).
    ("vlan", |_, _, _| one(Value::Nil)),
];

/// Gives userdata of that kind its metatable.
pub fn register(lua: &Lua, sent: &Sent) -> mlua::Result<()> {
    let methods = lua.create_table()?;
    for (name, body) in METHODS {
        add(lua, &methods, name, body)?;
    }
    let sent = sent.clone();
    add(lua, &methods, "forward", move |_, skb, _| forward(skb, &sent))?;
    let length = raising(lua, |_, arguments| {
        let arguments = Vec::from(arguments);
        one(integer_value(known(&checked(&arguments, "len")?, "len")?.1.length()))
    })?;
    lua.register_userdata_type::<Skb>(|registry| {
        registry.add_meta_field(MetaMethod::Index, methods);
        registry.add_meta_field(MetaMethod::Len, length);
        registry.add_meta_field(MetaMethod::Type, "skb");
    })
}

fn add(
    lua: &Lua,
    methods: &Table,
    name: &'static str,
    body: impl Fn(&Lua, &AnyUserData, &[Value]) -> Results + 'static,
) -> mlua::Result<()> {
    let method = raising(lua, move |lua, arguments| {
        let arguments = Vec::from(arguments);
        let skb = checked(&arguments, name)?;
        known(&skb, name)?;
        body(lua, &skb, &arguments[1..])
    })?;
    methods.raw_set(name, method)
}

/// The object, which is the first argument.
fn checked(arguments: &[Value], name: &str) -> Result<AnyUserData, String> {
    if let Some(Value::UserData(skb)) = arguments.first().filter(|value| is_skb(value)) {
        return Ok(skb.clone());
    }
    let got = match arguments.first() {
        None => "no value",
        Some(Value::Integer(_)) => "number",
        Some(other) => other.type_name(),
    };
    Err(format!("calling '{name}' on bad self (skb expected, got {got})"))
}

fn is_skb(value: &Value) -> bool {
    matches!(value, Value::UserData(skb) if skb.is::<Skb>())
}

/// What the object is, and its bytes.
fn known(skb: &AnyUserData, name: &str) -> Result<(UserDataRefMut<Skb>, Length), String> {
    let of_other = |error: mlua::Error| error.to_string();
    let skb = skb.borrow_mut::<Skb>().map_err(of_other)?;
    match skb.bytes.as_ref().map(Bytes::length) {
        Some(length) => Ok((skb, Length(length))),
        None => Err(format!("calling '{name}' on bad self (skb is not set)")),
    }
}

/// How many bytes a packet has.
struct Length(usize);

impl Length {
    fn length(&self) -> usize {
        self.0
    }
}

fn one(value: Value) -> Results {
    Ok(MultiValue::from_iter([value]))
}

fn integer_value(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// `skb:data([layer])`.
fn data(lua: &Lua, skb: &AnyUserData, arguments: &[Value]) -> Results {
    let from_link = match arguments.first() {
        None | Some(Value::Nil) => false,
        Some(Value::String(layer)) if layer == "net" => false,
        Some(Value::String(layer)) if layer == "mac" => true,
        Some(Value::String(layer)) => {
            return Err(format!("bad argument #1 to 'data' (invalid option '{}')", layer.to_string_lossy()));
        }
        Some(other) => {
            let got = userdata_name(lua, other).unwrap_or_else(|| other.type_name().to_string());
            return Err(format!("bad argument #1 to 'data' (string expected, got {got})"));
        }
    };
    let (mut packet, _) = known(skb, "data")?;
    let (metadata, window) = (metadata(&packet), packet.window.clone());
    let shown = packet.bytes.as_mut().and_then(|bytes| bytes.window(from_link));
    let (hook, bytes) = shown.ok_or("bad argument #1 to 'data' (MAC header not set)")?;
    let (is_copy, block) = (packet.is_copy, packet.bytes.as_ref().map(Bytes::block));
    drop(packet);
    let window: Value = match window {
        // SAFETY: `push_window` has made that object, of bytes of the same block.
        Some(window) => unsafe { lua.exec_raw(window, |state| object::aim(state, 1, hook, bytes)) },
        // SAFETY: the block is on top of the stack, and its bytes stay where they are until it is collected.
        None => unsafe { lua.exec_raw(block, |state| object::push_window(state, hook, bytes, metadata)) },
    }
    .map_err(|error| error.to_string())?;
    if !is_copy {
        known(skb, "data")?.0.window = Some(window.clone());
    }
    one(window)
}

/// `skb:resize(n)`. Objects that show its bytes go on showing those that they showed.
fn resize(lua: &Lua, skb: &AnyUserData, arguments: &[Value]) -> Results {
    let length = integer(lua, arguments, "resize")?;
    let (mut packet, _) = known(skb, "resize")?;
    let bytes = packet.bytes.as_mut();
    let fits = bytes.zip(usize::try_from(length).ok()).is_some_and(|(bytes, length)| bytes.resize(length));
    if fits {
        Ok(MultiValue::new())
    } else {
        Err("bad argument #1 to 'resize' (insufficient tailroom)".into())
    }
}

/// `skb:checksum()`: those of IPv4's header, TCP and UDP.
fn checksum(_: &Lua, skb: &AnyUserData, _: &[Value]) -> Results {
    let (mut packet, _) = known(skb, "checksum")?;
    if let Some(bytes) = packet.bytes.as_mut() {
        checksums::fix(bytes.packet_mut());
    }
    Ok(MultiValue::new())
}

/// `skb:copy()`.
fn copy(lua: &Lua, skb: &AnyUserData, _: &[Value]) -> Results {
    let (packet, _) = known(skb, "copy")?;
    let bytes = packet.bytes.as_ref().map(|bytes| bytes.copy(lua)).transpose();
    let copy = Skb {
        bytes: bytes.map_err(|error| error.to_string())?,
        interface: packet.interface,
        mark: packet.mark,
        connection_mark: packet.connection_mark,
        is_marked: false,
        markless: None,
        window: None,
        is_copy: true,
    };
    drop(packet);
    one(Value::UserData(lua.create_any_userdata(copy).map_err(|error| error.to_string())?))
}

/// The line of a file that calls a method: the innermost one.
fn calling_line(lua: &Lua) -> Option<Line> {
    (0..LEVELS).find_map(|level| {
        let line = lua.inspect_stack(level, |activation| {
            let file = activation.source().source?.strip_prefix('@')?.to_string();
            Some(Line { file, number: activation.current_line()? })
        });
        line.flatten()
    })
}

/// Calls that may be between a script's line and a method: that of what raises its errors.
const LEVELS: usize = 4;

/// `skb:connmark([mark])`.
fn connection_mark(lua: &Lua, skb: &AnyUserData, arguments: &[Value]) -> Results {
    let mark = match arguments {
        [] => None,
        _ => Some(integer(lua, arguments, "connmark")? as u32),
    };
    let (mut packet, _) = known(skb, "connmark")?;
    match (mark, packet.connection_mark) {
        (Some(mark), Some(_)) => (packet.connection_mark, packet.is_marked) = (Some(mark), true),
        (None, Some(_)) => {}
        (_, None) if packet.markless.is_some() => {}
        (_, None) => packet.markless = calling_line(lua),
    }
    one(packet.connection_mark.map_or(Value::Nil, |mark| Value::Integer(i64::from(mark))))
}

/// `skb:ifindex()`.
fn interface(_: &Lua, skb: &AnyUserData, _: &[Value]) -> Results {
    let (packet, _) = known(skb, "ifindex")?;
    one(packet.interface.map_or(Value::Nil, |index| Value::Integer(i64::from(index))))
}

/// `skb:forward()`: sends what it is now, from the link's header on, by its interface. Only handlers can: what is sent leaves before their verdict.
fn forward(skb: &AnyUserData, sent: &Sent) -> Results {
    let (packet, _) = known(skb, "forward")?;
    let interface = packet.interface.ok_or("calling 'forward' on bad self (skb has no device)")?;
    let frame = packet.bytes.as_ref().and_then(Bytes::frame);
    let frame = frame.ok_or("calling 'forward' on bad self (MAC header not set)")?;
    match sent.borrow_mut().as_mut() {
        Some(sent) => sent.push((interface, frame.to_vec())),
        None => return Err("calling 'forward' on bad self (no handler is at work)".to_string()),
    }
    Ok(MultiValue::new())
}

/// The first argument as an integer (`luaL_checkinteger`).
fn integer(lua: &Lua, arguments: &[Value], name: &str) -> Result<i64, String> {
    let given = arguments.first().unwrap_or(&Value::Nil);
    if let Ok(Some(integer)) = lua.coerce_integer(given.clone()) {
        return Ok(integer);
    }
    let problem = match given {
        Value::Number(_) => "number has no integer representation".to_string(),
        _ if arguments.is_empty() => "number expected, got no value".to_string(),
        other => {
            let got = userdata_name(lua, other).unwrap_or_else(|| other.type_name().to_string());
            format!("number expected, got {got}")
        }
    };
    Err(format!("bad argument #1 to '{name}' ({problem})"))
}
