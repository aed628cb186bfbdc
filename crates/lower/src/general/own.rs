//! Moonhook's own functions and objects in general code: what [`super::thunks`] makes, put into the program.

use super::General;
use super::thunks::{self, Thunks};
use crate::context::{Result, Stop};
use crate::shared::SharedTables;
use moonhook_ir as ir;
use moonhook_ir::{FunctionId, Loc};

impl thunks::Host for General<'_> {
    fn module(&mut self) -> &mut ir::Module {
        &mut self.module
    }

    fn shared(&mut self) -> Option<&mut SharedTables> {
        Some(&mut self.shared.known)
    }

    fn placed(&self, name: &str) -> Option<FunctionId> {
        self.own.get(name).copied()
    }

    fn place(&mut self, function: ir::Function) -> FunctionId {
        let id = self.reserve();
        self.own.insert(function.name.clone(), id);
        self.functions_made[id.0 as usize] = Some(function);
        id
    }

    fn text(&mut self, text: &[u8]) -> u64 {
        self.image.text(text)
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        General::routine(self, name)
    }

    fn builtin(&mut self, name: &'static str) -> u64 {
        General::builtin(self, name).1
    }
}

impl General<'_> {
    /// Has a thunk made. The first failure is kept for the end.
    pub(super) fn thunk<T>(&mut self, make: impl FnOnce(&mut Thunks<'_>) -> Result<T>) -> Option<T> {
        self.thunk_at(Loc::default(), make)
    }

    /// The same, for code that a place of the script asks for.
    pub(super) fn thunk_at<T>(
        &mut self,
        loc: Loc,
        make: impl FnOnce(&mut Thunks<'_>) -> Result<T>,
    ) -> Option<T> {
        let (snapshot, options) = (self.functions.snapshot, self.options);
        match make(&mut Thunks::new(snapshot, options, self).at(loc)) {
            Ok(made) => Some(made),
            Err(Stop::Error(error)) => {
                self.failure.get_or_insert(*error);
                None
            }
            Err(Stop::Restart) => None,
        }
    }

    /// The thunk of a function of Moonhook's: `(context, state, base, count) -> results`.
    pub fn own(&mut self, name: &str) -> Option<FunctionId> {
        self.thunk(|thunks| thunks.function(name)).flatten()
    }

    /// `(context, state) -> 0`: reports the error.
    pub fn report(&mut self) -> Option<FunctionId> {
        self.thunk(|thunks| thunks.error())
    }

    /// `(context, anything) -> 0`: reports that this CPU has no memory.
    pub fn no_memory(&mut self) -> Option<FunctionId> {
        self.thunk(|thunks| thunks.no_memory())
    }

    /// `(context, state) -> 0 | FAIL`: prepares frames in several buffers.
    pub fn copy_frame(&mut self) -> Option<FunctionId> {
        self.thunk(|thunks| thunks.copy_frame())
    }

    /// `(state, verdict) -> 0`: counts the verdict.
    pub fn count_verdict(&mut self) -> Option<FunctionId> {
        self.thunk(|thunks| thunks.count_verdict())
    }

    /// `(context, state) -> 0 | FAIL`: the access to a packet object that `L_CALL_…` describe.
    pub fn object_access(&mut self) -> Option<FunctionId> {
        let mut names: Vec<Vec<u8>> = self.reach.mentions.iter().map(|name| name.to_vec()).collect();
        names.sort();
        self.thunk(|thunks| thunks.access(names.iter().map(Vec::as_slice)))
    }
}
