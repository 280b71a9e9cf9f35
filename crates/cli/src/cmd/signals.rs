//! Being told to end.

use crate::exit::{Doing, Outcome};

/// Listens for SIGINT and SIGTERM from now on; the future ends with the first one, also one that came before it was
/// polled.
#[cfg(unix)]
pub(super) fn told_to_end() -> Outcome<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt()).doing("listen for SIGINT")?;
    let mut terminated = signal(SignalKind::terminate()).doing("listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
pub(super) fn told_to_end() -> Outcome<impl Future<Output = ()> + Send> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
