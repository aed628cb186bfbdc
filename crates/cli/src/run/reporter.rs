//! What `moonhook run` shows, as text or as JSON lines.

use crate::CliError;
use crate::counters::Counters;
use crate::records::{Failure, Message, Text};
use crate::terminal::{printable, printable_error};
use moonhook_install::{RequestedMode, XdpLink};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

pub struct Reporter<'a> {
    pub out: &'a mut dyn Write,
    pub json: bool,
    /// Only what handlers print, and errors.
    pub quiet: bool,
}

impl Reporter<'_> {
    /// Says where the program is, in which mode, and why in that one.
    pub fn attached(
        &mut self,
        link: &XdpLink,
        requested: RequestedMode,
        scripts: &[PathBuf],
    ) -> Result<(), CliError> {
        let scripts: Vec<_> = scripts.iter().map(|script| script.to_string_lossy()).collect();
        let (interface, mode) = (&link.interface().name, link.mode());
        let refused = link.native_refused();
        if self.json {
            let line = json!({
                "type": "attached", "interface": interface, "mode": mode, "native_refused": refused, "scripts": scripts,
            });
            self.line(&line)?;
        } else if !self.quiet {
            let why = match (requested, refused) {
                (RequestedMode::Auto, Some(why)) => format!("native mode is not to be had: {why}"),
                (RequestedMode::Auto, None) => "the driver can".to_string(),
                (RequestedMode::Native | RequestedMode::Generic, _) => "as asked".to_string(),
            };
            writeln!(self.out, "attached {} to {interface} in {mode} mode ({why})", scripts.join(" "))?;
        }
        self.flush()
    }

    pub fn message(&mut self, message: &Message) -> Result<(), CliError> {
        match message {
            Message::Print(text) if self.json => self.line(&json!({ "type": "print", "text": text.lossy() })),
            Message::Print(Text { bytes, .. }) => {
                self.out.write_all(&printable(bytes))?;
                Ok(self.out.write_all(b"\n")?)
            }
            Message::Error(Failure { message, traceback }) if self.json => {
                self.line(&json!({ "type": "error", "message": message.lossy(), "traceback": traceback }))
            }
            Message::Error(failure) => self.error(failure),
        }
    }

    /// To standard error, as the standalone interpreter shows errors, after what was printed before.
    fn error(&mut self, failure: &Failure) -> Result<(), CliError> {
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
        Ok(std::io::stderr().write_all(&printable_error(&text))?)
    }

    pub fn counters(&mut self, counters: &Counters, last: bool) -> Result<(), CliError> {
        if self.json {
            let mut line = serde_json::to_value(counters).map_err(std::io::Error::from)?;
            line["type"] = "counters".into();
            line["final"] = last.into();
            self.line(&line)?;
        } else if !self.quiet {
            let which = if last { "final counters" } else { "counters" };
            writeln!(self.out, "{which}: {counters}")?;
            for site in counters.sites.iter().filter(|_| last) {
                writeln!(self.out, "  {} x {}", site.count, site.error)?;
            }
        }
        self.flush()
    }

    fn line(&mut self, line: &Value) -> Result<(), CliError> {
        Ok(writeln!(self.out, "{line}")?)
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        Ok(self.out.flush()?)
    }
}
