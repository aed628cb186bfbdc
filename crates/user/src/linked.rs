//! C programs and functions of objects, run by the emulator on the packet that a handler has.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{AnyUserData, Function, Integer, Lua, MultiValue, ObjectLike, Value, WeakLua};
use moonhook_emulate::{Argument, Emulator, FaultKind, MapError, Packet};
use moonhook_hook::Hook;
use moonhook_link::Object;
use moonhook_load::{MapsOfObjects, ObjectMaps, raising};
use moonhook_snapshot::{Leaf, LoadedFunction, LoadedMap, LoadedProgram, MapContents, Parameter};

use crate::{UserError, object};

/// The objects of a script, with their maps. Clones are the same.
#[derive(Clone)]
pub(crate) struct Objects {
    emulator: Rc<RefCell<Emulator>>,
    /// Gives the length of a packet.
    length: Function,
    /// The state, which has what has this.
    lua: WeakLua,
}

/// What a program has returned.
pub(crate) enum Returned {
    Number(u64),
    /// A loader starts the chain of that number.
    Chain(u64),
}

/// The function by which loaders start chains (`include/hike.h` of the crate `packages`).
const START: &str = "moonhook_chain";

/// The interface that packets come from: the loopback device, as in the kernel's test runs.
const INTERFACE: u32 = 1;

impl Objects {
    /// The objects, with what load time has left in their maps.
    ///
    /// # Errors
    /// What does not fit into them, as the kernel refuses it before packets arrive.
    pub fn new(lua: &Lua, objects: &[Arc<Object>], contents: &[MapContents]) -> Result<Objects, UserError> {
        let mut emulator = Emulator::new(objects);
        for MapContents { object, map, entries } in contents {
            for [key, value] in entries {
                let Some(mut handle) = emulator.map(*object, *map) else { continue };
                let map = || objects[*object].maps[*map].name.clone();
                handle
                    .set(key, value)
                    .map_err(|error| UserError::Entry { map: map(), problem: error.to_string() })?;
            }
        }
        let length = lua.load("return #...").set_name("=moonhook").into_function()?;
        Ok(Objects { emulator: Rc::new(RefCell::new(emulator)), length, lua: lua.weak() })
    }

    /// Lets functions in Lua have these maps.
    pub fn share(&self, maps: &ObjectMaps) {
        maps.become_those(Box::new(self.clone()));
    }

    /// Calls a function; the packet becomes what it leaves.
    ///
    /// # Errors
    /// What it did that the kernel would not have let it do.
    pub fn call(
        &self,
        program: LoadedProgram,
        arguments: &mut [Argument<'_>],
        packet: Option<&AnyUserData>,
    ) -> Result<Returned, String> {
        let bytes = packet.map(|packet| self.bytes(packet)).transpose()?.unwrap_or_default();
        let head = packet.map_or(Ok(0), |packet| self.head(packet))?;
        let mut own = Packet { bytes: bytes.clone(), ingress_ifindex: INTERFACE, head, ..Packet::default() };
        let time = moonhook_load::time().ok().and_then(|now| u64::try_from(now.monotonic).ok());
        self.emulator.borrow_mut().set_time(time);
        let returned = self.emulator.borrow_mut().call(program.object, program.function, arguments, &mut own);
        if let Some(packet) = packet {
            put_back(packet, (&bytes, head), &own)?;
        }
        match returned {
            Ok(number) => Ok(Returned::Number(number)),
            Err(fault) => match fault.kind {
                FaultKind::Missing { name, second } if name == START => {
                    Ok(Returned::Chain(second & 0xffff_ffff))
                }
                _ => Err(fault.to_string()),
            },
        }
    }

    /// What a map has for a key with these integers, an integer; 0 where it has nothing.
    pub fn entry(&self, map: &LoadedMap, key: &[u64]) -> u64 {
        let mut emulator = self.emulator.borrow_mut();
        let Some(handle) = emulator.map(map.object, map.map) else { return 0 };
        let mut bytes = vec![0; handle.definition().key.0 as usize];
        map.key.iter().zip(key).for_each(|(leaf, number)| leaf.write(&mut bytes, *number as i64));
        let found = handle.get(&bytes).zip(map.value.first());
        found.map_or(0, |(value, leaf)| leaf.read(&value) as u64)
    }

    /// How long a packet is.
    ///
    /// # Errors
    /// It is none any more.
    pub fn length(&self, packet: &AnyUserData) -> Result<Integer, String> {
        self.length.call(packet).map_err(said)
    }

    /// What has been put before a packet.
    fn head(&self, packet: &AnyUserData) -> Result<i64, String> {
        Ok(self.at_hook(packet)?.map_or(0, |(_, head)| head))
    }

    /// The hook that a packet is at; `None` if it is none any more.
    ///
    /// # Errors
    /// The script has ended.
    pub fn hook(&self, packet: &AnyUserData) -> Result<Option<&'static Hook>, String> {
        Ok(self.at_hook(packet)?.map(|(hook, _)| hook))
    }

