//! `pairs` and `next` of proxies: the entries come in the order of the map, which is none in particular.

use crate::convert::{argument, one, said};
use crate::proxy::Proxy;
use crate::table::Pairs;
use mlua::{Function, Lua, MultiValue, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// `__pairs`: an iterator of its own for each loop.
pub(crate) fn pairs(proxy: &Rc<Proxy>, lua: &Lua, arguments: &MultiValue) -> Result<MultiValue, String> {
    let traversal = RefCell::new(Pairs::default());
    let traversed = Rc::clone(proxy);
    let iterator = moonhook_load::raising(lua, move |lua, _| {
        Ok(advance(&traversed, lua, &mut traversal.borrow_mut())?.1)
    });
    let iterator = Value::Function(iterator.map_err(said)?);
    Ok(MultiValue::from_iter([iterator, argument(arguments, 0), Value::Nil]))
}

/// Where the last `next` of a table stands.
#[derive(Default)]
struct Traversal {
    pairs: Pairs,
    /// The bytes of the key that it gave.
    last: Option<Vec<u8>>,
}

/// What `next(proxy, key)` calls.
pub(crate) fn step(lua: &Lua, proxy: &Rc<Proxy>) -> mlua::Result<Function> {
    let traversal = RefCell::new(Traversal::default());
    let traversed = Rc::clone(proxy);
    moonhook_load::raising(lua, move |lua, arguments| {
        let traversal = &mut *traversal.borrow_mut();
        place(&traversed, traversal, &argument(&arguments, 1))?;
        let (last, results) = advance(&traversed, lua, &mut traversal.pairs)?;
        traversal.last = last;
        Ok(results)
    })
}

/// Brings the traversal behind `key`. A loop that goes on has it there already.
fn place(proxy: &Rc<Proxy>, traversal: &mut Traversal, key: &Value) -> Result<(), String> {
    if key.is_nil() {
        *traversal = Traversal::default();
        return Ok(());
    }
    let bytes = proxy.space.datum(key).ok().and_then(|key| proxy.table.key(&key).ok());
    let bytes = bytes.ok_or("invalid key to 'next'")?;
    if traversal.last.as_ref() == Some(&bytes) {
        return Ok(());
    }
    *traversal = Traversal::default();
    while let Some((found, _)) = traversal.pairs.next(&proxy.table).map_err(said)? {
        if found == bytes {
            return Ok(());
        }
    }
    Err("invalid key to 'next'".into())
}

/// The next key, as bytes, and what a traversal gives for it: key and value, or nil.
fn advance(proxy: &Proxy, lua: &Lua, pairs: &mut Pairs) -> Result<(Option<Vec<u8>>, MultiValue), String> {
    let Some((key, datum)) = pairs.next(&proxy.table).map_err(said)? else {
        return Ok((None, one(Value::Nil)));
    };
    let value = proxy.value(lua, &key, &datum).map_err(said)?;
    let results = MultiValue::from_iter([proxy.key(lua, &key).map_err(said)?, value]);
    Ok((Some(key), results))
}
