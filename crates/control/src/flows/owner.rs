//! The flows as the thread with the Lua state has them: it makes functions of texts, and programs of functions.

use super::heritage::Heritage;
use super::{Content, FlowEntry, FlowMaker, FlowTables, FunctionId};
use crate::{Control, ControlError};
use mlua::{Function, Lua, MultiValue};
use moonhook_diagnostic::Diagnostic;
use moonhook_flows::Flow;
use moonhook_load::{Base, CallError, Changed, FlowFunction, FlowOwner, Flows, Given};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The flows of a Lua state.
pub struct Owner {
    tables: Arc<Mutex<FlowTables>>,
    maker: RefCell<Box<dyn FlowMaker>>,
    base: Rc<RefCell<Base>>,
    /// The functions of this Lua state, by table and number.
    functions: RefCell<HashMap<FunctionId, FlowFunction>>,
    /// Which Lua state of the process it is.
    state: u64,
    /// How many functions have begun to be made, among other things ([`crate::Options::begun`]).
    begun: Arc<AtomicU64>,
    /// Flows of an earlier program, until the earlier one is gone.
    pub(super) heritage: RefCell<Option<Heritage>>,
}

/// The next state's number.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Owner {
    /// Functions are made of what `base` has.
    pub fn new(tables: Arc<Mutex<FlowTables>>, maker: Box<dyn FlowMaker>, base: Rc<RefCell<Base>>) -> Owner {
        base.borrow_mut().declare(maker.declared());
        let maker = RefCell::new(maker);
        let state = NEXT.fetch_add(1, Ordering::Relaxed);
        let (functions, heritage, begun) = Default::default();
        Owner { tables, maker, base, functions, state, begun, heritage }
    }

    /// Adds the functions that it begins to make to what is counted there.
    pub fn counted_in(self, begun: Arc<AtomicU64>) -> Owner {
        Owner { begun, ..self }
    }

    pub fn tables(&self) -> MutexGuard<'_, FlowTables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the flows of load time are still to be set; once.
    pub fn begin(&self) -> bool {
        !std::mem::replace(&mut self.tables().begun, true)
    }

    /// Makes the functions of flows that the scripts have set while they were loaded.
    ///
    /// # Errors
    /// `Flow` for the first that is refused.
    pub fn set_at_load_time(&self, (lua, flows): (&Lua, &Flows)) -> Result<(), ControlError> {
        for (table, set) in flows.at_load_time().into_iter().enumerate() {
            for (key, own) in set {
                let content = self.content(&own);
                self.give((lua, flows), table, &key, own).map_err(ControlError::Flow)?;
                self.tables().note_of_script(table, key, content);
            }
        }
        Ok(())
    }

    /// Lets time pass; gives when to be called again, if ever.
    pub fn turn(&self, flows: &Flows) -> Option<Instant> {
        let (gone, due) = self.tables().turn();
        if !gone.is_empty() {
            let (mut functions, mut maker) = (self.functions.borrow_mut(), self.maker.borrow_mut());
            for id in gone {
                maker.forget(id);
                if let Some(FlowFunction { source: Some(text), .. }) = functions.remove(&id) {
                    flows.forget_text(id.0, &text);
                }
            }
        }
        due
    }

    /// Gives a flow a function.
    ///
    /// # Errors
    /// What a stage refuses, or that there is no room; then the flow has the function that it had.
    pub fn give(
        &self,
        (lua, flows): (&Lua, &Flows),
        table: usize,
        key: &[u64],
        own: FlowFunction,
    ) -> Result<Changed, Box<Diagnostic>> {
        let begin = Instant::now();
        let number = self.number_of((lua, flows), table, own)?;
        let mut tables = self.tables();
        tables.assign(table, key, number).map_err(|error| refused(error.to_string()))?;
        let programs = &tables.tables[table].programs;
        let ((_, form), warnings) = (programs.about(number), programs.warnings(number));
        let took = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(Changed { took, form, warnings })
    }

    /// The number of a function, which is made if flows do not have it yet.
    ///
    /// # Errors
    /// What a stage refuses, or that there are too many.
    pub fn number_of(
        &self,
        state: (&Lua, &Flows),
        table: usize,
        own: FlowFunction,
    ) -> Result<u32, Box<Diagnostic>> {
        let content = self.content(&own);
        let known = self.tables().find(table, &content);
        known.map_or_else(|| self.make(state, table, content, own), Ok)
    }

    /// What a function is known by.
    fn content(&self, own: &FlowFunction) -> Content {
        match &own.source {
            Some(source) => Content::Text(source.clone()),
            None => Content::Function { state: self.state, address: own.function.to_pointer() as usize },
        }
    }

    /// What the flows were given that have a function.
    pub fn given(&self, id: FunctionId, content: Option<Content>) -> Given {
        match content {
            Some(Content::Text(text)) => Given::Text(text),
            _ => self.functions.borrow().get(&id).map_or(Given::Lost, FlowFunction::given),
        }
    }

    fn make(
        &self,
        (lua, flows): (&Lua, &Flows),
        table: usize,
        content: Content,
        own: FlowFunction,
    ) -> Result<u32, Box<Diagnostic>> {
        let number =
            self.tables().reserve(table).ok_or_else(|| refused("there are too many functions".into()))?;
        let made = self.made((lua, flows), (table, number), &own.function);
        let added = made.and_then(|made| {
            self.tables().add(table, number, content, made).map_err(|error| Box::new(error.diagnostic()))
        });
        match added {
            Ok(()) => {
                self.functions.borrow_mut().insert((table, number), own);
                Ok(number)
            }
            Err(error) => {
                self.tables().tables[table].programs.give_back(number);
                self.maker.borrow_mut().forget((table, number));
                own.source.iter().for_each(|text| flows.forget_text(table, text));
                Err(error)
            }
        }
    }

    pub fn made(
        &self,
        (lua, flows): (&Lua, &Flows),
        id: FunctionId,
        function: &Function,
    ) -> Result<super::MadeFunction, Box<Diagnostic>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let mut maker = self.maker.borrow_mut();
        let (points, texts) = (maker.points(id.0), |name: &str| flows.text_of(name));
        let mut base = self.base.borrow_mut();
        let made = base.with(lua, function, (&points, &texts), |snapshot| maker.make(snapshot, id));
        made.map_err(|error| Box::new(error.diagnostic()))?
    }
}

