//! Routines that are compiled once in a process: what they become is the same in all programs, but for the numbers of the routines that they
//! call.

use crate::compile::{CompileError, Host, compile as compile_anew};
use crate::texts;
use moonhook_ir as ir;
use moonhook_ir::{FunctionId, Op};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A routine in no program.
struct Template {
    /// Calls others by their position in `routines`.
    function: ir::Function,
    routines: Vec<String>,
    /// The texts that it mentions, with the payload words that it has for them.
    texts: Vec<(Vec<u8>, u64)>,
}

impl Template {
    fn new(name: &str) -> Result<Template, CompileError> {
        let mut recorder = Recorder::default();
        let function = compile_anew(name, &mut recorder)?;
        let Recorder { routines, texts } = recorder;
        Ok(Template { function, routines, texts })
    }

    /// The routine in the host's program; `None` where that has a text in another place.
    fn place(&self, host: &mut dyn Host) -> Option<ir::Function> {
        if !self.texts.iter().all(|(text, payload)| host.text(text) == *payload) {
            return None;
        }
        let ids: Vec<FunctionId> = self.routines.iter().map(|name| host.routine(name)).collect();
        let mut function = self.function.clone();
        for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            if let Op::Call { function, .. } = &mut inst.op {
                *function = ids[function.0 as usize];
            }
        }
        Some(function)
    }
}

/// Notes what a routine asks of its program.
#[derive(Default)]
struct Recorder {
    routines: Vec<String>,
    texts: Vec<(Vec<u8>, u64)>,
}

impl Host for Recorder {
    fn text(&mut self, text: &[u8]) -> u64 {
        // One that has no place of its own is in a different one in each program.
        let payload = texts::payload(text).unwrap_or(u64::MAX);
        self.texts.push((text.to_vec(), payload));
        payload
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        let known = self.routines.iter().position(|known| known == name);
        let position = known.unwrap_or_else(|| {
            self.routines.push(name.to_string());
            self.routines.len() - 1
        });
        FunctionId(position as u32)
    }
}

/// By name, what has been compiled.
static TEMPLATES: Mutex<BTreeMap<String, Arc<Template>>> = Mutex::new(BTreeMap::new());

/// Compiles a routine to a subprogram.
///
/// # Errors
/// For a name that no source file defines, and for sources that are not runtime Lua.
pub fn compile(name: &str, host: &mut dyn Host) -> Result<ir::Function, CompileError> {
    let known = templates().get(name).cloned();
    let template = match known {
        Some(template) => template,
        None => {
            let template = Arc::new(Template::new(name)?);
            templates().insert(name.to_string(), Arc::clone(&template));
            template
        }
    };
    match template.place(host) {
        Some(function) => Ok(function),
        None => compile_anew(name, host),
    }
}

fn templates() -> MutexGuard<'static, BTreeMap<String, Arc<Template>>> {
    TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner)
}
