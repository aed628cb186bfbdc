//! A state of Lunatik's: Lua on a thread of its own, which does one thing after another (`lunatik_core.c`).

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use mlua::Lua;

use crate::arguments::{Arguments, Raise};
use crate::endings::Endings;
use crate::host::{Counted, Host};
use crate::pool::collect;
use crate::share::Shared;
use crate::state::{Call, Caller, Local, State};
use crate::task::{GRACE, Task};

/// What a state is for. All run in processes here; the others cannot have threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    #[default]
    Process,
    Softirq,
    Hardirq,
}

impl Context {
    pub fn is_interrupt(self) -> bool {
        self != Context::Process
    }
}

/// The hold on a state. The last one dropped, it ends when it has done what it is at.
pub(crate) struct Runtime {
    orders: Mutex<Option<Sender<Order>>>,
    context: Context,
    /// Ends with the state.
    life: Arc<Task>,
    thread: ThreadId,
    endings: Arc<Endings>,
    /// Threads that scripts have begun in it.
    tasks: Mutex<Vec<Weak<Task>>>,
}

enum Order {
    /// Calls what waits, as somebody else's task.
    Resume(Vec<Shared>, Option<Arc<Task>>, SyncSender<Result<(), String>>),
    /// Calls what waits, as a task. The runtime stays until then.
    Run(Arc<Task>, Arc<Runtime>),
    Call(Call),
    Stop,
}

/// How often somebody who waits for another state looks whether it is to stop.
const NAP: Duration = Duration::from_millis(50);

impl Runtime {
    /// Runs ROOT/`script`.lua in a new state, and waits for that.
    ///
    /// # Errors
    /// The script's error, or that there can be no more states.
    pub fn start(
        lua: &Lua,
        host: &Arc<Host>,
        script: &str,
        context: Context,
    ) -> Result<Arc<Runtime>, String> {
        let failed = |problem: &str| format!("failed to allocate Lua state ({problem})");
        let counted = room(lua, host).ok_or_else(|| failed("there are too many states"))?;
        let life = Task::new(script).map_err(|error| failed(&error.to_string()))?;
        let (orders, taken) = channel();
        let (begun, beginning) = sync_channel(1);
        let (own, by, script) = (Arc::clone(host), Task::current(), script.to_string());
        let (lived, called) = (Arc::clone(&life), orders.clone());
        let caller: Caller = Arc::new(move |call| called.send(Order::Call(call)).is_ok());
        let endings = Arc::<Endings>::default();
        let ended = Arc::clone(&endings);
        let live = move || {
            let _counted = counted;
            lived.run(|| {
                let loaded = lend(by, || {
                    let local = Local::with(caller, ended, context);
                    State::new(&own, local).and_then(|mut state| state.load(&script).map(|()| state))
                });
                match loaded {
                    Ok(state) => {
                        if begun.send(Ok(())).is_ok() {
                            serve(state, &taken, &own);
                        }
                    }
                    Err(error) => drop(begun.send(Err(error))),
                }
            });
        };
        let thread = std::thread::Builder::new().name("lunatik".to_string()).spawn(live);
        let thread = thread.map_err(|error| failed(&error.to_string()))?;
        let runtime = Arc::new(Runtime {
            orders: Mutex::new(Some(orders)),
            context,
            life,
            endings,
            thread: thread.thread().id(),
            tasks: Mutex::default(),
        });
        beginning.recv().map_err(|_| failed("its thread has ended"))??;
        host.add(&runtime);
        Ok(runtime)
    }

    pub fn context(&self) -> Context {
        self.context
    }

    pub fn is_over(&self) -> bool {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn order(&self, order: Order) -> bool {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
    }

    /// Calls what waits with these objects; what it returns waits then. `None` if the state is over.
    pub fn resume(&self, objects: Vec<Shared>) -> Option<Result<(), String>> {
        if std::thread::current().id() == self.thread {
            return Some(Err("cannot resume non-suspended coroutine".to_string()));
        }
        let (answer, answered) = sync_channel(1);
        let task = Task::current();
        if !self.order(Order::Resume(objects, task.clone(), answer)) {
            return None;
        }
        loop {
            match answered.recv_timeout(NAP) {
                Ok(outcome) => return Some(outcome),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    // What is called is this task, too, and gets to an end; what has to wait for others does not.
                    if task.as_ref().is_some_and(|task| task.is_killed()) {
                        return Some(Err("EINTR".to_string()));
                    }
                }
            }
        }
    }

