//! Routines of runtime Lua, put into the program with everything they call.

use super::General;
use moonhook_ir as ir;
use moonhook_ir::FunctionId;
use moonhook_runtime::{CompileError, Host};

/// The largest part of what arithmetic of floats takes, which few scripts need.
const POWER: &str = "float_power";

/// In the place of [`POWER`], which takes the state and two floats.
fn never_called(name: &str) -> ir::Function {
    let kind = ir::FunctionKind::Subprogram { global: true, context: None };
    let mut code = ir::Builder::new(name, kind, 3);
    code.ret(0);
    code.function
}

impl Host for General<'_> {
    fn text(&mut self, text: &[u8]) -> u64 {
        self.image.text(text)
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        General::routine(self, name)
    }
}

impl General<'_> {
    /// The id of a routine.
    pub fn routine(&mut self, name: &str) -> FunctionId {
        if let Some(known) = self.routines.get(name) {
            return *known;
        }
        let id = self.reserve();
        self.routines.insert(name.to_string(), id);
        self.uncompiled_routines.push((name.to_string(), id));
        id
    }

    /// Compiles the routines that have been named, until none names another.
    pub fn add_routines(&mut self) -> Result<(), CompileError> {
        let have_powers = self.functions.have_powers();
        while let Some((name, id)) = self.uncompiled_routines.pop() {
            let function = match name.as_str() {
                POWER if !have_powers => never_called(&name),
                _ => moonhook_runtime::compile(&name, self)?,
            };
            self.place(id, function);
        }
        Ok(())
    }
}
