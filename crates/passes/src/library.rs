//! Names of a library's symbols. Linkers put maps and functions of one name together, and refuse those that are different: so all but the functions
//! that C calls, which keep their names, get the library's name in front of theirs.

use moonhook_ir::Module;

/// What stands between the library's name and that of a symbol.
const BETWEEN: &str = "__";

/// The name that a symbol of the library gets.
pub fn name(library: &str, symbol: &str) -> String {
    format!("{library}{BETWEEN}{symbol}")
}

/// Gives all symbols but those that C calls the names that they have in the library.
pub fn run(module: &mut Module, library: &str) {
    let own = module.functions.iter_mut().filter(|function| function.prototype.is_none());
    own.for_each(|function| function.name = name(library, &function.name));
    module.maps.iter_mut().for_each(|map| map.name = name(library, &map.name));
}
