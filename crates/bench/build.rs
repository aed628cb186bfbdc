//! Builds the PUC Lua peer: Lua 5.5 and its C host, optimised whatever the profile, because they are what is compared with.

fn main() {
    let sources = ["../../bench/puc/host.c", "../../bench/puc/copy.c"];
    for file in sources.into_iter().chain(["../../bench/puc/host.h", "../../bench/puc/copy.h"]) {
        println!("cargo:rerun-if-changed={file}");
    }
    let lua = lua_src::Build::new().opt_level("2").debug(false).build(lua_src::Lua55);
    cc::Build::new()
        .files(sources)
        .include(lua.include_dir())
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .compile("moonhook_puc_host");
    lua.print_cargo_metadata();
}
