//! Serving a router on a listener: HTTP/1.1 and HTTP/2, bounded in connections, headers and time, and ended without
//! breaking off what is being answered. The one place that knows the HTTP implementation.

use super::{
    client::{Introduced, Peer},
    crowd::Crowd,
    opening::Opening,
    stalling::Stalling,
    stopping::Stopping,
    tls::Tls,
};
use axum::{Extension, Router};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto,
        graceful::{GracefulShutdown, Watcher},
    },
    service::TowerToHyperService,
};
use ipnet::IpNet;
use std::{future::Future, net::SocketAddr, num::NonZeroUsize, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{Semaphore, watch},
};

/// The most connections at once.
pub const CONNECTIONS_MAX: usize = 4_096;
/// How long a request's head may take to arrive, in seconds.
const HEAD_SECONDS_MAX: u64 = 10;
/// The largest request head, in bytes.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The most headers of a request.
const HEADERS_MAX: usize = 100;
/// The most requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 128;
/// How long a client may take nothing of what is sent to it, in seconds.
const STALL_SECONDS_MAX: u64 = 30;
/// How long running requests may take to end when the server stops, in seconds.
const DRAIN_SECONDS_MAX: u64 = 30;
/// How long to wait after the system refused to accept a connection, in milliseconds.
const ACCEPT_PAUSE_MILLISECONDS: u64 = 100;

/// How a server is reached.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    /// The certificate, when TLS is spoken.
    pub tls: Option<Tls>,
    /// The most connections of one address, or of one /64 of IPv6; what comes beyond it is closed at once.
    pub connections_of_address_max: Option<NonZeroUsize>,
    /// The proxies whose connections are not counted: many come through them.
    pub trusted_proxies: Vec<IpNet>,
}

/// Serves until `shutdown` resolves, then ends the answers that go on for ever and lets the others end.
///
/// # Errors
/// None today: a connection that can't be accepted is logged and the next one tried.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    serve_over(listener, Listening::default(), router, shutdown).await
}

/// The same, reached as is said.
///
/// # Errors
/// As [`serve`].
pub async fn serve_over(
    listener: TcpListener,
    how: Listening,
    router: Router,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    serve_within(listener, how, router, Duration::from_secs(HEAD_SECONDS_MAX), shutdown).await
}

/// The same with a bound of its own on how long a connection may leave open which protocol it speaks.
async fn serve_within(
    listener: TcpListener,
    how: Listening,
    router: Router,
    opening_max: Duration,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let Listening { tls, connections_of_address_max, trusted_proxies } = how;
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let crowd = Crowd::new(connections_of_address_max, trusted_proxies);
    let refused = metrics::counter!("charter_http_connections_refused_total");
    // Shown from the start on.
    refused.increment(0);
    let graceful = GracefulShutdown::new();
    let (stopping, told) = watch::channel(false);
    let router = router.layer(Extension(Stopping::told_by(told)));
    let talk = Talk { server: Arc::new(builder()), router, opening_max };
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let (stream, address, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MILLISECONDS)).await;
                continue;
            }
        };
        let Some(counted) = crowd.admit(address.ip()) else {
            refused.increment(1);
            tracing::debug!(address = %address.ip(), "an address has as many connections as it may");
            continue;
        };
        let stream = Stalling::new(stream, Duration::from_secs(STALL_SECONDS_MAX));
        let peer = Peer { address, encrypted: tls.is_some() };
        let (talk, watcher, tls) = (talk.clone(), graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => talk.on(stream, peer, watcher).await,
                Some(tls) => match tokio::time::timeout(opening_max, tls.acceptor().accept(stream)).await {
                    Ok(Ok(stream)) => talk.on(stream, peer, watcher).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a connection came to no TLS"),
                    Err(_) => tracing::debug!("a connection took too long to come to TLS"),
                },
            }
            drop((counted, permit));
        });
    }
    drop(listener);
    stopping.send_replace(true);
    if tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS_MAX), graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still running when the server stopped");
    }
    Ok(())
}

/// What is said on every connection.
#[derive(Clone)]
struct Talk {
    server: Arc<auto::Builder<TokioExecutor>>,
    router: Router,
    opening_max: Duration,
}

impl Talk {
    async fn on<S>(self, stream: S, peer: Peer, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(Introduced { inner: self.router, peer });
        let stream = TokioIo::new(Opening::new(stream, self.opening_max));
        let connection = self.server.serve_connection(stream, service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(error = %error, "a connection broke off");
        }
    }
}

type Accepted = std::io::Result<(tokio::net::TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)>;

/// The next connection, once there is room for one.
async fn accept(listener: &TcpListener, connections: &Arc<Semaphore>) -> Accepted {
    let permit = Arc::clone(connections).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, address, permit))
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .keep_alive_interval(Some(Duration::from_secs(HEAD_SECONDS_MAX)))
        .keep_alive_timeout(Duration::from_secs(HEAD_SECONDS_MAX));
    server
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    const OPENING_MAX: Duration = Duration::from_millis(50);

    async fn served() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "fine" }));
        tokio::spawn(serve_within(
            listener,
            Listening::default(),
            router,
            OPENING_MAX,
            std::future::pending(),
        ));
        at
    }

    #[tokio::test]
    async fn who_does_not_say_which_protocol_he_speaks_is_shown_the_door() {
        let at = served().await;
        for said in ["", "P", "PRI * HTTP/2.0\r\n\r\n"] {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            let reading = stream.read_to_end(&mut heard);
            let closed = tokio::time::timeout(Duration::from_secs(5), reading).await;
            assert!(closed.is_ok(), "{said:?} keeps its connection");
        }
    }

    #[tokio::test]
    async fn who_has_said_it_may_take_his_time_between_requests() {
        let mut stream = TcpStream::connect(served().await).await.unwrap();
        for _ in 0..2 {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let mut heard = Vec::new();
            while !heard.ends_with(b"fine") {
                assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "closed");
            }
            assert!(heard.starts_with(b"HTTP/1.1 200 OK"));
            tokio::time::sleep(OPENING_MAX * 3).await;
        }
    }
}
