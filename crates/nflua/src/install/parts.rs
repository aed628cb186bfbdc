//! What is compiled, as rows: a file, its sources, and the headers that it cannot do without.

use crate::Generation;

impl Generation {
    /// The value of the macro `GENERATION` (plugin.h).
    pub(super) fn number(self) -> &'static str {
        match self {
            Generation::Of2019 => "2019",
            Generation::Cujo => "2020",
        }
    }
}

/// A shared library.
#[derive(Debug)]
pub(super) struct Part {
    /// The file's name.
    pub file: &'static str,
    /// Those of [`SOURCES`] that are compiled.
    pub sources: &'static [&'static str],
    /// What its sources include that is not the C library's.
    pub header: &'static str,
}

/// For iptables. One that lists rules is there twice: each of iptables and ip6tables looks for a name of its own (`load_extension` of libxtables).
pub(super) const PLUGINS: &[Part] = &[
    Part { file: "libxt_lua.so", sources: &["libxt_lua.c"], header: "xtables.h" },
    Part { file: "libxt_LUA.so", sources: &["libxt_LUA.c"], header: "xtables.h" },
    Part { file: "libipt_bpf.so", sources: &["libipt_bpf.c"], header: "xtables.h" },
    Part { file: "libip6t_bpf.so", sources: &["libipt_bpf.c"], header: "xtables.h" },
];

/// For Lua.
pub(super) const MODULE: Part =
    Part { file: "nflua.so", sources: &["nflua.c", "link.c", "control.c", "data.c"], header: "lauxlib.h" };

macro_rules! sources {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../c/", $name)))),*] };
}

/// All sources, by their names.
pub(super) const SOURCES: &[(&str, &str)] = sources![
    "control.c",
    "daemon.h",
    "data.c",
    "libipt_bpf.c",
    "libxt_LUA.c",
    "libxt_lua.c",
    "link.c",
    "module.h",
    "nflua.c",
    "plugin.h",
    "words.h",
];
