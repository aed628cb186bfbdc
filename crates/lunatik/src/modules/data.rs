//! `data`: bytes that states share, read and written in the machine's byte order (Lunatik's `lib/luadata.c`).
//!
//! Checks come in this order: the object, the offset's type, bounds, the type of what is to be written. Nothing has length 0 within bounds.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Table};

use crate::arguments::{Arguments, Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::pool::{Part, with_room};
use crate::share::shared;

pub(crate) const MODULE: Module = Module { name: "data", open, shared: Some(shared::<Data>) };

/// Bytes; all handles see the same.
pub(crate) struct Data {
    bytes: Mutex<Bytes>,
    is_single: bool,
}

struct Bytes {
    bytes: Vec<u8>,
    part: Part,
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Data {
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let pool = Arc::clone(host.pool());
    add(lua, &module, "new", move |lua, arguments| {
        let size = arguments.integer(1)?;
        let mode = arguments.option(2, 0, &["shared", "single"])?;
        let part = with_room(lua, || Part::of(&pool, length(size)?)).ok_or_else(no_memory)?;
        let mut bytes = Bytes { bytes: Vec::new(), part };
        bytes.resize(size).ok_or_else(no_memory)?;
        let bytes = Mutex::new(bytes);
        Ok(Object(Arc::new(Data { bytes, is_single: mode == 1 })))
    })?;
    Ok(module)
}

/// The most that one object has, as with `kvmalloc` (`INT_MAX`).
const LARGEST: i64 = i32::MAX as i64;

fn no_memory() -> Raise {
    Raise::Bare("not enough memory".to_string())
}

/// A size that an object can have.
fn length(size: i64) -> Option<usize> {
    usize::try_from(size).ok().filter(|_| size <= LARGEST)
}

impl Bytes {
    /// Has so many bytes from now on, if there is memory for them; new ones are 0.
    fn resize(&mut self, size: i64) -> Option<()> {
        let size = length(size).filter(|size| self.part.resize(*size))?;
        self.bytes.try_reserve_exact(size.saturating_sub(self.bytes.len())).ok()?;
        self.bytes.resize(size, 0);
        self.bytes.shrink_to_fit();
        Some(())
    }
}

/// The place of `length` bytes at `offset` among `size`.
fn place(
    arguments: &Arguments,
    size: usize,
    offset: i64,
    length: i64,
) -> Result<std::ops::Range<usize>, Raise> {
    let within = (|| {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (length > 0 && end <= size).then_some(start..end)
    })();
    within.ok_or_else(|| arguments.error(2, "out of bounds"))
}

/// The one's complement sum of the internet, folded and complemented (RFC 1071), of words in the machine's order.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let mut sum: u64 = words.iter().map(|word| u64::from(u16::from_ne_bytes(*word))).sum();
    if let [last] = rest {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl Class for Data {
    const NAME: &'static str = "data";
    const COUNTS: Counts = Counts::All;
    const META: &'static [&'static str] = &["__index", "__len", "__tostring"];

    fn is_single(&self) -> bool {
        self.is_single
    }

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Data>::new(lua)?;
        methods.add("__len", |_, data, _| Ok(data.lock().len()))?;
        methods.add("__tostring", |lua, data, _| Ok(lua.create_string(&**data.lock())?))?;
        methods.add("getstring", |lua, data, arguments| {
            let (bytes, offset) = (data.lock(), arguments.integer(2)?);
            let length = arguments.integer_or(3, (bytes.len() as i64).saturating_sub(offset))?;
            Ok(lua.create_string(&bytes[place(arguments, bytes.len(), offset, length)?])?)
        })?;
        methods.add("setstring", |_, data, arguments| {
            let (offset, text) = (arguments.integer(2)?, arguments.bytes(3)?);
            let mut bytes = data.lock();
            let place = place(arguments, bytes.len(), offset, text.len() as i64)?;
            bytes[place].copy_from_slice(&text);
            Ok(())
        })?;
        methods.add("checksum", |_, data, arguments| {
            let (bytes, offset) = (data.lock(), arguments.integer_or(2, 0)?);
            let length = arguments.integer_or(3, (bytes.len() as i64).saturating_sub(offset))?;
            Ok(checksum(&bytes[place(arguments, bytes.len(), offset, length)?]))
        })?;
        methods.add("resize", |lua, data, arguments| {
            let size = arguments.integer(2)?;
            with_room(lua, || data.lock().resize(size)).ok_or_else(no_memory)
        })?;
        numbers(&methods)?;
        methods.metatable()
    }
}

fn numbers(methods: &Methods<Data>) -> mlua::Result<()> {
    macro_rules! number {
        ($type:ty, $get:literal, $set:literal) => {
            methods.add($get, |_, data, arguments| {
                const SIZE: usize = size_of::<$type>();
                let (offset, bytes) = (arguments.integer(2)?, data.lock());
                let place = place(arguments, bytes.len(), offset, SIZE as i64)?;
                let mut value = [0; SIZE];
                value.copy_from_slice(&bytes[place]);
                Ok(<$type>::from_ne_bytes(value) as i64)
            })?;
            methods.add($set, |_, data, arguments| {
                const SIZE: usize = size_of::<$type>();
                let (offset, mut bytes) = (arguments.integer(2)?, data.lock());
                let place = place(arguments, bytes.len(), offset, SIZE as i64)?;
                bytes[place].copy_from_slice(&(arguments.integer(3)? as $type).to_ne_bytes());
                Ok(())
            })?;
        };
    }
    number!(u8, "getbyte", "setbyte");
    number!(i8, "getint8", "setint8");
    number!(u8, "getuint8", "setuint8");
    number!(i16, "getint16", "setint16");
    number!(u16, "getuint16", "setuint16");
    number!(i32, "getint32", "setint32");
    number!(u32, "getuint32", "setuint32");
    number!(i64, "getint64", "setint64");
    number!(i64, "getnumber", "setnumber");
    Ok(())
}
