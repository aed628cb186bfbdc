//! From a message of Lua to a place in a script.

use std::ffi::CStr;

use mlua::{Thread, ffi};
use moonhook_diagnostic::Place;
use moonhook_snapshot::Source;

use crate::error::Failure;

/// `LUA_IDSIZE` of `luaconf.h`: bytes for a chunk name in messages, with the NUL.
const NAME_SIZE: usize = 60;

/// Takes a message apart: position, text, and the name it is about. `fallback` is used when it has no position.
pub(crate) fn locate(message: &str, sources: &[Source], fallback: Option<(String, u32)>) -> Failure {
    // `require` puts the message of a module that cannot be parsed into its own.
    let message = match message.split_once(":\n\t") {
        Some((head, inner)) if head.starts_with("error loading module '") => inner,
        _ => message,
    };
    let at = sources.iter().find_map(|source| {
        let rest = message.strip_prefix(&file_chunk_name(&source.name))?.strip_prefix(':')?;
        let (line, text) = rest.split_once(": ")?;
        Some((source.name.clone(), line.parse().ok()?, text))
    });
    let (position, text) = match at {
        Some((file, line, text)) => (Some((file, line)), text),
        None => (fallback, message),
    };
    let place = position.and_then(|(file, line)| {
        let source = sources.iter().find(|source| source.name == file)?;
        Some(Place { file, line, text: source.line(line).to_owned(), name: subject(text) })
    });
    Failure { message: text.to_owned(), place }
}

/// The place where a thread that ended with an error stood: its innermost function that comes from a file.
pub(crate) fn position(thread: &Thread) -> Option<(String, u32)> {
    for level in 0.. {
        // SAFETY: the thread is alive and not running; the calls neither raise nor allocate (`ldebug.c`), and `source`
        // is a NUL-terminated string that the function on the stack keeps.
        unsafe {
            let mut activation: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(thread.state(), level, &mut activation) == 0 {
                return None;
            }
            ffi::lua_getinfo(thread.state(), c"Sl".as_ptr(), &mut activation);
            let source = CStr::from_ptr(activation.source).to_string_lossy();
            if let (Some(file), Ok(line)) = (source.strip_prefix('@'), u32::try_from(activation.currentline))
            {
                return Some((file.to_owned(), line));
            }
        }
    }
    None
}

/// The name that a message is about: `x` of `near 'x'`, `(global 'x')`, `bad argument #1 to 'x'`.
fn subject(message: &str) -> Option<String> {
    let message = message.lines().next()?;
    if message.ends_with("near <eof>") {
        return None;
    }
    const KINDS: &[&str] =
        &["(global '", "(local '", "(field '", "(method '", "(upvalue '", "(constant '", "near '"];
    let start = KINDS
        .iter()
        .find_map(|kind| Some(message.rfind(kind)? + kind.len()))
        .or_else(|| Some(message.find('\'')? + 1))?;
    let rest = &message[start..];
    let end = match rest.find("')") {
        Some(end) => end,
        // The token of `near` ends the message and may be a quote itself.
        None if message[..start].ends_with("near '") => rest.rfind('\'')?,
        None => rest.find('\'')?,
    };
    // What Lua writes for an index without a name (`ldebug.c`).
    let unnamed = ["", "?", "integer index"];
    Some(rest[..end].to_owned()).filter(|name| !unnamed.contains(&name.as_str()))
}

/// How messages name the file of a chunk: long names lose their beginning (`lobject.c`, `luaO_chunkid`).
fn file_chunk_name(name: &str) -> String {
    if name.len() < NAME_SIZE {
        return name.to_owned();
    }
    let tail = &name.as_bytes()[name.len() - (NAME_SIZE - 1 - 3)..];
    format!("...{}", String::from_utf8_lossy(tail))
}

/// How messages name a chunk that was given as text: its first line, cut.
pub(crate) fn text_chunk_name(text: &str) -> String {
    const ROOM: usize = NAME_SIZE - "[string \"".len() - "...".len() - "\"]".len() - 1;
    let line = text.split('\n').next().unwrap_or("");
    if line.len() == text.len() && line.len() <= ROOM {
        return format!("[string \"{line}\"]");
    }
    let cut = String::from_utf8_lossy(&line.as_bytes()[..line.len().min(ROOM)]).into_owned();
    format!("[string \"{cut}...\"]")
}