    /// The same, and what has been put before the packet.
    fn at_hook(&self, packet: &AnyUserData) -> Result<Option<(&'static Hook, i64)>, String> {
        let lua = self.lua.try_upgrade().ok_or("the script has ended")?;
        let mut known = None;
        // SAFETY: the closure reads the one value that is on the stack, of which `hook` says whether it is a packet; it raises no errors.
        let outcome = unsafe {
            lua.exec_raw::<()>(packet, |state| {
                known = object::hook(state, 1).map(|hook| (hook, object::metadata(state, 1).head));
                mlua::ffi::lua_settop(state, 0);
            })
        };
        outcome.map(|()| known).map_err(said)
    }

    fn bytes(&self, packet: &AnyUserData) -> Result<Vec<u8>, String> {
        let length = self.length(packet)?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let bytes: mlua::LuaString = packet.call_method("getstring", (0, length)).map_err(said)?;
        Ok(bytes.as_bytes().to_vec())
    }
}

fn said(error: mlua::Error) -> String {
    error.to_string()
}

/// Gives the packet of the script's the length and the bytes of the emulator's.
fn put_back(packet: &AnyUserData, (before, head): (&[u8], i64), after: &Packet) -> Result<(), String> {
    let head = after.head - head;
    for (difference, end) in [(head, "head"), (after.tail, "tail")] {
        let (method, count) = if difference > 0 { ("grow", difference) } else { ("shrink", -difference) };
        if count != 0 {
            packet.call_method::<()>(method, (count, end)).map_err(said)?;
        }
    }
    let is_same_length = head == 0 && after.tail == 0;
    for (at, byte) in after.bytes.iter().enumerate() {
        if !is_same_length || before.get(at) != Some(byte) {
            packet.call_method::<()>("setbyte", (at, *byte)).map_err(said)?;
        }
    }
    Ok(())
}

/// Functions of `bpf.object` call functions of objects here.
pub(crate) fn register(lua: &Lua, objects: &Objects, functions: Vec<LoadedFunction>) -> mlua::Result<()> {
    if functions.is_empty() {
        return Ok(());
    }
    let objects = objects.clone();
    let call = raising(lua, move |_, arguments: MultiValue| {
        let arguments: Vec<Value> = arguments.into_iter().collect();
        let number = arguments.first().and_then(Value::as_usize).unwrap_or(usize::MAX);
        let Some(function) = functions.get(number) else { return Ok(MultiValue::new()) };
        called(&objects, function, &arguments[1..])
    })?;
    lua.set_named_registry_value(moonhook_load::CALL_OBJECT, call)
}

/// What a call needs besides the numbers in registers.
struct Given<'a> {
    packet: Option<&'a AnyUserData>,
    /// Of each parameter that is a record, its bytes.
    records: Vec<Vec<u8>>,
    /// Of each parameter: the number, if it is one.
    numbers: Vec<u64>,
}

