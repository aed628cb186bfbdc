//! Values of unknown type: one piece of code for each type that the value can have.

use crate::context::{Context, Result};
use crate::error::{LowerError, LowerErrorKind};
use crate::events::Message;
use crate::findings::Findings;
use crate::interned::Objects;
use crate::objects;
use crate::paths::Arm;
use crate::sites::Site;
use crate::state::{Slot, State};
use crate::value::{Abs, Union, Variant};
use moonhook_ir::CompareOp;
use moonhook_ir::Piece;
use moonhook_ir::words::{Branches, PathState, Words};
use std::borrow::Cow;

/// Alternatives that are told apart one after another: of some more, general code, which has objects in memory, finds the right one
/// sooner.
const MOST: usize = 2000;

impl Context<'_> {
    /// Splits the current state by the variant of `value`: in each resulting state, the value is the given concrete one,
    /// also in every variable that holds it.
    ///
    /// # Errors
    /// A refusal where there are very many, and there is a form without them.
    pub fn alternatives(&mut self, value: &Abs) -> Result<Vec<(State, Abs)>> {
        let Abs::Union(union) = value else { return Ok(vec![(self.take_state(), value.clone())]) };
        let count = union.variants.len();
        if count > MOST && self.options.max_work.is_some() {
            let help = "keep numbers or strings in the table, which are data, instead of tables or functions";
            return self.unsupported(format!("telling {count} tables or functions apart"), help, None);
        }
        let mut result = Vec::new();
        let has_entry = has_entry(union);
        for (index, variant) in union.variants.iter().enumerate() {
            let state = if index + 1 == union.variants.len() {
                self.take_state()
            } else {
                self.split_variant(union, *variant, has_entry)
            };
            if !state.alive() {
                continue;
            }
            let concrete = self.known.objects.concrete(union, *variant);
            result.push((narrow(state, union, &concrete), concrete));
        }
        Ok(result)
    }

    /// Splits off the states in which `value` is none of what `kept`, a part of it, may be. What is left becomes the current state.
    pub fn split_off(&mut self, value: &Union, kept: &Union) -> Vec<(State, Abs)> {
        let is_kept = |variant: &&Variant| kept.variants.binary_search(variant).is_ok();
        let mut result = Vec::new();
        for variant in value.variants.iter().filter(|variant| !is_kept(variant)) {
            let state = self.split_variant(value, *variant, has_entry(value));
            let concrete = self.known.objects.concrete(value, *variant);
            if state.alive() {
                result.push((narrow(state, value, &concrete), concrete));
            }
        }
        let state = self.take_state();
        self.state = narrow(state, value, &Abs::Union(kept.clone().into()));
        result
    }

    /// The current state as the only path, with one value.
    pub fn only(&mut self, value: Abs) -> Result<Vec<Arm>> {
        let state = self.take_state();
        Ok(vec![Arm { state, values: vec![value] }])
    }

    /// The paths that `body` makes for each concrete value that `value` may be.
    ///
    /// # Errors
    /// Those of [`Context::alternatives`] and of `body`.
    pub fn arms_of_each(
        &mut self,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, &Abs) -> Result<Vec<Arm>>,
    ) -> Result<Vec<Arm>> {
        let mut arms = Vec::new();
        for (state, value) in self.alternatives(value)? {
            self.state = state;
            arms.extend(body(self, &value)?);
        }
        Ok(arms)
    }

    /// Splits the current state into those in which `value` is true and those in which it is false (Lua manual § 3.3.4),
    /// with what that says of the value noted in each.
    pub fn split_truth(&mut self, value: &Abs) -> (Vec<State>, Vec<State>) {
        match (value, value.truth()) {
            (_, Some(true)) => (vec![self.take_state()], vec![]),
            (_, Some(false)) => (vec![], vec![self.take_state()]),
            (Abs::Bool(word), None) => {
                let cond = self.compare_apart(CompareOp::Ne, *word, 0);
                let (then, otherwise) = self.split(cond);
                (vec![then], vec![otherwise])
            }
            (Abs::Union(union), _) => self.split_union_truth(union),
            (_, None) => (vec![self.take_state()], vec![]),
        }
    }

    fn split_union_truth(&mut self, union: &Union) -> (Vec<State>, Vec<State>) {
        let (mut truthy, mut falsy) = (Vec::new(), Vec::new());
        let mut rest = union.variants.clone();
        for variant in [Variant::Nil, Variant::Bool] {
            if !rest.contains(&variant) {
                continue;
            }
            rest.retain(|other| *other != variant);
            let state = if rest.is_empty() {
                self.take_state()
            } else {
                self.split_variant(union, variant, has_entry(union))
            };
            let concrete = self.known.objects.concrete(union, variant);
            self.with_state(narrow(state, union, &concrete), |context| {
                let (yes, no) = context.split_truth(&concrete);
                truthy.extend(yes);
                falsy.extend(no);
            });
        }
        if let Some(first) = rest.first() {
            let value = match rest.len() {
                1 => self.known.objects.concrete(union, *first),
                _ => Abs::Union(Union { variants: rest, ..union.clone() }.into()),
            };
            let state = self.take_state();
            truthy.push(narrow(state, union, &value));
        }
        (truthy, falsy)
    }

    /// Splits the current state: where the value has that variant, which is not its last one, and the rest, which becomes the
    /// current state. `has_entry` is what [`has_entry`] says of the value.
    fn split_variant(&mut self, union: &Union, variant: Variant, has_entry: bool) -> State {
        let address = union.payload[0];
        let cond = match (union.variants.as_slice(), variant) {
            (_, Variant::Entry(_)) => self.compare(CompareOp::Ne, address, 0),
            ([Variant::Nil, Variant::Entry(_)], _) => self.compare(CompareOp::Eq, address, 0),
            _ if has_entry => self.compare(CompareOp::Eq, union.tag, variant.tag()),
            _ => self.compare_apart(CompareOp::Eq, union.tag, variant.tag()),
        };
        let (mut then, mut otherwise) = self.split(cond);
        match (union.variants.as_slice(), variant) {
            (_, Variant::Entry(_)) => self.known.shared.additions.note_no_entry(&mut otherwise, address),
            ([Variant::Nil, Variant::Entry(_)], _) => {
                self.known.shared.additions.note_no_entry(&mut then, address)
            }
            (_, Variant::Nil) => {
                self.known.shared.additions.note_tag(&mut then, union.tag, Variant::Nil.tag())
            }
            _ => {}
        }
        self.state = otherwise;
        then
    }

    /// Runs `body` in `state` and comes back.
    fn with_state(&mut self, state: State, body: impl FnOnce(&mut Self)) {
        let here = std::mem::replace(&mut self.state, state);
        body(self);
        self.state = here;
    }

    /// Runs `body` for each concrete alternative of `value` and joins what comes out.
    pub fn dispatch(
        &mut self,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, Abs) -> Result<Vec<Abs>>,
    ) -> Result<Vec<Abs>> {
        if !matches!(value, Abs::Union(_)) {
            return body(self, value.clone());
        }
        let mut arms = Vec::new();
        for (state, concrete) in self.alternatives(value)? {
            self.state = state;
            let values = body(self, concrete)?;
            arms.push(Arm { state: self.take_state(), values });
        }
        Ok(self.join(arms)?.unwrap_or_default())
    }

    /// [`Context::dispatch`] for one result.
    pub fn dispatch_one(
        &mut self,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, Abs) -> Result<Abs>,
    ) -> Result<Abs> {
        let values = self.dispatch(value, &mut |context, value| Ok(vec![body(context, value)?]))?;
        Ok(values.into_iter().next().unwrap_or(Abs::Nil))
    }

    /// An error that happens whenever the current instruction is executed in this state: a run-time error, and a warning about
    /// the script if the instruction is never executed without an error.
    pub fn certain_error(
        &mut self,
        message: impl AsRef<[u8]>,
        name: Option<&str>,
        help: impl Into<Cow<'static, str>>,
    ) {
        self.note_certain(message.as_ref(), name, help.into());
        self.fail_unnoted(Message::new(message));
    }

    /// The run-time error that an object has no field of that name. The script is refused if the name stands in the code and the
    /// instruction never finds such a field, in whatever object. A name that is computed is data of the script: only a warning.
    pub fn missing_field(&mut self, missing: LowerErrorKind, name: &str) {
        if !self.state.alive() {
            return;
        }
        let message = missing.to_string();
        let kind = match self.execution.has_constant_key() {
            true => missing,
            false => {
                let help = "test which header it is before its fields are read";
                LowerErrorKind::CertainError { message: message.clone(), help: help.into() }
            }
        };
        self.findings
            .certain
            .push((self.execution.site(), LowerError { kind, place: self.place(Some(name)).into() }));
        self.fail_unnoted(Message::new(message));
    }

    fn note_certain(&mut self, message: &[u8], name: Option<&str>, help: Cow<'static, str>) {
        if self.state.alive() {
            let message = String::from_utf8_lossy(message).into_owned();
            let kind = LowerErrorKind::CertainError { message, help };
            self.findings
                .certain
                .push((self.execution.site(), LowerError { kind, place: self.place(name).into() }));
        }
    }

    /// An error of the current instruction in some state, of code that is not rolled back. What few packets come to is what a check has found.
    pub fn note_failed(&mut self, message: &Message) {
        let is_checked = self.state.block.is_none_or(|block| self.code.function.block(block).cold);
        let (false, Some(site), [Piece::Text(text)]) =
            (is_checked, self.execution.site(), message.pieces.as_slice())
        else {
            return;
        };
        let message = String::from_utf8_lossy(text).into_owned();
        let kind = LowerErrorKind::CertainError { message, help: AS_WRITTEN.into() };
        self.findings.failed.push((site, LowerError { kind, place: self.place(None).into() }));
    }

    /// A run-time error about a value, which is not certain if the value came out of a union.
    pub fn type_error(&mut self, message: impl AsRef<[u8]>, certain: bool, name: Option<&str>) {
        if certain {
            self.note_certain(message.as_ref(), name, CHECK.into());
        }
        self.fail_unnoted(Message::new(message));
    }

    /// [`Context::type_error`] where a library function meets the value: no position stands before the message (`luaG_runerror`).
    pub fn type_error_in_library(&mut self, message: impl AsRef<[u8]>, certain: bool, name: Option<&str>) {
        if certain {
            self.note_certain(message.as_ref(), name, CHECK.into());
        }
        self.fail_unnoted(Message::bare(message));
    }
}

