//! What `moonhook run` shows, as text or as JSON lines.

use super::frames::Frames;
use super::screen::{Screen, Stream};
use crate::memory;
use crate::report;
use crate::terminal::{printable, printable_error};
use moonhook_daemon::{FlowsKept, Form, Kept, Name, QueuedHandlers, Reloaded, Remark, TableKept};
use moonhook_install::{Link, Peer, RequestedMode, Site};
use moonhook_load::{ForwardingPlace, MovedPlace, QueuedPlace};
use moonhook_records::{Counters, Failure, Message, Text};
use moonhook_session::{
    Attached, Attachments, Audience, JsonError, SessionError, form, message_json, refused_json,
    reloaded_json, replaced_json,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

pub struct Reporter {
    screen: Screen,
    frames: Frames,
    /// What is written next.
    text: Vec<u8>,
    json: bool,
    /// Only what handlers print, and errors.
    quiet: bool,
    /// Texts that were dropped since nobody read them.
    lost: u64,
}

/// So much text is written at once.
const BATCH: usize = 8 << 10;

impl Reporter {
    pub fn new(screen: Screen, frames: Frames, json: bool, quiet: bool) -> Reporter {
        Reporter { screen, frames, text: Vec::new(), json, quiet, lost: 0 }
    }

    /// To standard error, as the standalone interpreter shows errors, after what was printed before.
    fn error(&mut self, failure: &Failure) -> Result<(), SessionError> {
        self.flush()?;
        let mut text = b"error: ".to_vec();
        text.extend_from_slice(&failure.message.bytes);
        text.push(b'\n');
        if !failure.traceback.is_empty() {
            text.extend_from_slice(b"stack traceback:\n");
        }
        for call in &failure.traceback {
            text.extend(format!("\t{call}\n").bytes());
        }
        self.put(Stream::Error, printable_error(&text).into_owned())
    }

    fn line(&mut self, line: &Value) -> Result<(), SessionError> {
        writeln!(self.text, "{line}")?;
        self.flush_batch()
    }

    fn flush_batch(&mut self) -> Result<(), SessionError> {
        if self.text.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn put(&mut self, stream: Stream, text: Vec<u8>) -> Result<(), SessionError> {
        if self.lost > 0 && self.screen.has_room() {
            let lost = std::mem::take(&mut self.lost);
            let (stream, note) = match self.json {
                true => (Stream::Output, format!("{}\n", json!({ "type": "lost", "count": lost }))),
                false => (
                    Stream::Error,
                    format!("note: {lost} batches of output are lost, since nobody read them\n"),
                ),
            };
            self.screen.write(stream, note.into_bytes())?;
        }
        if !self.screen.write(stream, text)? {
            self.lost += 1;
        }
        Ok(())
    }
}

/// At which hooks the programs are, and in which mode, and why in that one.
fn where_attached(attachments: &Attachments, requested: RequestedMode, taken_over: bool) -> String {
    let why = match (requested, attachments.native_refused()) {
        _ if taken_over => "in the place of the one that was pinned".to_string(),
        (RequestedMode::Auto, Some(why)) => format!("native mode is not to be had: {why}"),
        (RequestedMode::Auto, None) => "the driver can".to_string(),
        (RequestedMode::Native | RequestedMode::Generic, _) => "as asked".to_string(),
    };
    let hook = |link: &Link| match (link.mode(), link.site()) {
        (Some(mode), _) => format!("{} in {mode} mode ({why})", link.point()),
        (None, Site::Netfilter(found)) if found.place != found.wanted => {
            let (point, free) = (link.point(), found.place.priority);
            format!("{point} (that priority is taken: {free} is the next one that is free)")
        }
        (None, Site::File(path)) => format!("{} ({})", link.point(), path.display()),
        (None, _) => link.point().to_string(),
    };
    match (attachments.links(), attachments.mode()) {
        ([], _) => String::new(),
        ([_], Some(mode)) => format!(" in {mode} mode ({why})"),
        (links, _) => format!(" at {}", links.iter().map(hook).collect::<Vec<_>>().join(", ")),
    }
}

/// What is at the other end of an interface.
fn peer_text(peer: &Peer) -> String {
    let netns = peer.netns.as_ref().map(|name| format!(" in '{name}'")).unwrap_or_default();
    let what = if peer.is_ours() { "an empty program" } else { "a program already" };
    format!("  at the other end of {}, {}{netns}, is {what}", peer.of, peer.interface)
}

fn texts(paths: &[PathBuf]) -> Vec<Cow<'_, str>> {
    paths.iter().map(|path| path.to_string_lossy()).collect()
}

impl Audience for Reporter {
    /// Says why the command ends.
    fn over(&mut self, scripts: &[PathBuf]) -> Result<(), SessionError> {
        if self.json {
            self.line(&json!({ "type": "over", "scripts": texts(scripts) }))?;
        } else if !self.quiet {
            let note = report::over(&texts(scripts).join(" "));
            self.flush()?;
            self.put(Stream::Error, note.into_bytes())?;
        }
        self.flush()
    }

    /// Says where the program is, in which mode, and why in that one.
    fn attached(&mut self, attached: &Attached<'_>) -> Result<(), SessionError> {
        let Attached {
            name,
            attachments,
            peers,
            queued,
            moved,
            forwarding,
            requested,
            scripts,
            choice,
            warnings,
            taken_over,
        } = *attached;
        if !self.json {
            for warning in warnings {
                self.put(Stream::Error, (report::rendered_warning(warning) + "\n").into_bytes())?;
            }
        }
        let scripts = texts(scripts);
        let interface = attachments.interface();
        let mode = attachments.mode();
        let refused = attachments.native_refused();
        let hooks: Vec<&str> = attachments.links().iter().map(|link| link.hook().name).collect();
        let points: Vec<String> = attachments.links().iter().map(|link| link.point().to_string()).collect();
        if self.json {
            let mut line = json!({
                "type": "attached", "name": name, "interface": interface, "hooks": hooks, "points": points, "mode": mode, "native_refused": refused, "scripts": scripts,
                "form": choice.form_name(), "reason": choice.reason,
            });
            if !warnings.is_empty() {
                line["warnings"] = json!(warnings);
            }
            if !queued.is_empty() {
                let place =
                    |place: &QueuedPlace| json!({ "point": place.point.to_string(), "why": place.why() });
                line["queued"] = queued.iter().map(place).collect();
            }
            if !moved.is_empty() {
                let place =
                    |place: &MovedPlace| json!({ "point": place.point.to_string(), "hook": place.hook.name });
                line["moved"] = moved.iter().map(place).collect();
            }
            if !forwarding.is_empty() {
                line["forwarding"] = forwarding.iter().map(|place| place.point.to_string()).collect();
            }
            if !peers.is_empty() {
                let peer = |peer: &Peer| json!({ "of": peer.of, "interface": peer.interface, "netns": peer.netns, "attached": peer.is_ours() });
                line["peers"] = peers.iter().map(peer).collect();
            }
            if let Some(plan) = taken_over {
                (line["tables"], line["variables"]) = (json!(plan.tables), json!(plan.variables));
            }
            self.line(&line)?;
        } else if !self.quiet {
            let place = match attachments.links() {
                [] => String::new(),
                _ => where_attached(attachments, requested, taken_over.is_some()),
            };
            let to = interface.map(|names| format!(" to {names}")).unwrap_or_default();
            let is_attached = !attachments.links().is_empty() || !queued.is_empty();
            let does = if is_attached { "attached" } else { "running" };
            writeln!(self.text, "{does} {}{to}{place}, as '{name}'", scripts.join(" "))?;
            for peer in peers {
                writeln!(self.text, "{}", peer_text(peer))?;
            }
            for place in queued {
                writeln!(self.text, "  {} runs as NFQUEUE {}", place.point, place.why())?;
            }
            for text in moved.iter().map(MovedPlace::text).chain(forwarding.iter().map(ForwardingPlace::text))
            {
                writeln!(self.text, "  {text}")?;
            }
            if !attachments.links().is_empty() {
                self.text.write_all(form_text(&form(choice)).as_bytes())?;
            }
            let kept = taken_over.map(|plan| kept_text(&plan.tables, &plan.variables)).unwrap_or_default();
            self.text.write_all(kept.as_bytes())?;
        }
        memory::give_back();
        self.flush()
    }

    fn message(&mut self, message: &Message) -> Result<(), SessionError> {
        match message {
            // They are for control code.
            Message::Frame(frame) if frame.queue.is_some() => Ok(()),
            Message::Frame(frame) => match self.frames.take(frame)? {
                None => Ok(()),
                Some(_) if self.json => self.line(&message_json(message)),
                Some(_) if self.quiet => Ok(()),
                Some(line) => {
                    writeln!(self.text, "{line}")?;
                    self.flush_batch()
                }
            },
            message if self.json => self.line(&message_json(message)),
            Message::Print(Text { bytes, .. }) => {
                self.text.extend_from_slice(&printable(bytes));
                self.text.push(b'\n');
                self.flush_batch()
            }
            Message::Error(failure) => self.error(failure),
            // They are for those who listen.
            Message::Event(_) => Ok(()),
        }
    }

    fn counters(&mut self, counters: &Counters, last: bool) -> Result<(), SessionError> {
        if self.json {
            let mut line = serde_json::to_value(counters).map_err(std::io::Error::from)?;
            line["type"] = "counters".into();
            line["final"] = last.into();
            self.line(&line)?;
        } else if !self.quiet {
            let which = if last { "final counters" } else { "counters" };
            writeln!(self.text, "{which}: {counters}")?;
            for site in counters.sites.iter().filter(|_| last) {
                writeln!(self.text, "  {} x {}", site.count, site.error)?;
            }
        }
        self.flush()
    }

    /// Says that the program was replaced, and what became of its tables and variables.
    fn reloaded(&mut self, reloaded: &Reloaded) -> Result<(), SessionError> {
        if self.json {
            self.line(&reloaded_json(reloaded))?;
        } else if !self.quiet {
            self.text.write_all(reloaded_text(reloaded).as_bytes())?;
        }
        memory::give_back();
        self.flush()
    }

    /// Says that a table has another content.
    fn replaced(&mut self, table: &str, entries: u64) -> Result<(), SessionError> {
        if self.json {
            self.line(&replaced_json(table, entries))?;
        } else if !self.quiet {
            writeln!(self.text, "replaced table {table}: {entries} entries")?;
        }
        self.flush()
    }

    /// Says why a changed script is not run.
    fn refused(&mut self, error: &SessionError) -> Result<(), SessionError> {
        if self.json {
            self.line(&refused_json(error))?;
        } else {
            self.flush()?;
            self.put(
                Stream::Error,
                format!("{}\n", report::rendered(&JsonError::new(error).diagnostic)).into_bytes(),
            )?;
        }
        self.flush()
    }

    /// Says that the program goes on without the process.
    fn left(&mut self, name: &Name) -> Result<(), SessionError> {
        if self.json {
            self.line(&json!({ "type": "left", "name": name }))?;
        } else if !self.quiet {
            writeln!(self.text, "the program stays attached: `moonhook stop {name}` detaches it")?;
        }
        self.flush()
    }

    /// Has written what was shown so far; nobody waits for that.
    ///
    /// # Errors
    /// `Output` with why what was shown before could not be written.
    fn flush(&mut self) -> Result<(), SessionError> {
        let text = std::mem::take(&mut self.text);
        self.put(Stream::Output, text)
    }

    /// Whether messages should come, or wait until somebody has read those that came.
    fn has_room(&self) -> bool {
        self.screen.has_room()
    }

    /// Waits until all is written, as long as somebody reads it.
    ///
    /// # Errors
    /// `Output`.
    fn finish(&mut self) -> Result<(), SessionError> {
        self.flush()?;
        self.frames.finish()?;
        self.screen.finish()
    }
}

/// A line about the scripts and the time, and one for each table and variable.
pub fn reloaded_text(reloaded: &Reloaded) -> String {
    let time = &reloaded.timing;
    let mut text = format!(
        "reloaded {} in {:.1} ms (compile {:.1}, verify {:.1}, update {:.3})\n",
        reloaded.scripts.join(" "),
        time.total as f64 / 1e3,
        time.compile as f64 / 1e3,
        time.verify as f64 / 1e3,
        time.update as f64 / 1e3,
    );
    if reloaded.detached {
        text.push_str("  nothing is attached any more: there are no handlers\n");
    }
    for QueuedHandlers { point, why } in &reloaded.queued {
        text.push_str(&format!("  {point} runs as NFQUEUE {why}\n"));
    }
    for point in &reloaded.unqueued {
        text.push_str(&format!("  {point} runs in the kernel, and not as NFQUEUE any more\n"));
    }
    text.push_str(&form_text(&reloaded.form));
    text.push_str(&report::remarks(&reloaded.warnings));
    text.push_str(&kept_text(&reloaded.tables, &reloaded.variables));
    text.extend(reloaded.flows.iter().map(flows_text));
    text
}

/// A line for a flow table.
fn flows_text(flows: &FlowsKept) -> String {
    let FlowsKept { name, kept, lost, why } = flows;
    match why {
        Some(why) => format!("  flows {name}: {kept} kept, {lost} lost: {why}\n"),
        None => format!("  flows {name}: {kept} kept\n"),
    }
}

/// A line if there is a reason why the handlers are no expanded code.
fn form_text(form: &Form) -> String {
    let Form { name, reason: Some(Remark { place, message, .. }) } = form else { return String::new() };
    format!("  {name} code, because {}{message}\n", report::place_text(place))
}

/// How many entries of a map were added or removed, if some were.
fn counted(count: usize, what: &str) -> String {
    if count == 0 { String::new() } else { format!(", {count} {what}") }
}

/// A line for each table and variable.
fn kept_text(tables: &[TableKept], variables: &[TableKept]) -> String {
    let mut text = String::new();
    for (what, items) in [("table", tables), ("variable", variables)] {
        for TableKept { name, outcome, added, removed } in items {
            let outcome = match outcome {
                Kept::Kept => format!("kept{}{}", counted(*added, "added"), counted(*removed, "removed")),
                Kept::Reset { from, to } if from == to => format!("reset ({from})"),
                Kept::Reset { from, to } => format!("reset (it was {from}, it is {to})"),
                Kept::New => "new".to_string(),
                Kept::Dropped => "dropped".to_string(),
                Kept::Ambiguous => "reset (the script has several of this name)".to_string(),
            };
            text.push_str(&format!("  {what} {name}: {outcome}\n"));
        }
    }
    text
}
