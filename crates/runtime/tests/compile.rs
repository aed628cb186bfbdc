//! Every routine is runtime Lua.

use moonhook_ir::FunctionId;
use moonhook_runtime::{Host, compile, routine_names};

struct Names;

impl Host for Names {
    fn text(&mut self, text: &[u8]) -> u64 {
        4096 | (text.len() as u64) << 32
    }

    fn routine(&mut self, _: &str) -> FunctionId {
        FunctionId(0)
    }
}

#[test]
fn every_file_parses_and_every_routine_compiles() {
    for file in moonhook_runtime::sources::ROUTINES.iter().chain(moonhook_runtime::sources::PRELUDE) {
        if let Err(error) =
            mlua::Lua::new().load(file.text).set_name(format!("@{}", file.name)).into_function()
        {
            panic!("{error}");
        }
    }
    let names = routine_names();
    assert!(!names.is_empty());
    let failed: Vec<String> = names
        .iter()
        .filter_map(|name| compile(name, &mut Names).err())
        .map(|error| error.to_string())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
