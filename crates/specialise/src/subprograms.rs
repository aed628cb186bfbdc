//! Functions that the program calls instead of having their code in place: what few packets need must not take registers
//! from the code of the others, nor be walked by the verifier once for every path to it.

use crate::context::{Context, Result};
use crate::expanded;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::words::{Code, Words};
use moonhook_ir::{FunctionId, FunctionKind};
use moonhook_packet::{Access, Scattered};

impl<'a> Context<'a> {
    /// The function `name`, made by `body` unless it is there: verified on its own, it takes the program's context and
    /// `parameters` numbers, which `body` gets, and gives a number ([`Words::give`]). It raises no errors, and its loops
    /// are bounded by themselves: they take nothing from the budget.
    pub fn subprogram(
        &mut self,
        name: &str,
        parameters: u32,
        body: impl FnOnce(&mut Context<'a>, &[Word]) -> Result<()>,
    ) -> Result<FunctionId> {
        let copied = self.target.copy.filter(|_| self.stub.is_some());
        let of_copy = if copied.is_some() { format!("{name}_copied") } else { name.to_string() };
        let name = of_program(&of_copy, self.target.program);
        if let Some(known) = self.known_subprogram(&name) {
            return Ok(known);
        }
        let kind =
            FunctionKind::Subprogram { global: true, context: Some(self.target.hook.section.to_string()) };
        let function = ir::Function::new(&name, kind, 1 + parameters);
        let words: Vec<Word> = function.params[1..].iter().copied().map(Word::Value).collect();
        let module = std::mem::take(&mut self.output.module);
        let mut inner = Context::of_function(
            self.snapshot,
            self.options,
            module,
            function,
            (self.target.hook, self.target.program),
        );
        inner.around = &expanded::SUBPROGRAM;
        // What it calls itself is placed by whoever places it.
        inner.stub = self.stub.take();
        inner.code.loc = self.code.loc;
        inner.load_bounds();
        // In general code every function of the packet finds the copy of a frame by itself.
        let outcome = match copied {
            Some(copy) => inner.use_copy(copy.reader),
            None => Ok(()),
        };
        let outcome = outcome.and_then(|()| body(&mut inner, &words));
        for block in [inner.target.fail_block, inner.target.exit_block] {
            inner.state.block = Some(block);
            inner.give(0);
        }
        let Context { output, stub, code: Code { mut function, opaque_map, .. }, .. } = inner;
        (self.output.module, self.stub) = (output.module, stub);
        outcome?;
        crate::invariants::make_unknown(&mut function, opaque_map);
        Ok(self.place_subprogram(function))
    }

    /// Adds a function to the module; gives its number.
    pub fn place_subprogram(&mut self, function: ir::Function) -> FunctionId {
        self.around.place_subprogram(self, function)
    }

    /// The number of a function that was added before.
    pub fn known_subprogram(&self, name: &str) -> Option<FunctionId> {
        self.around.known_subprogram(self, name)
    }
}

/// The name of a function of the program with that number alone: contexts of hooks differ, and the verifier looks at a global function with
/// one kind of them; and each program has memory of its own.
pub fn of_program(name: &str, program: usize) -> String {
    if program == 0 { name.to_string() } else { format!("{name}_{program}") }
}
