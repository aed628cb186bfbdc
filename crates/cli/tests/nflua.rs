//! `moonhook nflua install` and `uninstall`: what they write and remove, and that they write all of it or nothing. The compiler is a
//! script, so that neither compiler nor headers are needed, nor privilege.

mod common;

use common::{Place, Run};

/// Compiles by writing what the real one's files have in them: the sign. It refuses the source `BROKEN`, and does not find the header
/// `MISSING`.
const COMPILER: &str = r#"#!/bin/bash
for last; do :; done
for word; do
    [ "$word" != -fsyntax-only ] || { ! grep -qF "<${MISSING:-}>" "$last"; exit; }
    [ "${previous:-}" != -o ] || out=$word
    previous=$word
done
if [ "$last" = "${BROKEN:-}" ]; then
    echo "$last:1: error: no" >&2
    exit 1
fi
echo "$*: moonhook nflua install: " >"$out"
"#;

/// Carries out a line with that compiler, as somebody whose files nobody else may read.
fn nflua(place: &Place, variables: &str, arguments: &str) -> Run {
    place.shell(&format!(
        "mkdir -p bin plugins && chmod +x cc && cp cc bin && umask 077 && export PATH=$PWD/bin:$PATH &&
        {variables} \"$MOONHOOK\" nflua {arguments}"
    ))
}

/// Where the files go.
const FOLDERS: &str = "--xtables-dir plugins --lua-dir lua";

fn files(place: &Place, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(place.path(folder)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const PLUGINS: [&str; 4] = ["libip6t_bpf.so", "libipt_bpf.so", "libxt_LUA.so", "libxt_lua.so"];

#[test]
fn what_is_installed_is_removed() {
    let place = Place::with(&[("cc", COMPILER)]);
    let said = nflua(&place, "", &format!("install --generation cujo {FOLDERS}")).ends_with(0).stdout();
    assert_eq!(said.lines().filter(|line| line.starts_with("installed ")).count(), 5, "{said}");
    assert_eq!(
        (files(&place, "plugins"), files(&place, "lua")),
        (PLUGINS.map(String::from).into(), vec!["nflua.so".into()])
    );
    let command = std::fs::read_to_string(place.path("plugins/libxt_lua.so")).expect("a file");
    assert!(command.contains("-DGENERATION=2020"), "{command}");
    // A second time replaces, with the other options; everybody may read it.
    nflua(&place, "", &format!("install {FOLDERS}")).ends_with(0);
    let module = std::fs::read_to_string(place.path("lua/nflua.so")).expect("a file");
    assert!(module.contains("-DGENERATION=2019") && module.contains("lua5.4"), "{module}");
    assert!(place.shell("stat -c %a plugins/* lua/* | uniq").stdout().trim() == "644");
    std::fs::write(place.path("lua/nflua.so"), "another's").expect("it is written");
    let said = nflua(&place, "", &format!("uninstall {FOLDERS}")).ends_with(0).stdout();
    assert_eq!(said.lines().filter(|line| line.starts_with("removed ")).count(), 4, "{said}");
    assert_eq!((files(&place, "plugins").len(), files(&place, "lua").len()), (0, 1));
    assert_eq!(nflua(&place, "", &format!("uninstall {FOLDERS}")).ends_with(0).stdout(), "");
}

#[test]
fn what_fails_leaves_nothing() {
    let place = Place::with(&[("cc", COMPILER)]);
    std::fs::create_dir(place.path("others")).expect("a folder");
    std::fs::write(place.path("others/nflua.so"), "another's").expect("it is written");
    for (variables, folders, code) in [
        ("BROKEN=data.c MISSING=lauxlib.h", FOLDERS, "MH1202"),
        ("BROKEN=libxt_lua.c MISSING=xtables.h", FOLDERS, "MH1202"),
        ("BROKEN=data.c", FOLDERS, "MH1203"),
        ("PATH=/nowhere", FOLDERS, "MH1201"),
        ("", "--xtables-dir absent --lua-dir lua", "MH1206"),
        ("XTABLES_LIBDIR=absent:plugins", "--lua-dir lua", "MH1206"),
        ("", "--xtables-dir plugins --lua-dir others", "MH1205"),
        ("", "--xtables-dir plugins --lua-dir /dev/null/lua", "MH1204"),
        ("", "--xtables-dir plugins --lua-dir /proc/lua", "MH1204"),
    ] {
        let said = nflua(&place, variables, &format!("install {folders}")).ends_with(3).stderr();
        assert!(said.contains(code), "{variables} {folders}: {said}");
        assert_eq!(
            (files(&place, "plugins").len(), files(&place, "lua").len()),
            (0, 0),
            "{variables} {folders}"
        );
    }
    nflua(&place, "", "install --no-lua --lua 5.3").ends_with(2);
    nflua(&place, "BROKEN=data.c XTABLES_LIBDIR=plugins:absent", "install --no-lua").ends_with(0);
    assert_eq!(files(&place, "plugins"), PLUGINS);
}