impl Control {
    /// Makes the functions of flows that the scripts have set while they were loaded, and of those that an earlier program has.
    pub(crate) fn begin_flows(&self, earlier: Option<Arc<Mutex<FlowTables>>>) -> Result<(), ControlError> {
        let Some(owner) = &self.flows else { return Ok(()) };
        let (lua, flows) = (&self.loaded.lua, &self.loaded.flows);
        if owner.begin() {
            owner.set_at_load_time((lua, flows))?;
        }
        flows.give_to(owner.clone(), self.bound.locals.clone());
        if let Some(earlier) = earlier {
            self.inherit(owner, Heritage::new(earlier));
        }
        Ok(())
    }

    /// Gives a flow the function that a text is, which messages call `name`.
    ///
    /// # Errors
    /// `NoSuchFlowTable`, `FlowKey`; `Call` for what Lua says of the text, `Flow` for what a stage refuses.
    pub fn set_flow(
        &mut self,
        table: Option<&str>,
        key: &str,
        (source, name): (&str, Option<&str>),
    ) -> Result<Changed, ControlError> {
        let begin = Instant::now();
        let none = || ControlError::NoSuchFlowTable {
            name: table.unwrap_or_default().to_string(),
            existing: Vec::new(),
        };
        let owner = self.flows.clone().ok_or_else(none)?;
        let (number, key) = owner.tables().place(table, key)?;
        let own = self.function_of(number, source, name)?;
        let state = (&self.loaded.lua, &self.loaded.flows);
        let changed = owner.give(state, number, &key, own).map_err(ControlError::Flow)?;
        Ok(Changed { took: u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX), ..changed })
    }

    /// The function that a text is, made within the limits of control code.
    pub(super) fn function_of(
        &self,
        table: usize,
        source: &str,
        name: Option<&str>,
    ) -> Result<FlowFunction, ControlError> {
        let made = Rc::new(RefCell::new(None));
        let (flows, result) = (self.loaded.flows.clone(), Rc::clone(&made));
        let (source, name) = (source.to_string(), name.map(str::to_string));
        let make = self.loaded.lua.create_function(move |lua, ()| {
            let function = flows.function_of(lua, table, &source, name.as_deref());
            result.replace(Some(function));
            Ok(())
        })?;
        let (called, _) = self.limited(&make, MultiValue::new());
        match (called, made.take()) {
            (Err(error), _) => Err(error.into()),
            (Ok(_), Some(function)) => {
                function.map_err(|message| ControlError::Call(CallError { message, traceback: Vec::new() }))
            }
            (Ok(_), None) => Err(ControlError::State("the function was not made".into())),
        }
    }
}

fn refused(problem: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::new("MH0708", problem).help("make the table larger (`capacity`), or delete flows"))
}

impl FlowOwner for Owner {
    fn place(&self, table: Option<&str>, key: &str) -> Result<(usize, Vec<u64>), String> {
        self.tables().place(table, key).map_err(|error| error.diagnostic().line())
    }

    fn set(
        &self,
        state: (&Lua, &Flows),
        table: usize,
        key: &[u64],
        function: FlowFunction,
    ) -> Result<Changed, String> {
        self.give(state, table, key, function).map_err(|diagnostic| diagnostic.line())
    }

    fn get(&self, table: usize, key: &[u64]) -> Option<(Given, Flow)> {
        let FlowEntry { flow, content, .. } = self.tables().get(table, key)?;
        Some((self.given((table, flow.function), content), flow))
    }

    fn delete(&self, table: usize, key: &[u64]) -> bool {
        self.tables().remove(table, key)
    }

    fn keys(&self, table: usize) -> Vec<Vec<u64>> {
        self.tables().flows(table).into_iter().map(|entry| entry.flow.key).collect()
    }
}
