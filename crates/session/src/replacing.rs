//! A new program in the place of the present one, whose tables, variables and flows go on.

use crate::announce;
use crate::attachments::Attachments;
use crate::content::Content;
use crate::control_code::ControlCode;
use crate::exchange::exchange;
use crate::generation::{Next, NextGeneration};
use crate::inherit;
use crate::installed::{Assembled, Installed, Retired};
use crate::making::Program;
use crate::marks::warning_of_marks;
use crate::session::{Session, record};
use crate::{Options, SessionError};
use moonhook_control::{KeptFlows, SharedTable};
use moonhook_daemon::{FlowsKept, Reloaded, Replaced, Timing};
use moonhook_engine::Kernel;
use moonhook_hook::Point;
use moonhook_load::QueuedPlace;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

impl Session {
    /// Begins to connect a generation's Lua state with the program that was made of what it told. Flows of the present program go on.
    pub(crate) fn connect(
        &self,
        mut generation: NextGeneration,
        program: Program,
    ) -> Result<Next, SessionError> {
        let files = std::mem::take(&mut generation.files);
        let options = generation.options.as_deref().unwrap_or(&self.options);
        let (installed, Assembled { plan, connection }) =
            Installed::assemble(program, files, &options.interfaces)?;
        installed.check_pins(self.pins.is_some(), &self.name)?;
        let earlier = self.installed.flows.as_ref().map(|(tables, _)| Arc::clone(tables));
        generation.thread.begin_connecting(connection.with_earlier_flows(earlier))?;
        Ok(Next { generation, installed, plan, has_caught_up: false })
    }

    /// Puts a new generation in the place of the present one.
    pub(crate) fn replace(&mut self, next: Next, since: Instant) -> Result<Reloaded, SessionError> {
        let Next { generation, installed: mut next, mut plan, .. } = next;
        let NextGeneration { thread, sources, settings, options, fingerprint, queued, .. } = generation;
        let scripts = sources.scripts.clone();
        next.warnings.extend(warning_of_marks(&queued));
        let netns = options.as_ref().map_or(&self.options.netns, |options| &options.netns);
        next.consume(&self.inbox, &sources.options, netns.as_deref())?;
        let copied = inherit::copy_variables(&mut plan, &self.installed, &next.kernel)?;
        let present: Vec<Point> = self.queues.points().cloned().collect();
        let had_handlers = self.has_handlers();
        self.queues.prepare(
            &queued,
            thread.decider(),
            options.as_deref().unwrap_or(&self.options),
            &self.inbox,
        )?;
        let update = match options {
            Some(options) => self.update_to(*options, &next, &scripts),
            None => self.update(&next.content, &next.kernel, &scripts),
        };
        let update = update.inspect_err(|_| self.queues.keep(|point| present.contains(point)))?;
        self.queues.succeed(&queued, thread.decider());
        // The new programs run by now, whatever comes of this.
        if let Err(error) = inherit::add_late(&copied, &self.installed, &next.kernel) {
            self.complain(error.to_string())?;
        }
        if let Err(error) = inherit::remove_unlisted(&plan, &next.kernel) {
            self.complain(error.to_string())?;
        }
        let total = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let verify = next.timings.kernel_load.unwrap_or(0);
        let timing = Timing { compile: next.timings.total - verify, verify, update, total };
        let before = std::mem::replace(&mut self.installed, next);
        self.retired.push(Retired::new(before, plan.counts_go_on));
        self.leave_batch()?;
        let control = ControlCode::new(thread, sources, fingerprint);
        let earlier = std::mem::replace(&mut self.control, control);
        self.retired_control.extend(self.control.succeed(earlier));
        self.settings = settings;
        self.dumps.clear();
        (self.scripts, self.reloads) = (scripts, self.reloads + 1);
        self.keep_lists();
        if let Some(watcher) = &self.watcher {
            watcher.watch(&self.installed.files);
        }
        let flows = self.kept_flows();
        let shown = self.scripts.iter().map(|script| script.to_string_lossy().into_owned());
        let reloaded = Reloaded {
            scripts: shown.collect(),
            form: announce::form(&self.installed.choice),
            tables: plan.tables,
            variables: plan.variables,
            flows,
            warnings: self.installed.all_warnings().iter().map(announce::remark).collect(),
            queued: queued.iter().map(announce::queued).collect(),
            unqueued: self.unqueued(&present, &queued),
            detached: had_handlers && !self.has_handlers(),
            timing,
        };
        self.publisher.publish(|| announce::reloaded_json(&reloaded));
        self.audience.installed(&self.installed.kernel.program, &self.installed.object_maps)?;
        self.audience.reloaded(&reloaded)?;
        Ok(reloaded)
    }

