//! Packages are put into a folder whole, or not at all.

use moonhook_packages::fetch;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A repository with a program, and a tag.
fn repository(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("limit.bpf.c"), "first").unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    git(&["tag", "v1"]);
    fs::write(folder.join("limit.bpf.c"), "second").unwrap();
    git(&["commit", "--quiet", "-am", "second"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn packages_come_from_their_repositories() {
    let root = tempfile::tempdir().unwrap();
    let (index, into) = (root.path().join("index"), root.path().join("all/packages"));
    repository(&root.path().join("limit"));
    fs::write(&index, "limit, ./limit, v1\nlate, ./limit, main\n").unwrap();
    let fetched = fetch(&index, "limit", &into).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((fetched.folder.as_path(), fetched.was_there), (into.join("limit").as_path(), false));
    assert_eq!(fs::read_to_string(into.join("limit/limit.bpf.c")).unwrap(), "first");
    fetch(&index, "late", &into).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fs::read_to_string(into.join("late/limit.bpf.c")).unwrap(), "second");
    // What is there stays as it is.
    fs::write(into.join("limit/limit.bpf.c"), "own").unwrap();
    assert!(fetch(&index, "limit", &into).unwrap().was_there);
    assert_eq!(fs::read_to_string(into.join("limit/limit.bpf.c")).unwrap(), "own");
    assert_eq!(names(&into), ["late", "limit"]);
}

#[test]
fn packages_come_from_folders() {
    let root = tempfile::tempdir().unwrap();
    let (index, into) = (root.path().join("index"), root.path().join("packages"));
    repository(&index.join("limit"));
    fs::create_dir_all(index.join("netgroup+hikepkg-meter/scripts")).unwrap();
    fs::write(index.join("netgroup+hikepkg-meter/scripts/a"), "a").unwrap();
    std::os::unix::fs::symlink("/etc", index.join("netgroup+hikepkg-meter/away")).unwrap();
    fetch(&index, "limit", &into).unwrap();
    fetch(&index, "meter", &into).unwrap();
    assert_eq!(names(&into.join("limit")), ["limit.bpf.c"]);
    assert_eq!(names(&into.join("meter")), ["scripts"]);
    assert_eq!(fs::read_to_string(into.join("meter/scripts/a")).unwrap(), "a");
    let error = fetch(&index, "metr", &into).unwrap_err();
    assert_eq!((error.code(), error.diagnostic().help.as_deref()), ("MH0911", Some("there is 'meter'")));
    assert_eq!(names(&into), ["limit", "meter"]);
}

#[test]
fn what_cannot_be_fetched_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (index, into) = (root.path().join("index"), root.path().join("packages"));
    repository(&root.path().join("limit"));
    fs::write(&index, "tag, ./limit, v2\nplace, ./gone, v1\n").unwrap();
    for (package, code, part) in [
        ("tag", "MH0919", "package 'tag' cannot be fetched: "),
        ("place", "MH0919", "package 'place' cannot be fetched: repository "),
        ("other", "MH0911", "there is no package 'other' in "),
        ("../limit", "MH0913", "'../limit' is no name of a package"),
        ("a/b", "MH0913", "'a/b' is no name of a package"),
        ("-f", "MH0913", "'-f' is no name of a package"),
    ] {
        let error = fetch(&index, package, &into).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().starts_with(part), "{error}");
    }
    let told = fetch(&index, "tag", &into).unwrap_err().diagnostic();
    assert!(told.reason.is_some_and(|reason| reason.contains("v2")));
    assert!(names(&into).is_empty(), "{:?}", names(&into));
    assert_eq!(fetch(&root.path().join("gone"), "tag", &into).unwrap_err().code(), "MH0917");
}
