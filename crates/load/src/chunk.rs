//! Reader of precompiled chunks: what `string.dump` writes.
//!
//! Reads the format of Lua 5.5 (`ldump.c`, `lundump.c`) as this machine writes it: native byte order, 4-byte `int`, 8-byte
//! integers and floats. Adds nothing. Every length is checked against the input before memory is taken for it.

use std::sync::Arc;

use moonhook_snapshot::{LocalVariable, Lookup, Prototype, PrototypeId, SourceId, UpvalueDescription, Value};

/// A function as it stands in a chunk, with the functions inside it.
#[derive(Debug, Default, PartialEq)]
pub struct Function {
    /// The chunk name, with its `@` or `=`.
    pub source: Option<Arc<[u8]>>,
    pub line_defined: u32,
    pub last_line_defined: u32,
    pub parameters: u8,
    pub is_vararg: bool,
    pub vararg_table: bool,
    pub stack_size: u8,
    pub code: Vec<u32>,
    pub lines: Vec<u32>,
    pub constants: Vec<Value>,
    pub upvalues: Vec<UpvalueDescription>,
    pub functions: Vec<Function>,
    pub locals: Vec<LocalVariable>,
}

impl Function {
    /// What a snapshot has of it, its source and the functions inside it being these.
    pub fn into_prototype(self, source: Option<SourceId>, prototypes: Vec<PrototypeId>) -> Prototype {
        Prototype {
            source,
            line_defined: self.line_defined,
            last_line_defined: self.last_line_defined,
            parameters: self.parameters,
            is_vararg: self.is_vararg,
            vararg_table: self.vararg_table,
            stack_size: self.stack_size,
            code: self.code,
            lines: self.lines,
            constants: self.constants,
            upvalues: self.upvalues,
            prototypes,
            locals: self.locals,
            lookup: Lookup::default(),
        }
    }
}

/// Why bytes are not a chunk of this Lua.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("the chunk ends early")]
    Truncated,
    #[error("the chunk's header is not that of Lua 5.5 on this machine")]
    Header,
    #[error("a number in the chunk is too large")]
    Overflow,
    #[error("the chunk refers to a string it does not hold")]
    String,
    #[error("the chunk has a constant of unknown type {0}")]
    Constant(u8),
    #[error("the chunk's line information is inconsistent")]
    Lines,
    #[error("the chunk nests functions too deeply")]
    Depth,
}

pub type Result<T> = std::result::Result<T, ChunkError>;

/// `LUAC_DATA`, `LUAC_INT`, `LUAC_INST`, `LUAC_NUM` of `lundump.h` between version 5.5, format 0, and the sizes.
const SIGNATURE: &[u8] = b"\x1bLua\x55\x00\x19\x93\r\n\x1a\n";
const CHECK_INT: i32 = -0x5678;
const CHECK_INSTRUCTION: u32 = 0x1234_5678;
const CHECK_NUMBER: f64 = -370.5;

/// `PF_VAHID` and `PF_VATAB` of `lobject.h`.
const VARARG_FLAGS: u8 = 1 | VARARG_TABLE_FLAG;
/// `PF_VATAB`.
const VARARG_TABLE_FLAG: u8 = 2;

/// In `lineinfo`: the line stands in `abslineinfo` (`ldebug.h`, `ABSLINEINFO`).
const ABSOLUTE_LINE: i8 = -0x80;

/// Lua's parser nests functions less deeply (`LUAI_MAXCCALLS`).
const MAX_DEPTH: u32 = 250;

