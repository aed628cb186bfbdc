//! What `moonhook replay` shows: a line for each frame and totals, as text or as one JSON document.

use super::compare::Difference;
use super::tier::{Decision, Outcome, Unfit};
use crate::CliError;
use crate::report;
use crate::terminal::printable;
use crate::verdict;
use indicatif::{ProgressBar, ProgressStyle};
use moonhook_capture::Frame;
use moonhook_engine::Choice;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

/// What happened to a frame.
pub struct Line {
    pub outcome: Outcome,
    /// Between the tiers, if two ran.
    pub differences: Vec<Difference>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    pub frames: u64,
    /// Frames by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Frames that handlers changed.
    pub changed: u64,
    /// Frames that ended with a run-time error.
    pub errors: u64,
    pub prints: u64,
    /// Frames that were not run, for whatever reason.
    pub not_run: u64,
    /// Those of them that are no packets of the kind that the hook gets.
    pub not_run_no_ip: u64,
    /// Those of them whose length the kernel does not take.
    pub not_run_length: u64,
    /// Those of them that need several buffers, while what the script calls in C looks at frames in one.
    pub not_run_buffers: u64,
    /// Frames that the capture holds only a part of; they are run as they are.
    pub cut_by_capture: u64,
    /// Frames that the tiers disagree about.
    pub different: u64,
}

pub struct Listing<'a> {
    pub totals: Totals,
    out: &'a mut dyn Write,
    json: bool,
    quiet: bool,
    bar: ProgressBar,
    /// JSON objects of frames so far.
    shown: u64,
}

/// From this size of capture on, a bar shows how far it is.
const LARGE: u64 = 4 << 20;
/// What a capture file needs for a frame besides its bytes, about.
const RECORD_HEADER: u64 = 16;

