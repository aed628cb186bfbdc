//! Programs that chains call, and whoever has them.

use moonhook_btf::Kind;
use moonhook_diagnostic::Diagnostic;
use moonhook_hook::XDP;
use moonhook_link::{Linkage, Object};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Who has packages of programs. Equal answers give equal snapshots.
pub trait Packages: fmt::Debug + Send + Sync {
    /// A program, by the names of its package and its file.
    ///
    /// # Errors
    /// There is none, or it cannot be made; without a place.
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>>;

    /// The files that the programs were made of that were found so far.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A program of a package.
#[derive(Clone, Debug)]
pub enum Packaged {
    Object(Arc<Object>),
    /// A file in Lua that returns the function.
    Lua(PathBuf),
}

/// A load time that knows no packages.
#[derive(Debug)]
pub(crate) struct NoPackages;

impl Packages for NoPackages {
    fn find(&self, package: &str, program: &str) -> Result<Packaged, Box<Diagnostic>> {
        let message =
            format!("there is no program '{program}' of the package '{package}': no packages are known");
        let help = "name the folder that has them: --packages FOLDER";
        Err(Box::new(Diagnostic::new("MH0312", message).help(help)))
    }
}

/// The number of the function of an object that the kernel would call: a program for XDP.
///
/// # Errors
/// There is none, or more than one.
pub(crate) fn loader_of(object: &Object) -> Result<usize, Box<Diagnostic>> {
    let is_loader = |(_, function): &(usize, &moonhook_link::Function)| {
        function.section != TEXT && function.linkage == Linkage::Global
    };
    let help = "let one function be in the section \"xdp\"";
    only(object, is_loader, ("that the kernel could call for a packet", help))
}

/// The number of the function of an object that chains call: the one that it exports. Of an object that exports none, it is the one that is
/// neither a part of another nor the kernel's to call.
///
/// # Errors
/// There is none, or more than one.
pub(crate) fn program_of(object: &Object) -> Result<usize, Box<Diagnostic>> {
    let exported = object.exported_programs();
    let is_program = |(_, function): &(usize, &moonhook_link::Function)| match exported.as_slice() {
        [] => function.section == TEXT && function.linkage == Linkage::Global,
        names => names.contains(&function.name.as_str()),
    };
    let help = "let one function be the program, and the others `static` or `__weak`";
    let number = only(object, is_program, ("that chains could call", help))?;
    let function = &object.functions[number];
    if !is_called_as_program(object, function) {
        let message = format!(
            "{}: chains cannot call the function '{}', which has other parameters than programs have",
            object.name, function.name
        );
        let help = "write it as `HIKE_PROG(name) { … }`, and `EXPORT_HIKE_PROG(name);` behind it";
        return Err(Box::new(Diagnostic::new("MH0313", message).help(help)));
    }
    Ok(number)
}

/// Parameters of a program that chains call: the context, where its result goes, and three arguments (`HIKE_PROG`, hike.h).
const PARAMETERS: usize = 5;

fn is_called_as_program(object: &Object, function: &moonhook_link::Function) -> bool {
    let types = &*object.types;
    let Some(Kind::Function(prototype)) = function.ty.map(|ty| types.kind(ty)) else { return false };
    let members = types.members(prototype);
    let is_context = |ty| match types.kind(types.resolved(ty)) {
        Kind::Pointer(to) => types.name(types.resolved(to)) == XDP.context.structure,
        _ => false,
    };
    members.len() == PARAMETERS && members.first().is_some_and(|first| is_context(first.type_id))
}

/// The section of functions that the kernel does not call.
const TEXT: &str = ".text";

/// The only function that is wanted.
fn only(
    object: &Object,
    is_wanted: impl Fn(&(usize, &moonhook_link::Function)) -> bool,
    (what, help): (&str, &str),
) -> Result<usize, Box<Diagnostic>> {
    let mut found = object.functions.iter().enumerate().filter(is_wanted);
    match (found.next(), found.next()) {
        (Some((number, _)), None) => Ok(number),
        (first, _) => {
            let found = if first.is_some() { "more than one function" } else { "no function" };
            let message = format!("{} has {found} {what}", object.name);
            Err(Box::new(Diagnostic::new("MH0313", message).help(help)))
        }
    }
}
