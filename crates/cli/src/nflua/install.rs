//! `moonhook nflua install` and `uninstall`: the plugins of iptables and the Lua module, onto the host and away from it.

use crate::{CliError, Exit};
use moonhook_nflua::install::{self, Generation, Lua, Wanted};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Whose options rules have
    #[arg(long, value_name = "WHICH", value_enum, default_value = "2019")]
    generation: GenerationName,
    #[command(flatten)]
    places: Places,
}

#[derive(Debug, clap::Args)]
pub struct Places {
    /// Where iptables has its plugins; else the first folder of XTABLES_LIBDIR, or that which pkg-config knows
    #[arg(long, value_name = "DIR")]
    xtables_dir: Option<PathBuf>,
    /// The Lua that the module is for
    #[arg(long, value_name = "VERSION", value_enum, default_value = "5.4")]
    lua: LuaName,
    /// Where that Lua finds modules in C; else /usr/local/lib/lua/VERSION
    #[arg(long, value_name = "DIR")]
    lua_dir: Option<PathBuf>,
    /// The plugins only
    #[arg(long, conflicts_with_all = ["lua", "lua_dir"])]
    no_lua: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum GenerationName {
    /// --state, --function, --tcp-payload
    #[value(name = "2019")]
    Of2019,
    /// --function, --tcp-payload, --mask: there is one state
    Cujo,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LuaName {
    #[value(name = "5.3")]
    V5_3,
    #[value(name = "5.4")]
    V5_4,
}

impl Places {
    fn wanted(&self) -> Wanted {
        let lua = match self.lua {
            LuaName::V5_3 => Lua::V5_3,
            LuaName::V5_4 => Lua::V5_4,
        };
        Wanted {
            xtables_dir: self.xtables_dir.clone(),
            lua: (!self.no_lua).then_some(lua),
            lua_dir: self.lua_dir.clone(),
        }
    }
}

pub fn install(options: &Options, out: &mut dyn Write) -> Result<Exit, CliError> {
    let generation = match options.generation {
        GenerationName::Of2019 => Generation::Of2019,
        GenerationName::Cujo => Generation::Cujo,
    };
    say(out, "installed", &install::install(&options.places.wanted(), generation)?)
}

pub fn uninstall(places: &Places, out: &mut dyn Write) -> Result<Exit, CliError> {
    say(out, "removed", &install::uninstall(&places.wanted())?)
}

/// A line for each file.
fn say(out: &mut dyn Write, done: &str, files: &[PathBuf]) -> Result<Exit, CliError> {
    for file in files {
        writeln!(out, "{done} {}", file.display())?;
    }
    Ok(Exit::Success)
}
