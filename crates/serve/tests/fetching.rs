//! Packages that are not there come by git from where an index says, and scripts run with them.

mod common;

use common::{DEVICE, LOADER, Served, has_clang, in_namespace, is_attached, skipped};
use moonhook_engine::Folders;
use moonhook_serve::proto::eclat::{Outcome, Package, Script};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A program in Lua.
const PROGRAM: &str = "return function(pkt, port) return 0 end\n";

fn script() -> String {
    format!(
        "from programs.own import quiet\nfrom loaders.own import start\nstart[chains] = {{ (0): (main) }}\n\
         start.attach('{DEVICE}', 'xdp')\ndef main():\n    quiet(7)\n    return 0\n"
    )
}

fn git(folder: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.net",
        "-c",
        "init.defaultBranch=main",
    ]);
    command.arg("-C").arg(folder).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// A repository with the package, tagged; its URL. `None`, and says so, without git.
fn repository(test: &str, folder: &Path) -> Option<String> {
    let own = folder.join("origin/own");
    std::fs::create_dir_all(&own).unwrap();
    for (name, text) in [("quiet.lua", PROGRAM), ("start.bpf.c", LOADER), ("hike_vm.h", "")] {
        std::fs::write(own.join(name), text).unwrap();
    }
    let made = git(&own, &["init", "--quiet"])
        && git(&own, &["add", "."])
        && git(&own, &["commit", "--quiet", "-m", "a program"])
        && git(&own, &["tag", "v1"]);
    if !made {
        skipped(test, "git makes no repository");
        return None;
    }
    Some(format!("file://{}", own.display()))
}

/// A service with that index.
fn served(folder: tempfile::TempDir, index: PathBuf) -> Served {
    Served::with(folder, move |config| {
        config.index = Some(index);
        config.sources.folders.push(config.fetched.clone());
        config.settings.load.packages = Arc::new(Folders::new(config.sources.clone()));
    })
}

fn fetch(served: &Served, package: &str) -> Outcome {
    let request = Package { package: package.into() };
    served.runtime.block_on(served.eclat().fetch_package(request)).unwrap().into_inner()
}

fn load(served: &Served) -> Outcome {
    let request = Script { script: script(), package: String::new() };
    served.runtime.block_on(served.eclat().load_configuration(request)).unwrap().into_inner()
}

#[test]
fn packages_are_fetched_by_an_index() {
    let test = "packages_are_fetched_by_an_index";
    in_namespace(test, move || {
        let folder = tempfile::tempdir().unwrap();
        let Some(url) = repository(test, folder.path()) else { return };
        let index = folder.path().join("index.csv");
        std::fs::write(
            &index,
            format!("own, {url}, v1\nbroken, {url}, v7\ngone, file:///nowhere/at/all, v1\n"),
        )
        .unwrap();
        let served = served(folder, index);
        let missing = load(&served);
        assert!(missing.status == "FAIL" && !is_attached(), "{}", missing.message);
        for package in ["broken", "gone", "unknown", "../own"] {
            let failed = fetch(&served, package);
            assert!(
                failed.status == "FAIL" && failed.message.starts_with("error[MH09"),
                "{}",
                failed.message
            );
        }
        // Nothing is left of what could not be fetched.
        let there = || -> Vec<_> {
            let entries =
                std::fs::read_dir(served.folder.path().join("fetched")).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        };
        assert!(there().is_empty(), "{:?}", there());
        let fetched = fetch(&served, "own");
        assert_eq!(fetched.status, "OK", "{}", fetched.message);
        assert!(fetched.message.starts_with("'own' is fetched: "), "{}", fetched.message);
        assert_eq!(there(), ["own"]);
        assert!(fetch(&served, "own").message.starts_with("'own' is there: "));
        if has_clang(test) {
            let loaded = load(&served);
            assert_eq!(loaded.status, "OK", "{}", loaded.message);
            assert!(is_attached());
        }
        served.end(false);
    });
}

#[test]
fn what_a_script_imports_is_fetched() {
    let test = "what_a_script_imports_is_fetched";
    in_namespace(test, move || {
        let folder = tempfile::tempdir().unwrap();
        let Some(url) = repository(test, folder.path()) else { return };
        let index = folder.path().join("index.csv");
        std::fs::write(&index, format!("own, {url}, v1\n")).unwrap();
        let served = served(folder, index);
        let request = Script { script: script(), package: String::new() };
        let fetched =
            served.runtime.block_on(served.eclat().fetch_configuration(request)).unwrap().into_inner();
        assert_eq!(fetched.status, "OK", "{}", fetched.message);
        assert!(served.folder.path().join("fetched/own/quiet.lua").exists());
        served.end(false);
    });
}