    /// Those of some points whose handlers are no queued ones any more, and run in the kernel.
    fn unqueued(&self, before: &[Point], queued: &[QueuedPlace]) -> Vec<String> {
        let is_in_kernel = |point: &Point| self.attachments.links().iter().any(|link| link.point() == point);
        let is_queued = |point: &Point| queued.iter().any(|place| place.point == *point);
        let left = before.iter().filter(|point| is_in_kernel(point) && !is_queued(point));
        left.map(Point::to_string).collect()
    }

    /// Whether packets are given to handlers, in the kernel or out of queues.
    fn has_handlers(&self) -> bool {
        !self.attachments.links().is_empty() || !self.queues.is_empty()
    }

    /// What was taken over of the flows of the program before.
    fn kept_flows(&self) -> Vec<FlowsKept> {
        let Some((tables, _)) = &self.installed.flows else { return Vec::new() };
        let kept = tables.lock().unwrap_or_else(PoisonError::into_inner).take_kept();
        kept.into_iter()
            .map(|KeptFlows { table, kept, lost, why }| FlowsKept { name: table, kept, lost, why })
            .collect()
    }

    /// The same with other options, which are the session's from then on.
    fn update_to(
        &mut self,
        options: Options,
        next: &Installed,
        scripts: &[PathBuf],
    ) -> Result<u64, SessionError> {
        let names = self.attachments.rename(&options);
        let before = std::mem::replace(&mut self.options, options);
        let update = self.update(&next.content, &next.kernel, scripts);
        if update.is_err() {
            self.options = before;
            self.attachments.restore(names);
        }
        update
    }

    /// Updates the links; gives how long that took, in microseconds.
    ///
    /// # Errors
    /// What the kernel refuses; the present program stays.
    fn update(
        &mut self,
        content: &Content,
        kernel: &Kernel,
        scripts: &[PathBuf],
    ) -> Result<u64, SessionError> {
        let (options, pins) = (&self.options, self.pins.as_ref());
        self.interfaces.tell(kernel, options.netns.as_deref())?;
        let connected = self.sockets.connect(kernel, options, &mut self.frames, &self.inbox);
        let record = |attachments: &Attachments| record(options, attachments, kernel, content, scripts);
        let exchanged =
            connected.and_then(|()| exchange(&mut self.attachments, kernel, options, pins, record));
        let stays = if exchanged.is_ok() { kernel } else { &self.installed.kernel };
        self.sockets.keep(stays, options, &mut self.frames);
        let exchanged = exchanged?;
        // The new programs run by now, whatever comes of this.
        let links = self.attachments.links();
        let followed = self.frames.follow(links, &self.inbox).err().map(|error| error.to_string());
        let sees_peers = self.peers.follow(&self.options, links, kernel).err().map(|error| error.to_string());
        let complaint = exchanged.complaint.map(|complaint| complaint.to_string());
        for complaint in [complaint, followed, sees_peers].into_iter().flatten() {
            self.complain(complaint)?;
        }
        Ok(exchanged.microseconds)
    }

    /// Puts the present program with another map in its own place. Its old self has nothing of its own but the old map.
    pub(crate) fn replace_map(
        &mut self,
        name: &str,
        list: &SharedTable,
        entries: u64,
        kernel: Kernel,
    ) -> Result<Replaced, SessionError> {
        let table = Arc::clone(self.installed.table(name)?);
        let (content, scripts) = (self.installed.content.clone(), self.scripts.clone());
        let update = self.update(&content, &kernel, &scripts)?;
        table.become_like(list);
        let before = std::mem::replace(&mut self.installed.kernel, kernel);
        self.installed.kernel.program.succeed(before.program)?;
        if let Some((_, maker)) = &self.installed.flows {
            maker.follow(&self.installed.kernel)?;
        }
        self.publisher.publish(|| announce::replaced_json(name, entries));
        self.audience.installed(&self.installed.kernel.program, &self.installed.object_maps)?;
        self.audience.replaced(name, entries)?;
        Ok(Replaced { entries, reloaded: None, update })
    }
}
