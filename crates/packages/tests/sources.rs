//! Where packages and programs are found, and what is said where they are not.

use moonhook_packages::{Kind, Sources, list};
use std::fs;
use std::path::Path;

/// Files, each with its folders.
fn tree(root: &Path, files: &[&str]) {
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

const FILES: &[&str] = &[
    "own/limit/limit.lua",
    "own/limit/both.lua",
    "own/limit/both.bpf.c",
    "own/limit/made.bpf.o",
    "own/limit/later.lua",
    "own/limit/build/later.bpf.o",
    "own/meter/ip6_meter.bpf.c",
    "git/netgroup+hikepkg-meter/ip6_meter.bpf.c",
    "git/netgroup+hikepkg-meter/other-way.bpf.c",
    "git/netgroup+hikepkg-meter/deep/inner.bpf.c",
    "git/somebody+hikepkg-extra/extra.bpf.c",
    "git/hikepkg-plain/plain.bpf.c",
    "git/netgroup+hike-public/src/monitor.bpf.c",
    "git/netgroup+hike-public/src/hike_vm.h",
    "git/netgroup+hike-contribs/time.bpf.c",
    "git/netgroup+eclat-daemon/develop/temp-util/basic/ip6_sc.bpf.c",
    "git/netgroup+eclat-daemon/components/fetched/fetched.bpf.c",
];

#[test]
fn programs_are_found_by_package_and_file() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), FILES);
    let aliases = vec![
        ("net".to_string(), vec!["hike_default".to_string(), "meter".to_string(), "contribs".to_string()]),
        ("nothing".to_string(), vec!["gone".to_string()]),
    ];
    let sources =
        Sources { folders: ["own", "absent", "git"].map(|name| root.path().join(name)).into(), aliases };
    let cases: &[(&str, &str, &str, Kind, &str)] = &[
        ("limit", "limit", "limit", Kind::Lua, "own/limit/limit.lua"),
        ("limit", "both", "limit", Kind::Source, "own/limit/both.bpf.c"),
        ("limit", "made", "limit", Kind::Object, "own/limit/made.bpf.o"),
        ("limit", "later", "limit", Kind::Object, "own/limit/build/later.bpf.o"),
        ("meter", "ip6_meter", "meter", Kind::Source, "own/meter/ip6_meter.bpf.c"),
        ("meter", "other_way", "meter", Kind::Source, "git/netgroup+hikepkg-meter/other-way.bpf.c"),
        ("extra", "extra", "extra", Kind::Source, "git/somebody+hikepkg-extra/extra.bpf.c"),
        ("plain", "plain", "plain", Kind::Source, "git/hikepkg-plain/plain.bpf.c"),
        (
            "hike_default",
            "monitor",
            "hike_default",
            Kind::Source,
            "git/netgroup+hike-public/src/monitor.bpf.c",
        ),
        ("contribs", "time", "contribs", Kind::Source, "git/netgroup+hike-contribs/time.bpf.c"),
        (
            "basic",
            "ip6_sc",
            "basic",
            Kind::Source,
            "git/netgroup+eclat-daemon/develop/temp-util/basic/ip6_sc.bpf.c",
        ),
        (
            "fetched",
            "fetched",
            "fetched",
            Kind::Source,
            "git/netgroup+eclat-daemon/components/fetched/fetched.bpf.c",
        ),
        ("net", "ip6_meter", "meter", Kind::Source, "own/meter/ip6_meter.bpf.c"),
        ("net", "time", "contribs", Kind::Source, "git/netgroup+hike-contribs/time.bpf.c"),
    ];
    for (package, program, of, kind, path) in cases {
        let found =
            sources.find(package, program).unwrap_or_else(|error| panic!("{package}.{program}: {error}"));
        let found = (found.package.as_str(), found.kind, found.path);
        assert_eq!(found, (*of, *kind, root.path().join(path)), "{package}.{program}");
    }
    assert_eq!(sources.includes(), [root.path().join("git/netgroup+hike-public/src")]);
    let names: Vec<String> = sources.packages().into_iter().collect();
    let expected = ["basic", "contribs", "extra", "fetched", "hike_default", "limit", "meter", "plain"];
    assert_eq!(names, expected);
}

#[test]
fn what_is_not_found_is_said_with_what_is_near() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), FILES);
    let folders = vec![root.path().join("git")];
    let aliases = vec![("net".to_string(), vec!["meter".to_string(), "contribs".to_string()])];
    let sources = Sources { folders, aliases };
    let git = root.path().join("git").display().to_string();
    for (package, program, code, message, help) in [
        ("metr", "x", "MH0911", format!("there is no package 'metr' in {git}"), "there is 'meter'"),
        (
            "nonsense",
            "x",
            "MH0911",
            format!("there is no package 'nonsense' in {git}"),
            "name the folder in which the package's folder lies with `--packages DIR`, or fetch it",
        ),
        (
            "meter",
            "ip6_metre",
            "MH0912",
            format!("there is no program 'ip6_metre' in package 'meter' in {git}/netgroup+hikepkg-meter"),
            "there is 'ip6_meter'",
        ),
        (
            "net",
            "nonsense",
            "MH0912",
            format!(
                "there is no program 'nonsense' in package 'net' in {git}/netgroup+hikepkg-meter, {git}/netgroup+hike-contribs"
            ),
            "programs are called by the names of their files: nonsense.bpf.c",
        ),
    ] {
        let error = sources.find(package, program).unwrap_err();
        assert_eq!((error.code(), error.to_string()), (code, message));
        assert_eq!(error.diagnostic().help.as_deref(), Some(help), "{package}.{program}");
    }
    assert_eq!(sources.package("metre").unwrap_err().code(), "MH0911");
}

#[test]
fn names_lead_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["secret.bpf.c", "git/meter/a.bpf.c"]);
    let sources = Sources { folders: vec![root.path().join("git")], aliases: Vec::new() };
    for name in ["..", "../git", "a/b", "/etc", "-x", ".git", "", "a..b", "a\0b", "ä", "a b"] {
        let error = sources.find("meter", name).unwrap_err();
        assert_eq!(error.code(), "MH0913", "{name:?}");
        assert_eq!(sources.find(name, "a").unwrap_err().code(), "MH0913", "{name:?}");
        assert_eq!(sources.package(name).unwrap_err().code(), "MH0913", "{name:?}");
    }
    assert_eq!(sources.find("meter", "../x").unwrap_err().to_string(), "'../x' is no name of a program");
}

#[test]
fn packages_without_objects_are_listed_by_name() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), FILES);
    let listed = list(&root.path().join("own/limit"), None).unwrap();
    let names: Vec<_> = listed.iter().map(|program| (program.name.as_str(), program.kind)).collect();
    let expected =
        [("both", Kind::Source), ("later", Kind::Object), ("limit", Kind::Lua), ("made", Kind::Object)];
    assert_eq!(names, expected);
    assert!(listed.iter().all(|program| program.exports.is_none() && program.maps.is_empty()));
    let listed = list(&root.path().join("git/netgroup+hikepkg-meter"), None).unwrap();
    let names: Vec<_> = listed.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["ip6_meter", "other_way"]);
    assert_eq!(list(&root.path().join("gone"), None).unwrap_err().code(), "MH0917");
}
