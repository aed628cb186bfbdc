//! The service `Eclat`: what clients of eCLAT's own daemon call. Every answer is a status, `OK` or `FAIL`, and a message.

use crate::ServeError;
use crate::limits::{self, aside, turn};
use crate::proto::eclat::eclat_server::Eclat;
use crate::proto::eclat::{Entry, Map, Nothing, Outcome, Package, Script};
use crate::scripts::{Load, Replace, Scripts};
use crate::spec::Spec;
use crate::spool::Source;
use moonhook_daemon::Name;
use moonhook_diagnostic::Exit;
use moonhook_eclat::ast::Source as ProgramSource;
use moonhook_eclat::tree::{Chains, Datum};
use moonhook_packages::PackageError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tonic::{Request, Response, Status};

pub struct EclatService {
    pub scripts: Scripts,
    /// Set to end the service.
    pub quit: Arc<AtomicBool>,
}

type Answer = Result<Response<Outcome>, Status>;

fn answer(outcome: Result<String, ServeError>) -> Answer {
    let (status, message) = match outcome {
        Ok(message) => ("OK", message),
        Err(error) => ("FAIL", error.diagnostic().render(false)),
    };
    Ok(Response::new(Outcome { status: status.to_string(), message }))
}

/// The script in a text, without what its devices stand for.
fn read(text: &str) -> Result<Chains, ServeError> {
    moonhook_eclat::read(text, "script.eclat")
        .map_err(|diagnostic| ServeError::Other(diagnostic, Exit::Refused))
}

/// The packages that a script imports of; modules in Lua are none.
fn packages_of(script: Chains) -> Vec<String> {
    let mut packages: Vec<String> = Vec::new();
    for program in script.programs {
        if program.source != ProgramSource::Lua && !packages.contains(&program.package) {
            packages.push(program.package);
        }
    }
    packages
}

/// The package that clients give where nobody has said one.
const NO_PACKAGE: &str = "defaultpkg";

/// What a script is called: its package and the first chain that it starts. One of the same name replaces it.
fn name_of(package: &str, script: &Chains) -> (Name, String) {
    let data = script.contents.iter().flat_map(|contents| &contents.entries).flatten().flatten();
    let started = data.into_iter().find_map(|datum| match datum {
        Datum::Chain(number) => script.chains.get(*number),
        Datum::Number(_) | Datum::Text(_) => None,
    });
    let main = || script.chains.iter().find(|chain| chain.name == "main");
    let chain = started.or_else(main).or(script.chains.first());
    let chain = chain.map_or("script", |chain| chain.name.as_str());
    let whole = match package {
        "" | NO_PACKAGE => format!("{chain}.eclat"),
        package => format!("{package}.{chain}.eclat").replace('/', "_"),
    };
    (Name::of_script(Path::new(&whole)), format!("{}.eclat", chain.chars().take(60).collect::<String>()))
}

impl EclatService {
    async fn load(&self, Script { script: text, package }: Script) -> Result<String, ServeError> {
        let read = move || {
            let (name, file) = name_of(&package, &read(&text)?);
            let mut spec = Spec::default();
            spec.complete(&file, text.clone())?;
            Ok((name, file, spec, text))
        };
        let (name, file, spec, text) = self.scripts.parse(read).await?;
        let to = spec.interfaces.join(", ");
        let sources = vec![Source { name: file, text }];
        // The same script at another device is another one: nobody has said that the first is to end.
        let load = Load { name, sources, spec, replace: Replace::Same };
        let (name, replaced) = self.scripts.load_apart(load).await?;
        let done = if replaced { "replaced" } else { "attached" };
        Ok(format!("'{name}' is {done} ({to})"))
    }

