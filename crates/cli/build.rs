//! Puts the pages of `moonhook explain` into the command: a table of code and text, by code.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=explain");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("explain");
    let mut pages: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    pages.sort();
    let mut table = String::from("[\n");
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let code = page.file_stem().unwrap_or_default();
        // The folder is left to the compiler: what is made here stays right when the target directory moves.
        let _ = writeln!(
            table,
            "({code:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/explain/\", {code:?}, \".md\"))),"
        );
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("pages.rs"), table)
}
