//! Stands between a store and its database, and can let either vanish at a moment that matters.

use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::AbortHandle,
};

/// What it does with what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Passes everything on.
    Pass,
    /// Passes nothing on, in either direction, and closes nothing: the database has vanished.
    Hang,
    /// Cuts the connection instead of passing on a commit.
    CutBeforeCommit,
    /// Passes a commit on, and cuts the connection instead of passing on its answer.
    CutAfterCommit,
}

/// A way to a database.
pub(crate) struct Proxy {
    port: u16,
    mode: watch::Sender<Mode>,
    server: Arc<Mutex<String>>,
    joined: Arc<Mutex<Vec<AbortHandle>>>,
    listening: AbortHandle,
}

impl Proxy {
    /// To the server in this address.
    pub(crate) async fn to(url: &str) -> Self {
        let server = Arc::new(Mutex::new(place(url).to_owned()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mode, _) = watch::channel(Mode::Pass);
        let joined = Arc::new(Mutex::new(Vec::new()));
        let (modes, all, to) = (mode.clone(), joined.clone(), server.clone());
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = to.lock().unwrap().clone();
                let joined = tokio::spawn(join(client, server, modes.clone()));
                all.lock().unwrap().push(joined.abort_handle());
            }
        });
        Self { port, mode, server, joined, listening: listening.abort_handle() }
    }

    /// The address that leads through it.
    pub(crate) fn url(&self, url: &str) -> String {
        url.replace(place(url), &format!("127.0.0.1:{}", self.port))
    }

    /// From now on to the server in this address; what is connected is cut.
    pub(crate) fn lead_to(&self, url: &str) {
        *self.server.lock().unwrap() = place(url).to_owned();
        self.cut();
    }

    fn cut(&self) {
        self.joined.lock().unwrap().drain(..).for_each(|joined| joined.abort());
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
        self.cut();
    }
}

fn place(url: &str) -> &str {
    url.rsplit_once('@').unwrap().1.split('/').next().unwrap()
}

async fn join(client: TcpStream, server: String, mode: watch::Sender<Mode>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let committed = Arc::new(Mutex::new(false));
    tokio::select! {
        () = up(from_client, to_server, mode.subscribe(), committed.clone()) => {}
        () = down(from_server, to_client, mode.subscribe(), committed) => {}
    }
}

async fn up(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    committed: Arc<Mutex<bool>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if mode.wait_for(|mode| *mode != Mode::Hang).await.is_err() {
            return;
        }
        let commits = buffer[..size].windows(6).any(|bytes| bytes == b"COMMIT");
        let now = *mode.borrow();
        if commits && now == Mode::CutBeforeCommit {
            return;
        }
        *committed.lock().unwrap() = commits;
        if to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}

async fn down(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    committed: Arc<Mutex<bool>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if mode.wait_for(|mode| *mode != Mode::Hang).await.is_err() {
            return;
        }
        let now = *mode.borrow();
        if now == Mode::CutAfterCommit && *committed.lock().unwrap() {
            return;
        }
        if to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}
