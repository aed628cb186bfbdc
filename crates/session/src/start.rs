//! Starting a session: compiles, attaches, or takes over what is pinned, and listens.

use crate::attachments::Attachments;
use crate::audience::{Attached, Audience};
use crate::content::Earlier;
use crate::control_code::ControlCode;
use crate::exchange::exchange;
use crate::frames::Frames;
use crate::inbox::Inbox;
use crate::inherit::{self, Inheritance};
use crate::installed::{Assembled, Installed};
use crate::interfaces::Interfaces;
use crate::lua_thread::{LuaThread, Sources};
use crate::making::Heritage;
use crate::marks::warning_of_marks;
use crate::peers::Peers;
use crate::pin_files::Swept;
use crate::pins::Pins;
use crate::queues::Queues;
use crate::session::{self, Session};
use crate::sockets::Sockets;
use crate::starting::{self, Beginning, First};
use crate::watcher::Watcher;
use crate::{Options, SessionError};
use moonhook_daemon::{Claim, DaemonError, Name, Publisher, Server};
use moonhook_engine::Trial;
use moonhook_load::{ForwardingPlace, MovedPlace, QueuedPlace};
use moonhook_records::Counters;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

impl Session {
    /// Compiles and attaches the scripts; `audience` is told what happens from then on. The inbox is the session's own. `None` if `stop`
    /// was set before anything was attached, or if nothing is left to be done when the scripts have run, which the audience is told.
    ///
    /// # Errors
    /// What a stage refuses, `Pinned`, `Daemon` for a name that is taken; nothing is attached then.
    pub fn start(
        mut options: Options,
        inbox: Arc<Inbox>,
        mut audience: Box<dyn Audience>,
        stop: &AtomicBool,
    ) -> Result<Option<Session>, SessionError> {
        let claim = claim(&options)?;
        let name = claim.as_ref().map_or_else(|| default_name(&options), |claim| claim.name().clone());
        let pins = pins(&mut options, &name, claim.is_some())?;
        let _swept = pins.as_ref().map(|pins| Swept(pins.folder().to_path_buf()));
        options.settings.load.interfaces.clone_from(&options.interfaces);
        if let Some(control) = &options.settings.load.control {
            control.take_packets(options.netns.as_deref(), options.queues);
        }
        let (settings, busy) = (options.settings.clone(), options.busy.take());
        let leftover = pins.as_ref().and_then(Pins::leftover);
        let earlier = leftover.as_ref().map(|leftover| leftover as &dyn Earlier);
        let sources = Sources {
            scripts: options.scripts.clone(),
            options: moonhook_load::Options {
                trial: Some(Trial::of(&settings, true)),
                ..settings.load.clone()
            },
            budget: settings.budget,
            contents: Vec::new(),
            netns: options.netns.clone(),
        };
        let first = match starting::first(
            &sources,
            &settings,
            earlier.map(Heritage::of).transpose()?,
            &inbox,
            (stop, busy),
        )? {
            Beginning::Made(first) => *first,
            Beginning::Stopped => return Ok(None),
            Beginning::Over => {
                audience.over(&options.scripts)?;
                return audience.finish().map(|()| None);
            }
        };
        let Made { installed, plan, thread, fingerprint, queued, moved, forwarding } =
            assemble(first, &sources, earlier, (&inbox, &options.interfaces))?;
        installed.check_pins(pins.is_some(), &name)?;
        let scripts: Vec<PathBuf> = options.scripts.iter().map(|script| absolute(script)).collect();
        let watcher = options.watch.then(|| Watcher::start(&inbox)).transpose()?;
        if let Some(watcher) = &watcher {
            watcher.watch(&installed.files);
        }
        let mut interfaces = Interfaces::default();
        interfaces.tell(&installed.kernel, options.netns.as_deref())?;
        let (mut frames, mut sockets) = (Frames::default(), Sockets::default());
        sockets.connect(&installed.kernel, &options, &mut frames, &inbox)?;
        audience.installed(&installed.kernel.program, &installed.object_maps)?;
        let (attachments, taken_over) = attach(&options, pins.as_ref(), &installed, &scripts)?;
        inherit::remove_unlisted(&plan, &installed.kernel)?;
        let mut queues = Queues::default();
        let followed = queues.follow(&queued, thread.decider(), &options, &inbox);
        if let (Err(_), Some(pins), false) = (&followed, &pins, taken_over) {
            let _ = pins.remove();
        }
        followed?;
        let peers = Peers::attach(&options, attachments.links(), &installed.kernel)?;
        if options.peer {
            interfaces.listen(options.netns.as_deref())?;
        }
        if claim.is_some() {
            Pins::of(options.bpffs.as_deref(), &options.folder, &name).remove_unused(attachments.links())?;
        }
        let publisher = Publisher::default();
        // Who can connect finds the programs attached.
        let server = claim.map(|claim| serve(claim, &publisher, &inbox)).transpose();
        if let (Err(_), Some(pins), false) = (&server, &pins, taken_over) {
            let _ = pins.remove();
        }
        let server = server?;
        let mut session = Session {
            options,
            settings,
            name,
            scripts,
            installed,
            control: ControlCode::new(thread, sources, fingerprint),
            retired_control: Vec::new(),
            again: VecDeque::new(),
            attachments,
            interfaces,
            peers,
            frames,
            sockets,
            queues,
            inbox,
            publisher,
            server,
            audience,
            started: Instant::now(),
            reloads: 0,
            retired: Vec::new(),
            earlier: Counters::default(),
            watcher,
            pins,
            dumps: Vec::new(),
            last_dump: 0,
            lists: BTreeMap::new(),
            changes: VecDeque::new(),
            making: None,
            stopping: false,
        };
        session.frames.follow(session.attachments.links(), &session.inbox)?;
        // All that can fail has been done.
        session.audience.attached(&Attached {
            name: &session.name,
            attachments: &session.attachments,
            peers: session.peers.programs(),
            queued: &queued,
            moved: &moved,
            forwarding: &forwarding,
            requested: session.options.mode,
            scripts: &session.options.scripts,
            choice: &session.installed.choice,
            warnings: &session.installed.all_warnings(),
            taken_over: taken_over.then_some(&plan),
        })?;
        Ok(Some(session))
    }
}

