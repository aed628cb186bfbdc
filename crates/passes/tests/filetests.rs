//! Runs `tests/filetests/*.ir`: each file has a first line `# passes: NAME…` (`optimise` is the whole list, `combine:N`
//! combines functions of programs that have more than N, `per_cpu:N` gives variables words of N CPUs), the input, a line `# ---`, and what the passes must make of it. `MOONHOOK_BLESS=1` writes that part anew.

use moonhook_ir::{Module, parse, verify::verify};
use moonhook_passes::Around;
use std::fs;
use std::path::{Path, PathBuf};

const SEPARATOR: &str = "# ---\n";

#[test]
fn filetests() {
    let bless = std::env::var_os("MOONHOOK_BLESS").is_some();
    let mut files = files();
    files.sort();
    assert!(files.len() >= 25, "only {} filetests found", files.len());
    let mut failures = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let output = run(&path, input);
        if bless && output != expected {
            fs::write(&path, format!("{input}{SEPARATOR}{output}")).unwrap();
        } else if output != expected {
            failures.push(format!("{}: expected\n{expected}\nfound\n{output}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "ir")).collect()
}

/// Gives the output as text; checks that it is well formed and parses as itself.
fn run(path: &Path, input: &str) -> String {
    let at = path.display();
    let names = input.lines().next().and_then(|line| line.strip_prefix("# passes:"));
    let names = names.unwrap_or_else(|| panic!("{at}: no `# passes:`"));
    let mut module = parse(input).unwrap_or_else(|error| panic!("{at}: {error}"));
    check(&at.to_string(), &module);
    for name in names.split_whitespace() {
        if name == "optimise" {
            moonhook_passes::optimise(&mut module);
        } else if let Some(limit) = name.strip_prefix("combine:") {
            let limit = limit.parse().unwrap_or_else(|_| panic!("{at}: `{limit}` is no number"));
            moonhook_passes::combine::run_above(&mut module, limit, limit);
        } else if let Some(cpus) = name.strip_prefix("per_cpu:") {
            let cpus = cpus.parse().unwrap_or_else(|_| panic!("{at}: `{cpus}` is no number"));
            moonhook_passes::per_cpu::run(&mut module, cpus);
        } else {
            let pass = moonhook_passes::pass(name).unwrap_or_else(|| panic!("{at}: no pass `{name}`"));
            let (functions, around) = Around::of(&mut module);
            functions.iter_mut().for_each(|function| {
                (pass.run)(function, &around);
            });
        }
        check(&at.to_string(), &module);
    }
    let output = module.to_string();
    assert_eq!(parse(&output).unwrap().to_string(), output, "{at}: print, parse, print");
    output
}

fn check(at: &str, module: &Module) {
    for function in &module.functions {
        verify(function).unwrap_or_else(|error| panic!("{at}: {error}\n{function}"));
    }
}
