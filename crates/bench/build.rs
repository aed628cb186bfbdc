//! Builds the PUC Lua peer: Lua 5.5 and its C host, optimised whatever the profile, because they are what is compared with.

fn main() {
    let host = "../../bench/puc/host.c";
    println!("cargo:rerun-if-changed={host}");
    println!("cargo:rerun-if-changed=../../bench/puc/host.h");
    let lua = lua_src::Build::new().opt_level("2").debug(false).build(lua_src::Lua55);
    cc::Build::new()
        .file(host)
        .include(lua.include_dir())
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .compile("moonhook_puc_host");
    lua.print_cargo_metadata();
}