/// A program that is in the kernel, but in no hook yet.
struct Made {
    installed: Installed,
    /// What it has taken over.
    plan: Inheritance,
    thread: LuaThread,
    fingerprint: u64,
    /// Where handlers that run in this process take their packets from.
    queued: Vec<QueuedPlace>,
    /// Places of netfilter whose handlers run at tc.
    moved: Vec<MovedPlace>,
    /// Places of netfilter whose handlers forward copies of packets, in the kernel.
    forwarding: Vec<ForwardingPlace>,
}

/// Puts the program together, with what it takes over of an earlier one.
fn assemble(
    first: First,
    sources: &Sources,
    earlier: Option<&dyn Earlier>,
    (inbox, interfaces): (&Arc<Inbox>, &[String]),
) -> Result<Made, SessionError> {
    let First { thread, program, fingerprint, files, queued, moved, forwarding } = first;
    let (mut installed, Assembled { mut plan, connection }) =
        Installed::assemble(program, files, interfaces)?;
    thread.connect(connection)?;
    installed.warnings.extend(warning_of_marks(&queued));
    installed.consume(inbox, &sources.options, sources.netns.as_deref())?;
    if let Some(earlier) = earlier {
        inherit::copy_variables(&mut plan, earlier, &installed.kernel)?;
    }
    Ok(Made { installed, plan, thread, fingerprint, queued, moved, forwarding })
}

/// Where the script is to be pinned, if it is. What was pinned under its name by a process that did not get to an end is removed by
/// who has that name.
fn pins(options: &mut Options, name: &Name, has_name: bool) -> Result<Option<Pins>, SessionError> {
    let pins = Pins::of(options.bpffs.as_deref(), &options.folder, name);
    options.pins = Some(pins.folder().to_path_buf());
    if has_name {
        pins.clean()?;
    }
    match options.pin {
        _ if pins.elsewhere().is_some() => {
            Err(SessionError::Pinned { name: name.clone(), folder: pins.elsewhere() })
        }
        true => pins.create().map(|()| Some(pins)),
        false if pins.exist() => Err(SessionError::Pinned { name: name.clone(), folder: None }),
        false => Ok(None),
    }
}

/// Puts the programs into their hooks, or in the place of those that are pinned there; says which. With `pins`, they are pinned then.
fn attach(
    options: &Options,
    pins: Option<&Pins>,
    installed: &Installed,
    scripts: &[PathBuf],
) -> Result<(Attachments, bool), SessionError> {
    let kernel = &installed.kernel;
    let record = |attachments: &Attachments| {
        session::record(options, attachments, kernel, &installed.content, scripts)
    };
    if let Some(pins) = pins {
        if let Some(mut attachments) = Attachments::pinned(&pins.links(), options)? {
            let exchanged = exchange(&mut attachments, kernel, options, Some(pins), record)?;
            exchanged.complaint.map_or(Ok(()), Err)?;
            return Ok((attachments, true));
        }
        // Of an interface that is gone.
        pins.remove()?;
    }
    let attachments = Attachments::new(kernel, options)?;
    if let Some(pins) = pins
        && let Err(error) = pins.keep(attachments.links(), &kernel.program, record(&attachments))
    {
        // What is there of the pins goes, and the programs with it.
        let _ = pins.remove();
        return Err(error);
    }
    Ok((attachments, false))
}

/// Listens for requests, which go into the inbox.
fn serve(claim: Claim, publisher: &Publisher, inbox: &Arc<Inbox>) -> Result<Server, SessionError> {
    let inbox = Arc::clone(inbox);
    Ok(Server::start(claim, publisher.clone(), move |delivery| inbox.deliver(delivery))?)
}

fn default_name(options: &Options) -> Name {
    Name::of_script(&options.scripts[0])
}

/// Takes the script's name. Where nobody asked for a name or a folder and there can be none, the script runs without.
fn claim(options: &Options) -> Result<Option<Claim>, SessionError> {
    let claim = match &options.name {
        Some(name) => options.folder.claim(name),
        None => options.folder.claim_unique(&default_name(options)),
    };
    match claim {
        Err(DaemonError::Folder { .. }) if options.name.is_none() && !options.folder_is_chosen => Ok(None),
        claim => Ok(Some(claim?)),
    }
}

/// The path from anywhere: as the script is found again after a change of folder.
fn absolute(script: &Path) -> PathBuf {
    std::path::absolute(script).unwrap_or_else(|_| script.to_path_buf())
}
