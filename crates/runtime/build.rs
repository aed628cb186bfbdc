//! Puts the files of `lua` and `prelude` into the crate: two tables of name and text, by name.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

/// The texts between quotes in a file of runtime Lua, where there are two escapes: after `\\z` the text goes on in the next line, and `\\x`
/// with two digits is a byte. Some stand in comments, which does no harm.
fn texts(file: &str) -> Vec<Vec<u8>> {
    let parts: Vec<&str> = file
        .split("\\z\n")
        .enumerate()
        .map(|(n, part)| if n == 0 { part } else { part.trim_start() })
        .collect();
    let joined = parts.concat();
    joined.lines().flat_map(|line| line.split('"').skip(1).step_by(2)).map(bytes).collect()
}

/// What a text stands for.
fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        bytes.extend(u8::from_str_radix(digits, 16));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut tables = String::new();
    let mut all_texts = BTreeSet::new();
    for (constant, folder) in [("ROUTINES", "lua"), ("PRELUDE", "prelude")] {
        println!("cargo:rerun-if-changed={folder}");
        let path = Path::new(&root).join(folder);
        let mut files: Vec<_> =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "lua"));
        files.sort();
        let _ = writeln!(tables, "/// The files of `{folder}`, by name.");
        let _ = writeln!(tables, "pub const {constant}: &[SourceFile] = &[");
        for file in files {
            if constant == "ROUTINES" {
                all_texts.extend(texts(&fs::read_to_string(&file)?));
            }
            let name = format!("{folder}/{}", file.file_name().unwrap_or_default().to_string_lossy());
            // The folder is left to the compiler: what is made here stays right when the target directory moves.
            let text = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})", format!("/{name}"));
            let _ = writeln!(tables, "SourceFile {{ name: {name:?}, text: include_str!({text}) }},");
        }
        tables.push_str("];\n");
    }
    let _ = writeln!(tables, "/// The texts that routines can mention, sorted.");
    let all_texts: Vec<String> =
        all_texts.iter().map(|text| format!("b\"{}\"", text.escape_ascii())).collect();
    let _ = writeln!(tables, "pub const TEXTS_OF_ROUTINES: &[&[u8]] = &[{}];", all_texts.join(", "));
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("sources.rs"), tables)
}
