//! HIKe's own programs, from checkouts of its repositories: each compiles as it is, and has the convention that chains call.

mod common;

use common::{has_clang, skipped};
use moonhook_btf::{Kind, TypeId, Types};
use moonhook_link::{Linkage, Object};
use moonhook_packages::{Exports, Settings, Sources, build, list};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Of these, two are for HIKe's own build, where numbers of chains are constants; two lack something themselves.
const BROKEN: [&str; 4] = ["minimal_xdp", "hike_tailcall_loader", "raw_tailcall", "paolo_seg6_end2"];

/// Programs whose functions take packets themselves.
const WITHOUT_CHAINS: [&str; 12] = [
    "ip6_sc",
    "minimal_loader",
    "ip46_simple_classifier",
    "ip6_simple_classifier",
    "ip6_udport42069_classifier",
    "ip6_udport862_classifier",
    "minimal_classifier",
    "ipv6_dst_classifier",
    "raw_ddos_mmrt",
    "raw_ip6_fwdacc",
    "raw_ip6_pktcnt",
    "raw_pass",
];

/// The packages that the specification counts, with all their programs.
const ALL: [(&str, usize); 13] = [
    ("alt_mark", 1),
    ("basic", 2),
    ("contribs", 11),
    ("devel_encap", 1),
    ("eip", 3),
    ("hike_default", 34),
    ("info", 1),
    ("meter", 4),
    ("routingpaolo", 11),
    ("sampler", 1),
    ("stamp", 13),
    ("template", 1),
    ("tutorial", 4),
];

fn is_word(types: &Types, id: TypeId) -> bool {
    types.kind(types.resolved(id)) == Kind::Integer { bytes: 8, signed: false }
}

/// `int (struct xdp_md *, __u64 *, __u64, __u64, __u64)`.
fn has_convention(object: &Object, function: usize) -> bool {
    let (types, function) = (&object.types, &object.functions[function]);
    let Some(Kind::Function(prototype)) = function.ty.map(|ty| types.kind(ty)) else { return false };
    let Kind::Prototype(result) = types.kind(prototype) else { return false };
    let pointed = |id| match types.kind(types.resolved(id)) {
        Kind::Pointer(to) => Some(types.resolved(to)),
        _ => None,
    };
    let parameters: Vec<TypeId> =
        types.members(prototype).iter().map(|parameter| parameter.type_id).collect();
    let [context, ret, words @ ..] = &parameters[..] else { return false };
    types.kind(types.resolved(result)) == Kind::Integer { bytes: 4, signed: true }
        && pointed(*context).is_some_and(|to| types.name(to) == "xdp_md")
        && pointed(*ret).is_some_and(|to| is_word(types, to))
        && words.len() == 3
        && words.iter().all(|word| is_word(types, *word))
        && (function.section.as_str(), function.linkage) == (".text", Linkage::Global)
}

/// What is wrong with a program; `None` if nothing is.
fn problem(name: &str, path: &Path, settings: &Settings<'_>) -> Option<String> {
    let built = match build(path, settings) {
        Ok(built) => built,
        Err(error) => return Some(error.to_string()),
    };
    let bytes = std::fs::read(&built.object).expect("the object can be read");
    let object = match Object::read(&bytes, name) {
        Ok(object) => object,
        Err(error) => return Some(error.to_string()),
    };
    let exports = match Exports::of(&object) {
        Ok(exports) => exports,
        Err(error) => return Some(error.to_string()),
    };
    if WITHOUT_CHAINS.contains(&name) {
        let is_so = exports.programs.is_empty() && !exports.loaders.is_empty();
        return (!is_so).then(|| format!("its functions are others: {exports:?}"));
    }
    match exports.program(name) {
        Ok(_) if object.functions.len() > 1 => Some("it has more than one function".to_string()),
        Ok(program) if has_convention(&object, program.function) => None,
        Ok(program) => Some(format!("'{}' has another convention", program.name)),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn programs_of_hike_compile_as_they_are() {
    let test = "programs_of_hike_compile_as_they_are";
    let Some(folder) = std::env::var_os("MOONHOOK_HIKE") else {
        skipped(test, "MOONHOOK_HIKE does not say where HIKe's repositories are");
        return;
    };
    if !has_clang(test) {
        return;
    }
    let sources = Sources { folders: vec![PathBuf::from(folder)], aliases: Vec::new() };
    let (cache, includes) = (tempfile::tempdir().unwrap(), sources.includes());
    let settings = Settings { defines: &[], includes: &includes, cache: cache.path() };
    let (mut wrong, mut broken, mut count, mut expected) = (Vec::new(), BTreeSet::new(), 0, 0);
    for (package, programs) in ALL {
        let Ok(folder) = sources.package(package) else {
            skipped(test, &format!("there is no package {package}"));
            continue;
        };
        expected += programs;
        for program in list(&folder, None).unwrap_or_else(|error| panic!("{package}: {error}")) {
            count += 1;
            if let Some(problem) = problem(&program.name, &program.path, &settings) {
                let is_known = BROKEN.contains(&program.name.as_str());
                match is_known {
                    true => drop(broken.insert(program.name)),
                    false => wrong.push(format!("{package}.{}: {problem}", program.name)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((count, broken.len()), (expected, BROKEN.len()));
    println!("{} of {count} programs compile", count - broken.len());
}
