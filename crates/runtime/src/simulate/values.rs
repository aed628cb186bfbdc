//! Lua values in arena memory, and calls of primitives with them.

use super::{Simulator, memory};
use crate::layout::*;

/// A Lua value as a test writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    String(Vec<u8>),
    /// Anything else, as it is in memory.
    Raw {
        tag: i64,
        payload: i64,
    },
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Boolean(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value::String(value.to_vec())
    }
}

impl Simulator {
    /// The payload of a string in packet memory.
    pub fn string(&self, bytes: &[u8]) -> i64 {
        let address = self.allocate(bytes.len());
        self.set_bytes(address, bytes);
        address | (bytes.len() as i64) << 32
    }

    /// The bytes that a string's payload stands for.
    pub fn text(&self, payload: i64) -> Vec<u8> {
        self.bytes(payload & 0xffff_ffff, (payload as u64 >> 32) as usize)
    }

    /// Puts a value at `address`; a string's bytes go to packet memory.
    pub fn set_value(&self, address: i64, value: &Value) {
        let (tag, payload) = match value {
            Value::Nil => (TAG_NIL, 0),
            Value::Boolean(truth) => (if *truth { TAG_TRUE } else { TAG_FALSE }, 0),
            Value::Integer(value) => (TAG_INT, *value),
            Value::Float(value) => (TAG_FLOAT, value.to_bits() as i64),
            Value::String(bytes) => (TAG_STRING, self.string(bytes)),
            Value::Raw { tag, payload } => (*tag, *payload),
        };
        self.store(address, 8, tag);
        self.store(address + 8, 8, payload);
    }

    pub fn value(&self, address: i64) -> Value {
        let payload = self.load(address + 8, 8);
        match self.load(address, 8) {
            TAG_NIL => Value::Nil,
            TAG_FALSE => Value::Boolean(false),
            TAG_TRUE => Value::Boolean(true),
            TAG_INT => Value::Integer(payload),
            TAG_FLOAT => Value::Float(f64::from_bits(payload as u64)),
            TAG_STRING => Value::String(self.text(payload)),
            tag => Value::Raw { tag, payload },
        }
    }

    /// Puts arguments where [`Simulator::base`] says; what lies above them is of no known type.
    pub fn put_arguments(&self, args: &[Value]) {
        args.iter().zip(0..).for_each(|(arg, index)| self.set_value(memory::BASE + 16 * index, arg));
        let above = memory::BASE + 16 * args.len() as i64;
        (0..16).for_each(|index| self.set_value(above + 16 * index, &Value::Raw { tag: 3, payload: -77 }));
    }

    /// Calls a primitive with these arguments: its results, or the message of the error that it raised.
    ///
    /// # Panics
    /// If the routine is wrong: it does not exist, fails in Lua, or fails without raising an error.
    pub fn call_primitive(&self, routine: &str, args: &[Value]) -> Result<Vec<Value>, String> {
        self.put_arguments(args);
        self.set_field(L_ERROR_TAG, TAG_NIL);
        let count = match self.call(routine, &[memory::STATE, memory::BASE, args.len() as i64]) {
            Ok(count) => count,
            Err(error) => panic!("{routine}: {error}"),
        };
        match count {
            FAIL => match self.finish_error() {
                Some(message) => Err(message),
                None => panic!("{routine} fails without an error"),
            },
            count => Ok((0..count).map(|index| self.value(memory::BASE - 16 + 16 * index)).collect()),
        }
    }

    /// The message of the error that has just made a routine fail; makes its text first, if that is still to be done.
    pub fn finish_error(&self) -> Option<String> {
        match self.call("finish_fault", &[memory::STATE]) {
            Ok(_) => self.error(),
            Err(error) => panic!("{error}"),
        }
    }

    /// The message of the last error whose text is made.
    pub fn error(&self) -> Option<String> {
        match self.value(memory::STATE + L_ERROR_TAG) {
            Value::Nil => None,
            Value::String(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(format!("{other:?}")),
        }
    }
}
