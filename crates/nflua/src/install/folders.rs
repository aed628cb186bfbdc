//! Where files go: the folders that iptables and Lua look into.

use super::error::PluginError;
use super::parts::{MODULE, PLUGINS, Part};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed, and where.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Where iptables has its plugins; where nothing is said, the place is looked for.
    pub xtables_dir: Option<PathBuf>,
    /// For which Lua the module is, if it is wanted.
    pub lua: Option<Lua>,
    /// Where that Lua finds modules in C; where nothing is said, below `/usr/local/lib`.
    pub lua_dir: Option<PathBuf>,
}

/// The versions of Lua that the module can be compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lua {
    V5_3,
    V5_4,
}

impl Lua {
    pub(super) fn version(self) -> &'static str {
        match self {
            Lua::V5_3 => "5.3",
            Lua::V5_4 => "5.4",
        }
    }

    /// What systems call its development files: Debian; Fedora and others; Arch.
    pub(super) fn packages(self) -> [String; 3] {
        let version = self.version();
        [format!("lua{version}"), format!("lua-{version}"), format!("lua{}", version.replace('.', ""))]
    }
}

/// A file to be.
#[derive(Debug)]
pub(super) struct Target {
    pub part: &'static Part,
    /// For which Lua it is; `None` for plugins.
    pub lua: Option<Lua>,
    pub path: PathBuf,
    /// Whether its folder may have to be made. That of plugins is there where iptables is.
    pub makes_folder: bool,
}

/// The environment variable by which iptables is told where its plugins are, several folders with colons between.
const VARIABLE: &str = "XTABLES_LIBDIR";

/// Where distributions have it, if pkg-config does not say.
fn usual_folders() -> [PathBuf; 5] {
    let machine = std::env::consts::ARCH;
    [
        format!("/usr/lib/{machine}-linux-gnu/xtables").into(),
        format!("/lib/{machine}-linux-gnu/xtables").into(),
        "/usr/lib64/xtables".into(),
        "/usr/lib/xtables".into(),
        "/usr/libexec/xtables".into(),
    ]
}

/// All files that are wanted.
pub(super) fn targets(wanted: &Wanted) -> Result<Vec<Target>, PluginError> {
    let folder = xtables_folder(wanted.xtables_dir.as_deref(), std::env::var_os(VARIABLE).as_deref())?;
    let plugin =
        |part: &'static Part| Target { part, lua: None, path: folder.join(part.file), makes_folder: false };
    let mut targets: Vec<Target> = PLUGINS.iter().map(plugin).collect();
    targets.extend(wanted.lua.map(|lua| {
        let usual = || PathBuf::from("/usr/local/lib/lua").join(lua.version());
        let folder = wanted.lua_dir.clone().unwrap_or_else(usual);
        Target { part: &MODULE, lua: Some(lua), path: folder.join(MODULE.file), makes_folder: true }
    }));
    Ok(targets)
}

/// The folder that is given, the first that the variable names, that of the development files, or a usual one that is there.
fn xtables_folder(given: Option<&Path>, variable: Option<&OsStr>) -> Result<PathBuf, PluginError> {
    let named =
        variable.and_then(|value| std::env::split_paths(value).find(|path| !path.as_os_str().is_empty()));
    if let Some(folder) = given.map(Path::to_owned).or(named) {
        return match folder.is_dir() {
            true => Ok(folder),
            false => Err(PluginError::NoFolder { folder: Some(folder) }),
        };
    }
    let folder = own_folder();
    folder.is_dir().then_some(folder).ok_or(PluginError::NoFolder { folder: None })
}

/// Where the host's iptables has its own plugins, whatever the variable says.
pub(super) fn own_folder() -> PathBuf {
    let told = pkg_config(&["--variable=xtlibdir", "xtables"]).map(PathBuf::from);
    let candidates = told.into_iter().chain(usual_folders());
    let [fallback, ..] = usual_folders();
    candidates.into_iter().find(|folder| folder.is_dir()).unwrap_or(fallback)
}

/// What pkg-config answers, if it is there and knows.
pub(super) fn pkg_config(arguments: &[&str]) -> Option<String> {
    let output = Command::new("pkg-config").args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !answer.is_empty()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_go_where_iptables_looks_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let list = std::env::join_paths([path, other.path()]).expect("a list");
        assert_eq!(xtables_folder(None, Some(&list)).expect("named"), path);
        assert_eq!(xtables_folder(Some(other.path()), Some(&list)).expect("given"), other.path());
        let absent = path.join("absent");
        let error = xtables_folder(Some(&absent), None).expect_err("no folder");
        assert_eq!((error.code(), error.to_string().contains("absent")), ("MH1206", true));
    }

    #[test]
    fn the_module_goes_where_its_lua_looks() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut wanted =
            Wanted { xtables_dir: Some(folder.path().into()), lua: Some(Lua::V5_3), lua_dir: None };
        let last = |wanted: &Wanted| targets(wanted).expect("folders").pop().expect("a file").path;
        assert_eq!(last(&wanted), Path::new("/usr/local/lib/lua/5.3/nflua.so"));
        wanted.lua_dir = Some("/x".into());
        assert_eq!(last(&wanted), Path::new("/x/nflua.so"));
        wanted.lua = None;
        assert_eq!(last(&wanted), folder.path().join("libip6t_bpf.so"));
        assert_eq!(Lua::V5_4.packages(), ["lua5.4", "lua-5.4", "lua54"]);
    }
}
