//! Objects that are told apart at packet time: each has a number, which is what code knows of it.

use crate::value::{Abs, Object, Str};
use indexmap::IndexSet;

/// Objects by number.
#[derive(Default)]
pub struct Objects(IndexSet<Object>);

impl Objects {
    /// The object's number, which it gets if it has none yet.
    pub fn intern(&mut self, object: &Object) -> u32 {
        let found = self.0.get_index_of(object);
        found.unwrap_or_else(|| self.0.insert_full(object.clone()).0) as u32
    }

    /// The object with that number.
    pub fn get(&self, id: u32) -> Option<&Object> {
        self.0.get_index(id as usize)
    }

    /// The abstract value that the object with that number stands for.
    pub fn value(&self, id: u32) -> Abs {
        match self.get(id) {
            Some(Object::Text(text)) => Abs::Str(Str::Const(text.clone())),
            Some(object) => Abs::Object(object.clone()),
            None => Abs::Nil,
        }
    }
}