fn given<'a>(function: &LoadedFunction, arguments: &'a [Value]) -> Result<Given<'a>, String> {
    let mut given = Given { packet: None, records: Vec::new(), numbers: Vec::new() };
    let mut next = 0;
    for parameter in &function.parameters {
        match parameter {
            // The emulator has packets as programs at XDP see them.
            Parameter::Context(structure) if structure != moonhook_hook::XDP.context.structure => {
                return Err(format!("functions that take `struct {structure}` run in the kernel only"));
            }
            Parameter::Context(_) => {
                let packet = arguments.get(next).and_then(Value::as_userdata);
                given.packet = Some(packet.ok_or("packet expected")?);
                given.numbers.push(0);
                next += 1;
            }
            Parameter::Number(leaf) => {
                given.numbers.push(as_c(integer(arguments, next)?, leaf));
                next += 1;
            }
            Parameter::Record { bytes, leaves, .. } => {
                let mut record = vec![0; *bytes as usize];
                for leaf in leaves {
                    leaf.write(&mut record, integer(arguments, next)?);
                    next += 1;
                }
                given.records.push(record);
                given.numbers.push(0);
            }
        }
    }
    Ok(given)
}

fn integer(arguments: &[Value], index: usize) -> Result<i64, String> {
    let argument = arguments.get(index).unwrap_or(&Value::Nil);
    argument.as_integer().ok_or_else(|| format!("number expected, got {}", argument.type_name()))
}

fn called(objects: &Objects, function: &LoadedFunction, arguments: &[Value]) -> Result<MultiValue, String> {
    let Given { packet, mut records, numbers } = given(function, arguments)?;
    let mut memory = records.iter_mut();
    let mut registers: Vec<Argument<'_>> = Vec::new();
    for (parameter, number) in function.parameters.iter().zip(numbers) {
        registers.push(match parameter {
            Parameter::Context(_) => Argument::Context,
            Parameter::Number(_) => Argument::Number(number),
            Parameter::Record { .. } => match memory.next() {
                Some(record) => Argument::Memory(record),
                None => Argument::Number(0),
            },
        });
    }
    let returned = match objects.call(function.program, &mut registers, packet)? {
        Returned::Number(number) => number,
        Returned::Chain(_) => return Err("a function of an object starts no chains".into()),
    };
    let result = function.result.map_or(0, |leaf| leaf.read(&returned.to_le_bytes()));
    let mut values = vec![Value::Integer(result)];
    let of_records = function.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Record { leaves, is_constant, .. } => Some((leaves, *is_constant)),
        _ => None,
    });
    for ((leaves, is_constant), record) in of_records.zip(&records) {
        if !is_constant {
            values.extend(leaves.iter().map(|leaf| Value::Integer(leaf.read(record))));
        }
    }
    Ok(MultiValue::from_iter(values))
}

/// A number as a register has one of that type.
fn as_c(number: i64, leaf: &Leaf) -> u64 {
    Leaf { offset: 0, ..*leaf }.read(&number.to_le_bytes()) as u64
}

impl MapsOfObjects for Objects {
    fn get(&mut self, (object, map): (usize, usize), key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, String> {
        Ok(self.emulator.borrow_mut().map(object, map).and_then(|map| map.get(key)).map(|value| vec![value]))
    }

    fn set(&mut self, (object, map): (usize, usize), key: &[u8], value: &[u8]) -> Result<bool, String> {
        let mut emulator = self.emulator.borrow_mut();
        Ok(emulator.map(object, map).is_some_and(|mut map| map.set(key, value).is_ok()))
    }

    fn delete(&mut self, (object, map): (usize, usize), key: &[u8]) -> Result<bool, String> {
        let mut emulator = self.emulator.borrow_mut();
        Ok(emulator
            .map(object, map)
            .is_some_and(|mut map| matches!(map.remove(key), Ok(()) | Err(MapError::Missing))))
    }

    fn keys(&mut self, (object, map): (usize, usize)) -> Result<Vec<Vec<u8>>, String> {
        let mut emulator = self.emulator.borrow_mut();
        Ok(emulator.map(object, map).map(|map| map.keys().collect()).unwrap_or_default())
    }
}
