//! What is written to a connection must be taken within a time: a client that stops reading would keep the connection,
//! and what is to be sent to it, for ever. Owns that bound; must not know what is said.

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

/// A stream that fails when nothing of what is written was taken for a time.
pub(super) struct Stalling<S> {
    stream: S,
    at_most: Duration,
    /// The time left, while something waits to be taken.
    left: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(super) const fn new(stream: S, at_most: Duration) -> Self {
        Self { stream, at_most, left: None }
    }

    /// Any progress gives the whole time again.
    fn judged<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.left = None;
            return polled;
        }
        let at_most = self.at_most;
        let left = self.left.get_or_insert_with(|| Box::pin(tokio::time::sleep(at_most)));
        left.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judged(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.judged(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judged(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judged(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const AT_MOST: Duration = Duration::from_millis(500);

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let (here, _there) = duplex(16);
        let error = Stalling::new(here, AT_MOST).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_takes_a_little_at_a_time_gets_everything() {
        let (here, mut there) = duplex(16);
        let writing = tokio::spawn(async move { Stalling::new(here, AT_MOST).write_all(&[7; 160]).await });
        let mut heard = Vec::new();
        while heard.len() < 160 {
            tokio::time::sleep(AT_MOST / 20).await;
            let mut some = [0; 16];
            let count = there.read(&mut some).await.unwrap();
            heard.extend(some.into_iter().take(count));
        }
        writing.await.unwrap().unwrap();
        assert!(heard.iter().all(|byte| *byte == 7));
    }
}
