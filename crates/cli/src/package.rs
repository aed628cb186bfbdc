//! `moonhook package`: programs that chains of eCLAT call.

use crate::options::absolute;
use crate::{CliError, Exit};
use indicatif::ProgressBar;
use moonhook_packages::{Kind, Listed, PackageError, Settings, Sources};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Compile, list or fetch packages of programs that chains of eCLAT call
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A package is a folder with programs: C sources NAME.bpf.c, objects NAME.bpf.o, and functions in Lua NAME.lua. Sources are compiled with clang, once: scripts
that import them do it themselves, and `build` beforehand. Headers of HIKe's packages are found in a checkout `owner+hike-public` beside the package.

Examples:
  moonhook package build packages/limits
  moonhook package build hike/netgroup+hikepkg-meter -I hike/netgroup+hike-public/src
  moonhook package list packages/limits --json
  moonhook package fetch meter --index packages.txt --into packages      # lines of `name, git_url, tag`

Exit codes: 0 done, 1 a program does not compile, 2 usage, 3 a file, a compiler or a repository cannot be had")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// One JSON array of objects
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Compile all C programs of a package
    Build {
        /// The package's folder
        folder: PathBuf,
        /// A folder with headers; can be given several times
        #[arg(short = 'I', long = "include", value_name = "DIR")]
        include: Vec<PathBuf>,
    },
    /// List the programs of a package
    List {
        /// The package's folder
        folder: PathBuf,
    },
    /// Get a package that is not there yet
    Fetch {
        /// The package's name
        package: String,
        /// Where packages come from: a file with lines of `name, git_url, tag`, or a folder of packages
        #[arg(long, value_name = "PATH")]
        index: PathBuf,
        /// The folder for packages
        #[arg(long, value_name = "DIR", default_value = "packages")]
        into: PathBuf,
    },
}

pub fn package(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Build { folder, include } => build(&absolute(folder), include, arguments.json, out),
        Action::List { folder } => {
            let listed = list(&absolute(folder), &[])?;
            show(&listed.iter().map(Shown::of).collect::<Vec<_>>(), arguments.json, out)?;
            Ok(Exit::Success)
        }
        Action::Fetch { package, index, into } => {
            let fetched = moonhook_packages::fetch(index, package, into)?;
            let what = if fetched.was_there { "is there already" } else { "fetched" };
            match arguments.json {
                true => json(out, &[Fetched { folder: fetched.folder, was_there: fetched.was_there }])?,
                false => writeln!(out, "{package} {what}: {}", fetched.folder.display())?,
            }
            Ok(Exit::Success)
        }
    }
}

#[derive(Serialize)]
struct Fetched {
    folder: PathBuf,
    was_there: bool,
}

fn cache() -> PathBuf {
    moonhook_packages::default_cache().unwrap_or_else(|| PathBuf::from(moonhook_engine::OBJECTS))
}

fn list(folder: &Path, includes: &[PathBuf]) -> Result<Vec<Listed>, PackageError> {
    let cache = cache();
    let includes = all_includes(folder, includes);
    moonhook_packages::list(folder, Some(&Settings { defines: &[], includes: &includes, cache: &cache }))
}

/// Folders with headers: those that are given, and those of a checkout beside the package.
fn all_includes(folder: &Path, given: &[PathBuf]) -> Vec<PathBuf> {
    let around = folder.parent().map(Path::to_path_buf);
    let sources = Sources { folders: around.into_iter().collect(), aliases: Vec::new() };
    given.iter().map(|folder| absolute(folder)).chain(sources.includes()).collect()
}

/// A program, as a person or a program reads of it.
#[derive(Serialize)]
struct Shown {
    name: String,
    kind: &'static str,
    path: PathBuf,
    /// The function, of C programs whose object is there.
    function: Option<String>,
    /// It starts chains.
    is_loader: bool,
    maps: Vec<String>,
    error: Option<String>,
}

impl Shown {
    fn of(listed: &Listed) -> Shown {
        let exports = listed.exports.as_ref();
        let function =
            exports.and_then(|exports| exports.programs.first()).map(|program| program.name.clone());
        let is_loader =
            exports.is_some_and(|exports| exports.programs.is_empty() && !exports.loaders.is_empty());
        Shown {
            name: listed.name.clone(),
            kind: match listed.kind {
                Kind::Source => "C",
                Kind::Object => "object",
                Kind::Lua => "Lua",
            },
            path: listed.path.clone(),
            function,
            is_loader,
            maps: listed.maps.clone(),
            error: None,
        }
    }
}

fn build(folder: &Path, includes: &[PathBuf], as_json: bool, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (cache, headers) = (cache(), all_includes(folder, includes));
    let settings = Settings { defines: &[], includes: &headers, cache: &cache };
    let listed = moonhook_packages::list(folder, None)?;
    let sources: Vec<&Listed> = listed.iter().filter(|listed| listed.kind == Kind::Source).collect();
    let bar = ProgressBar::new(sources.len() as u64);
    let (mut wrong, mut first) = (Vec::new(), None);
    for source in &sources {
        bar.set_message(source.name.clone());
        if let Err(error) = moonhook_packages::build(&source.path, &settings) {
            wrong.push((source.name.clone(), error.diagnostic()));
            first.get_or_insert(error);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut shown: Vec<Shown> = list(folder, includes)?.iter().map(Shown::of).collect();
    for program in &mut shown {
        let error = wrong.iter().find(|(name, _)| *name == program.name);
        program.error = error.map(|(_, diagnostic)| diagnostic.message.clone());
    }
    show(&shown, as_json, out)?;
    match first {
        // All are told of; the first one is the command's error.
        Some(error) => Err(error.into()),
        None => Ok(Exit::Success),
    }
}

fn json<T: Serialize>(out: &mut dyn Write, all: &[T]) -> io::Result<()> {
    let text = serde_json::to_string_pretty(all).map_err(io::Error::from)?;
    writeln!(out, "{text}")
}

fn show(all: &[Shown], as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        return json(out, all);
    }
    let width = all.iter().map(|program| program.name.len()).max().unwrap_or(0);
    for Shown { name, kind, function, is_loader, maps, error, .. } in all {
        let function =
            function.as_deref().filter(|function| *function != name).map(|name| format!("function {name}"));
        let maps = (!maps.is_empty()).then(|| format!("maps {}", maps.join(", ")));
        let error = error.as_ref().map(|error| format!("does not compile: {error}"));
        let loader = is_loader.then(|| "loader".to_string());
        let rest: Vec<String> = [error, loader, function, maps].into_iter().flatten().collect();
        writeln!(out, "{name:width$}  {kind:6}  {}", rest.join("; "))?;
    }
    Ok(())
}
