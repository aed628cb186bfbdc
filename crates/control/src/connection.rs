//! What connects a Lua state with a program: its tables, variables and flow tables.

use crate::flows::{FlowMaker, FlowTables};
use crate::objects::{KernelMaps, Place};
use crate::variables::Handlers;
use crate::{ControlError, SharedTable};
use moonhook_install::Program;
use moonhook_ir::{Module, Variable};
use moonhook_snapshot::{Owners, TableId};
use std::sync::{Arc, Mutex};

/// What a program in the kernel has for a Lua state. Any thread can have it, and make it again for another state.
pub struct Connection {
    pub(crate) tables: Vec<(TableId, Arc<SharedTable>)>,
    pub(crate) objects: KernelMaps,
    pub(crate) handlers: Handlers,
    pub(crate) flows: Option<Made>,
}

/// Flow tables, and who makes their functions.
pub(crate) struct Made {
    pub tables: Arc<Mutex<FlowTables>>,
    pub maker: Box<dyn FlowMaker>,
    /// Those of an earlier program.
    pub earlier: Option<Arc<Mutex<FlowTables>>>,
}

/// Which tables and variables a program shares with its Lua state.
#[derive(Clone, Debug)]
pub struct Layout {
    tables: Vec<TableId>,
    objects: Vec<Place>,
    variables: Vec<Variable>,
}

impl Layout {
    pub fn of(module: &Module) -> Layout {
        let tables = module.tables.iter().map(|table| TableId(table.table)).collect();
        Layout { tables, objects: Place::all(module), variables: module.variables.clone() }
    }
}

impl Connection {
    /// Of no program.
    pub(crate) fn nothing() -> Connection {
        let objects = KernelMaps::default();
        Connection { tables: Vec::new(), objects, handlers: Handlers::none(), flows: None }
    }

    /// The tables and variables of `program`, which was made of `module`; `owners` says which scripts have them.
    ///
    /// # Errors
    /// `Install` where a map is not to be had.
    pub fn open(module: &Module, owners: &Owners, program: &Program) -> Result<Connection, ControlError> {
        let table = |table: &moonhook_ir::SharedTable| {
            let id = TableId(table.table);
            let shared = SharedTable::open(program, module, table)?.of_script(owners.of_table(id));
            Ok((id, Arc::new(shared)))
        };
        let tables = module.tables.iter().map(table).collect::<Result<_, ControlError>>()?;
        let (objects, handlers) =
            (KernelMaps::open(module, program)?, Handlers::open(&module.variables, program)?);
        Ok(Connection { tables, objects, handlers, flows: None })
    }

    /// As [`Connection::open`], once more: with these tables, which the first one had.
    ///
    /// # Errors
    /// `Install`.
    pub fn again(
        layout: &Layout,
        program: &Program,
        tables: &[Arc<SharedTable>],
    ) -> Result<Connection, ControlError> {
        let tables = layout.tables.iter().copied().zip(tables.iter().cloned()).collect();
        let objects = KernelMaps::at(&layout.objects, program)?;
        Ok(Connection { tables, objects, handlers: Handlers::open(&layout.variables, program)?, flows: None })
    }

    /// With the flow tables, and who makes their functions.
    pub fn with_flows(self, tables: Arc<Mutex<FlowTables>>, maker: Box<dyn FlowMaker>) -> Connection {
        Connection { flows: Some(Made { tables, maker, earlier: None }), ..self }
    }

    /// Flows of an earlier program go on, as far as the new one has such tables.
    pub fn with_earlier_flows(mut self, earlier: Option<Arc<Mutex<FlowTables>>>) -> Connection {
        if let Some(made) = &mut self.flows {
            made.earlier = earlier;
        }
        self
    }

    /// The shared tables, in the order of the module.
    pub fn tables(&self) -> Vec<Arc<SharedTable>> {
        self.tables.iter().map(|(_, table)| Arc::clone(table)).collect()
    }
}
