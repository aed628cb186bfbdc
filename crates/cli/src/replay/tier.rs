//! The two places where handlers can run, seen alike.

use crate::CliError;
use crate::kernel::Kernel;
use crate::records::{Failure, Message, RecordError, Text};
use moonhook_install::{Events, InstallError, frame_max_linear};
use moonhook_user::UserTier;
use std::sync::mpsc::{Receiver, channel};

/// Something that decides about frames, one after the other.
pub trait Tier {
    fn decide(&mut self, frame: &[u8]) -> Result<Outcome, CliError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Decided(Decision),
    /// The tier cannot take this frame.
    NotRun {
        why: String,
    },
}

/// What handlers did with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: u32,
    /// The frame afterwards.
    pub data: Vec<u8>,
    pub prints: Vec<Text>,
    pub error: Option<Failure>,
}

impl Tier for UserTier {
    fn decide(&mut self, frame: &[u8]) -> Result<Outcome, CliError> {
        let outcome = self.run(frame);
        Ok(Outcome::Decided(Decision {
            verdict: outcome.verdict,
            data: outcome.data,
            prints: outcome.output.into_iter().map(Text::whole).collect(),
            error: outcome.error.map(|error| Failure {
                message: Text::whole(error.message.into_bytes()),
                traceback: error.traceback,
            }),
        }))
    }
}

/// A loaded program with its events.
pub struct KernelTier {
    kernel: Kernel,
    events: Option<Events>,
    messages: Receiver<Result<Message, RecordError>>,
}

impl KernelTier {
    pub fn new(kernel: Kernel) -> Result<KernelTier, CliError> {
        let (sender, messages) = channel();
        let decoder = kernel.decoder.clone();
        // The receiver lives as long as the events do.
        let events = kernel.events(move |record| drop(sender.send(decoder.decode(record))))?;
        Ok(KernelTier { kernel, events, messages })
    }
}

impl Tier for KernelTier {
    fn decide(&mut self, frame: &[u8]) -> Result<Outcome, CliError> {
        let run = match self.kernel.program.test_run(&self.kernel.name, frame, 1) {
            Ok(run) => run,
            Err(error) if is_about_length(&error, frame) => {
                return Ok(Outcome::NotRun { why: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(events) = &mut self.events {
            events.consume()?;
        }
        let mut decision = Decision { verdict: run.verdict, data: run.data, prints: Vec::new(), error: None };
        for message in self.messages.try_iter() {
            match message? {
                Message::Print(text) => decision.prints.push(text),
                Message::Error(failure) => decision.error = Some(failure),
            }
        }
        Ok(Outcome::Decided(decision))
    }
}

/// Whether the kernel cannot run a frame of this length, on its own or with a program that wants it in one buffer.
fn is_about_length(error: &InstallError, frame: &[u8]) -> bool {
    match error {
        InstallError::FrameLength { .. } => true,
        InstallError::TestRunRefused { .. } => frame.len() > frame_max_linear(),
        _ => false,
    }
}