/// The function in a chunk.
pub fn read(bytes: &[u8]) -> Result<Function> {
    let mut reader = Reader { bytes, offset: 0, strings: Vec::new(), depth: 0 };
    reader.header()?;
    reader.byte()?; // number of upvalues of the closure; the function has it too
    reader.function()
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// Strings met so far; later uses refer to them by number, from 1.
    strings: Vec<Arc<[u8]>>,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.offset.checked_add(length).ok_or(ChunkError::Truncated)?;
        let taken = self.bytes.get(self.offset..end).ok_or(ChunkError::Truncated)?;
        self.offset = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| ChunkError::Truncated)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn align(&mut self, alignment: usize) -> Result<()> {
        self.take(self.offset.next_multiple_of(alignment) - self.offset).map(drop)
    }

    /// Seven bits a byte, most significant first; the last byte has its top bit clear.
    fn varint(&mut self) -> Result<u64> {
        let mut value: u64 = 0;
        loop {
            let byte = self.byte()?;
            if value > u64::MAX >> 7 {
                return Err(ChunkError::Overflow);
            }
            value = value << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
    }

    fn int(&mut self) -> Result<u32> {
        let value = self.varint()?;
        i32::try_from(value).map(|value| value as u32).map_err(|_| ChunkError::Overflow)
    }

    /// The number of elements of a vector, each of which takes `size` bytes at least.
    fn count(&mut self, size: usize) -> Result<usize> {
        let count = self.int()? as usize;
        let left = self.bytes.len() - self.offset;
        if count > left / size { Err(ChunkError::Truncated) } else { Ok(count) }
    }

    /// Zigzag: 2x for x ≥ 0, else −2x − 1.
    fn integer(&mut self) -> Result<i64> {
        let coded = self.varint()?;
        let half = (coded >> 1) as i64;
        Ok(if coded & 1 == 0 { half } else { !half })
    }

    /// Length plus 1, bytes and a NUL; or 0 and the number of an earlier string, 0 for none.
    fn string(&mut self) -> Result<Option<Arc<[u8]>>> {
        let size = usize::try_from(self.varint()?).map_err(|_| ChunkError::Overflow)?;
        if size > 0 {
            let bytes = self.take(size)?;
            let string: Arc<[u8]> = Arc::from(&bytes[..size - 1]);
            self.strings.push(string.clone());
            return Ok(Some(string));
        }
        let number = usize::try_from(self.varint()?).map_err(|_| ChunkError::Overflow)?;
        match number.checked_sub(1) {
            None => Ok(None),
            Some(index) => self.strings.get(index).cloned().map(Some).ok_or(ChunkError::String),
        }
    }

    fn name(&mut self) -> Result<String> {
        Ok(self.string()?.map_or_else(String::new, |bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn header(&mut self) -> Result<()> {
        let same = self.take(SIGNATURE.len())? == SIGNATURE
            && self.byte()? == 4
            && i32::from_ne_bytes(self.array()?) == CHECK_INT
            && self.byte()? == 4
            && u32::from_ne_bytes(self.array()?) == CHECK_INSTRUCTION
            && self.byte()? == 8
            && i64::from_ne_bytes(self.array()?) == i64::from(CHECK_INT)
            && self.byte()? == 8
            && f64::from_ne_bytes(self.array()?) == CHECK_NUMBER;
        if same { Ok(()) } else { Err(ChunkError::Header) }
    }

    fn function(&mut self) -> Result<Function> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ChunkError::Depth);
        }
        let (line_defined, last_line_defined) = (self.int()?, self.int()?);
        let (parameters, flags) = (self.byte()?, self.byte()?);
        let mut function = Function {
            line_defined,
            last_line_defined,
            parameters,
            is_vararg: flags & VARARG_FLAGS != 0,
            vararg_table: flags & VARARG_TABLE_FLAG != 0,
            stack_size: self.byte()?,
            ..Function::default()
        };
        function.code = self.code()?;
        function.constants = self.constants()?;
        function.upvalues = self.upvalues()?;
        for _ in 0..self.count(1)? {
            function.functions.push(self.function()?);
        }
        function.source = self.string()?;
        self.debug(&mut function)?;
        self.depth -= 1;
        Ok(function)
    }

    fn code(&mut self) -> Result<Vec<u32>> {
        let count = self.count(4)?;
        self.align(4)?;
        (0..count).map(|_| Ok(u32::from_ne_bytes(self.array()?))).collect()
    }

    /// Type tags of `lobject.h`: the basic type in the low four bits, the variant above.
    fn constants(&mut self) -> Result<Vec<Value>> {
        let count = self.count(1)?;
        (0..count)
            .map(|_| match self.byte()? {
                0x00 => Ok(Value::Nil),
                0x01 => Ok(Value::Boolean(false)),
                0x11 => Ok(Value::Boolean(true)),
                0x03 => Ok(Value::Integer(self.integer()?)),
                0x13 => Ok(Value::Float(f64::from_ne_bytes(self.array()?))),
                0x04 | 0x14 => self.string()?.map(Value::String).ok_or(ChunkError::String),
                tag => Err(ChunkError::Constant(tag)),
            })
            .collect()
    }

    /// Without the names, which come with the debug information.
    fn upvalues(&mut self) -> Result<Vec<UpvalueDescription>> {
        let count = self.count(3)?;
        (0..count)
            .map(|_| {
                let [in_stack, index, _kind] = self.array()?;
                Ok(UpvalueDescription { name: String::new(), in_stack: in_stack != 0, index })
            })
            .collect()
    }

    fn debug(&mut self, function: &mut Function) -> Result<()> {
        let count = self.count(1)?;
        let steps = self.take(count)?;
        let absolute = self.absolute_lines()?;
        function.lines = lines(function.line_defined, steps, &absolute)?;
        if !function.lines.is_empty() && function.lines.len() != function.code.len() {
            return Err(ChunkError::Lines);
        }
        for _ in 0..self.count(3)? {
            let local = LocalVariable { name: self.name()?, start_pc: self.int()?, end_pc: self.int()? };
            function.locals.push(local);
        }
        let named = self.int()?;
        if named != 0 {
            for index in 0..function.upvalues.len() {
                function.upvalues[index].name = self.name()?;
            }
        }
        Ok(())
    }

    /// Pairs of instruction number and line.
    fn absolute_lines(&mut self) -> Result<Vec<(u32, u32)>> {
        let count = self.count(8)?;
        if count > 0 {
            self.align(4)?;
        }
        (0..count)
            .map(|_| Ok((u32::from_ne_bytes(self.array()?), u32::from_ne_bytes(self.array()?))))
            .collect()
    }
}

/// One line for each instruction, from differences to the line before (`ldebug.c`, `luaG_getfuncline`).
fn lines(line_defined: u32, steps: &[u8], absolute: &[(u32, u32)]) -> Result<Vec<u32>> {
    let mut line = line_defined;
    let mut absolute = absolute.iter();
    steps
        .iter()
        .enumerate()
        .map(|(pc, &step)| {
            let step = step as i8;
            if step == ABSOLUTE_LINE {
                match absolute.next() {
                    Some(&(at, exact)) if at as usize == pc => line = exact,
                    _ => return Err(ChunkError::Lines),
                }
            } else {
                line = line.checked_add_signed(step.into()).ok_or(ChunkError::Lines)?;
            }
            Ok(line)
        })
        .collect()
}

#[cfg(test)]
mod tests;
