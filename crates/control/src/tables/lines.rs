//! The worker's lines: a batch for each, who joins whom, and the states that are kept a while.

use super::{
    line::{Line, WorkError},
    shown::show,
    worker::Worker,
};
use crate::published::State;
use std::sync::Arc;

/// How many states that no line stands at any more are kept, in case one is to go on from there.
const RECENT_STATES_MAX: usize = 4;

impl Worker {
    /// The line a generation stands in.
    pub(super) fn line_of(&self, projection: &str, number: u32) -> Option<&Line> {
        self.lines.iter().find(|line| line.members.iter().any(|member| member.is(projection, number)))
    }

    /// Every line goes on by a batch; tells whether one is not at the goal yet.
    pub(super) async fn step_lines(&mut self, goal: &Arc<State>) -> Result<bool, WorkError> {
        let inner = Arc::clone(&self.inner);
        let mut moved = false;
        let mut apart = Vec::new();
        for at in 0..self.lines.len() {
            let Some(line) = self.lines.get_mut(at) else { break };
            if line.state.head.offset >= goal.head.offset || line.members.is_empty() {
                continue;
            }
            let before = Arc::clone(&line.state);
            let step = match line.step(&inner, goal).await {
                Ok(step) => step,
                Err(error) => {
                    // What became of its last write is not known: they begin anew from wherever each of them is.
                    line.members.clear();
                    self.remember(before);
                    self.let_go_of_empty_lines();
                    return Err(error);
                }
            };
            moved |= step.events > 0;
            metrics::counter!("charter_projection_events_total").increment(step.events);
            if step.look_again {
                self.remember(before);
                self.looked = None;
            }
            apart.extend(step.apart);
        }
        self.lines.append(&mut apart);
        if moved {
            self.note_moves();
        }
        self.let_go_of_empty_lines();
        Ok(self.lines.iter().any(|line| line.state.head.offset < goal.head.offset))
    }

    /// What is known of the generations, kept up with their lines.
    fn note_moves(&mut self) {
        for line in &self.lines {
            let at = line.checkpoint();
            for one in &mut self.generations {
                if line.members.iter().any(|member| member.is(&one.projection, one.number)) {
                    one.checkpoint = at;
                }
            }
        }
        self.inner.tables.saw(&self.generations);
        show(&self.generations, &self.inner.config.projections, self.inner.published.version(), true);
    }

    /// Lines that have come to stand at the same event are one from now on.
    pub(super) fn merge_lines(&mut self) {
        let mut merged: Vec<Line> = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            let same = |other: &&mut Line| {
                other.is_usual() && line.is_usual() && other.checkpoint() == line.checkpoint()
            };
            match merged.iter_mut().find(same) {
                Some(other) => other.members.extend(line.members),
                None => merged.push(line),
            }
        }
        self.lines = merged;
    }

    /// Whether two generations stand in the same line.
    pub(super) fn together(&self, projection: &str, one: u32, other: u32) -> bool {
        let line = self.line_of(projection, one);
        line.is_some_and(|line| line.members.iter().any(|member| member.is(projection, other)))
    }

    /// Takes a generation out of its line, so that it stands still.
    pub(super) fn hold(&mut self, projection: &str, number: u32) {
        if let Some(state) = self.line_of(projection, number).map(|line| Arc::clone(&line.state)) {
            self.remember(state);
        }
        for line in &mut self.lines {
            line.members.retain(|member| !member.is(projection, number));
        }
        self.let_go_of_empty_lines();
    }

    pub(super) fn let_go_of_empty_lines(&mut self) {
        let (kept, empty) = std::mem::take(&mut self.lines).into_iter().partition(|l| !l.members.is_empty());
        self.lines = kept;
        let empty: Vec<Line> = empty;
        empty.into_iter().for_each(|line| self.remember(line.state));
    }

    fn remember(&mut self, state: Arc<State>) {
        self.recent.retain(|known| known.head != state.head);
        self.recent.push_front(state);
        self.recent.truncate(RECENT_STATES_MAX);
    }
}
