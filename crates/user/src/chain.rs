//! Chains of eCLAT in real Lua: interpreted, on the packet that a handler has.

use std::rc::Rc;

use mlua::{AnyUserData, Function, Integer, Lua, MultiValue, ObjectLike, Value};
use moonhook_eclat::eval::{Machine, run};
use moonhook_eclat::token::At;
use moonhook_load::raising;
use moonhook_snapshot::LoadedChain;

/// Functions of `eclat.chain` call chains here.
pub(crate) fn register(lua: &Lua, chains: Vec<LoadedChain>) -> mlua::Result<()> {
    if chains.is_empty() {
        return Ok(());
    }
    let chains = Rc::new(chains);
    let length: Function = lua.load("return #...").set_name("=moonhook").into_function()?;
    let call = raising(lua, move |_, arguments: MultiValue| {
        let mut arguments = arguments.into_iter();
        let number = arguments.next().and_then(|number| number.as_usize()).unwrap_or(usize::MAX);
        let Some(LoadedChain { script, number, .. }) = chains.get(number) else {
            return Ok(MultiValue::new());
        };
        let Some(Value::UserData(packet)) = arguments.next() else { return Err("packet expected".into()) };
        let arguments: Vec<u64> =
            arguments.map(|argument| argument.as_integer().unwrap_or(0) as u64).collect();
        let (length, at) = (length.clone(), At { line: 0, column: 0 });
        let mut packet = Packet { packet, length, file: &script.file, at, steps: STEPS };
        let given = run(script, *number, &arguments, &mut packet)?;
        Ok(MultiValue::from_iter([Value::Integer(given as Integer)]))
    })?;
    lua.set_named_registry_value(moonhook_load::CALL_CHAIN, call)
}

/// Lines that chains run for one call, so that an endless loop ends.
const STEPS: u32 = 1_000_000;

struct Packet<'a> {
    packet: AnyUserData,
    /// Gives its length.
    length: Function,
    file: &'a str,
    at: At,
    steps: u32,
}

impl Packet<'_> {
    fn error(&self, message: &str) -> String {
        format!("{}:{}: {message}", self.file, self.at.line)
    }

    /// The offset of the first of so many bits, if they are there.
    fn place(&self, offset: u64, bits: u32, function: &str) -> Result<Integer, String> {
        let length: Integer = self.length.call(&self.packet).map_err(|error| error.to_string())?;
        let end = offset.checked_add(u64::from(bits / 8)).filter(|end| *end <= length as u64);
        end.map(|_| offset as Integer)
            .ok_or_else(|| self.error(&format!("`Packet.{function}{bits}`: the packet ends before")))
    }
}

impl Machine for Packet<'_> {
    type End = String;

    fn step(&mut self, at: At) -> Result<(), String> {
        self.at = at;
        self.steps = self.steps.checked_sub(1).ok_or("step budget exhausted")?;
        Ok(())
    }

    fn read(&mut self, offset: u64, bits: u32) -> Result<u64, String> {
        let first = self.place(offset, bits, "readU")?;
        (0..Integer::from(bits) / 8).try_fold(0, |number: u64, byte| {
            let byte: mlua::Result<u8> = self.packet.call_method("getbyte", first + byte);
            Ok(number << 8 | u64::from(byte.map_err(|error| error.to_string())?))
        })
    }

    fn write(&mut self, offset: u64, bits: u32, number: u64) -> Result<(), String> {
        let first = self.place(offset, bits, "writeU")?;
        let bytes = number.to_be_bytes();
        for (at, byte) in (first..).zip(&bytes[8 - bits as usize / 8..]) {
            // The byte is there.
            let written: mlua::Result<()> = self.packet.call_method("setbyte", (at, *byte));
            written.map_err(|_| self.error("packets are read only at this hook"))?;
        }
        Ok(())
    }

    fn call(&mut self, _: usize, _: &[u64]) -> Result<u64, String> {
        Err(self.error("programs in C run in the kernel only"))
    }
}
