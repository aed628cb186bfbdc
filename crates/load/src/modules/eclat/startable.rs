//! Chains that loaders can start: which ones there are, and which nobody starts.

use moonhook_diagnostic::Diagnostic;
use moonhook_eclat::ast::Source;
use moonhook_eclat::tree::{Chain, Chains, Contents, Datum};
use moonhook_snapshot::LoadedCallee;
use std::collections::BTreeSet;

use super::script::placed;
use crate::registry::Registry;

/// The chains that maps name; where none does, all that have no parameters.
pub fn startable(script: &Chains) -> BTreeSet<usize> {
    let named: BTreeSet<usize> = script.contents.iter().flat_map(chains_in).collect();
    let plain = || (0..script.chains.len()).filter(|number| script.chains[*number].parameters == 0).collect();
    if named.is_empty() { plain() } else { named }
}

/// The chains that entries of a map name.
fn chains_in(contents: &Contents) -> impl Iterator<Item = usize> + '_ {
    contents.entries.iter().flatten().flatten().filter_map(|datum| match datum {
        Datum::Chain(number) => Some(*number),
        Datum::Number(_) | Datum::Text(_) => None,
    })
}

/// Refuses chains with parameters in maps of loaders, which start chains without arguments.
///
/// # Errors
/// The first one.
pub fn check_parameters(script: &Chains, text: &str) -> Result<(), Box<Diagnostic>> {
    let of_loader = |contents: &&Contents| script.programs[contents.program].source == Source::Loaders;
    for contents in script.contents.iter().filter(of_loader) {
        for Chain { name, parameters, .. } in chains_in(contents).map(|number| &script.chains[number]) {
            if *parameters > 0 {
                let message = format!("the chain '{name}' has parameters, and a loader gives it none");
                let help = format!("let the loader start a chain without parameters that calls `{name}`");
                let diagnostic = Diagnostic::new("MH0320", message).help(help);
                return Err(placed(diagnostic, (script, text), (contents.at, name)));
            }
        }
    }
    Ok(())
}

/// Warns of chains that no loader starts and no chain calls, where loaders have maps that say which ones they start.
pub fn warn_of_idle(registry: &Registry, script: &Chains) {
    let programs = registry.chains.programs_of(&script.file);
    let has_maps = |(program, callee): (&moonhook_eclat::tree::Program, &LoadedCallee)| match callee {
        LoadedCallee::Object(loaded) if program.source == Source::Loaders => {
            !registry.chains.object_at(loaded.object).maps.is_empty()
        }
        _ => false,
    };
    if !script.programs.iter().zip(programs.iter()).any(has_maps) {
        return;
    }
    let mut used: BTreeSet<usize> = script.contents.iter().flat_map(chains_in).collect();
    used.extend(script.called());
    let text = registry.chains.text_of(&script.file).unwrap_or_default();
    for (_, chain) in script.chains.iter().enumerate().filter(|(number, _)| !used.contains(number)) {
        let message = format!("no loader starts the chain '{}', and no chain calls it", chain.name);
        let help = format!("name it in a map of a loader: `LOADER[MAP] = {{ (KEY): ({}) }}`", chain.name);
        let warning = Diagnostic::new("MH0321", message).help(help);
        registry.chains.warn(*placed(warning, (script, &text), (chain.at, &chain.name)));
    }
}
