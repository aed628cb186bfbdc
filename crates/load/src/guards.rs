//! Guards in front of library functions that can take any time: the count hook does not run inside them.
//!
//! Reads a call's arguments and the state's budget ([`crate::limits`]). A call that may take long is counted first
//! ([`crate::effort`]); where the budget has no room for it, it ends as the hook would have ended it. Else the library's own function
//! does the work, in the same stack frame, so that results and errors are its own.

use std::ffi::c_int;
use std::sync::OnceLock;

use mlua::ffi::{self, lua_State};
use mlua::{Lua, Table};

use crate::effort::Search;
use crate::limits::{Budget, budget, exhaust};

type CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// The library's functions, which are the same in all states of a process.
struct Originals {
    find: CFunction,
    matches: CFunction,
    gmatch: CFunction,
    gsub: CFunction,
    move_elements: CFunction,
}

static ORIGINALS: OnceLock<Originals> = OnceLock::new();

/// What the function that `gmatch` returns calls.
static GMATCH_STEP: OnceLock<CFunction> = OnceLock::new();

/// Steps that a call may take without being counted: as long as some hundred instructions.
const CHEAP: u64 = 10_000;

/// Puts the guards into the library tables of a state that has the functions as Lua made them.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let (string, table): (Table, Table) = (lua.globals().get("string")?, lua.globals().get("table")?);
    if ORIGINALS.get().is_none() {
        let original = |table: &Table, name: &str| -> mlua::Result<CFunction> {
            let mut found = None;
            // SAFETY: the closure reads the value on top of the stack, and owns nothing.
            unsafe {
                lua.exec_raw::<()>(table.get::<mlua::Function>(name)?, |state| {
                    found = ffi::lua_tocfunction(state, -1);
                    ffi::lua_pop(state, 1);
                })
            }?;
            found.ok_or_else(|| mlua::Error::runtime(format!("'{name}' is no function of the library")))
        };
        let originals = Originals {
            find: original(&string, "find")?,
            matches: original(&string, "match")?,
            gmatch: original(&string, "gmatch")?,
            gsub: original(&string, "gsub")?,
            move_elements: original(&table, "move")?,
        };
        ORIGINALS.get_or_init(|| originals);
    }
    let guards: [(&Table, &str, CFunction); 5] = [
        (&string, "find", find),
        (&string, "match", matches),
        (&string, "gmatch", gmatch),
        (&string, "gsub", gsub),
        (&table, "move", move_elements),
    ];
    for (table, name, guard) in guards {
        // SAFETY: the guards keep to what C functions may do.
        table.raw_set(name, unsafe { lua.create_c_function(guard) }?)?;
    }
    Ok(())
}

/// Calls the library's function in the present frame.
unsafe fn original(state: *mut lua_State, choose: impl Fn(&Originals) -> CFunction) -> c_int {
    match ORIGINALS.get() {
        // SAFETY: the frame is as Lua made it for this function.
        Some(originals) => unsafe { choose(originals)(state) },
        None => 0,
    }
}

unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: as for all functions here: Lua has called, and nothing with a destructor is alive where an error is raised.
    unsafe {
        guard(state, |call, budget| call.search(true, budget));
        original(state, |originals| originals.find)
    }
}

unsafe extern "C-unwind" fn matches(state: *mut lua_State) -> c_int {
    unsafe {
        guard(state, |call, budget| call.search(false, budget));
        original(state, |originals| originals.matches)
    }
}

unsafe extern "C-unwind" fn gsub(state: *mut lua_State) -> c_int {
    unsafe {
        guard(state, Call::replacements);
        original(state, |originals| originals.gsub)
    }
}

unsafe extern "C-unwind" fn move_elements(state: *mut lua_State) -> c_int {
    unsafe {
        guard(state, Call::elements);
        original(state, |originals| originals.move_elements)
    }
}

/// The iterator, with a guard in front of its function: the same variables, of which the third is its state.
unsafe extern "C-unwind" fn gmatch(state: *mut lua_State) -> c_int {
    unsafe {
        original(state, |originals| originals.gmatch);
        let Some(step) = ffi::lua_tocfunction(state, -1) else { return 1 };
        GMATCH_STEP.get_or_init(|| step);
        let iterator = ffi::lua_gettop(state);
        for number in 1..=3 {
            ffi::lua_getupvalue(state, iterator, number);
        }
        ffi::lua_pushcclosure(state, gmatch_step, 3);
        1
    }
}

unsafe extern "C-unwind" fn gmatch_step(state: *mut lua_State) -> c_int {
    unsafe {
        guard(state, Call::iteration);
        match GMATCH_STEP.get() {
            Some(step) => step(state),
            None => 0,
        }
    }
}

/// Lets the call go on if the budget has room for it.
unsafe fn guard(state: *mut lua_State, count: impl Fn(&Call, &mut Budget) -> bool) {
    // SAFETY: the registry keeps the budget while the state lives, and nothing else looks at it meanwhile.
    unsafe {
        let Some(budget) = budget(state).as_mut().filter(|budget| budget.is_limited()) else { return };
        if !count(&Call { state }, budget) {
            exhaust(state, budget)
        }
    }
}

/// What `string.gmatch` keeps in its userdata, as far as it is read here (`lstrlib.c`, `GMatchState`).
#[repr(C)]
struct Iteration {
    at: *const u8,
    pattern: *const u8,
    last: *const u8,
}

/// The arguments of a call. The functions say whether the budget allows it, and take from the budget what it costs.
struct Call {
    state: *mut lua_State,
}

