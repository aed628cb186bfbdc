//! Variables that functions of flows have alone: a function that is made once more goes on with them.

use crate::{EngineError, duplicate};
use moonhook_control::FunctionId;
use moonhook_install::Program;
use moonhook_ir::maps::{self, goes_by};
use moonhook_ir::{Map, MapKind, Module, Variable, VariableContent};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Variables of a function, and the map in which those are that only it has.
pub struct Own {
    pub variables: Vec<Variable>,
    pub map: OwnedFd,
}

/// What functions have, as long as there are these.
pub type OwnVariables = HashMap<FunctionId, Arc<Own>>;

/// The map of a module's in which variables are that its function has alone: where the script has none, that is called as the script's would be.
pub fn map_of(module: &Module) -> Option<&Map> {
    let named = |wanted: &str| {
        let is_it = |map: &&Map| map.name == wanted && matches!(map.kind, MapKind::Data(_));
        module.maps.iter().find(is_it)
    };
    named(maps::OWN_STATE).or_else(|| named(maps::STATE))
}

impl Own {
    /// Adds the map to those that a module of the same function has in common with others, by the name of its section, if the variables there
    /// are the same, and are not the script's.
    pub fn add_to<'a>(&'a self, module: &Module, common: &mut crate::Maps<'a>) {
        let Some(own) = map_of(module).filter(|_| module.arena().is_none()) else { return };
        let is_scripts = common.iter().any(|(name, _)| goes_by(&own.name, name));
        if !is_scripts && are_same(&self.variables, &module.variables) {
            common.push((maps::data_section(&own.name), self.map.as_fd()));
        }
    }
}

/// Whether words of the ones mean the same in the others.
fn are_same(ones: &[Variable], others: &[Variable]) -> bool {
    let has_object = |variable: &Variable| {
        variable.kinds.iter().any(|kind| matches!(kind.content, VariableContent::Object(_)))
    };
    let is_same = |(one, other): (&Variable, &Variable)| {
        let about = |of: &Variable| (of.name.clone(), of.offset, of.ty.clone(), of.kinds.clone());
        about(one) == about(other) && !has_object(one)
    };
    ones.len() == others.len() && ones.iter().zip(others).all(is_same)
}

/// That map of a program's that was made of `module`.
///
/// # Errors
/// `Resource` where there are no descriptors left.
pub fn map_in(program: &Program, module: &Module) -> Result<Option<OwnedFd>, EngineError> {
    let Some(own) = map_of(module) else { return Ok(None) };
    let mut names = program.map_names();
    let name = names.find(|name| goes_by(&own.name, name)).map(|name| name.to_string());
    name.map(|name| duplicate(program.map_fd(&name)?)).transpose()
}
