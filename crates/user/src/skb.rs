//! Packets that netfilter has handed to a process, as handlers that are written for Lunatik get them: an `skb`, whose bytes `data` objects show.
//!
//! Methods, and what they raise, are those of Lunatik's `skb`. Bytes can be changed, and copies be sent; what has become of a packet is read off when its
//! handlers have returned, and from then on it can no longer be used.

mod bytes;
mod checksums;
mod methods;

use crate::metadata::Metadata;
use crate::{UserError, object};
use bytes::Bytes;
use mlua::{AnyUserData, Function, Lua, MultiValue, Value};
use moonhook_hook::QUEUE;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// A packet that waits, from its IP header on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub bytes: Vec<u8>,
    /// What its link has put in front of that, if that is known: nothing on links without headers.
    pub header: Option<Vec<u8>>,
    pub mark: u32,
    /// The interface that it came in by, or that it leaves by.
    pub interface: Option<u32>,
    /// The mark of its connection, if it belongs to one.
    pub connection_mark: Option<u32>,
}

/// What handlers have made of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The packet from its IP header on, if it has changed.
    pub bytes: Option<Vec<u8>>,
    pub connection_mark: Option<u32>,
    /// Where handlers have first asked for the mark of the packet's connection, and there was none.
    pub markless: Option<Line>,
    /// Frames to send, each by the interface with that number.
    pub sent: Vec<(u32, Vec<u8>)>,
}

/// A line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub file: String,
    pub number: usize,
}

/// What handlers have said of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// One of [`QUEUE`]'s.
    pub verdict: i32,
    /// The packet's mark from now on, if that is another.
    pub mark: Option<u32>,
}

/// Why handlers have said nothing.
#[derive(Debug)]
pub enum Refusal<E> {
    /// Calling one has failed.
    Failed(E),
    /// A number that is a verdict, and not for scripts.
    NoVerdict(i32),
}

/// What came of a packet.
#[derive(Debug)]
pub struct Asked<E> {
    pub said: Result<Said, Refusal<E>>,
    /// What was made of it, also after an error.
    pub changes: Changes,
}

/// The verdict of handlers which say nothing against a packet (`NF_ACCEPT`).
const ACCEPT: i32 = 1;

/// Verdicts there are (`NF_MAX_VERDICT`, include/uapi/linux/netfilter.h): other numbers accept.
const VERDICTS: RangeInclusive<i64> = 0..=5;

/// Makes packets of a Lua state.
pub struct Skbs {
    lua: Lua,
    sent: Sent,
}

/// Frames that handlers have sent; `None` where none is at work, and nothing can be sent.
type Sent = Rc<RefCell<Option<Vec<(u32, Vec<u8>)>>>>;

/// What an `skb` is.
pub(crate) struct Skb {
    /// `None` when its handlers have returned.
    bytes: Option<Bytes>,
    interface: Option<u32>,
    /// What it had when it was handed over.
    mark: u32,
    connection_mark: Option<u32>,
    /// Where handlers have set that.
    is_marked: bool,
    /// See [`Changes::markless`].
    markless: Option<Line>,
    /// The object that shows its bytes, where there is only one: packets have one, copies as many as they are asked for.
    window: Option<Value>,
    is_copy: bool,
}

impl Skbs {
    /// # Errors
    /// Lua has no memory left.
    pub fn new(lua: &Lua) -> Result<Skbs, UserError> {
        // SAFETY: `exec_raw` calls the closure under Lua's protection and with enough stack; the closure owns nothing.
        unsafe { lua.exec_raw::<()>((), |state| object::register(state)) }?;
        moonhook_load::put_empty_texts_outside(lua)?;
        let sent = Sent::default();
        methods::register(lua, &sent)?;
        Ok(Skbs { lua: lua.clone(), sent })
    }

    /// Asks handlers about a packet, in order, until one does not accept it; `call` calls them.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn ask<'f, E>(
        &self,
        handlers: impl Iterator<Item = &'f Function>,
        packet: &Waiting,
        mut call: impl FnMut(&Function, MultiValue) -> Result<MultiValue, E>,
    ) -> mlua::Result<Asked<E>> {
        let skb = self.make(packet)?;
        self.sent.replace(Some(Vec::new()));
        let mut said = Ok(Said { verdict: ACCEPT, mark: None });
        for handler in handlers {
            let before = said.as_ref().ok().and_then(|said| said.mark);
            let results = call(handler, MultiValue::from_iter([Value::UserData(skb.clone())]));
            said = match results {
                Ok(results) => self.said(results, before),
                Err(error) => Err(Refusal::Failed(error)),
            };
            if !matches!(said, Ok(Said { verdict: ACCEPT, .. })) {
                break;
            }
        }
        Ok(Asked { said, changes: self.end(&skb, packet)? })
    }

    /// What results mean: two of them count, as integers (`lua_tointeger`, Lua manual § 4.6).
    fn said<E>(&self, results: MultiValue, mark: Option<u32>) -> Result<Said, Refusal<E>> {
        let mut results = results.into_iter();
        let integer = |value: Option<Value>| self.lua.coerce_integer(value?).ok().flatten();
        // `(int)lua_tointeger`: 32 bits of it.
        let verdict = i64::from(integer(results.next()).unwrap_or(0) as u32);
        let verdict = if VERDICTS.contains(&verdict) { verdict as i32 } else { ACCEPT };
        let mark = match results.next() {
            None | Some(Value::Nil) => mark,
            other => Some(integer(other).unwrap_or(0) as u32),
        };
        match QUEUE.verdict(verdict) {
            Some(_) => Ok(Said { verdict, mark }),
            None => Err(Refusal::NoVerdict(verdict)),
        }
    }

    /// A packet for handlers.
    ///
    /// # Errors
    /// Lua has no memory left.
    fn make(&self, packet: &Waiting) -> mlua::Result<AnyUserData> {
        self.lua.create_any_userdata(Skb {
            bytes: Some(Bytes::new(&self.lua, packet.header.as_deref(), &packet.bytes)?),
            interface: packet.interface,
            mark: packet.mark,
            connection_mark: packet.connection_mark,
            is_marked: false,
            markless: None,
            window: None,
            is_copy: false,
        })
    }

    /// Ends a packet that [`Skbs::make`] has made of `packet`: what handlers have made of it.
    ///
    /// # Errors
    /// It is another's.
    fn end(&self, skb: &AnyUserData, packet: &Waiting) -> mlua::Result<Changes> {
        let sent = self.sent.take().unwrap_or_default();
        let mut skb = skb.borrow_mut::<Skb>()?;
        let (window, markless) = (skb.window.take(), skb.markless.take());
        let connection_mark = skb.connection_mark.filter(|_| skb.is_marked);
        let bytes = skb.bytes.take().map(|bytes| bytes.packet().to_vec());
        drop(skb);
        if let Some(window) = window {
            // SAFETY: `data` has pushed that object.
            unsafe { self.lua.exec_raw::<()>(window, |state| object::expire(state, 1)) }?;
        }
        let bytes = bytes.filter(|bytes| *bytes != packet.bytes);
        Ok(Changes { bytes, connection_mark, markless, sent })
    }
}

/// What the object that shows a packet's bytes has beside them.
fn metadata(skb: &Skb) -> Metadata {
    Metadata::received(skb.interface.unwrap_or(0), 0).marked(skb.mark)
}
