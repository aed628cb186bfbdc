//! Calls as they come in: how much of them is held in memory, and that their connections are in use.

use crate::ServeError;
use crate::activity::{Activity, Open};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{BoxFuture, Bytes, Service};
use tonic::server::NamedService;

/// A service whose calls are counted. Clones have the same bytes to share.
#[derive(Clone)]
pub struct Calls<S> {
    inner: S,
    bytes: Arc<Share>,
}

/// Bytes that all calls together can have in memory.
#[derive(Debug)]
pub struct Share {
    taken: AtomicUsize,
    most: usize,
}

/// What one call has of them.
struct Held {
    share: Arc<Share>,
    bytes: AtomicUsize,
}

/// What a client sends.
struct Asked {
    body: Body,
    held: Arc<Held>,
}

/// What it gets; the call is over when that is gone.
struct Answered {
    body: Body,
    _held: Arc<Held>,
    _open: Option<Open>,
}

impl Share {
    pub fn of(most: usize) -> Arc<Share> {
        Arc::new(Share { taken: AtomicUsize::new(0), most })
    }
}

impl Held {
    fn take(&self, bytes: usize) -> Result<(), ServeError> {
        let taken = self.share.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if taken > self.share.most { Err(ServeError::Crowded { what: "bytes of calls" }) } else { Ok(()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.share.taken.fetch_sub(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl<S> Calls<S> {
    pub fn new(inner: S, bytes: &Arc<Share>) -> Calls<S> {
        Calls { inner, bytes: Arc::clone(bytes) }
    }
}

impl<S: NamedService> NamedService for Calls<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Response<Body>, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let open = Activity::of(request.extensions()).map(Activity::open);
        let held = Arc::new(Held { share: Arc::clone(&self.bytes), bytes: AtomicUsize::new(0) });
        let asked = request.map(|body| Body::new(Asked { body, held: Arc::clone(&held) }));
        let answer = self.inner.call(asked);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| Body::new(Answered { body, _held: held, _open: open })))
        })
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, Status>>>;

impl http_body::Body for Asked {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
            && let Err(error) = self.held.take(bytes.len())
        {
            return Poll::Ready(Some(Err(error.into())));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;

    /// Bytes in one piece.
    struct Piece(Option<Bytes>);

    impl http_body::Body for Piece {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Polled {
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    /// Reads what is asked and answers that, or says what reading fails of.
    #[derive(Clone)]
    struct Reads;

    impl Service<Request<Body>> for Reads {
        type Response = Response<Body>;
        type Error = Status;
        type Future = BoxFuture<Response<Body>, Status>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let mut body = request.into_body();
            Box::pin(async move {
                while let Some(frame) =
                    std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
                {
                    frame?;
                }
                Ok(Response::new(Body::new(Piece(Some("read".into())))))
            })
        }
    }

    #[test]
    fn calls_share_memory_and_give_it_back() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let share = Share::of(100);
        let mut calls = Calls::new(Reads, &share);
        let mut call = |bytes: usize| {
            let mut request = Request::new(Body::new(Piece(Some(vec![0; bytes].into()))));
            let activity = Activity::begin();
            request.extensions_mut().insert(Arc::clone(&activity));
            let answer = runtime.block_on(calls.call(request));
            answer.map(|answer| (answer, activity)).map_err(|status| status.code())
        };
        let (first, activity) = call(60).unwrap();
        assert_eq!(activity.end(), None);
        assert_eq!(call(60).err(), Some(tonic::Code::ResourceExhausted));
        assert!(call(40).is_ok());
        drop(first);
        assert!(activity.end().is_some());
        assert!(call(100).is_ok());
        assert_eq!(share.taken.load(Ordering::Relaxed), 0);
    }
}
