//! All that one simulated Discord holds, behind one lock: what can be seen, and the machinery that is not.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use serde_json::Value;

use super::{
    fault::Faults,
    gateway::Gateway,
    id::{Id, Mint},
    limits::Buckets,
    options::Options,
    route::Target,
    rules::Findings,
    state::{Counts, Request, State, Violation},
};

/// The server's whole state.
pub(super) struct World {
    pub(super) state: State,
    pub(super) options: Options,
    /// The address clients reach the gateway at.
    pub(super) gateway_url: String,
    pub(super) mint: Mint,
    pub(super) faults: Faults,
    pub(super) buckets: Buckets,
    pub(super) gateway: Gateway,
    /// Where interactions are posted instead of being sent to the gateway.
    pub(super) endpoint: Option<String>,
    /// Interactions that are to be posted.
    pub(super) outbox: Vec<(Id, Value)>,
    /// Messages by channel and nonce, with the moment they were created.
    pub(super) nonces: HashMap<(Id, String), (Id, Duration)>,
    /// Interactions by continuation token.
    pub(super) tokens: HashMap<String, Id>,
    /// The request that is being handled, for violations.
    pub(super) current: u64,
}

impl World {
    pub(super) fn new(options: Options, gateway_url: String, now: Duration) -> Self {
        let mut mint = Mint::default();
        let state = State {
            bot: options.application_id,
            guild: mint.next(now),
            users: HashMap::new(),
            channels: HashMap::new(),
            messages: HashMap::new(),
            interactions: HashMap::new(),
            commands: Vec::new(),
            requests: VecDeque::new(),
            violations: Vec::new(),
            counts: Counts::default(),
        };
        Self {
            state,
            options,
            gateway_url,
            mint,
            faults: Faults::default(),
            buckets: Buckets::default(),
            gateway: Gateway::default(),
            endpoint: None,
            outbox: Vec::new(),
            nonces: HashMap::new(),
            tokens: HashMap::new(),
            current: 0,
        }
    }

    /// Fills in which interaction, and so which channel, a continuation token stands for.
    pub(super) fn locate(&self, target: &mut Target) {
        if let Some(id) = target.token.as_ref().and_then(|token| self.tokens.get(token)) {
            target.interaction = Some(*id);
            target.channel = self.state.interactions.get(id).map(|interaction| interaction.channel);
        }
    }

    /// Writes a request into the log and returns its number.
    pub(super) fn log(&mut self, mut request: Request) -> u64 {
        self.state.counts.requests += 1;
        request.number = self.state.counts.requests;
        let number = request.number;
        self.state.requests.push_back(request);
        while self.state.requests.len() > self.options.log_limit {
            self.state.requests.pop_front();
        }
        number
    }

    /// Completes a log entry with its answer.
    pub(super) fn log_answer(&mut self, number: u64, status: u16, answer: &str) {
        let Some(first) = self.state.requests.front().map(|request| request.number) else { return };
        let place = number.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(request) = place.and_then(|place| self.state.requests.get_mut(place)) {
            request.status = Some(status);
            request.answer = Some(answer.to_owned());
        }
    }

    pub(super) fn violation(&mut self, what: impl Into<String>) {
        self.state.violations.push(Violation { request: self.current, what: what.into() });
    }

    /// Records the violations of a body and refuses it if there is a reason.
    pub(super) fn judge(&mut self, findings: Findings) -> Result<(), super::refusal::Refusal> {
        for what in findings.violations {
            self.violation(what);
        }
        if findings.problems.is_empty() { Ok(()) } else { Err(super::refusal::Refusal::Form(findings.problems)) }
    }
}