    /// Fetches packages that are not there.
    async fn fetch(&self, packages: Vec<String>) -> Result<String, ServeError> {
        let turn =
            turn(&self.scripts.limits().fetches, (limits::FETCH, "packages are being fetched")).await?;
        let config = self.scripts.config();
        let (sources, index, into) = (config.sources.clone(), config.index.clone(), config.fetched.clone());
        let fetch = move || {
            let mut done = Vec::new();
            for package in &packages {
                let names = sources.aliases.iter().find(|(alias, _)| alias == package);
                let names = names.map_or_else(|| vec![package.clone()], |(_, names)| names.clone());
                for name in names {
                    done.push(fetched(&sources, index.as_deref(), (&name, &into))?);
                }
            }
            Ok(done.join("\n"))
        };
        aside((limits::FETCH, "fetching packages"), turn, fetch).await
    }

    async fn read_map(
        &self,
        path: String,
        read: impl FnOnce(&crate::maps::ScriptMap) -> Result<String, ServeError> + Send + 'static,
    ) -> Result<String, ServeError> {
        let turn = turn(&self.scripts.limits().reads, (limits::READ, "maps are being read")).await?;
        let map = self.scripts.maps().find(&path)?;
        aside((limits::READ, "reading the map"), turn, move || read(&map)).await
    }
}

/// Has a package fetched unless it is there; says what became of it.
fn fetched(
    sources: &moonhook_packages::Sources,
    index: Option<&Path>,
    (name, into): (&str, &Path),
) -> Result<String, ServeError> {
    match (sources.package(name), index) {
        (Ok(folder), _) => Ok(format!("'{name}' is there: {}", folder.display())),
        (Err(PackageError::NoPackage { .. }), Some(index)) => {
            let fetched = moonhook_packages::fetch(index, name, into)?;
            Ok(format!("'{name}' is fetched: {}", fetched.folder.display()))
        }
        (Err(error), _) => Err(error.into()),
    }
}

#[tonic::async_trait]
impl Eclat for EclatService {
    async fn load_configuration(&self, request: Request<Script>) -> Answer {
        answer(self.load(request.into_inner()).await)
    }

    async fn fetch_configuration(&self, request: Request<Script>) -> Answer {
        let text = request.into_inner().script;
        let packages = self.scripts.parse(move || read(&text).map(packages_of));
        match packages.await {
            Ok(packages) => answer(self.fetch(packages).await),
            Err(error) => answer(Err(error)),
        }
    }

    async fn fetch_package(&self, request: Request<Package>) -> Answer {
        answer(self.fetch(vec![request.into_inner().package]).await)
    }

    async fn dump_map(&self, request: Request<Map>) -> Answer {
        answer(self.read_map(request.into_inner().mapname, |map| map.dump()).await)
    }

    async fn get_map_value(&self, request: Request<Entry>) -> Answer {
        let Entry { mapname, key } = request.into_inner();
        answer(self.read_map(mapname, move |map| map.get(&key)).await)
    }

    async fn quit(&self, _request: Request<Nothing>) -> Answer {
        self.quit.store(true, Ordering::Relaxed);
        answer(Ok("the service ends".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_called_by_its_package_and_first_chain() {
        let text = "from loaders.basic import l\nl[m] = { (0): (second) }\nl.attach('a', 'xdp')\n\
                    def first():\n    return 0\ndef second():\n    return 0\n";
        let script = read(text).unwrap();
        let name = |package: &str| name_of(package, &script).0.to_string();
        assert_eq!(
            (name("defaultpkg"), name(""), name("my/x")),
            ("second".into(), "second".into(), "my_x.second".into())
        );
        assert_eq!(name_of("", &script).1, "second.eclat");
        assert_eq!(read("def f(:").unwrap_err().exit(), Exit::Refused);
    }

    #[test]
    fn packages_are_those_of_programs_and_loaders() {
        let text = "from lua.policy import allowed\nfrom programs.b import x, y\nfrom loaders.a import l\n\
                    from programs.a import z\ndef main():\n    return 0\n";
        assert_eq!(packages_of(read(text).unwrap()), ["b", "a"]);
    }
}
