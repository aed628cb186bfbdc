//! What the tests of this folder share: a tier made of a text of Lua, and frames.
#![allow(dead_code)]

pub mod frames;

use mlua::{Function, Lua, LuaOptions, StdLib};
use moonhook_hook::{Hook, XDP};
use moonhook_user::{Options, Outcome, UserTier};

pub const DROP: i32 = 1;
pub const PASS: i32 = 2;

/// A tier whose handlers are the functions that `script` returns. Line 1 of the script is line 1 of `script.lua`.
pub fn tier_with(script: &str, options: Options) -> UserTier {
    tier_at(&XDP, script, options)
}

/// The same at another hook.
pub fn tier_at(hook: &'static Hook, script: &str, options: Options) -> UserTier {
    let libraries = StdLib::ALL_SAFE;
    let lua = Lua::new_with(libraries, LuaOptions::default()).unwrap();
    let handlers: mlua::Variadic<Function> = lua.load(script).set_name("@script.lua").eval().unwrap();
    UserTier::of_functions(lua, handlers.to_vec(), hook, options).unwrap()
}

pub fn tier(script: &str) -> UserTier {
    tier_with(script, Options::default())
}

/// What a handler with this body does with a frame.
pub fn run(body: &str, frame: &[u8]) -> Outcome {
    tier(&format!("return function(pkt, arg) {body} end")).run(frame)
}

/// The message that a handler with this body ends with.
pub fn message(body: &str, frame: &[u8]) -> String {
    run(body, frame).error.map_or_else(|| "no error".into(), |error| error.lossy())
}

/// What `expression` evaluates to, as `tostring` shows it.
pub fn show(expression: &str, frame: &[u8]) -> String {
    message(&format!("error(tostring({expression}), 0)"), frame)
}
