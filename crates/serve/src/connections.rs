//! Connections of clients: so many at a time, each of which has to be of use (`activity.rs`).

use crate::activity::Activity;
use crate::limits::{CONNECTIONS, IDLE};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

/// A client's connection.
pub struct Connection {
    stream: TcpStream,
    activity: Arc<Activity>,
    /// When to look whether it is still of use.
    look: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

/// The connections that come in, as long as they are taken.
pub fn incoming(listener: TcpListener) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(1);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::spawn(async move {
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            let Ok((stream, _)) = accepted else {
                // No descriptors or no memory: others may give some back.
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            if sender.send(Ok(Connection::new(stream, permit))).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}

impl Connection {
    fn new(stream: TcpStream, permit: OwnedSemaphorePermit) -> Connection {
        let activity = Activity::begin();
        let look = Box::pin(sleep_until(activity.end().unwrap_or_else(Instant::now)));
        Connection { stream, activity, look, _permit: permit }
    }

    /// Whether it is to be let go of. Where it is not, the task is woken to look again.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        while self.look.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            let next = self.activity.end().unwrap_or(now + IDLE);
            if next <= now {
                return true;
            }
            self.look.as_mut().reset(next);
        }
        false
    }
}

impl AsyncRead for Connection {
    /// All that comes in, or does not, is waited for here: the beginning of TLS and of HTTP/2 as well as calls.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Connected for Connection {
    type ConnectInfo = Arc<Activity>;

    fn connect_info(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }
}
