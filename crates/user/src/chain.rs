//! Chains of eCLAT in real Lua: interpreted, on the packet that a handler has; and the loaders that start them.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{AnyUserData, Integer, Lua, MultiValue, ObjectLike, Value};
use moonhook_eclat::eval::{Machine, run};
use moonhook_eclat::token::At;
use moonhook_emulate::Argument;
use moonhook_load::raising;
use moonhook_snapshot::{LoadedCallee, LoadedChain, LoadedLoader, LoadedProgram, Snapshot, Startable};

use crate::linked::{Objects, Returned};
use crate::steps;

thread_local! {
    /// The verdict by which a program has ended the packet.
    static DECIDED: Cell<Option<i32>> = const { Cell::new(None) };
}

/// The verdict by which a program has ended the packet since it was asked last.
pub(crate) fn take_decided() -> Option<i32> {
    DECIDED.take()
}

/// The message of an error behind which nothing more of the handlers runs.
fn over() -> String {
    moonhook_load::OVER.into()
}

/// The greatest verdict of programs at XDP.
const GREATEST: u32 = 4;

/// What chains are run with.
#[derive(Clone)]
struct Chains {
    chains: Rc<Vec<LoadedChain>>,
    loaders: Rc<Vec<LoadedLoader>>,
    objects: Objects,
}

/// Functions of `eclat.chain`, and handlers of `eclat.attach`, call chains and loaders here.
pub(crate) fn register(lua: &Lua, snapshot: &Snapshot, objects: &Objects) -> mlua::Result<()> {
    if snapshot.chains.is_empty() && snapshot.loaders.is_empty() {
        return Ok(());
    }
    let all = Chains {
        chains: Rc::new(snapshot.chains.clone()),
        loaders: Rc::new(snapshot.loaders.clone()),
        objects: objects.clone(),
    };
    let known = all.clone();
    let call = raising(lua, move |lua, arguments: MultiValue| or_over(lua, known.chain(arguments)))?;
    lua.set_named_registry_value(moonhook_load::CALL_CHAIN, call)?;
    let load = raising(lua, move |lua, arguments: MultiValue| or_over(lua, all.loader(arguments)))?;
    lua.set_named_registry_value(moonhook_load::CALL_LOADER, load)
}

/// Once a program has decided, or the budget is spent, the handlers are over, whoever catches errors.
fn or_over(lua: &Lua, given: Result<MultiValue, String>) -> Result<MultiValue, String> {
    match given {
        Err(message) if message == moonhook_load::OVER => {
            steps::end(lua).map_err(|error| error.to_string())?;
            Err(message)
        }
        given => given,
    }
}

/// A call's first arguments: a number, and the packet. Those that follow.
type Arguments = (usize, AnyUserData, Vec<Value>);

fn arguments(arguments: MultiValue) -> Result<Arguments, String> {
    let mut arguments = arguments.into_iter();
    let number = arguments.next().and_then(|number| number.as_usize()).unwrap_or(usize::MAX);
    match arguments.next() {
        Some(Value::UserData(packet)) => Ok((number, packet, arguments.collect())),
        _ => Err("packet expected".into()),
    }
}

impl Chains {
    fn chain(&self, given: MultiValue) -> Result<MultiValue, String> {
        let (number, packet, rest) = arguments(given)?;
        let Some(chain) = self.chains.get(number) else { return Ok(MultiValue::new()) };
        let numbers: Vec<u64> =
            rest.iter().map(|argument| argument.as_integer().unwrap_or(0) as u64).collect();
        let given = self.run(chain, &numbers, &packet)?;
        Ok(MultiValue::from_iter([Value::Integer(given as Integer)]))
    }

