//! What a program has of its own besides its entry.

use super::General;
use moonhook_ir as ir;

/// Subprograms of the program's own.
pub struct Parts {
    pub report: Option<ir::FunctionId>,
    pub prepare: Option<ir::FunctionId>,
    pub count: Option<ir::FunctionId>,
    pub no_memory: Option<ir::FunctionId>,
    /// Taking a level, and giving it back, at hooks whose programs can be interrupted.
    pub levels: Option<[ir::FunctionId; 2]>,
}

impl General<'_> {
    pub fn parts(&mut self, program: usize) -> Parts {
        self.program = program;
        let count = if self.options.count_verdicts { self.count_verdict() } else { None };
        let levels = self.levels();
        self.program = self.representative(program);
        Parts {
            report: self.report(),
            prepare: self.packet_preparation(),
            count,
            no_memory: self.no_memory(),
            levels,
        }
    }
}
