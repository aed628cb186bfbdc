//! What a program has of its own besides its entry.

use super::General;
use moonhook_ir as ir;

/// Subprograms of the program's own.
pub struct Parts {
    pub report: Option<ir::FunctionId>,
    pub prepare: Option<ir::FunctionId>,
    pub count: Option<ir::FunctionId>,
    pub no_memory: Option<ir::FunctionId>,
    /// Taking a level, at hooks whose programs can be interrupted: a function, and the program whose levels these are.
    pub take_level: Option<(ir::FunctionId, usize)>,
}

impl General<'_> {
    pub fn parts(&mut self, program: usize) -> Parts {
        self.program = program;
        let count = if self.options.count_verdicts { self.count_verdict() } else { None };
        let take_level = self.take_level();
        self.program = self.representative(program);
        Parts {
            report: self.report(),
            prepare: self.packet_preparation(),
            count,
            no_memory: self.no_memory(),
            take_level,
        }
    }
}
