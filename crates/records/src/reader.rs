//! The words and strings of a record.

use crate::conversion::Argument;
use moonhook_ir::ArgumentKind;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A record that its event's description does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event record cannot be read: {problem}")]
pub struct RecordError {
    problem: &'static str,
}

/// Of a record whose function of flows is gone.
pub(crate) const GONE: RecordError = problem("its function is gone");

impl RecordError {
    /// The record is one of a function of flows that is gone: it was in the ring for longer than is remembered, or behind many others.
    pub fn is_of_gone(&self) -> bool {
        *self == GONE
    }
}

pub(crate) const fn problem(problem: &'static str) -> RecordError {
    RecordError { problem }
}

/// The rest of a record. Numbers are in the machine's byte order.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(problem("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, RecordError> {
        let bytes = self.take(4)?.try_into().map_err(|_| problem("it ends early"))?;
        Ok(u32::from_ne_bytes(bytes))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, RecordError> {
        let bytes = self.take(8)?.try_into().map_err(|_| problem("it ends early"))?;
        Ok(u64::from_ne_bytes(bytes))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], RecordError> {
        let length = usize::try_from(self.u64()?).map_err(|_| problem("a string is too long"))?;
        let bytes = self.take(length)?;
        self.take((8 - length % 8) % 8)?;
        Ok(bytes)
    }

    /// An argument that is an integer.
    pub(crate) fn integer(&mut self) -> Result<i64, RecordError> {
        match self.argument()? {
            Argument::Integer(integer) => Ok(integer),
            _ => Err(problem("no integer where one should be")),
        }
    }

    /// Whether a record comes next; if so, how many fields it has.
    pub(crate) fn fields(&mut self) -> Result<Option<u64>, RecordError> {
        let mut ahead = Reader(self.0);
        if ahead.u64()? != ArgumentKind::Record as u64 {
            return Ok(None);
        }
        let count = ahead.u64()?;
        self.0 = ahead.0;
        Ok(Some(count))
    }

    pub(crate) fn argument(&mut self) -> Result<Argument<'a>, RecordError> {
        const NIL: u64 = ArgumentKind::Nil as u64;
        const BOOLEAN: u64 = ArgumentKind::Boolean as u64;
        const INTEGER: u64 = ArgumentKind::Integer as u64;
        const STRING: u64 = ArgumentKind::String as u64;
        const IPV4: u64 = ArgumentKind::Ipv4 as u64;
        const IPV6: u64 = ArgumentKind::Ipv6 as u64;
        const MAC: u64 = ArgumentKind::Mac as u64;
        const CUT_STRING: u64 = ArgumentKind::CutString as u64;
        const FLOAT: u64 = ArgumentKind::Float as u64;
        const ENTRY: u64 = ArgumentKind::Entry as u64;
        Ok(match self.u64()? {
            NIL => Argument::Nil,
            BOOLEAN => Argument::Boolean(self.u64()? != 0),
            INTEGER => Argument::Integer(self.u64()? as i64),
            FLOAT => Argument::Float(self.u64()?),
            STRING => Argument::String(self.string()?),
            CUT_STRING => Argument::CutString(self.string()?),
            IPV4 => Argument::Ipv4(Ipv4Addr::from_bits(self.u64()? as u32)),
            IPV6 => {
                let (high, low) = (self.u64()?, self.u64()?);
                Argument::Ipv6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)))
            }
            MAC => {
                let [_, _, address @ ..] = self.u64()?.to_be_bytes();
                Argument::Mac(address)
            }
            ENTRY => Argument::String(b"table: entry"),
            _ => return Err(problem("unknown kind of argument")),
        })
    }
}
