//! Moonhook's own functions and objects in general code: what [`moonhook_specialise::stubs`] makes, put into the program.

use super::General;
use super::computed;
use moonhook_ir as ir;
use moonhook_ir::{FunctionId, Loc};
use moonhook_specialise::note_fields::NoteFields;
use moonhook_specialise::shared::SharedTables;
use moonhook_specialise::structures::Structures;
use moonhook_specialise::stubs::{self, Stubs};
use moonhook_specialise::targets::Targets;
use moonhook_specialise::{Result, Stop};
use std::rc::Rc;

impl stubs::Host for General<'_> {
    fn module(&mut self) -> &mut ir::Module {
        &mut self.module
    }

    fn shared(&mut self) -> Option<&mut SharedTables> {
        Some(&mut self.shared.known)
    }

    fn targets(&self) -> Rc<Targets> {
        Rc::clone(&self.shared.targets)
    }

    fn notes(&self) -> Rc<NoteFields> {
        Rc::clone(&self.shared.notes)
    }

    fn structures(&self) -> Rc<Structures> {
        Rc::clone(&self.structures)
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

    fn is_spelled(&self, name: &[u8]) -> bool {
        self.reach.spelled.contains(name)
    }

    fn builtin(&mut self, name: &'static str) -> (i64, u64) {
        General::builtin(self, name)
    }
}

impl General<'_> {
    /// Has a stub made. The first failure is kept for the end.
    pub(super) fn stub<T>(&mut self, make: impl FnOnce(&mut Stubs<'_>) -> Result<T>) -> Option<T> {
        self.stub_at(Loc::default(), make)
    }

    /// The same, for code that a place of the script asks for.
    pub(super) fn stub_at<T>(
        &mut self,
        loc: Loc,
        make: impl FnOnce(&mut Stubs<'_>) -> Result<T>,
    ) -> Option<T> {
        let (snapshot, options) = (self.functions.snapshot, self.options);
        match make(&mut Stubs::new(snapshot, options, self.program, self).at(loc)) {
            Ok(made) => Some(made),
            Err(Stop::Error(error)) => {
                self.failure.get_or_insert(*error);
                None
            }
            Err(Stop::Restart) => {
                self.fail_internally("a function of the library cannot start over");
                None
            }
        }
    }

    /// The stub of a function of Moonhook's: `(context, state, base, count) -> results`.
    pub fn own(&mut self, name: &str) -> Option<FunctionId> {
        self.stub(|stubs| stubs.function(name)).flatten()
    }

    /// `(context, state) -> 0`: reports the error.
    pub fn report(&mut self) -> Option<FunctionId> {
        self.stub(|stubs| stubs.error())
    }

    /// `(context, anything) -> 0`: reports that this CPU has no memory.
    pub fn no_memory(&mut self) -> Option<FunctionId> {
        self.stub(|stubs| stubs.no_memory())
    }

    /// `(context, state) -> 0 | FAIL`: prepares packets that may lie in several pieces; `None` where none do.
    pub fn packet_preparation(&mut self) -> Option<FunctionId> {
        self.stub(|stubs| if stubs.prepares() { stubs.prepare().map(Some) } else { Ok(None) }).flatten()
    }

    /// `(state, verdict) -> 0`: counts the verdict.
    pub fn count_verdict(&mut self) -> Option<FunctionId> {
        self.stub(|stubs| stubs.count_verdict())
    }

    /// `(context, state) -> 0 | FAIL`: the assignment to a field of a packet object that `L_CALL_…` describe. `None` where functions
    /// assign fields of tables only.
    pub fn object_assignment(&mut self) -> Option<FunctionId> {
        let names = computed::assigned_names(&self.functions, &self.reach)?;
        self.stub(|stubs| stubs.assign(names.iter().map(|name| &**name)))
    }

    /// `(context, state, object, place) -> 0 | FAIL`: stores the field of that name of a packet object at an address. `None` where that takes more.
    pub fn object_field(&mut self, name: &[u8]) -> Option<FunctionId> {
        self.stub(|stubs| stubs.access_to(name)).flatten()
    }

    /// `(context, state) -> 0 | FAIL`: the access to a packet object that `L_CALL_…` describe.
    pub fn object_access(&mut self) -> Option<FunctionId> {
        let mut names: Vec<Vec<u8>> = self.reach.mentions.iter().map(|name| name.to_vec()).collect();
        names.sort();
        self.stub(|stubs| stubs.access(names.iter().map(Vec::as_slice)))
    }
}
