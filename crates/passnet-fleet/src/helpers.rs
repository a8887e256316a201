//! Helpers of a cluster: they answer the questions that stages of the dataset ask PyTorch.
//!
//! The stage itself runs on the driver and writes its tables as on one machine. Only the questions are sent to the cluster. So the files
//! are the same byte for byte, and an interrupted stage keeps the same intermediate results.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use passnet_dataset::annotate::Runner;
use passnet_record::{
    fleet::{ClusterEvent, ClusterRequest},
    stages::{HelperAnswer, HelperQuestion, StageHelper},
};
use serde_json::Value;

use crate::{
    bridge::{Bridge, BridgeConfig, BridgeNews},
    error::{FleetError, message},
};

/// Attempts at a question before the stage fails.
const ATTEMPTS: u32 = 4;
/// Connections that may fail without an answer in between.
const CONNECTIONS: u32 = 5;
/// Longest wait for events before questions are sent to helpers.
const STEP: Duration = Duration::from_millis(20);

/// Receives the reason why no question can be answered any more, and ends the command. An error of the cluster must not count as an error
/// of a graph.
pub type GiveUp = dyn Fn(FleetError) + Send + Sync;

/// Helper processes of a cluster. Dropping it ends them.
pub struct HelperFleet {
    shared: Arc<HelperShared>,
    dispatcher: Option<std::thread::JoinHandle<()>>,
}

struct HelperShared {
    state: Mutex<HelperState>,
    answered: Condvar,
}

#[derive(Default)]
struct HelperState {
    waiting: VecDeque<u64>,
    questions: HashMap<u64, Question>,
    answers: HashMap<u64, Result<Value, String>>,
    /// Helpers that joined, each with the question that it works on.
    slots: BTreeMap<u64, Option<u64>>,
    next: u64,
    /// Connections that failed since the last answer.
    failures: u32,
    closing: bool,
}

struct Question {
    line: String,
    attempts: u32,
}

