//! Errors as gRPC has them: a status, the diagnostic as its message, and code and JSON beside it.

use crate::ServeError;
use moonhook_daemon::Failure;
use moonhook_diagnostic::Exit;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

/// Of the stable code, and of the diagnostic as JSON.
pub const CODE: &str = "moonhook-code";
pub const FAILURE: &str = "moonhook-failure-bin";

/// Bytes of a message, and of a diagnostic, as they are sent, at most: in headers, which clients take 8 KiB of.
const LONGEST: usize = 3000;

/// What of a text is sent in so many bytes: gRPC writes `%XX` for every byte that is no printable character of ASCII, and for some that are. A space is none.
fn cut(text: &str) -> String {
    let mut sent = 0;
    let fits = |c: &char| {
        let plain = c.is_ascii_graphic() && !"%\"#<>`?{}".contains(*c);
        sent += if plain { 1 } else { 3 * c.len_utf8() };
        sent <= LONGEST
    };
    text.chars().take_while(fits).collect()
}

impl From<ServeError> for Status {
    fn from(error: ServeError) -> Status {
        let code = match &error {
            ServeError::NoScript { .. } | ServeError::NoMap { .. } => Code::NotFound,
            ServeError::Token => Code::Unauthenticated,
            ServeError::TooLong { .. } => Code::DeadlineExceeded,
            ServeError::Crowded { .. } => Code::ResourceExhausted,
            ServeError::Call { .. } | ServeError::Key { .. } | ServeError::Settings { .. } => {
                Code::InvalidArgument
            }
            ServeError::Other(diagnostic, _) if diagnostic.code == "MH0803" => Code::AlreadyExists,
            _ => match error.exit() {
                Exit::Usage => Code::InvalidArgument,
                Exit::Bug => Code::Internal,
                Exit::Success | Exit::Refused | Exit::Host => Code::FailedPrecondition,
            },
        };
        let mut metadata = MetadataMap::new();
        metadata.insert(CODE, MetadataValue::from_static(error.code()));
        let failure = serde_json::to_vec(&error.failure()).unwrap_or_default();
        // As base64.
        if failure.len().div_ceil(3) * 4 <= LONGEST {
            metadata.insert_bin(FAILURE, MetadataValue::from_bytes(&failure));
        }
        Status::with_metadata(code, cut(&error.diagnostic().render(false)), metadata)
    }
}

/// What a service has answered, as the error that it was there. `None` if it is not our service that has failed.
pub fn failure(status: &Status) -> Option<Box<Failure>> {
    let bytes = status.metadata().get_bin(FAILURE).and_then(|value| value.to_bytes().ok());
    if let Some(failure) = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Some(failure);
    }
    let code = status.metadata().get(CODE)?.to_str().ok()?.to_string();
    let (message, exit) = (status.message().to_string(), Exit::Host as u8);
    Some(Box::new(Failure { code, message, place: None, reason: None, help: None, exit, entry: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_over_whole() {
        let error = ServeError::NoScript { name: "x".into(), running: vec!["y".into()] };
        let (expected, status) = (error.failure(), Status::from(error));
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains("MH1005") && status.message().contains("help: there is y"));
        assert_eq!(failure(&status), Some(expected));
        let long = Status::from(ServeError::Call { problem: "x".repeat(5000) });
        assert_eq!(failure(&long).unwrap().code, "MH1006");
        assert!(long.message().len() <= LONGEST);
        for problem in ["ä", "\u{20ac}", "%", "\n", "x", "{\"a\": 1}"] {
            let long = Status::from(ServeError::Call { problem: problem.repeat(5000) });
            let headers = long.clone().into_http::<()>().into_parts().0.headers;
            let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
            assert!(size < 8000 && !long.message().is_empty(), "{problem}: {size}");
            assert_eq!(failure(&long).unwrap().code, "MH1006");
        }
        assert!(failure(&Status::unavailable("gone")).is_none());
    }
}