    /// The packet's verdict, where a program of a chain has not ended it.
    fn loader(&self, given: MultiValue) -> Result<MultiValue, String> {
        let (number, packet, _) = arguments(given)?;
        let Some(LoadedLoader { program, chains, .. }) = self.loaders.get(number) else {
            return Ok(MultiValue::new());
        };
        let started = match program {
            Some(program) => self.objects.call(*program, &mut [Argument::Context], Some(&packet))?,
            None => Returned::Chain(chains.first().map_or(0, |(number, _)| *number)),
        };
        let answer = match started {
            Returned::Number(verdict) if verdict as u32 <= GREATEST => Integer::from(verdict as u32),
            // What is no verdict aborts the packet.
            Returned::Number(_) => 0,
            Returned::Chain(number) => match chains.iter().find(|(known, _)| *known == number) {
                Some((_, Startable::Lua(answer))) => *answer,
                Some((_, Startable::Chain(index))) => {
                    if let Some(chain) = self.chains.get(*index) {
                        self.run(chain, &[], &packet)?;
                    }
                    0
                }
                None => 0,
            },
        };
        Ok(MultiValue::from_iter([Value::Integer(answer)]))
    }

    fn run(&self, chain: &LoadedChain, numbers: &[u64], packet: &AnyUserData) -> Result<u64, String> {
        let at = At { line: 0, column: 0 };
        let mut running = Running { all: self, chain, packet, at };
        run(&chain.script, chain.number, numbers, &mut running)
    }
}

struct Running<'a> {
    all: &'a Chains,
    chain: &'a LoadedChain,
    packet: &'a AnyUserData,
    at: At,
}

impl Running<'_> {
    fn error(&self, message: &str) -> String {
        format!("{}:{}: {message}", self.chain.script.file, self.at.line)
    }

    /// The offset of the first of so many bits, if they are there.
    fn place(&self, offset: u64, bits: u32, function: &str) -> Result<Integer, String> {
        let length = self.all.objects.length(self.packet)?;
        let end = offset.checked_add(u64::from(bits / 8)).filter(|end| *end <= length as u64);
        end.map(|_| offset as Integer)
            .ok_or_else(|| self.error(&format!("`Packet.{function}{bits}`: the packet ends before")))
    }

    /// Calls a program in C; gives its result where it has no verdict.
    fn object(&self, program: LoadedProgram, numbers: &[u64]) -> Result<u64, String> {
        let mut result = [0; 8];
        let mut registers = vec![Argument::Context, Argument::Memory(&mut result)];
        registers.extend(numbers.iter().copied().chain([0; 3]).take(3).map(Argument::Number));
        match self.all.objects.call(program, &mut registers, Some(self.packet))? {
            Returned::Number(verdict) if verdict as u32 <= GREATEST => Err(ended(verdict as i32)),
            Returned::Number(_) => Ok(u64::from_le_bytes(result)),
            Returned::Chain(_) => Err(self.error("a program starts no chains")),
        }
    }
}

/// Ends the packet with a verdict; gives the message of the error that ends the handlers.
fn ended(verdict: i32) -> String {
    DECIDED.set(Some(verdict));
    over()
}

impl Machine for Running<'_> {
    type End = String;

    fn step(&mut self, at: At) -> Result<(), String> {
        self.at = at;
        if steps::spend() { Ok(()) } else { Err(over()) }
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

    fn map(&mut self, read: usize, key: &[u64]) -> Result<u64, String> {
        let map = self.chain.maps.get(read);
        let missing = || self.error("internal error: the chain was loaded without a map that it reads");
        Ok(self.all.objects.entry(map.ok_or_else(missing)?, key))
    }

    fn call(&mut self, program: usize, numbers: &[u64]) -> Result<u64, String> {
        match self.chain.programs.get(program) {
            Some(LoadedCallee::Object(program)) => self.object(*program, numbers),
            // Chains that call functions in Lua are Lua themselves.
            Some(LoadedCallee::Lua { .. }) | None => {
                let name = &self.chain.script.programs[program].name;
                Err(self.error(&format!("internal error: the chain was loaded without the program '{name}'")))
            }
        }
    }

    fn decide(&mut self, program: usize, verdict: u64) -> String {
        let hook = match self.all.objects.hook(self.packet) {
            Ok(hook) => hook,
            Err(message) => return message,
        };
        let number = i32::try_from(verdict as i64).ok();
        match number.filter(|number| hook.is_some_and(|hook| hook.verdict(*number).is_some())) {
            Some(number) => ended(number),
            None => {
                let (name, number) = (&self.chain.script.programs[program].name, verdict as i64);
                self.error(&format!("the function '{name}' gives a chain {number}, expected a verdict"))
            }
        }
    }
}
