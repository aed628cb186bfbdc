//! The simulator: real Lua runs the routines in user space, over a buffer that stands for the arena.
//!
//! Runtime Lua is a subset of Lua whose intrinsics are functions here, so a test can call a routine with values in volume and
//! compare with the library function that it stands for ([`Reference`]). What the compiler refuses as a mistake is refused
//! here too as far as it can be seen at run time: unknown names, results that are no integers, stores to nowhere.

mod intrinsics;
mod literals;
mod memory;
mod reference;
mod values;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use mlua::{Function, HookTriggers, Lua, Table, Variadic, VmState};

use crate::layout::{self, *};
use crate::sources::ROUTINES;
use memory::{Memory, Shared};
pub use reference::{Reference, compare};
pub use values::Value;

/// Steps of the budget for each call of a primitive, unless set otherwise.
pub const BUDGET: i64 = 100_000;

/// Calls of the count hook after which a call is taken for one that does not end, and instructions between two of them.
const HOOK_LIMIT: u32 = 200;
const HOOK_INTERVAL: u32 = 1_000_000;

/// The routines of `lua/*.lua`, ready to be called, and their memory.
pub struct Simulator {
    lua: Lua,
    globals: Table,
    memory: Shared,
    hooks: Rc<Cell<u32>>,
}

impl Simulator {
    /// All routines of the crate, with `heap` bytes of packet memory that start out as garbage.
    pub fn new(heap: usize) -> Result<Simulator, mlua::Error> {
        let sources: Vec<(&str, &str)> = ROUTINES.iter().map(|file| (file.name, file.text)).collect();
        Simulator::with_sources(heap, &sources)
    }

    /// Routines of other text: pairs of chunk name and text.
    pub fn with_sources(heap: usize, sources: &[(&str, &str)]) -> Result<Simulator, mlua::Error> {
        let lua = Lua::new();
        let memory = Rc::new(RefCell::new(Memory::new(heap)));
        let globals: Table = lua.load(ENVIRONMENT).set_name("=simulator").eval()?;
        let raw: Table = globals.metatable().map_or_else(|| lua.create_table(), |meta| meta.get("names"))?;
        for (name, value) in layout::constants() {
            raw.raw_set(name, value)?;
        }
        intrinsics::define(&lua, &raw, &memory)?;
        for (name, text) in sources {
            let text = literals::replace(&lua, text, &memory)?;
            lua.load(text).set_name(format!("@{name}")).set_environment(globals.clone()).exec()?;
        }
        let hooks = Rc::new(Cell::new(0));
        let count = hooks.clone();
        lua.set_hook(HookTriggers::new().every_nth_instruction(HOOK_INTERVAL), move |_, _| {
            count.set(count.get() + 1);
            match count.get() > HOOK_LIMIT {
                true => Err(mlua::Error::runtime("the routine does not end")),
                false => Ok(VmState::Continue),
            }
        })?;
        let simulator = Simulator { lua, globals, memory, hooks };
        simulator.reset();
        Ok(simulator)
    }

    /// The address of the state, the first argument of most routines.
    pub fn state(&self) -> i64 {
        memory::STATE
    }

    /// Where [`Simulator::call_primitive`] puts the first argument.
    pub fn base(&self) -> i64 {
        memory::BASE
    }

    /// Forgets what is in packet memory and the error, as before each packet.
    pub fn reset(&self) {
        let memory = &mut *self.memory.borrow_mut();
        (0..L_SIZE / 8).for_each(|field| memory.store(memory::STATE + 8 * field, 8, 0));
        // What calls primitives here is no function of a script.
        (0..FRAME_SIZE / 8).for_each(|field| memory.store(memory::FRAME + 8 * field, 8, 0));
        memory.store(memory::FRAME + F_KIND, 8, KIND_ENTRY);
        let end = memory.len() as i64;
        for (field, value) in [
            (L_BUDGET, BUDGET),
            (L_HEAP, memory::HEAP),
            (L_HEAP_END, end),
            (L_MEMORY_END, end),
            (L_STACK_END, memory::STACK_END),
            (L_SELF, memory::STATE),
            (L_CI, memory::FRAME),
            (L_FRAMES, memory::FRAME),
            (L_FRAMES_END, memory::FRAME + FRAME_SIZE),
            (L_STACK, memory::BASE),
            (L_HEAP_START, memory::HEAP),
            (L_PATTERNS, memory::PATTERNS),
            (L_SCRATCH, memory::SCRATCH),
            (L_IMAGE_END, memory::STATE),
        ] {
            memory.store(memory::STATE + field, 8, value);
        }
    }