impl<'a> Listing<'a> {
    /// `size` is that of the capture in bytes.
    pub fn new(out: &'a mut dyn Write, json: bool, quiet: bool, size: u64) -> Result<Listing<'a>, CliError> {
        // Lines of frames that go to the terminal show the progress themselves.
        let wanted = size >= LARGE && (quiet || !std::io::stdout().is_terminal());
        // A bar draws on standard error, and only if that is a terminal.
        let bar = if wanted { ProgressBar::new(size) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if json {
            write!(out, "{{\"frames\": [")?;
        }
        Ok(Listing { totals: Totals::default(), out, json, quiet, bar, shown: 0 })
    }

    /// Counts a frame, and shows it unless only totals are wanted; differences are always shown, and the first error is.
    pub fn frame(&mut self, frame: &Frame, line: &Line) -> Result<(), CliError> {
        let errors = self.totals.errors;
        self.totals.count(frame, line);
        let is_first_error = errors == 0 && self.totals.errors == 1;
        let advanced = self.bar.position() + frame.data.len() as u64 + RECORD_HEADER;
        self.bar.set_position(advanced.min(self.bar.length().unwrap_or(advanced)));
        if self.quiet && line.differences.is_empty() && !is_first_error {
            return Ok(());
        }
        if !self.json {
            return self.show(frame, line);
        }
        let separator = if self.shown == 0 { "\n" } else { ",\n" };
        self.shown += 1;
        Ok(write!(self.out, "{separator}{}", described(frame, line))?)
    }

    fn show(&mut self, frame: &Frame, line: &Line) -> Result<(), CliError> {
        let (number, length) = (frame.number, frame.data.len());
        match &line.outcome {
            Outcome::NotRun { why, .. } => {
                writeln!(self.out, "{number:>7}  not run   {length} bytes: {why}")?
            }
            Outcome::Decided(decision) => {
                let changed = if decision.data == frame.data { "" } else { ", changed" };
                let verdict = verdict::name(decision.hook, decision.verdict);
                writeln!(self.out, "{number:>7}  {verdict:8}  {length} bytes{changed}")?;
                for text in &decision.prints {
                    self.detail("print", &text.bytes)?;
                }
                if let Some(error) = &decision.error {
                    self.detail("error", &error.message.bytes)?;
                    error.traceback.iter().try_for_each(|call| self.detail("     ", call.as_bytes()))?;
                }
            }
        }
        for Difference { what, kernel, user } in &line.differences {
            self.detail("differs", format!("{what}: kernel {kernel}, user {user}").as_bytes())?;
        }
        Ok(())
    }

    fn detail(&mut self, what: &str, text: &[u8]) -> Result<(), CliError> {
        write!(self.out, "{:>9}{what} ", "")?;
        self.out.write_all(&printable(text))?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Ends the answer: totals, the form of the compiled program if there is one, and why there are no more frames if that has a reason.
    pub fn finish(self, choice: Option<&Choice>, error: Option<&CliError>) -> Result<Totals, CliError> {
        self.bar.finish_and_clear();
        let Listing { totals, out, json, .. } = self;
        if json {
            let error = error.map(report::told);
            let totals_text = serde_json::to_string(&totals).map_err(std::io::Error::from)?;
            let error_text = serde_json::to_string(&error).map_err(std::io::Error::from)?;
            let program = serde_json::to_string(&choice).map_err(std::io::Error::from)?;
            writeln!(
                out,
                "\n], \"totals\": {totals_text}, \"program\": {program}, \"error\": {error_text}}}"
            )?;
        } else {
            totals.show(out)?;
            if let Some(Choice { reason: Some(_), .. }) = choice {
                choice.iter().try_for_each(|choice| writeln!(out, "{choice}"))?;
            }
        }
        Ok(totals)
    }
}

impl Totals {
    fn count(&mut self, frame: &Frame, line: &Line) {
        self.frames += 1;
        self.cut_by_capture += u64::from(frame.original_length as usize > frame.data.len());
        self.different += u64::from(!line.differences.is_empty());
        match &line.outcome {
            Outcome::NotRun { unfit, .. } => {
                self.not_run += 1;
                self.not_run_no_ip += u64::from(*unfit == Unfit::NoPacket);
                self.not_run_length += u64::from(*unfit == Unfit::Length);
                self.not_run_buffers += u64::from(*unfit == Unfit::Buffers);
            }
            Outcome::Decided(Decision { hook, verdict, data, prints, error }) => {
                *self.verdicts.entry(verdict::name(hook, *verdict).into_owned()).or_default() += 1;
                self.changed += u64::from(*data != frame.data);
                self.prints += prints.len() as u64;
                self.errors += u64::from(error.is_some());
            }
        }
    }

    fn show(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let verdicts: Vec<_> = self.verdicts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let Totals { frames, changed, errors, prints, .. } = self;
        writeln!(
            out,
            "{frames} frames: {}",
            if verdicts.is_empty() { "none run".into() } else { verdicts.join(", ") }
        )?;
        writeln!(out, "changed {changed}, errors {errors}, prints {prints}")?;
        let rare = [
            (self.not_run_no_ip, "not run: no IP packets, which are all that the hook gets"),
            (self.not_run_length, "not run: the kernel takes no frames of that length"),
            (
                self.not_run_buffers,
                "not run: they need several buffers, and what the script calls in C looks at frames in one",
            ),
            (
                self.not_run - self.not_run_no_ip - self.not_run_length - self.not_run_buffers,
                "not run: there is no program for them",
            ),
            (self.cut_by_capture, "cut by the capture, and run as they are"),
            (self.different, "with differences between the tiers"),
        ];
        for (count, what) in rare.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "{count} {what}")?;
        }
        Ok(())
    }
}

fn described(frame: &Frame, line: &Line) -> Value {
    let mut answer = json!({ "number": frame.number, "length": frame.data.len() });
    match &line.outcome {
        Outcome::NotRun { why, .. } => answer["not_run"] = why.as_str().into(),
        Outcome::Decided(decision) => {
            let prints: Vec<_> = decision.prints.iter().map(|text| text.lossy()).collect();
            let error = decision.error.as_ref();
            answer["verdict"] = verdict::name(decision.hook, decision.verdict).into();
            answer["changed"] = (decision.data != frame.data).into();
            answer["prints"] = prints.into();
            answer["error"] = error.map_or(
                Value::Null,
                |error| json!({ "message": error.message.lossy(), "traceback": error.traceback }),
            );
        }
    }
    if !line.differences.is_empty() {
        answer["differences"] = json!(line.differences);
    }
    answer
}
