//! Making a program: all that needs no Lua state, so that a thread can do it while the present program and its Lua state go on.

use crate::SessionError;
use crate::content::{Content, Earlier};
use crate::inbox::Inbox;
use crate::inherit::{self, Inheritance};
use crate::object_maps::ObjectMap;
use crate::threads;
use moonhook_engine::{Again, FlowCompiler, Kernel, duplicate};
use moonhook_engine::{Choice, Compiled, Settings, Timings};
use moonhook_install::{ArenaSection, LogDetail};
use moonhook_ir::Module;
use moonhook_snapshot::{Owners, Snapshot, TableId, qualified};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What a program leaves to the next one.
pub struct Heritage {
    content: Content,
    maps: BTreeMap<String, OwnedFd>,
    arena: Option<ArenaSection>,
}

impl Heritage {
    /// # Errors
    /// `Resource` where there are no descriptors left.
    pub fn of(earlier: &dyn Earlier) -> Result<Heritage, SessionError> {
        let content = earlier.content().clone();
        let mut maps = BTreeMap::new();
        for name in content.maps() {
            if let Some(map) = earlier.map(name) {
                maps.insert(name.to_string(), duplicate(map)?);
            }
        }
        Ok(Heritage { content, maps, arena: earlier.arena() })
    }
}

impl Earlier for Heritage {
    fn content(&self) -> &Content {
        &self.content
    }

    fn map(&self, name: &str) -> Option<BorrowedFd<'_>> {
        self.maps.get(name).map(AsFd::as_fd)
    }

    fn arena(&self) -> Option<ArenaSection> {
        self.arena.clone()
    }
}

/// What a program is made of.
pub struct Blueprint {
    pub snapshot: Snapshot,
    pub settings: Settings,
    /// How long load time took, in microseconds.
    pub load_time: u64,
    pub earlier: Option<Heritage>,
}

/// A program in the kernel that nothing runs yet.
pub struct Program {
    pub kernel: Kernel,
    pub module: Module,
    pub choice: Choice,
    pub content: Content,
    /// What it takes over.
    pub plan: Inheritance,
    pub timings: Timings,
    /// Tables that handlers only read.
    pub constants: Vec<Constant>,
    /// Its code has what computes checksums anew from all bytes.
    pub sums_all: bool,
    /// Which script has what.
    pub owners: Owners,
    /// The maps of C objects that it has.
    pub objects: Vec<ObjectMap>,
    /// Makes functions of its flow tables.
    pub flows: Option<FlowCompiler>,
}

/// `pkt:fix_checksums()`, and `dns.answer`, which does the same at its end.
const SUMMING: [&str; 2] = ["fix_checksums", "answer"];

/// A table that handlers only read.
pub struct Constant {
    pub name: String,
    /// Its own among those of several scripts.
    pub own_name: String,
}

impl Blueprint {
    /// Compiles and loads; tables and variables that the earlier program has, too, are common to both.
    ///
    /// # Errors
    /// What a stage refuses.
    pub fn make(self) -> Result<Program, SessionError> {
        let Blueprint { snapshot, settings, load_time, earlier } = self;
        let earlier = earlier.as_ref().map(|earlier| earlier as &dyn Earlier);
        // What is taken over depends on the form.
        let owners = &snapshot.owners;
        let maps =
            |module: &Module| inherit::maps(&inherit::plan(&Content::of(module, owners), earlier), earlier);
        let (compiled, kernel) = Kernel::install(&snapshot, &settings, LogDetail::Nothing, maps)?;
        let Compiled { module, choice, timings, .. } = compiled;
        let content = Content::of(&module, owners);
        let plan = inherit::plan(&content, earlier);
        let (timings, constants) = (timings.after_load(load_time), constants(&snapshot, &module));
        let sums_all = SUMMING.iter().any(|name| snapshot.mentions(name));
        let owners = owners.clone();
        let objects = ObjectMap::all(&module, &snapshot.objects);
        let flows = FlowCompiler::new(&snapshot, &module, (&kernel.program, &kernel.decoder), &settings)?;
        Ok(Program {
            flows,
            kernel,
            module,
            owners,
            choice,
            content,
            plan,
            timings,
            constants,
            sums_all,
            objects,
        })
    }
}

fn constants(snapshot: &Snapshot, module: &Module) -> Vec<Constant> {
    let is_shared = |id: usize| module.tables.iter().any(|table| table.table as usize == id);
    let tables = snapshot.tables.iter().enumerate();
    let constant = tables.filter(|(id, table)| table.declaration.is_none() && !is_shared(*id));
    let constant = constant.filter_map(|(id, table)| {
        let name = table.name.clone()?;
        let own_name = qualified(snapshot.owners.of_table(TableId(id as u32)), &name);
        Some(Constant { name, own_name })
    });
    constant.collect()
}

/// What a thread is to make.
pub enum Order {
    New(Box<Blueprint>),
    /// The present program, with another map.
    Again(Again),
}

/// What has become of an [`Order`].
pub enum Made {
    New(Box<Program>),
    Again(Box<Kernel>),
}

impl Debug for Made {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Made::New(_) => "New",
            Made::Again(_) => "Again",
        })
    }
}

impl Order {
    fn make(self) -> Result<Made, SessionError> {
        Ok(match self {
            Order::New(blueprint) => Made::New(Box::new(blueprint.make()?)),
            Order::Again(again) => Made::Again(Box::new(again.load()?)),
        })
    }

    /// Makes it on a thread; what comes of it goes to the inbox. A panic is an error, too.
    ///
    /// # Errors
    /// `Resource`.
    pub fn start(self, inbox: &Arc<Inbox>) -> Result<JoinHandle<()>, SessionError> {
        let inbox = Arc::clone(inbox);
        threads::start("make", move || inbox.made(threads::guarded(|| self.make())))
    }
}
