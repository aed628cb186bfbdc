//! Connections of clients: so many at a time, each of which has to say something soon.

use crate::limits::{CONNECTIONS, PONG};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Bytes that HTTP/2 begins with (RFC 9113, 3.4). Who has sent as many is asked for signs of life from then on.
const PREFACE: usize = 24;

/// A client's connection.
pub struct Connection {
    stream: TcpStream,
    read: usize,
    /// Until the beginning has come.
    deadline: Option<Pin<Box<Sleep>>>,
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
                sleep(std::time::Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let deadline = Some(Box::pin(sleep(PONG)));
            if sender.send(Ok(Connection { stream, read: 0, deadline, _permit: permit })).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Some(deadline) = &mut self.deadline {
            if deadline.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.read += buffer.filled().len() - before;
            if self.read >= PREFACE {
                self.deadline = None;
            }
        }
        polled
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
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}
