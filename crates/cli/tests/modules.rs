//! The modules of each crate: those that use one another in a circle are few, so that one can be understood before the next.
//!
//! What counts is what a file names: a method that another module adds to a type is not seen.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// Modules in one circle, at most.
const MOST: usize = 5;

/// A crate whose rules call one another by nature: what a random program consists of.
const GRAMMAR: &str = "proof";

/// What stands for the functions of a crate's root.
const ROOT: &str = "lib";

/// A module by its path in the crate, and what it names: paths from the crate's root.
struct Module {
    path: Vec<String>,
    names: Paths,
}

/// Collects the paths in a file.
#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
    /// The file's functions.
    functions: BTreeSet<String>,
    /// What `use` brings in is left out: of a crate's root, that is what it hands on.
    without_use: bool,
}

impl Paths {
    fn add_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.found.push(with(&name.ident)),
            syn::UseTree::Rename(name) => self.found.push(with(&name.ident)),
            syn::UseTree::Glob(_) => self.found.push(before.to_vec()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !self.without_use {
            self.add_tree(&[], &item.tree);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.functions.insert(item.sig.ident.to_string());
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // One by itself is a variable or what a `use` brought in.
        if path.segments.len() > 1 {
            self.found.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    /// Tests may use what they like.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            syn::visit::visit_item_mod(self, item);
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder's entry").path());
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(rust_files(&path)),
            false => files.extend(path.extension().is_some_and(|kind| kind == "rs").then_some(path)),
        }
    }
    files
}

fn modules(source: &Path) -> Vec<Module> {
    let module = |file: PathBuf| {
        let inside = file.strip_prefix(source).expect("a file of the crate").with_extension("");
        let mut path: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            path.pop();
        }
        let text = std::fs::read_to_string(&file).expect("a source file");
        let mut names = Paths { without_use: path.is_empty(), ..Paths::default() };
        if path.is_empty() {
            path.push(ROOT.to_string());
        }
        names.visit_file(
            &syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        );
        Module { path, names }
    };
    rust_files(source).into_iter().map(module).collect()
}

/// The module that a path of `from` leads into, if it is one of the same crate: the longest that is known.
fn target<'m>(
    known: &BTreeMap<&'m [String], &Paths>,
    from: &[String],
    path: &[String],
) -> Option<&'m [String]> {
    let first = path.first()?.as_str();
    let from = if from == [ROOT] { &[] } else { from };
    let mut full: Vec<String> = match first {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from[..from.len().saturating_sub(1)].to_vec(),
        name => {
            let child: Vec<String> = from.iter().cloned().chain([name.to_string()]).collect();
            known.get_key_value(child.as_slice())?.0.to_vec()
        }
    };
    for part in &path[1..] {
        match part.as_str() {
            "super" => drop(full.pop()),
            part => full.push(part.to_string()),
        }
    }
    let root = &[ROOT.to_string()][..];
    let (root, paths) = known.get_key_value(root)?;
    if full.len() == 1 && paths.functions.contains(&full[0]) {
        return Some(root);
    }
    (1..=full.len()).rev().find_map(|length| known.get_key_value(&full[..length]).map(|(path, _)| *path))
}

fn circles(modules: &[Module]) -> Vec<Vec<String>> {
    let known: BTreeMap<&[String], &Paths> =
        modules.iter().map(|module| (module.path.as_slice(), &module.names)).collect();
    let mut graph = DiGraphMap::<&[String], ()>::new();
    for module in modules {
        for path in &module.names.found {
            let target = target(&known, &module.path, path);
            if let Some(target) = target.filter(|target| *target != module.path) {
                graph.add_edge(module.path.as_slice(), target, ());
            }
        }
    }
    let names = |circle: Vec<&[String]>| circle.into_iter().map(|path| path.join("::")).collect();
    tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1).map(names).collect()
}

#[test]
fn circles_of_modules_are_small() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in std::fs::read_dir(crates).expect("the folder of crates") {
        let folder = entry.expect("a crate").path();
        for circle in circles(&modules(&folder.join("src"))) {
            let is_grammar = folder.ends_with(GRAMMAR) && circle.contains(&"generator".to_string());
            assert!(
                circle.len() <= MOST || is_grammar,
                "{}: {} modules in a circle: {circle:?}",
                folder.display(),
                circle.len()
            );
        }
    }
}

/// Three modules in a circle, by `use`, by a path in an expression and by one in a type, and one that only uses them; the root has a
/// function that one uses, and a module of tests.
#[test]
fn circles_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub fn common() { a::start() }"),
        ("a.rs", "use crate::b::{self, go as walk}; pub fn start() { walk() }"),
        ("b/mod.rs", "mod inner; pub fn go() { inner::on() }"),
        ("b/inner.rs", "pub fn on() -> super::super::c::Found { todo!() } mod tests { use crate::d::top; }"),
        ("c.rs", "pub struct Found(crate::a::Start);"),
        ("d.rs", "use crate::a; use crate::common; pub fn top() { common(); a::start() }"),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut found = circles(&modules(folder.path()));
    found.iter_mut().for_each(|circle| circle.sort());
    assert_eq!(found, [["a", "b", "b::inner", "c"].map(String::from).to_vec()]);
}
