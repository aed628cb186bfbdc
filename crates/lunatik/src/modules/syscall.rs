//! `syscall`: where system calls are (Lunatik's `lib/luasyscall.c`): addresses that stand for the numbers, for `probe`.

use std::ffi::c_void;
use std::sync::Arc;

use mlua::{LightUserData, Lua, Table, Value};

use crate::arguments::add;
use crate::host::{Host, Module};

pub(crate) const MODULE: Module = Module { name: "syscall", open, shared: None };

/// More than any machine has.
const MOST: usize = 1024;

/// The addresses are those of these bytes, which nothing else can have.
static PLACES: [u8; MOST] = [0; MOST];

/// The number of the system call that an address stands for.
pub(crate) fn number(address: LightUserData) -> Option<u32> {
    let number = (address.0 as usize).checked_sub(PLACES.as_ptr() as usize)?;
    u32::try_from(number).ok().filter(|_| number < MOST)
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let highest = highest(host.constants(lua, "linux.syscall")?)?;
    add(lua, &module, "address", move |_, arguments| {
        let number = arguments.integer_within(1, 0, highest)?;
        let place = usize::try_from(number).ok().and_then(|number| PLACES.get(number));
        let place = place.ok_or_else(|| arguments.error(1, "out of bounds"))?;
        Ok(LightUserData(std::ptr::from_ref(place).cast_mut().cast::<c_void>()))
    })?;
    Ok(module)
}

/// The highest number that the kernel's headers have; -1 without any.
fn highest(constants: Option<Table>) -> mlua::Result<i64> {
    let Some(Value::Table(numbers)) = constants.map(|all| all.get("numbers")).transpose()? else {
        return Ok(-1);
    };
    let mut highest = -1;
    for pair in numbers.pairs::<Value, i64>() {
        highest = highest.max(pair?.1);
    }
    Ok(highest)
}