impl Findings {
    /// A misspelt name among the errors that are certain so far: one that no packet and no header has.
    pub fn misspelt(&self) -> Option<Box<LowerError>> {
        let is = |(site, error): &(Option<Site>, LowerError)| {
            let LowerErrorKind::NoSuchField { field, .. } = &error.kind else { return false };
            self.never_passed(*site) && objects::field_names().all(|name| name != field)
        };
        self.certain.iter().find(|certain| is(certain)).map(|(_, error)| Box::new(error.clone()))
    }
}

impl Objects {
    pub fn concrete(&self, union: &Union, variant: Variant) -> Abs {
        match variant {
            Variant::Object(id) => self.value(id),
            variant => variant.value(union.payload).unwrap_or(Abs::Nil),
        }
    }
}

/// What helps against an error that does not depend on packets.
const AS_WRITTEN: &str =
    "it does not depend on the packet: write the call or the value otherwise, or take it out";

const CHECK: &str = "check the value before it is used";

/// Whether it may be an entry of a shared table.
fn has_entry(union: &Union) -> bool {
    union.variants.iter().any(|variant| matches!(variant, Variant::Entry(_)))
}

/// The state with `union` replaced by one of its alternatives wherever it is held.
fn narrow(mut state: State, union: &Union, concrete: &Abs) -> State {
    let same = |value: &Abs| {
        // What is held is nearly always the value itself: its variants are not compared once for each of them.
        matches!(value, Abs::Union(held) if std::ptr::eq(&**held, union) || **held == *union)
    };
    let holds = |slot: &Slot| matches!(slot, Slot::Direct(value) if same(value));
    if state.registers.iter().any(holds) {
        for slot in state.registers.iter_mut().filter(|slot| holds(slot)) {
            *slot = Slot::Direct(concrete.clone());
        }
    }
    if state.cells.values().any(same) {
        state.cells.values_mut().filter(|value| same(value)).for_each(|value| *value = concrete.clone());
    }
    state
}
