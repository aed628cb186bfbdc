//! Scripts and programs of HIKe's repositories, as they are.

use crate::{options, run};
use moonhook_load::Options;
use moonhook_packages::Sources;
use std::path::{Path, PathBuf};

/// Packages that scripts mean by other names.
const ALIASES: [&str; 2] = ["mynet", "net"];
const MEANT: [&str; 4] = ["hike_default", "meter", "sampler", "contribs"];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MOONHOOK_HIKE").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: MOONHOOK_HIKE names no folder with checkouts");
    }
    folder
}

fn checkout_options(folder: &Path) -> Options {
    let meant: Vec<String> = MEANT.iter().map(|name| name.to_string()).collect();
    let aliases = ALIASES.iter().map(|alias| (alias.to_string(), meant.clone())).collect();
    options(vec![folder.to_path_buf()], aliases)
}

/// All scripts below a folder.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![folder.to_path_buf()];
    while let Some(folder) = work.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => work.push(path),
                false if path.extension().is_some_and(|end| end == "eclat") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// What the front end refuses, by the file's name: errors of the scripts themselves.
const REFUSED: [(&str, &str); 3] =
    [("chain_in_chain", "MH0306"), ("ddos_tb_compile_params", "MH0302"), ("ddos_tb_d_met", "MH0302")];

/// What is accepted and has no program: no loader; a program that does not compile; one that takes a million instructions.
const WITHOUT: [(&str, &str); 3] =
    [("subchain", "MH0315"), ("paolo_seg6_end2", "MH0915"), ("eip_pt", "MH0906")];

#[test]
fn scripts_of_checkouts_are_accepted_or_refused_with_their_line() {
    let Some(folder) = folder() else { return };
    let (mut accepted, mut refused) = (0, 0);
    for script in scripts(&folder) {
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&script).expect("it can be read");
        match (moonhook_eclat::read(&text, &name), REFUSED.iter().find(|(known, _)| *known == name)) {
            (Ok(_), None) => accepted += 1,
            (Err(error), Some((_, code))) => {
                assert_eq!(
                    (error.code, error.place.is_some(), error.help.is_some()),
                    (*code, true, true),
                    "{name}"
                );
                refused += 1;
            }
            (Ok(_), Some(_)) => panic!("{name} is accepted"),
            (Err(error), None) => panic!("{name}: {}", error.render(false)),
        }
    }
    println!("{accepted} scripts accepted, {refused} refused");
    assert!(accepted >= 46 && refused <= 3, "{accepted} accepted, {refused} refused");
}

/// Programs that ask for time decide by it, and the tiers run one after the other; those that ask for routes have none in user space.
const BY_TIME_OR_ROUTE: [&str; 2] = ["route_basic_example", "testpaolo"];

#[test]
fn scripts_of_checkouts_decide_in_the_kernel_as_in_user_space() {
    let Some(folder) = folder() else { return };
    if !moonhook_proof::host::kernel_available("scripts of checkouts") {
        return;
    }
    let options = checkout_options(&folder);
    let mut ran = 0;
    for script in scripts(&folder) {
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if REFUSED.iter().any(|(known, _)| *known == name) {
            continue;
        }
        if let Some((_, code)) = WITHOUT.iter().find(|(known, _)| *known == name) {
            let error = run(&script, &options, 0).expect_err(&name);
            assert_eq!(error.code(), Some(*code), "{name}: {error}");
            continue;
        }
        let frames = if BY_TIME_OR_ROUTE.iter().any(|known| name.starts_with(known)) { 0 } else { 60 };
        if let Err(error) = run(&script, &options, frames) {
            panic!("{}: {error}", script.display());
        }
        ran += 1;
    }
    println!("{ran} scripts ran");
    assert!(ran >= 36, "{ran} scripts ran");
}

/// Programs of checkouts, with the folders that their packages are; without loaders and what lacks something itself.
fn programs(folder: &Path) -> Vec<(String, String)> {
    let sources = Sources { folders: vec![folder.to_path_buf()], aliases: Vec::new() };
    let mut all = Vec::new();
    for package in sources.packages() {
        for listed in moonhook_packages::list(&sources.package(&package).expect("it is listed"), None)
            .expect("it can be listed")
        {
            all.push((package.clone(), listed.name));
        }
    }
    all
}

#[test]
fn programs_of_checkouts_are_called_by_chains() {
    let Some(folder) = folder() else { return };
    if !moonhook_proof::host::kernel_available("programs of checkouts") {
        return;
    }
    let options = checkout_options(&folder);
    let scripts = tempfile::tempdir().expect("there is room");
    let (mut taken, mut refused) = (0, 0);
    for (package, name) in programs(&folder) {
        let script = scripts.path().join(format!("{package}_{name}.eclat"));
        let text = format!("from programs.{package} import {name}\ndef main():\n  {name}(1, 2, 3)\n");
        std::fs::write(&script, text).expect("there is room");
        match run(&script, &options, 0).map_err(|error| (error.code(), error)) {
            Ok(_) => taken += 1,
            // Takes a million instructions.
            Err((Some("MH0906"), _)) => refused += 1,
            // Loaders, programs that call no chains, and what lacks something itself.
            Err((Some("MH0313" | "MH0915"), _)) => {}
            Err((_, error)) => panic!("{package}, {name}: {error}"),
        }
    }
    println!("{taken} programs taken, {refused} refused");
    assert!(taken >= 69 && refused <= 2, "{taken} taken, {refused} refused");
}