impl HelperShared {
    fn state(&self) -> MutexGuard<'_, HelperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HelperFleet {
    /// Starts the bridge, which starts helpers. Questions wait until the first helper has joined.
    ///
    /// # Errors
    /// If the bridge cannot be started.
    pub fn start(
        config: BridgeConfig,
        note: impl Fn(&str) + Send + 'static,
        give_up: Arc<GiveUp>,
    ) -> Result<Self, FleetError> {
        let bridge = Bridge::start(&config)?;
        let shared = Arc::new(HelperShared { state: Mutex::default(), answered: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let dispatcher = std::thread::spawn(move || {
            if let Err(error) = serve(&of_thread, &config, bridge, &note) {
                give_up(error);
            }
        });
        Ok(Self { shared, dispatcher: Some(dispatcher) })
    }

    /// Returns the runner of a stage that asks one kind of helper.
    /// `memory_bytes` is the limit of a question.
    pub fn runner(&self, helper: StageHelper, memory_bytes: Option<u64>) -> FleetRunner<'_> {
        FleetRunner { fleet: self, helper, memory_bytes }
    }

    fn ask(&self, helper: StageHelper, memory_bytes: Option<u64>, question: &Value) -> Result<Value, String> {
        let mut state = self.shared.state();
        let id = state.next;
        state.next += 1;
        let question = HelperQuestion {
            id,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            helper,
            memory_bytes,
            question: question.clone(),
        };
        let line = serde_json::to_string(&question).map_err(|error| error.to_string())?;
        state.questions.insert(id, Question { line, attempts: 0 });
        state.waiting.push_back(id);
        loop {
            if let Some(answer) = state.answers.remove(&id) {
                return answer;
            }
            state = self.shared.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for HelperFleet {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        if let Some(dispatcher) = self.dispatcher.take() {
            // The thread does not panic, and errors went to `give_up`.
            let _ = dispatcher.join();
        }
    }
}

/// A kind of helper of a cluster, as the stages ask it.
#[derive(Clone, Copy)]
pub struct FleetRunner<'a> {
    fleet: &'a HelperFleet,
    helper: StageHelper,
    memory_bytes: Option<u64>,
}

impl Runner for FleetRunner<'_> {
    fn ask(&self, question: &Value) -> Result<Value, String> {
        self.fleet.ask(self.helper, self.memory_bytes, question)
    }

    /// Returns the number of questions to have in progress: one per helper, and one more that waits for a free helper.
    fn width(&self) -> usize {
        self.fleet.shared.state().slots.len() + 1
    }
}

/// Hands questions to helpers until the fleet is dropped.
fn serve(
    shared: &HelperShared,
    config: &BridgeConfig,
    mut bridge: Bridge,
    note: &dyn Fn(&str),
) -> Result<(), FleetError> {
    let mut connected = false;
    loop {
        let news = bridge.next(STEP);
        let mut state = shared.state();
        if state.closing {
            return Ok(());
        }
        match news {
            None => {}
            Some(BridgeNews::Garbage(error)) => return Err(error),
            Some(BridgeNews::Ended(words)) => {
                state.failures += 1;
                // If the cluster was never reached, its address is probably wrong, and another attempt does not help.
                if !connected || state.failures >= CONNECTIONS {
                    return Err(FleetError::Unreachable { times: state.failures, message: words });
                }
                note("the connection to the cluster was lost and is made again");
                // The questions of all helpers, the oldest first.
                let mut held: Vec<u64> = std::mem::take(&mut state.slots).into_values().flatten().collect();
                held.sort_unstable();
                held.into_iter().rev().for_each(|id| state.waiting.push_front(id));
                drop(state);
                bridge = Bridge::start(config)?;
                continue;
            }
            Some(BridgeNews::Event(event)) => {
                connected = true;
                if let Some(text) = state.handle(event)? {
                    note(&text);
                }
            }
        }
        state.hand_out(&mut bridge);
        shared.answered.notify_all();
    }
}

impl HelperState {
    /// Returns text for people, where there is some.
    fn handle(&mut self, event: ClusterEvent) -> Result<Option<String>, FleetError> {
        match event {
            ClusterEvent::Joined { slot, .. } => drop(self.slots.insert(slot, None)),
            ClusterEvent::Line { slot, line } => {
                let answer: HelperAnswer = message(&line)?;
                // Ignores an answer of a helper that was believed lost, because its question was asked again.
                if let Some(held) = self.slots.get_mut(&slot).filter(|held| **held == Some(answer.id)) {
                    *held = None;
                    self.failures = 0;
                    self.questions.remove(&answer.id);
                    self.answers.insert(answer.id, answer.answer);
                }
            }
            ClusterEvent::Lost { slot, reason } => return self.lose(slot, reason),
            ClusterEvent::Note { text } => return Ok(Some(text)),
        }
        Ok(None)
    }

    fn lose(&mut self, slot: u64, reason: String) -> Result<Option<String>, FleetError> {
        let Some(held) = self.slots.remove(&slot) else { return Ok(None) };
        let Some(id) = held else { return Ok(Some(format!("a helper was lost: {reason}"))) };
        let attempts = self.questions.get(&id).map_or(0, |question| question.attempts);
        if attempts >= ATTEMPTS {
            return Err(FleetError::HelperLost { times: attempts, reason });
        }
        // To the front: the stage waits for it.
        self.waiting.push_front(id);
        Ok(Some(format!("a helper was lost, and its question is asked again: {reason}")))
    }

    fn hand_out(&mut self, bridge: &mut Bridge) {
        for (&slot, held) in self.slots.iter_mut().filter(|(_, held)| held.is_none()) {
            let Some(id) = self.waiting.pop_front() else { return };
            let Some(question) = self.questions.get_mut(&id) else { continue };
            question.attempts += 1;
            *held = Some(id);
            bridge.send(&ClusterRequest::Send { slot, line: question.line.clone() });
        }
    }
}
