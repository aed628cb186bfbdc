//! The token that calls have to have, if there is one.

use crate::ServeError;
use std::sync::Arc;
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// A secret that is compared in a time that does not tell how much of it was right.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    pub fn new(text: String) -> Token {
        Token(text.into())
    }

    fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differs = own.iter().zip(given).fold(0, |differs, (a, b)| differs | (a ^ b));
        std::hint::black_box(differs) == 0 && own.len() == given.len()
    }
}

/// Lets calls through that have the token.
#[derive(Clone)]
pub struct Tokens(pub Option<Token>);

/// Before the token in the header `authorization`.
pub const BEARER: &str = "Bearer ";

impl Interceptor for Tokens {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(token) = &self.0 else { return Ok(request) };
        let given = request.metadata().get("authorization").map(|value| value.as_bytes());
        match given.and_then(|value| value.strip_prefix(BEARER.as_bytes())) {
            Some(given) if token.is(given) => Ok(request),
            _ => Err(ServeError::Token.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_token_or_are_refused() {
        let call = |value: Option<&str>| {
            let mut request = Request::new(());
            if let Some(value) = value {
                request.metadata_mut().insert("authorization", value.parse().unwrap());
            }
            Tokens(Some(Token::new("secret".into()))).call(request).map(drop).map_err(|status| status.code())
        };
        assert_eq!(call(Some("Bearer secret")), Ok(()));
        for value in [None, Some("secret"), Some("Bearer secre"), Some("Bearer secrets"), Some("Bearer ")] {
            assert_eq!(call(value), Err(tonic::Code::Unauthenticated), "{value:?}");
        }
        assert!(Tokens(None).call(Request::new(())).is_ok());
    }
}