    /// The memory there is, from address 0 on, in bytes.
    pub fn size(&self) -> usize {
        self.memory.borrow().len()
    }

    /// The parts of memory that routines write: state, stack, packet memory. Constant strings lie between them.
    pub fn writable(&self) -> [Range<usize>; 3] {
        let stack = (memory::STACK as usize)..(memory::STACK_END as usize);
        [memory::STATE as usize..memory::STRINGS as usize, stack, memory::HEAP as usize..self.size()]
    }

    /// A field of the state, by its offset (`L_…`).
    pub fn field(&self, offset: i64) -> i64 {
        self.load(memory::STATE + offset, 8)
    }

    pub fn set_field(&self, offset: i64, value: i64) {
        self.store(memory::STATE + offset, 8, value);
    }

    /// `size` bytes (1, 2, 4 or 8) at `address`, zero-extended.
    pub fn load(&self, address: i64, size: usize) -> i64 {
        self.memory.borrow().load(address, size)
    }

    pub fn store(&self, address: i64, size: usize, value: i64) {
        self.memory.borrow_mut().store(address, size, value);
    }

    pub fn bytes(&self, address: i64, length: usize) -> Vec<u8> {
        self.memory.borrow().bytes(address, length)
    }

    pub fn set_bytes(&self, address: i64, bytes: &[u8]) {
        self.memory.borrow_mut().set_bytes(address, bytes);
    }

    /// The payload of a constant string.
    pub fn intern(&self, bytes: &[u8]) -> i64 {
        self.memory.borrow_mut().intern(bytes)
    }

    /// `size` bytes of packet memory, taken as routines take it.
    pub fn allocate(&self, size: usize) -> i64 {
        let address = self.field(L_HEAP);
        self.set_field(L_HEAP, address + (size.next_multiple_of(8) as i64));
        address
    }

    /// Calls a global function of runtime Lua.
    pub fn call(&self, routine: &str, args: &[i64]) -> Result<i64, mlua::Error> {
        self.hooks.set(0);
        let function: Function = self.globals.get(routine)?;
        function.call(Variadic::from_iter(args.iter().copied()))
    }

    /// Runs other runtime Lua text, a function body with parameters `...`, in the same memory: for tests of inline functions.
    /// Gives all results.
    pub fn evaluate(&self, text: &str, args: &[i64]) -> Result<Vec<i64>, mlua::Error> {
        self.hooks.set(0);
        let text = literals::replace(&self.lua, text, &self.memory)?;
        let chunk = self.lua.load(text).set_name("=test").set_environment(self.globals.clone());
        chunk.call::<Variadic<i64>>(Variadic::from_iter(args.iter().copied())).map(Vec::from)
    }
}

/// The globals: reading an unknown name and defining one twice are errors; functions are checked to give one integer, and
/// 0 where they return nothing.
const ENVIRONMENT: &str = r##"
local names = {}
local function checked(name, f)
  return function(a, b, c, d, e, ...)
    if select("#", ...) ~= 0 then error(name .. ": more than 5 arguments", 2) end
    local first, second = f(a, b, c, d, e)
    if first == nil then return 0 end
    if math.type(first) ~= "integer" or second ~= nil then error(name .. ": the result is not one integer", 2) end
    return first
  end
end
local function strict(names, prefix, wrap)
  return setmetatable({}, {
    names = names,
    __index = function(_, name)
      local value = rawget(names, name)
      -- A function that has an inline form is always expanded.
      if value == nil and prefix == "" then value = rawget(getmetatable(names.inline).names, name) end
      if value == nil then error("unknown name " .. prefix .. tostring(name), 2) end
      return value
    end,
    __newindex = function(_, name, value)
      if rawget(names, name) ~= nil then error(prefix .. name .. " is defined twice", 2) end
      rawset(names, name, wrap(name, value))
    end,
  })
end
names.inline = strict({}, "inline.", function(_, f) return f end)
return strict(names, "", checked)
"##;
