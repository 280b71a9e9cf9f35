//! Several servers on one store in memory: clones of it are what their connections are to a database.

use super::MemoryStore;
use crate::{
    error::StoreError,
    servers::{Leadership, Lease, SERVERS_MAX, ServerStore, Task, Wakes},
};
use async_trait::async_trait;
use charter_events::{Offset, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;
use uuid::Uuid;

/// Who is alive, who leads, and the bell.
#[derive(Debug)]
pub(super) struct Servers {
    leases: Mutex<BTreeMap<Uuid, Lease>>,
    led: Mutex<BTreeSet<Task>>,
    bell: watch::Sender<Offset>,
}

impl Default for Servers {
    fn default() -> Self {
        Self { leases: Mutex::default(), led: Mutex::default(), bell: watch::Sender::new(Offset::ZERO) }
    }
}

impl Servers {
    fn leases(&self) -> MutexGuard<'_, BTreeMap<Uuid, Lease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn led(&self) -> MutexGuard<'_, BTreeSet<Task>> {
        self.led.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ServerStore for MemoryStore {
    async fn renew_lease(
        &self,
        lease: &Lease,
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        self.shared.hooks.reading()?;
        lease.check()?;
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        let renewed = Lease { expires_at: now.saturating_add_micros(micros), ..lease.clone() };
        let mut leases = self.shared.servers.leases();
        leases.retain(|_, lease| lease.expires_at > now);
        leases.insert(lease.server, renewed);
        Ok(leases.values().take(SERVERS_MAX).cloned().collect())
    }

    async fn end_lease(&self, server: Uuid) -> Result<(), StoreError> {
        self.shared.servers.leases().remove(&server);
        Ok(())
    }

    async fn live_servers(&self, now: Timestamp) -> Result<Vec<Lease>, StoreError> {
        self.shared.hooks.reading()?;
        let leases = self.shared.servers.leases();
        Ok(leases.values().filter(|lease| lease.expires_at > now).take(SERVERS_MAX).cloned().collect())
    }

    async fn lead(&self, task: Task) -> Result<Option<Box<dyn Leadership>>, StoreError> {
        self.shared.hooks.reading()?;
        let taken = self.shared.servers.led().insert(task);
        Ok(taken.then(|| Box::new(Led { store: self.clone(), task }) as _))
    }

    async fn announce(&self, head: Offset) {
        self.shared.servers.bell.send_replace(head);
    }

    async fn wakes(&self) -> Result<Box<dyn Wakes>, StoreError> {
        Ok(Box::new(Bell(self.shared.servers.bell.subscribe())))
    }
}

struct Led {
    store: MemoryStore,
    task: Task,
}

#[async_trait]
impl Leadership for Led {
    async fn holds(&mut self) -> bool {
        self.store.shared.hooks.reading().is_ok()
    }
}

impl Drop for Led {
    fn drop(&mut self) {
        self.store.shared.servers.led().remove(&self.task);
    }
}

struct Bell(watch::Receiver<Offset>);

#[async_trait]
impl Wakes for Bell {
    async fn next(&mut self) -> Result<(), StoreError> {
        self.0.changed().await.map_err(|_| StoreError::Closed)
    }
}
