//! What goes from one state to another: objects, and in tables of `rcu` a few other values.

use std::sync::Arc;

use mlua::{IntoLua, Lua, Value};

use crate::class::Object;
use crate::modules::completion::Completion;
use crate::modules::data::Data;
use crate::modules::fifo::Fifo;
use crate::modules::rcu::Table;
use crate::modules::socket::Socket;
use crate::modules::thread::Thread;
use crate::runtime::Runtime;

/// What an error says where an object belongs to one state alone.
pub(crate) const SINGLE: &str = "cannot share SINGLE object";

/// An object that states may share.
#[derive(Clone)]
pub(crate) enum Shared {
    Completion(Arc<Completion>),
    Data(Arc<Data>),
    Fifo(Arc<Fifo>),
    Runtime(Arc<Runtime>),
    Socket(Arc<Socket>),
    Table(Arc<Table>),
    Thread(Arc<Thread>),
}

impl Shared {
    /// `None` for other values than objects.
    pub fn of(value: &Value) -> Option<Shared> {
        let object = value.as_userdata()?;
        macro_rules! any {
            ($($name:ident: $class:ty),*) => {
                $(if let Ok(object) = object.borrow::<Object<$class>>() {
                    return Some(Shared::$name(Arc::clone(&object)));
                })*
            };
        }
        any!(
            Completion: Completion, Data: Data, Fifo: Fifo, Runtime: Runtime, Socket: Socket, Table: Table,
            Thread: Thread
        );
        None
    }

    /// Whether it belongs to the state that has made it.
    pub fn is_single(&self) -> bool {
        matches!(self, Shared::Data(data) if data.is_single())
    }

    /// What errors call its class.
    pub fn name(&self) -> &'static str {
        match self {
            Shared::Completion(_) => "completion",
            Shared::Data(_) => "data",
            Shared::Fifo(_) => "fifo",
            Shared::Runtime(_) => "lunatik",
            Shared::Socket(_) => "socket",
            Shared::Table(_) => "rcu",
            Shared::Thread(_) => "thread",
        }
    }
}

impl IntoLua for Shared {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Shared::Completion(object) => Object(object).into_lua(lua),
            Shared::Data(object) => Object(object).into_lua(lua),
            Shared::Fifo(object) => Object(object).into_lua(lua),
            Shared::Runtime(object) => Object(object).into_lua(lua),
            Shared::Socket(object) => Object(object).into_lua(lua),
            Shared::Table(object) => Object(object).into_lua(lua),
            Shared::Thread(object) => Object(object).into_lua(lua),
        }
    }
}
