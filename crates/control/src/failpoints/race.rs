//! Two servers whose every step is taken when a schedule says so: for tests that go through all orders of their steps.

use super::{Hooks, Outcome, Point};
use crate::{Config, Control, Request, StartError};
use async_trait::async_trait;
use charter_store::Store;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::{mpsc, oneshot};

/// How many steps a server takes from a command to its answer.
const STEPS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    At(Point),
    Answered(bool),
}

type Arrival = (Seen, Option<oneshot::Sender<()>>);

/// Stops a server before each step until it is told to take it.
struct Stopping {
    arrived: mpsc::UnboundedSender<Arrival>,
    armed: AtomicBool,
}

#[async_trait]
impl Hooks for Stopping {
    async fn before(&self, point: Point) -> Outcome {
        if self.armed.load(Ordering::SeqCst) {
            let (go, may_go) = oneshot::channel();
            let _ = self.arrived.send((Seen::At(point), Some(go)));
            let _ = may_go.await;
        }
        Outcome::Continue
    }
}

/// One server in a race. Its other commands go their usual way.
pub struct Racer {
    control: Control,
    hooks: Arc<Stopping>,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    stands: Seen,
    go: Option<oneshot::Sender<()>>,
}

impl Racer {
    /// Starts a server.
    ///
    /// # Errors
    /// As [`Control::start`].
    pub async fn start(store: Arc<dyn Store>, config: Config) -> Result<Self, StartError> {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let hooks = Arc::new(Stopping { arrived, armed: false.into() });
        let config = Config { hooks: Some(hooks.clone()), ..config };
        let control = Control::start(store, config).await?.control;
        Ok(Self { control, hooks, arrivals, stands: Seen::Answered(false), go: None })
    }

    /// The server.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Asks, and comes to stand before the first step.
    pub async fn ask(&mut self, asked: Request) {
        self.hooks.armed.store(true, Ordering::SeqCst);
        let (control, hooks) = (self.control.clone(), Arc::clone(&self.hooks));
        tokio::spawn(async move {
            let answer = control.submit(asked).await;
            hooks.armed.store(false, Ordering::SeqCst);
            let _ = hooks.arrived.send((Seen::Answered(answer.is_ok()), None));
        });
        self.arrive().await;
    }

    /// Whether the last command was accepted.
    pub fn was_accepted(&self) -> bool {
        self.stands == Seen::Answered(true)
    }

    async fn arrive(&mut self) {
        if let Some((seen, go)) = self.arrivals.recv().await {
            (self.stands, self.go) = (seen, go);
        }
    }

    fn go(&mut self) {
        if let Some(go) = self.go.take() {
            let _ = go.send(());
        }
    }

    fn done(&self) -> bool {
        matches!(self.stands, Seen::Answered(_))
    }

    /// Between the steps `Decide` and `Publish` a server holds the head.
    fn holds_the_head(&self) -> bool {
        matches!(self.stands, Seen::At(Point::Decide | Point::Append | Point::Commit))
    }
}

/// Takes the steps of both in the order of the bits (0: the first, 1: the second) until both are answered. A server
/// that waits for the head can take no step: its turns go to the other.
pub async fn interleave(racers: &mut [Racer; 2], mut order: u32) {
    let [one, other] = racers;
    let (mut one_waits, mut other_waits) = (false, false);
    while !(one.done() && other.done()) {
        let ones_turn = order & 1 == 0;
        order >>= 1;
        let one_can = !one.done() && !one_waits;
        let other_can = !other.done() && !other_waits;
        if one_can && (ones_turn || !other_can) {
            step(one, other, &mut one_waits, &mut other_waits).await;
        } else {
            step(other, one, &mut other_waits, &mut one_waits).await;
        }
    }
}

async fn step(goes: &mut Racer, stays: &mut Racer, goes_waits: &mut bool, stays_waits: &mut bool) {
    *goes_waits = goes.stands == Seen::At(Point::Lock) && stays.holds_the_head();
    goes.go();
    if *goes_waits {
        return;
    }
    goes.arrive().await;
    if *stays_waits && !goes.holds_the_head() {
        stays.arrive().await;
        *stays_waits = false;
    }
}

/// Every order of the steps of one and of the other: 924.
pub fn orders() -> impl Iterator<Item = u32> + Clone {
    (0_u32..1 << (2 * STEPS)).filter(|order| order.count_ones() == STEPS)
}
