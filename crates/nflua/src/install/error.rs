//! Why nothing was installed.

use moonhook_diagnostic::Diagnostic;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("there is no C compiler: `cc` is not found")]
    NoCompiler,
    /// `lua` is the version of Lua whose header it is.
    #[error("the header {header}{} is not installed", lua.map(|version| format!(" of Lua {version}")).unwrap_or_default())]
    NoHeader { header: &'static str, lua: Option<&'static str> },
    #[error("{file} does not compile")]
    Compile { file: &'static str, log: String },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritten { path: PathBuf, source: io::Error },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not Moonhook's, and would be replaced", path.display())]
    Foreign { path: PathBuf },
    #[error("{}", folder.as_ref().map_or("the folder of iptables' plugins is not found".to_string(),
        |folder| format!("there is no folder {}", folder.display())))]
    NoFolder { folder: Option<PathBuf> },
}

impl PluginError {
    pub(super) fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> PluginError {
        |source| PluginError::Unwritten { path: path.to_owned(), source }
    }

    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            PluginError::NoCompiler => "MH1201",
            PluginError::NoHeader { .. } => "MH1202",
            PluginError::Compile { .. } => "MH1203",
            PluginError::Unwritten { .. } | PluginError::Unreadable { .. } => "MH1204",
            PluginError::Foreign { .. } => "MH1205",
            PluginError::NoFolder { .. } => "MH1206",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.code(), self.to_string());
        let help = match self {
            PluginError::NoCompiler => "install one (on Debian: apt-get install gcc libc6-dev)".to_string(),
            PluginError::NoHeader { lua: Some(version), .. } => format!(
                "install it (on Debian: apt-get install liblua{version}-dev), name another version with `--lua`, or give `--no-lua`"
            ),
            PluginError::NoHeader { lua: None, .. } => {
                "install it (on Debian: apt-get install libxtables-dev)".to_string()
            }
            PluginError::Compile { log, .. } => {
                let help = "install the headers that belong to this iptables, or Lua";
                return diagnostic.reason(log.trim_end()).help(help);
            }
            PluginError::Unwritten { .. } | PluginError::Unreadable { .. } => {
                "run as root, or give folders with `--xtables-dir` and `--lua-dir`".to_string()
            }
            PluginError::Foreign { .. } => {
                "remove it if nobody needs it, or give folders with `--xtables-dir` and `--lua-dir`"
                    .to_string()
            }
            PluginError::NoFolder { .. } => {
                "install iptables, or give the folder where it has its plugins with `--xtables-dir`"
                    .to_string()
            }
        };
        diagnostic.help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_a_code_and_says_what_to_do() {
        let path = PathBuf::from("/x");
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let log = "plugin.h:3: error: x\nmore\n".to_string();
        for (error, code, message, help) in [
            (PluginError::NoCompiler, "MH1201", "`cc` is not found", "gcc"),
            (PluginError::NoHeader { header: "a.h", lua: None }, "MH1202", "header a.h is", "libxtables-dev"),
            (
                PluginError::NoHeader { header: "lua.h", lua: Some("5.4") },
                "MH1202",
                "header lua.h of Lua 5.4 is",
                "liblua5.4-dev",
            ),
            (PluginError::Compile { file: "a.so", log }, "MH1203", "a.so does not compile", "headers"),
            (
                PluginError::Unwritten { path: path.clone(), source: error() },
                "MH1204",
                "/x cannot be written",
                "root",
            ),
            (
                PluginError::Unreadable { path: path.clone(), source: error() },
                "MH1204",
                "/x cannot be read",
                "root",
            ),
            (PluginError::Foreign { path: path.clone() }, "MH1205", "/x is not Moonhook's", "remove it"),
            (PluginError::NoFolder { folder: Some(path) }, "MH1206", "no folder /x", "--xtables-dir"),
            (PluginError::NoFolder { folder: None }, "MH1206", "is not found", "--xtables-dir"),
        ] {
            let diagnostic = error.diagnostic();
            assert_eq!(diagnostic.code, code);
            assert!(diagnostic.message.contains(message), "{}", diagnostic.message);
            assert!(diagnostic.help.is_some_and(|text| text.contains(help)), "{code}");
        }
    }
}
