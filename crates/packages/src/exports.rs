//! What an object exports, by the types of variables in the section `.hike.exports` (`include/hike.h` says which).

use crate::error::PackageError;
use moonhook_btf::{Kind, Member, TypeId, Types};
use moonhook_link::{Function, Linkage, Object, PROGRAM};

/// What an object has for chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    pub programs: Vec<Program>,
    /// Numbers of the functions among [`Object::functions`] that take a packet first: loaders, and programs that are in no chain.
    pub loaders: Vec<usize>,
    /// By name.
    pub constants: Vec<(String, u64)>,
    /// Programs or functions of loaders, with maps.
    pub maps: Vec<(String, String)>,
}

/// A program that chains call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// As the source exports it; the file's name is what chains know.
    pub name: String,
    /// Its number among [`Object::functions`].
    pub function: usize,
    /// Types of the arguments that the source declares. Those that declare none may use some all the same.
    pub arguments: Vec<TypeId>,
}

impl Exports {
    /// # Errors
    /// An export that is none, which this crate's header does not make.
    pub fn of(object: &Object) -> Result<Exports, PackageError> {
        let types = &object.types;
        let wrong = |problem: String| PackageError::Exports { object: object.name.clone(), problem };
        let loaders = object.functions.iter().enumerate().filter(|(_, function)| is_loader(function, types));
        let mut exports =
            Exports { loaders: loaders.map(|(number, _)| number).collect(), ..Exports::default() };
        for variable in object.exports() {
            let name = variable.name;
            if let Some(name) = name.strip_prefix(PROGRAM) {
                let function = object.function(name);
                let found = function.zip(arguments(types, variable));
                let (function, arguments) =
                    found.ok_or_else(|| wrong(format!("the program '{name}' is no function")))?;
                exports.programs.push(Program { name: name.into(), function, arguments });
            } else if let Some(name) = name.strip_prefix("moonhook_constant_") {
                let value = constant(types, variable);
                let value = value.ok_or_else(|| wrong(format!("the constant '{name}' has no value")))?;
                exports.constants.push((name.into(), value));
            } else if name.starts_with("moonhook_map_") {
                let names = map(types, variable);
                exports.maps.push(names.ok_or_else(|| wrong(format!("the map of '{name}' has no name")))?);
            }
        }
        Ok(exports)
    }

    /// The program, where there is one.
    ///
    /// # Errors
    /// There is none, or several.
    pub fn program(&self, object: &str) -> Result<&Program, PackageError> {
        let problem = match self.programs.as_slice() {
            [program] => return Ok(program),
            [] => "it exports no program".to_string(),
            [one, other, ..] => format!("it exports several programs: '{}', '{}'", one.name, other.name),
        };
        Err(PackageError::Exports { object: object.into(), problem })
    }
}

/// Whether a function is in a section of its own, and takes a context and nothing else.
fn is_loader(function: &Function, types: &Types) -> bool {
    let Some(Kind::Function(prototype)) = function.ty.map(|ty| types.kind(ty)) else { return false };
    let takes_context = match types.members(prototype).as_slice() {
        [context] => pointed(types, context.type_id).is_some_and(|to| types.name(to) == "xdp_md"),
        _ => false,
    };
    function.section != ".text" && function.linkage != Linkage::Static && takes_context
}

/// Of a variable that points to a function, the types of that one's parameters behind the program's number.
fn arguments(types: &Types, variable: Member<'_>) -> Option<Vec<TypeId>> {
    let prototype = pointed(types, variable.type_id)?;
    if !matches!(types.kind(prototype), Kind::Prototype(_)) {
        return None;
    }
    Some(types.members(prototype).iter().skip(1).map(|parameter| parameter.type_id).collect())
}

/// The halves of a constant are the lengths of arrays that members point to.
fn constant(types: &Types, variable: Member<'_>) -> Option<u64> {
    let members = types.members(types.resolved(variable.type_id));
    let half = |name: &str| {
        let member = members.iter().find(|member| member.name == name)?;
        let Kind::Array { length, .. } = types.kind(pointed(types, member.type_id)?) else { return None };
        Some(u64::from(length))
    };
    Some(half("high")? << 32 | half("low")?)
}

/// The names of program and map are those of members of members.
fn map(types: &Types, variable: Member<'_>) -> Option<(String, String)> {
    let members = types.members(types.resolved(variable.type_id));
    let inner = |name: &str| {
        let member = members.iter().find(|member| member.name == name)?;
        types.members(types.resolved(member.type_id)).first().map(|inner| inner.name.to_string())
    };
    inner("program").zip(inner("map"))
}

fn pointed(types: &Types, id: TypeId) -> Option<TypeId> {
    match types.kind(types.resolved(id)) {
        Kind::Pointer(to) => Some(types.resolved(to)),
        _ => None,
    }
}
