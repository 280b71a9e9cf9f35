//! The opening of a connection: a stream whose first bytes must arrive within a time. Which protocol a client speaks is
//! found out from them, and finding out has no bound of its own. Owns that bound; must not know what is said.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// What a connection of HTTP/2 begins with; any other beginning is of HTTP/1.1.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream that fails to be read once the time is over in which it had to be clear which protocol it speaks.
pub(super) struct Opening<S> {
    stream: S,
    /// How much of the preface has been read.
    read: usize,
    /// The time left; none once it is clear.
    left: Option<Pin<Box<Sleep>>>,
}

impl<S> Opening<S> {
    pub(super) fn new(stream: S, at_most: Duration) -> Self {
        Self { stream, read: 0, left: Some(Box::pin(tokio::time::sleep(at_most))) }
    }

    fn heard(&mut self, bytes: &[u8]) {
        let rest = PREFACE.get(self.read..).unwrap_or_default();
        self.read = self.read.saturating_add(bytes.len());
        if self.read >= PREFACE.len() || !rest.starts_with(bytes) {
            self.left = None;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Opening<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(left) = &mut self.left else { return polled };
        if polled.is_ready() {
            self.heard(buffer.filled().get(before..).unwrap_or_default());
            return polled;
        }
        left.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Opening<S> {
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

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
