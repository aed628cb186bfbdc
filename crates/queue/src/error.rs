//! What can go wrong with queues of packets.

use moonhook_diagnostic::Diagnostic;
use nix::errno::Errno;

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// What the kernel was asked for, and what it said.
    #[error("{what}: {}", .errno.desc())]
    Refused { what: &'static str, errno: Errno },
    #[error("this kernel has no queues for packets of netfilter")]
    Unsupported { missing: &'static str },
    #[error("no queue is free for packets of netfilter")]
    NoneFree,
}

impl QueueError {
    pub(crate) fn refused(what: &'static str, errno: Errno) -> QueueError {
        QueueError::Refused { what, errno }
    }

    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            QueueError::Refused { .. } => "MH1101",
            QueueError::Unsupported { .. } => "MH1102",
            QueueError::NoneFree => "MH1103",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            QueueError::Refused { errno: Errno::EPERM | Errno::EACCES, .. } => {
                "run as root, or with the capability CAP_NET_ADMIN".to_string()
            }
            QueueError::Refused { .. } => {
                "other handlers run: a handler that only reads and accepts or drops needs no queue"
                    .to_string()
            }
            QueueError::Unsupported { missing } => {
                format!(
                    "load the kernel module {missing}, or let handlers only read packets, and accept or drop them"
                )
            }
            QueueError::NoneFree => {
                "end programs that have queues (`cat /proc/net/netfilter/nfnetlink_queue`)".to_string()
            }
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_a_code_and_says_what_to_do() {
        let errors = [
            QueueError::refused("binding a queue", Errno::EPERM),
            QueueError::refused("binding a queue", Errno::EINVAL),
            QueueError::Unsupported { missing: "nfnetlink_queue" },
            QueueError::NoneFree,
        ];
        let said = errors.map(|error| (error.code(), error.diagnostic()));
        assert_eq!(said.each_ref().map(|(code, _)| *code), ["MH1101", "MH1101", "MH1102", "MH1103"]);
        assert_eq!(said[0].1.message, "binding a queue: Operation not permitted");
        assert!(said[0].1.help.as_ref().is_some_and(|help| help.contains("CAP_NET_ADMIN")));
        assert!(said.iter().all(|(_, diagnostic)| diagnostic.help.is_some()));
    }
}
