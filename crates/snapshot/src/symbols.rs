//! What the programs of a script are called.

use crate::Snapshot;
use moonhook_hook::{Place, Point};
use std::path::Path;

/// Bytes of a name that the kernel keeps (`BPF_OBJ_NAME_LEN`, without the NUL behind it).
const KEPT: usize = 15;

/// The function by which programs in C that are written for Lunatik call handlers at XDP.
pub const BY_KEY: &str = "bpf_luaxdp_run";

impl Snapshot {
    /// The name of the program with that number, a C identifier: the script's, or the library's, with the hook's name in it if there are several.
    /// Functions of a library have names of their own.
    pub fn program_name(&self, number: usize) -> String {
        let stem = match &self.library {
            Some(library) => library.clone(),
            None => {
                let mut name = identifier(Path::new(&self.script));
                name.truncate(KEPT);
                name
            }
        };
        let points = self.points();
        match points.get(number).map(|point| &point.place) {
            Some(Place::Function(name)) => return name.to_string(),
            Some(Place::Called) => return format!("{stem}__called"),
            _ => {}
        }
        let is_program = |point: &&Point| !matches!(point.place, Place::Function(_) | Place::Called);
        if points.iter().filter(is_program).count() == 1 {
            return stem;
        }
        let hook = points[number].hook;
        let name = format!("{stem}_{}", hook.name.replace('.', "_"));
        // Several programs can be at one hook. Those of a script get their numbers later, within what the kernel keeps of names.
        let is_other = |point: &&Point| is_program(point) && point.hook == hook;
        match points[..number].iter().filter(is_other).filter(|_| self.library.is_some()).count() {
            0 => name,
            earlier => format!("{name}_{earlier}"),
        }
    }
}

/// A C identifier made of the file's name, without what is behind its last dot.
pub fn identifier(file: &Path) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("handler");
    let mut name = String::new();
    for c in stem.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() => name.push(c),
            _ if c.is_ascii() => name.push('_'),
            // Names that have nothing else are still different.
            _ => name.push_str(&format!("u{:x}", u32::from(c))),
        }
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}