    /// Calls what waits, as a task.
    pub fn spawn(self: &Arc<Runtime>, task: &Arc<Task>, arguments: &Arguments) -> Result<(), Raise> {
        if !self.order(Order::Run(Arc::clone(task), Arc::clone(self))) {
            return Err(arguments.error(1, "null pointer dereference"));
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| task.strong_count() > 0);
        tasks.push(Arc::downgrade(task));
        Ok(())
    }

    /// Ends the state: what runs in it is asked to stop, and ended where it does not. Says whether there was one.
    pub fn stop(&self) -> bool {
        match self.begin_to_stop() {
            Some(tasks) => {
                Runtime::end_all(&[(self, tasks)]);
                true
            }
            None => false,
        }
    }

    /// As [`Runtime::stop`], of all of them at once.
    pub fn stop_all(runtimes: &[Arc<Runtime>]) {
        let stopping = |runtime: &'_ Arc<Runtime>| runtime.begin_to_stop();
        let stopping: Vec<_> =
            runtimes.iter().filter_map(|runtime| Some((runtime.as_ref(), stopping(runtime)?))).collect();
        Runtime::end_all(&stopping);
    }

    /// Asks what runs in it to stop, and gives that; `None` if it is over already.
    fn begin_to_stop(&self) -> Option<Vec<Arc<Task>>> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let _ = orders.send(Order::Stop);
        self.endings.end();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let tasks: Vec<_> = tasks.iter().filter_map(Weak::upgrade).collect();
        tasks.iter().for_each(|task| task.ask_to_stop());
        Some(tasks)
    }

    /// Waits for states that were asked to stop, and ends what goes on in them.
    fn end_all(stopping: &[(&Runtime, Vec<Arc<Task>>)]) {
        let own = std::thread::current().id();
        let wait = || {
            let deadline = Instant::now() + GRACE;
            let left = || deadline.saturating_duration_since(Instant::now());
            stopping
                .iter()
                .filter(|(runtime, _)| runtime.thread != own && !runtime.life.wait(left()))
                .collect::<Vec<_>>()
        };
        wait().iter().for_each(|(_, tasks)| tasks.iter().for_each(|task| task.kill()));
        // It is at a function that others call.
        wait().iter().for_each(|(runtime, _)| runtime.life.kill());
        wait();
    }

    /// Asks everything in it to stop, without waiting.
    pub fn ask_to_stop(&self) {
        self.endings.end();
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().filter_map(Weak::upgrade).for_each(|task| task.ask_to_stop());
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let orders = self.orders.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(orders) = orders {
            let _ = orders.send(Order::Stop);
            self.endings.end();
        }
    }
}

/// Room for one more state, also by what the collector finds in the one that wants it.
fn room(lua: &Lua, host: &Arc<Host>) -> Option<Counted> {
    if let Some(counted) = host.count() {
        return Some(counted);
    }
    collect(lua);
    let deadline = Instant::now() + PATIENCE;
    // Those that nobody has any more take a moment to end.
    while Instant::now() < deadline {
        if let Some(counted) = host.count() {
            return Some(counted);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// How long states that nobody has any more are waited for where there is no room for another one.
const PATIENCE: Duration = Duration::from_millis(100);

/// Runs a function as somebody else's task, if it is one's.
fn lend<R>(task: Option<Arc<Task>>, run: impl FnOnce() -> R) -> R {
    match task {
        Some(task) => task.lend(run),
        None => Task::leave(run),
    }
}

/// Does what it is told, until nobody can tell it anything.
fn serve(mut state: State, orders: &Receiver<Order>, host: &Host) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Resume(objects, task, answer) => {
                let outcome = lend(task, || state.resume(objects));
                // Whoever has asked may be gone.
                let _ = answer.send(outcome);
            }
            Order::Run(task, runtime) => {
                name_thread(&task.name);
                let outcome = task.run(|| state.run());
                if let Err(text) = outcome {
                    host.warn(&format!("[{}] {text}", task.name));
                }
                drop(runtime);
            }
            Order::Call(call) => state.with(call),
            Order::Stop => return,
        }
    }
}

/// Longer names are cut (prctl(2), `PR_SET_NAME`).
fn name_thread(name: &str) {
    let short: String = name.chars().take(15).filter(|c| *c != '\0').collect();
    if let Ok(name) = std::ffi::CString::new(short) {
        let _ = nix::sys::prctl::set_name(&name);
    }
}
