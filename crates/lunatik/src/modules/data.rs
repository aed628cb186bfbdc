//! `data`: bytes that states share, read and written in the machine's byte order (Lunatik's `lib/luadata.c`), and by layouts, as in luadata.
//!
//! Checks come in this order: the object, the offset's type, bounds, the type of what is to be written. Nothing has length 0 within bounds.
//! What luadata has raises no errors: what cannot be made or is not there is nothing.

mod bits;
mod fields;

use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Table, Value};

use crate::arguments::{Arguments, Counts, Raise, add, integer};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::pool::{Part, with_room};
use crate::share::shared;

pub(crate) const MODULE: Module = Module { name: "data", open, shared: Some(shared::<Data>) };

/// Bytes; all handles see the same.
pub(crate) struct Data {
    memory: Arc<Mutex<Bytes>>,
    /// Which of the bytes, if it is a segment: from one on, so many, or all that follow.
    segment: Option<(usize, Option<usize>)>,
    is_single: bool,
}

struct Bytes {
    bytes: Vec<u8>,
    part: Part,
}

/// The object's bytes, while nobody else has them.
struct View<'a> {
    memory: MutexGuard<'a, Bytes>,
    place: Range<usize>,
}

impl Deref for View<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes[self.place.clone()]
    }
}

impl DerefMut for View<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory.bytes[self.place.clone()]
    }
}

impl Data {
    /// Memory may have become shorter than a segment of it.
    fn lock(&self) -> View<'_> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, length) = self.segment.unwrap_or_default();
        let start = start.min(memory.bytes.len());
        let rest = memory.bytes.len() - start;
        let place = start..start + length.map_or(rest, |length| length.min(rest));
        View { memory, place }
    }

    /// The same bytes from `offset` on, `length` or all that follow; nothing if these are not there, or if nothing is at `offset`.
    fn segment(&self, offset: i64, length: Option<i64>) -> Option<Data> {
        let size = self.lock().len();
        let offset = usize::try_from(offset).ok().filter(|offset| *offset < size)?;
        let (start, own) = self.segment.unwrap_or_default();
        let length = match length {
            Some(length) => {
                Some(usize::try_from(length).ok().filter(|length| (0..=size - offset).contains(length))?)
            }
            None => own.map(|own| own - offset),
        };
        let (memory, is_single) = (Arc::clone(&self.memory), self.is_single);
        Some(Data { memory, segment: Some((start + offset, length)), is_single })
    }
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let pool = Arc::clone(host.pool());
    add(lua, &module, "new", move |lua, arguments| {
        let given = Given::of(arguments)?;
        let is_single = arguments.option(2, 0, &["shared", "single"])? == 1;
        if given.size() == 0 {
            return Ok(None);
        }
        let part = with_room(lua, || Part::of(&pool, length(given.size())?)).ok_or_else(no_memory)?;
        let mut bytes = Bytes { bytes: Vec::new(), part };
        bytes.resize(given.size()).ok_or_else(no_memory)?;
        given.fill(&mut bytes.bytes)?;
        let memory = Arc::new(Mutex::new(bytes));
        Ok(Some(Object(Arc::new(Data { memory, segment: None, is_single }))))
    })?;
    module.raw_set("layout", fields::layout_from(lua)?)?;
    Ok(module)
}

/// What an object is made of.
enum Given {
    Size(i64),
    /// Its bytes: the low 8 bits of integers.
    List(Table),
    Text(Vec<u8>),
}

impl Given {
    fn of(arguments: &Arguments) -> Result<Given, Raise> {
        Ok(match arguments.value(1) {
            Value::Nil => Given::Size(0),
            Value::Table(list) => Given::List(list),
            Value::String(_) => Given::Text(arguments.bytes(1)?),
            _ => Given::Size(arguments.integer(1)?),
        })
    }

    fn size(&self) -> i64 {
        match self {
            Given::Size(size) => *size,
            Given::List(list) => i64::try_from(list.raw_len()).unwrap_or(i64::MAX),
            Given::Text(text) => text.len() as i64,
        }
    }

    fn fill(&self, bytes: &mut [u8]) -> mlua::Result<()> {
        match self {
            Given::Size(_) => {}
            Given::Text(text) => bytes.copy_from_slice(text),
            Given::List(list) => {
                for (index, byte) in bytes.iter_mut().enumerate() {
                    *byte = integer(&list.raw_get(index + 1)?).unwrap_or(0) as u8;
                }
            }
        }
        Ok(())
    }
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
    const META: &'static [&'static str] = &["__index", "__newindex", "__len", "__tostring"];

    fn is_single(&self) -> bool {
        self.is_single
    }

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Data>::new(lua)?;
        methods.add("__len", |_, data, _| Ok(data.lock().len()))?;
        methods.add("__tostring", |lua, data, _| Ok(lua.create_string(&*data.lock())?))?;
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
            if data.segment.is_some() {
                return Err(Raise::At("cannot resize external memory".to_string()));
            }
            with_room(lua, || data.lock().memory.resize(size)).ok_or_else(no_memory)
        })?;
        methods.add("segment", |_, data, arguments| {
            let offset = arguments.integer(2).unwrap_or(0);
            let length = (arguments.count() > 2).then(|| arguments.integer(3).unwrap_or(0));
            Ok(data.segment(offset, length).map(|segment| Object(Arc::new(segment))))
        })?;
        numbers(&methods)?;
        fields::add(lua, methods)
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
