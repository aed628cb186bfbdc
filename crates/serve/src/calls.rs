//! Calls as they come in and answers as they go out: how much of both is held in memory, and that their connections are in use.

use crate::ServeError;
use crate::activity::{Activity, Open};
use crate::limits::MAX_CALL;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request, Response};
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
    asked: AtomicUsize,
    answered: AtomicUsize,
}

/// Bytes that are kept of what is asked, at most: a message, and what has come of the next one.
const KEPT: usize = 2 * MAX_CALL;

/// What a client sends.
struct Asked {
    body: Body,
    held: Arc<Held>,
}

/// What it gets; the call is over when that is gone. A piece is asked for when those before it are sent.
struct Answered {
    body: Body,
    held: Arc<Held>,
    is_over: bool,
    _open: Option<Open>,
}

impl Share {
    pub fn of(most: usize) -> Arc<Share> {
        Arc::new(Share { taken: AtomicUsize::new(0), most })
    }
}

impl Held {
    /// It has so many bytes of one kind from now on.
    fn set(&self, kind: &AtomicUsize, bytes: usize) -> Result<(), ServeError> {
        let before = kind.swap(bytes, Ordering::Relaxed);
        if bytes <= before {
            self.share.taken.fetch_sub(before - bytes, Ordering::Relaxed);
            return Ok(());
        }
        let more = bytes - before;
        let taken = self.share.taken.fetch_add(more, Ordering::Relaxed) + more;
        if taken > self.share.most { Err(ServeError::Crowded { what: "bytes of calls" }) } else { Ok(()) }
    }

    fn asked(&self, more: usize) -> Result<(), ServeError> {
        let bytes = self.asked.load(Ordering::Relaxed) + more;
        self.set(&self.asked, bytes.min(KEPT))
    }

    /// The piece before has been sent.
    fn answered(&self, piece: usize) -> Result<(), ServeError> {
        self.set(&self.answered, piece)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bytes = self.asked.load(Ordering::Relaxed) + self.answered.load(Ordering::Relaxed);
        self.share.taken.fetch_sub(bytes, Ordering::Relaxed);
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
        let held = Arc::new(Held {
            share: Arc::clone(&self.bytes),
            asked: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
        });
        let asked = request.map(|body| Body::new(Asked { body, held: Arc::clone(&held) }));
        let answer = self.inner.call(asked);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| Body::new(Answered { body, held, is_over: false, _open: open })))
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
            && let Err(error) = self.held.asked(bytes.len())
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
        if self.is_over {
            return Poll::Ready(None);
        }
        let _ = self.held.answered(0);
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
            && let Err(error) = self.held.answered(bytes.len())
        {
            // Its beginning says that all is well; its end does not.
            (self.is_over, self.body) = (true, Body::empty());
            let mut trailers = HeaderMap::new();
            Status::from(error).add_header(&mut trailers)?;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // It may end before.
        SizeHint::default()
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

    /// Reads what is asked and answers as much, or says what reading fails of.
    #[derive(Clone)]
    struct Reads;

    async fn next(body: &mut Body) -> Option<Result<Frame<Bytes>, Status>> {
        std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
    }

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
                let mut bytes = 0;
                while let Some(frame) = next(&mut body).await {
                    bytes += frame?.data_ref().map_or(0, Bytes::len);
                }
                Ok(Response::new(Body::new(Piece(Some(vec![0; bytes].into())))))
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
            answer.map(|answer| (answer.into_body(), activity)).map_err(|status| status.code())
        };
        let (mut first, activity) = call(50).unwrap();
        assert_eq!(activity.end(), None);
        assert_eq!(call(60).err(), Some(tonic::Code::ResourceExhausted));
        // What it is answered counts as well.
        let (mut second, _) = call(10).unwrap();
        let piece = runtime.block_on(next(&mut first)).unwrap().unwrap();
        assert_eq!(piece.data_ref().map(Bytes::len), None, "50 + 50 + 10 are too many");
        let status = Status::from_header_map(piece.trailers_ref().unwrap()).unwrap();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(runtime.block_on(next(&mut first)).is_none());
        drop(first);
        assert!(activity.end().is_some());
        let piece = runtime.block_on(next(&mut second)).unwrap().unwrap();
        assert_eq!(piece.data_ref().map(Bytes::len), Some(10));
        assert_eq!(share.taken.load(Ordering::Relaxed), 20);
        assert!(runtime.block_on(next(&mut second)).is_none());
        assert_eq!(share.taken.load(Ordering::Relaxed), 10);
        drop(second);
        assert!(call(100).is_ok());
        assert_eq!(share.taken.load(Ordering::Relaxed), 0);
    }
}