impl Call {
    /// A string among the arguments; numbers are converted, as the library does. It lives as long as the frame.
    fn text(&self, index: c_int) -> Option<&[u8]> {
        // SAFETY: the value stays where it is during the call, and with it the string.
        unsafe {
            if ffi::lua_isstring(self.state, index) == 0 {
                return None;
            }
            let mut length = 0;
            let start = ffi::lua_tolstring(self.state, index, &mut length);
            (!start.is_null()).then(|| std::slice::from_raw_parts(start.cast(), length))
        }
    }

    fn integer(&self, index: c_int) -> Option<i64> {
        let mut is_integer = 0;
        // SAFETY: reads the stack only.
        let integer = unsafe { ffi::lua_tointegerx(self.state, index, &mut is_integer) };
        (is_integer != 0).then_some(integer)
    }

    /// Byte of the text that a third argument means, from 0 (`lstrlib.c`, `posrelatI`).
    fn start(&self, text: &[u8]) -> usize {
        match self.integer(3).unwrap_or(1) {
            position @ 1.. => usize::try_from(position - 1).unwrap_or(usize::MAX),
            0 => 0,
            behind => text.len().saturating_sub(behind.unsigned_abs() as usize),
        }
    }

    /// `string.find` and `string.match`.
    fn search(&self, find: bool, budget: &mut Budget) -> bool {
        let (Some(text), Some(pattern)) = (self.text(1), self.text(2)) else { return true };
        let start = self.start(text);
        if start > text.len() {
            return true;
        }
        // SAFETY: reads the stack only.
        let plain = find && (unsafe { ffi::lua_toboolean(self.state, 4) } != 0 || is_plain(pattern));
        if plain {
            let places = (text.len() - start).saturating_sub(pattern.len()) as u64;
            return plain_search(places, &text[start..], pattern, budget);
        }
        is_cheap(text.len() - start, pattern)
            || budget.meter(|allowance| Search::new(text, pattern, allowance).first(start))
    }

    fn replacements(&self, budget: &mut Budget) -> bool {
        let (Some(text), Some(pattern)) = (self.text(1), self.text(2)) else { return true };
        let most = self.integer(4).map_or(u64::MAX, |most| u64::try_from(most).unwrap_or(0));
        is_cheap(text.len(), pattern)
            || budget.meter(|allowance| Search::new(text, pattern, allowance).all(most))
    }

    fn iteration(&self, budget: &mut Budget) -> bool {
        let upvalue = ffi::lua_upvalueindex;
        let (Some(text), Some(pattern)) = (self.text(upvalue(1)), self.text(upvalue(2))) else { return true };
        if is_cheap(text.len(), pattern) {
            return true;
        }
        // SAFETY: the third variable is the userdata that `gmatch` made, which begins with these three; they are looked at as
        // numbers only.
        let (at, last) = unsafe {
            let iteration = ffi::lua_touserdata(self.state, upvalue(3)).cast::<Iteration>();
            if iteration.is_null() {
                return true;
            }
            ((*iteration).at.addr(), (*iteration).last.addr())
        };
        let offset =
            |address: usize| address.checked_sub(text.as_ptr().addr()).filter(|offset| *offset <= text.len());
        let Some(start) = offset(at) else { return true };
        budget.meter(|allowance| Search::new(text, pattern, allowance).next(start, offset(last)))
    }

    /// `table.move`, of as many elements as its second and third arguments say.
    fn elements(&self, budget: &mut Budget) -> bool {
        let (Some(first), Some(last)) = (self.integer(2), self.integer(3)) else { return true };
        if last < first {
            return true;
        }
        let count = last.abs_diff(first);
        count < CHEAP || budget.take(count)
    }
}

/// Whether `string.find` looks for the pattern as it is (`lstrlib.c`, `SPECIALS`).
fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// Bytes that are compared at once, and steps between two looks at the budget.
const BLOCK: usize = 64;
const LOOK: u64 = 1 << 15;

/// A search for bytes compares, at each place where the first byte is found, as many as are equal.
fn plain_search(places: u64, text: &[u8], wanted: &[u8], budget: &mut Budget) -> bool {
    if places.saturating_mul(wanted.len() as u64) < CHEAP * 100 {
        return true;
    }
    budget.meter(|allowance| {
        let (mut steps, mut look) = (0, LOOK);
        for place in text.windows(wanted.len()) {
            let blocks = place.chunks(BLOCK).zip(wanted.chunks(BLOCK));
            let equal = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
            steps += 1 + equal as u64 / 16;
            if steps > look {
                if !allowance.allows(steps) {
                    return None;
                }
                look = steps + LOOK;
            }
            if equal >= wanted.len() {
                break;
            }
        }
        allowance.allows(steps).then_some(steps)
    })
}

/// Whether a match cannot take long: at each of the text's bytes it may begin, each repetition can have any length, and each
/// optional item doubles the paths.
fn is_cheap(length: usize, pattern: &[u8]) -> bool {
    let length = length as u64 + 1;
    let mut bound = length.saturating_mul(pattern.len() as u64 + 1);
    for (byte, next) in pattern.iter().zip(pattern.iter().skip(1).map(Some).chain([None])) {
        let factor = match (byte, next) {
            (b'*' | b'+' | b'-', _) => length,
            (b'?', _) => 2,
            // A balanced text, or a capture once more.
            (b'%', Some(b'b' | b'0'..=b'9')) => length,
            _ => continue,
        };
        bound = bound.saturating_mul(factor);
        if bound > CHEAP {
            return false;
        }
    }
    bound <= CHEAP
}
