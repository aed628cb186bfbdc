//! Where packages and their programs lie.

use crate::error::PackageError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where packages are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A package is a folder of its name in one of these, or a checkout of a known repository (`netgroup+hikepkg-meter`, `hike-public`).
    /// Of several, the first counts.
    pub folders: Vec<PathBuf>,
    /// Names for several packages, which are searched in their order.
    pub aliases: Vec<(String, Vec<String>)>,
}

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// C for clang.
    Source,
    /// A compiled object.
    Object,
    Lua,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The package in which it is, where an alias was asked for.
    pub package: String,
    pub kind: Kind,
    pub path: PathBuf,
}

/// Where a package's files can be, in the order in which they count. An object beside its source may be HIKe's own, which needs its virtual
/// machine; so sources come first.
const PLACES: [(&str, &str, Kind); 4] = [
    ("", ".bpf.c", Kind::Source),
    ("", ".bpf.o", Kind::Object),
    ("build", ".bpf.o", Kind::Object),
    ("", ".lua", Kind::Lua),
];

/// The package with the programs and headers that come with HIKe.
const DEFAULT: &str = "hike_default";

impl Sources {
    /// The program of a package, by the names that a script uses.
    ///
    /// # Errors
    /// One that is in none of the folders, or a name that can be none.
    pub fn find(&self, package: &str, program: &str) -> Result<Found, PackageError> {
        check_name("program", program)?;
        let mut folders = Vec::new();
        for name in self.meant(package)? {
            folders.extend(self.places_of(name).into_iter().map(|folder| (name, folder)));
        }
        if folders.is_empty() {
            let known = self.packages();
            let near = nearest(package, &known);
            let searched = self.folders.clone();
            return Err(PackageError::NoPackage { package: package.into(), searched, near });
        }
        for (package, folder) in &folders {
            if let Some((kind, path)) = program_in(folder, program) {
                return Ok(Found { package: package.to_string(), kind, path });
            }
        }
        let searched: Vec<PathBuf> = folders.into_iter().map(|(_, folder)| folder).collect();
        let known = searched.iter().flat_map(|folder| programs(folder)).map(|(name, ..)| name).collect();
        let near = nearest(program, &known);
        Err(PackageError::NoProgram { package: package.into(), program: program.into(), searched, near })
    }

    /// The folder of a package, no alias.
    ///
    /// # Errors
    /// One that is nowhere.
    pub fn package(&self, package: &str) -> Result<PathBuf, PackageError> {
        check_name("package", package)?;
        self.places_of(package).into_iter().next().ok_or_else(|| PackageError::NoPackage {
            package: package.into(),
            searched: self.folders.clone(),
            near: nearest(package, &self.packages()),
        })
    }

    /// The names of all packages, but for aliases.
    pub fn packages(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for folder in self.folders.iter().flat_map(|folder| entries(folder)) {
            let name = file_name(&folder);
            names.extend(match checkout(&folder) {
                Checkout::Package(package, _) => vec![package],
                Checkout::Collection(collections) => collections
                    .iter()
                    .flat_map(|folder| entries(folder))
                    .map(|path| file_name(&path))
                    .collect(),
                Checkout::None => vec![name],
            });
        }
        names.retain(|name| is_name(name));
        names
    }

    /// Where the headers lie that packages have from HIKe; sources are compiled with these folders behind their own.
    pub fn includes(&self) -> Vec<PathBuf> {
        self.places_of(DEFAULT)
    }

    fn meant<'s>(&'s self, package: &'s str) -> Result<Vec<&'s str>, PackageError> {
        check_name("package", package)?;
        let alias = self.aliases.iter().find(|(name, _)| name == package);
        Ok(alias.map_or(vec![package], |(_, packages)| packages.iter().map(String::as_str).collect()))
    }

    /// The folders of a package of that name.
    fn places_of(&self, package: &str) -> Vec<PathBuf> {
        let mut places = Vec::new();
        for folder in &self.folders {
            let plain = folder.join(package);
            if plain.is_dir() && matches!(checkout(&plain), Checkout::None) {
                places.push(plain);
            }
            for entry in entries(folder) {
                match checkout(&entry) {
                    Checkout::Package(name, place) if name == package => places.push(place),
                    Checkout::Collection(collections) => {
                        places.extend(
                            collections.iter().map(|folder| folder.join(package)).filter(|f| f.is_dir()),
                        );
                    }
                    _ => {}
                }
            }
        }
        places
    }
}

/// What a folder is, by its name as a checkout.
enum Checkout {
    Package(String, PathBuf),
    /// Folders with packages.
    Collection(Vec<PathBuf>),
    None,
}

/// Repositories of HIKe by their names, behind the owner's.
fn checkout(folder: &Path) -> Checkout {
    let name = file_name(folder);
    let name = name.split_once('+').map_or(name.as_str(), |(_, name)| name);
    match name {
        "hike-public" | "hike" => Checkout::Package(DEFAULT.into(), folder.join("src")),
        "hike-contribs" => Checkout::Package("contribs".into(), folder.to_owned()),
        "eclat-daemon" => {
            Checkout::Collection(["components", "develop/temp-util"].map(|part| folder.join(part)).into())
        }
        name => match name.strip_prefix("hikepkg-") {
            Some(package) => Checkout::Package(package.into(), folder.to_owned()),
            None => Checkout::None,
        },
    }
}

/// The folders in a folder, by their names; of one that cannot be read none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn program_in(folder: &Path, program: &str) -> Option<(Kind, PathBuf)> {
    let path = |(place, ending, kind): (&str, &str, Kind)| {
        let path = folder.join(place).join(format!("{program}{ending}"));
        path.is_file().then_some((kind, path))
    };
    let otherwise = || {
        let all = programs(folder).into_iter();
        all.filter(|(name, ..)| name == program).map(|(_, kind, path)| (kind, path)).next()
    };
    PLACES.into_iter().find_map(path).or_else(otherwise)
}

/// The programs of a package's folder by name, each once. A name in a script has no `-`, which files have.
pub(crate) fn programs(folder: &Path) -> Vec<(String, Kind, PathBuf)> {
    let mut found: Vec<(String, Kind, PathBuf)> = Vec::new();
    for (place, ending, kind) in PLACES {
        let files = fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()).filter(|path| path.is_file()) {
            let name = file_name(&path);
            let Some(name) = name.strip_suffix(ending).filter(|name| is_name(name)) else { continue };
            let name = name.replace('-', "_");
            if !found.iter().any(|(known, ..)| *known == name) {
                found.push((name, kind, path));
            }
        }
    }
    found.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    found
}

fn nearest(name: &str, known: &BTreeSet<String>) -> Vec<String> {
    let near = moonhook_btf::nearest(name, known.iter().map(String::as_str));
    near.into_iter().map(str::to_string).collect()
}

/// Bytes of a name at most: files can have no longer ones, with their endings.
const MOST_BYTES: usize = 200;

/// Whether a text can be the name of a package, a program or a tag: what would lead to another folder, or is an option of a command, cannot.
pub(crate) fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= MOST_BYTES
        && name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || matches!(c, '-' | '.'))
        && !name.contains("..")
}

pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), PackageError> {
    if is_name(name) { Ok(()) } else { Err(PackageError::Name { what, name: name.into() }) }
}
