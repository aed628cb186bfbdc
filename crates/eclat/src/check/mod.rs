//! Names and types: a script as it is written becomes one that can be compiled.
//!
//! Variables live as long as the block in which they got their type, as in C, which the reference prints.

mod configuration;
mod expression;
mod lines;
mod order;
mod types;

use crate::ast::{Chain, Constant, Expression, ExpressionKind, Import, Script, Type};
use crate::error::{CheckError, CheckErrorKind};
use crate::token::At;
use crate::tree::{self, Chains, Program, Variable, VariableId};
use std::cell::RefCell;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, CheckError>;

/// The chains of a script that is called `file`.
///
/// # Errors
/// What names nothing, and what C would refuse.
pub fn check(script: &Script, file: &str) -> Result<Chains> {
    let names = Names::of(script)?;
    let chains = script.chains.iter().map(|chain| Scope::chain(&names, chain)).collect::<Result<Vec<_>>>()?;
    order::check(&chains)?;
    let contents = configuration::contents(script, &names)?;
    let attachments = configuration::attachments(script, &names)?;
    let (programs, reads) = (names.programs, names.reads.into_inner());
    Ok(Chains { file: file.into(), chains, programs, reads, contents, attachments })
}

impl Chains {
    /// The numbers of the chains that others call.
    pub fn called(&self) -> impl Iterator<Item = usize> + '_ {
        order::called(&self.chains)
    }
}

/// What all chains know.
struct Names<'a> {
    constants: HashMap<&'a str, &'a Expression>,
    chains: HashMap<&'a str, (usize, &'a Chain)>,
    script: &'a Script,
    programs: Vec<Program>,
    /// Programs' numbers.
    numbers: HashMap<&'a str, usize>,
    /// What chains read of maps.
    reads: RefCell<Vec<tree::MapRead>>,
}

impl<'a> Names<'a> {
    fn of(script: &'a Script) -> Result<Names<'a>> {
        let (constants, chains, numbers) = Default::default();
        let (programs, reads) = (Vec::new(), RefCell::default());
        let mut names = Names { constants, chains, script, programs, numbers, reads };
        for import in &script.imports {
            for (name, at) in &import.names {
                names.import(import, name, *at)?;
            }
        }
        for Constant { name, value, at } in &script.constants {
            let before = names.constants.insert(name, constant(value)?);
            if before.is_some() {
                return Err(CheckErrorKind::Twice { name: name.clone() }.at(*at));
            }
        }
        for (number, chain) in script.chains.iter().enumerate() {
            let is_known = names.program(&chain.name).is_some();
            if is_known || names.chains.insert(&chain.name, (number, chain)).is_some() {
                return Err(CheckErrorKind::Twice { name: chain.name.clone() }.at(chain.at));
            }
        }
        Ok(names)
    }

    /// What is imported again is what it was.
    fn import(&mut self, Import { source, package, .. }: &Import, name: &'a str, at: At) -> Result<()> {
        if let Some(before) = self.program(name).map(|number| &self.programs[number]) {
            return match (before.source, &before.package) == (*source, package) {
                true => Ok(()),
                false => {
                    let (name, line) = (name.to_string(), before.at.line);
                    Err(CheckErrorKind::Imported { name, line }.at(at))
                }
            };
        }
        self.numbers.insert(name, self.programs.len());
        self.programs.push(Program { source: *source, package: package.clone(), name: name.to_string(), at });
        Ok(())
    }

    fn program(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }
}

/// A constant's value, if it is one: a number, perhaps with a sign, a truth value or a text, and no other constant.
fn constant(value: &Expression) -> Result<&Expression> {
    let innermost = match &value.kind {
        ExpressionKind::Unary { operand, .. } => operand,
        _ => value,
    };
    match innermost.kind {
        ExpressionKind::Number { .. } | ExpressionKind::Boolean(_) | ExpressionKind::Text(_) => Ok(value),
        _ => Err(CheckErrorKind::NoConstant.at(value.at)),
    }
}

/// Whether a name is one of constants.
fn is_upper(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_uppercase()) && !name.contains(|c: char| c.is_ascii_lowercase())
}

/// What is known at a place in a chain.
struct Scope<'a> {
    names: &'a Names<'a>,
    variables: Vec<Variable>,
    /// Variables by name, of each block around the place.
    blocks: Vec<HashMap<&'a str, VariableId>>,
    /// Constants of the chain.
    constants: HashMap<&'a str, &'a Expression>,
    /// Names that variables have in no block around the place.
    gone: HashMap<&'a str, At>,
}

impl<'a> Scope<'a> {
    fn chain(names: &'a Names<'a>, chain: &'a Chain) -> Result<tree::Chain> {
        let (variables, constants, gone) = Default::default();
        let mut scope = Scope { names, variables, blocks: vec![HashMap::new()], constants, gone };
        for (ty, name) in &chain.parameters {
            scope.add(name, *ty, chain.at)?;
        }
        let body = scope.lines(&chain.body)?;
        let (name, parameters) = (chain.name.clone(), chain.parameters.len());
        Ok(tree::Chain { name, parameters, variables: scope.variables, body, at: chain.at })
    }

    /// A new variable in the innermost block.
    fn add(&mut self, name: &'a str, ty: Type, at: At) -> Result<VariableId> {
        let id = self.variables.len();
        self.variables.push(Variable { name: name.into(), ty });
        match self.blocks.last_mut().and_then(|block| block.insert(name, id)) {
            None => Ok(id),
            Some(_) => Err(CheckErrorKind::Twice { name: name.into() }.at(at)),
        }
    }

    /// A variable that no name stands for.
    fn hidden(&mut self, ty: Type) -> VariableId {
        self.variables.push(Variable { name: String::new(), ty });
        self.variables.len() - 1
    }

    fn variable(&self, name: &str) -> Option<VariableId> {
        self.blocks.iter().rev().find_map(|block| block.get(name)).copied()
    }

    /// What `check` gives in a block of its own.
    fn block<T>(&mut self, at: At, check: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.blocks.push(HashMap::new());
        let checked = check(self);
        for (name, _) in self.blocks.pop().unwrap_or_default() {
            self.gone.insert(name, at);
        }
        checked
    }
}

#[cfg(test)]
mod tests;
