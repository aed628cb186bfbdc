//! Protocol fields of the user tier against tshark, on every capture of a folder that can be replayed.
//!
//! Runs when `MOONHOOK_TRACES` names a folder and `tshark` is installed; says so otherwise. One call of tshark for each
//! file, with everything turned off that looks beyond the frame (reassembly, defragmentation, conversations' numbering).
//! A difference has to fall under one of the rules of `differences`, each of which has its reason; anything else fails.
//! With `MOONHOOK_BLESS=1` the summary is written to `docs/tshark-differences.md`.

mod compare;
mod differences;
mod fields;
mod inner;
mod layers;
mod record_differences;
mod records;
mod run;
mod summary;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use summary::Summary;

#[test]
fn fields_agree_with_tshark() {
    let Some(folder) = std::env::var_os("MOONHOOK_TRACES") else {
        eprintln!("MOONHOOK_TRACES is not set: fields are not compared with tshark");
        return;
    };
    let Some(version) = run::version() else {
        eprintln!("tshark is not installed: fields are not compared with it");
        return;
    };
    let files = files(Path::new(&folder));
    let summary = compare_all(&files, Path::new(&folder));
    println!("{}", summary.text(&version));
    if std::env::var_os("MOONHOOK_BLESS").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tshark-differences.md"),
            summary.text(&version),
        )
        .expect("docs/tshark-differences.md can be written");
    }
    let unexplained = summary.unexplained();
    assert!(
        unexplained.is_empty(),
        "{} differences have no explanation:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    assert!(files.is_empty() || summary.fields() > 0, "nothing was compared");
}

/// One thread for each processor; files in turn.
fn compare_all(files: &[PathBuf], folder: &Path) -> Summary {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Summary::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
                    let found = compare::file(path, &name);
                    all.lock().expect("no comparison panicked").merge(found);
                }
            });
        }
    });
    all.into_inner().expect("no comparison panicked")
}

/// All captures under `folder`, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let (mut folders, mut seen) = (vec![folder.to_owned()], HashSet::new());
    while let Some(folder) = folders.pop() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        for path in
            std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "pcap" || ext == "pcapng" || ext == "cap") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
