//! Simulated Ethereum node, with the faults of real ones.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_chain::rpc::{InProcessNode, RpcError};
use kedge_protocol::hash::to_hex;
use kedge_runtime::env::Env;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::answers::{self, RpcRefusal, bytes, quantity};
use super::chain::{BlockView, SimulatedTransaction};
use super::{AnchorWorld, TIMEOUT_MS, answer_watch, bond};
use crate::machine::SimulatedMachine;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// The node that the server sends to; the other one only confirms its answers.
const ANCHORS: usize = 0;
/// Longest time of a request without faults.
const USUAL_MS_MAX: u64 = 4;

pub(super) struct NodeState {
    random: SimulationRandom,
    /// Whether the node knows the tag `finalized`.
    pub(super) has_finalized: bool,
    away_until_ms: u64,
    behind: Option<(u64, BlockView)>,
    /// While this lasts, the node claims a forged checkpoint.
    claims_until_ms: u64,
}

impl NodeState {
    pub(super) fn new(mut random: SimulationRandom) -> Self {
        Self {
            has_finalized: random.below(4) > 0,
            random,
            away_until_ms: 0,
            behind: None,
            claims_until_ms: 0,
        }
    }

    /// Ends all faults of the node.
    pub(super) fn calm_down(&mut self) {
        self.away_until_ms = 0;
        self.behind = None;
        self.claims_until_ms = 0;
    }
}

pub(super) struct SimulatedNode {
    pub(super) world: Arc<Mutex<AnchorWorld>>,
    pub(super) number: usize,
    pub(super) machine: SimulatedMachine,
    pub(super) schedule: Arc<SeededSchedule>,
}

/// Fault of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RpcFate {
    Answered,
    Away,
    Hangs,
    Error,
    Garbage,
    Lost,
}

impl InProcessNode for SimulatedNode {
    fn answer(
        &self,
        request: Value,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send>> {
        let (world, machine) = (Arc::clone(&self.world), self.machine.clone());
        let (schedule, number) = (Arc::clone(&self.schedule), self.number);
        Box::pin(async move {
            let now_ms = machine.passed_ms();
            let (fate, [before, after]) = world.lock().fate(number, now_ms);
            schedule.note(
                "asked",
                &[number as u64, fate as u64, before.as_millis() as u64],
            );
            tokio::time::sleep(before).await;
            if matches!(fate, RpcFate::Away | RpcFate::Hangs) {
                return Err(RpcError::Transport("nobody is there".to_owned()));
            }
            let method = request["method"].as_str().unwrap_or_default();
            let now_ms = machine.passed_ms();
            let result = match fate {
                RpcFate::Error => Err(RpcRefusal::new("the node is busy")),
                _ => world
                    .lock()
                    .answer(number, now_ms, (method, &request["params"])),
            };
            tokio::time::sleep(after).await;
            match (fate, result) {
                (RpcFate::Lost, _) => Err(RpcError::Transport("the connection broke".to_owned())),
                (RpcFate::Garbage, _) => Ok(world.lock().garbage(number)),
                (_, Ok(result)) => Ok(body(&json!({"jsonrpc": "2.0", "id": 1, "result": result}))),
                (_, Err(refused)) => {
                    let error = refused.to_json();
                    Ok(body(&json!({"jsonrpc": "2.0", "id": 1, "error": error})))
                }
            }
        })
    }
}

fn body(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

impl AnchorWorld {
    /// Draws the fault of the next request, and its delays before and after the node looks at the chain.
    fn fate(&mut self, number: usize, now_ms: u64) -> (RpcFate, [Duration; 2]) {
        let rates = &self.chain.rates;
        let node = &mut self.nodes[number];
        let random = &mut node.random;
        if random.chance(rates.away) {
            node.away_until_ms = now_ms + 20 + random.below(300);
        }
        let usual = random.below(3);
        let mut wait = |rate| {
            let longer = if random.chance(rate) {
                random.below(2 * TIMEOUT_MS)
            } else {
                0
            };
            Duration::from_millis(usual + longer)
        };
        let times = [wait(rates.slow), wait(rates.slow)];
        let fate = if now_ms < node.away_until_ms {
            RpcFate::Away
        } else if random.chance(rates.hangs) {
            RpcFate::Hangs
        } else if random.chance(rates.error) {
            RpcFate::Error
        } else if random.chance(rates.garbage) {
            RpcFate::Garbage
        } else if random.chance(rates.lost) {
            RpcFate::Lost
        } else {
            RpcFate::Answered
        };
        let times = match fate {
            RpcFate::Hangs => [Duration::from_millis(10 * TIMEOUT_MS); 2],
            _ => times,
        };
        if number == ANCHORS {
            let takes_ms = (times[0] + times[1]).as_millis() as u64;
            self.note_fate(fate, takes_ms, now_ms);
        }
        (fate, times)
    }

    /// Charges the lost time: a request that fails or takes too long ends its tick, another slow one costs its delay.
    fn note_fate(&mut self, fate: RpcFate, takes_ms: u64, now_ms: u64) {
        let lost = &mut self.chain.lost;
        if fate != RpcFate::Answered || takes_ms >= TIMEOUT_MS - 1 {
            lost.tick_fails(now_ms, now_ms + takes_ms.min(TIMEOUT_MS));
        } else if takes_ms > USUAL_MS_MAX {
            lost.stands(now_ms, now_ms + takes_ms);
        }
    }

    fn garbage(&mut self, number: usize) -> Vec<u8> {
        let random = &mut self.nodes[number].random;
        let bodies = [
            "",
            "<html>502 Bad Gateway</html>",
            "{\"jsonrpc\":\"2.0\",\"id\":1}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0xzz\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
            "[1,2",
        ];
        let body = random.pick(&bodies).copied();
        body.unwrap_or_default().as_bytes().to_vec()
    }

    /// The node's answer to a request.
    fn answer(
        &mut self,
        number: usize,
        now_ms: u64,
        (method, params): (&str, &Value),
    ) -> Result<Value, RpcRefusal> {
        self.advance(now_ms);
        let chain = &self.chain;
        let node = &mut self.nodes[number];
        if node
            .behind
            .as_ref()
            .is_some_and(|(until_ms, _)| *until_ms <= now_ms)
        {
            node.behind = None;
        }
        if node.behind.is_none() && node.random.chance(chain.rates.behind) {
            let until_ms = now_ms + 15 + node.random.below(400);
            node.behind = Some((until_ms, chain.view.clone()));
            if number == ANCHORS {
                self.chain.lost.tick_fails(now_ms, until_ms);
            }
        }
        let (chain, node) = (&self.chain, &mut self.nodes[number]);
        if method == "eth_sendRawTransaction" {
            return self.send(number, &params[0], now_ms);
        }
        let view = node.behind.as_ref().map_or(&chain.view, |(_, view)| view);
        let pool = if node.behind.is_some() {
            &[]
        } else {
            &chain.pool[..]
        };
        let answer = answers::answer(view, pool, node.has_finalized, (method, params));
        let answer = match answer {
            Ok(answer) => Ok(self.lie(number, now_ms, (method, params), answer)),
            Err(refused) => Err(refused),
        };
        self.note_shown((method, params), answer.as_ref().ok());
        answer
    }

    /// Notes answers that let the server forget an answer to a case: the case is over, or the answer was refused.
    fn note_shown(&mut self, (method, params): (&str, &Value), answer: Option<&Value>) {
        let data = || bytes(&params[0]["data"]);
        let case = match (method, answer) {
            ("eth_estimateGas", None) => data().and_then(|data| answer_watch::answered_case(&data)),
            ("eth_getTransactionReceipt", Some(receipt)) if receipt["status"] == "0x0" => {
                answers::hash(&params[0]).and_then(|hash| self.watch.case_of(hash))
            }
            ("eth_call", Some(answer)) => {
                let is_newest = params[1] == "latest";
                let time_s = self.chain.view.head().timestamp_s;
                let asked = data().and_then(|data| bond::asked_case(&data));
                asked.filter(|_| {
                    bytes(answer).is_some_and(|answer| bond::is_over(&answer, is_newest, time_s))
                })
            }
            _ => None,
        };
        if let Some(case) = case {
            self.watch.may_forget(case);
        }
    }

    fn send(&mut self, number: usize, raw: &Value, now_ms: u64) -> Result<Value, RpcRefusal> {
        let invalid = || RpcRefusal::new("cannot be decoded");
        let raw = bytes(raw).ok_or_else(invalid)?;
        let sent = SimulatedTransaction::of(&raw).ok_or_else(invalid)?;
        self.note_sent(&sent, now_ms);
        let node = &mut self.nodes[number];
        if node.random.chance(self.chain.rates.ignores) {
            self.chain.lost.transaction_gone(now_ms);
            return Ok(json!(sent.hash));
        }
        let is_behind = node.behind.is_some();
        if !is_behind {
            self.check_nonce(&sent);
        }
        self.chain.take(&sent).map_err(RpcRefusal::new)?;
        self.check_pool(&sent);
        Ok(json!(sent.hash))
    }

    /// The false answer of a lying node.
    fn lie(
        &mut self,
        number: usize,
        now_ms: u64,
        (method, params): (&str, &Value),
        answer: Value,
    ) -> Value {
        let chain = &self.chain;
        let node = &mut self.nodes[number];
        let is_latest = method == "eth_call" && params[0]["data"].as_str().is_some_and(is_latest);
        if is_latest && now_ms < node.claims_until_ms {
            let claimed = chain.view.head().contract.latest().0 + 1_000;
            return json!(super::contract::claimed(claimed));
        }
        if !node.random.chance(chain.rates.lies) {
            return answer;
        }
        match method {
            "eth_getTransactionReceipt" if node.random.below(2) == 0 => Value::Null,
            "eth_getTransactionReceipt" if answer.is_object() => {
                let mut answer = answer;
                answer["status"] = json!("0x0");
                answer["logs"] = json!([]);
                answer
            }
            "eth_getTransactionByHash" | "eth_getBlockByNumber" => Value::Null,
            "eth_getTransactionCount" => {
                let count = answer.as_str().and_then(|text| text.strip_prefix("0x"));
                let count = count.and_then(|text| u64::from_str_radix(text, 16).ok());
                let other = count.unwrap_or_default() + 1 + node.random.below(2);
                quantity(other.saturating_sub(node.random.below(2) * 3))
            }
            "eth_getLogs" => json!([]),
            "eth_call" if is_case(&params[0]) => {
                // No such case, or an answered one.
                let mut words = [0; 5 * 32];
                words[3 * 32 - 1] = 2 * node.random.below(2) as u8;
                json!(to_hex(&words))
            }
            "eth_call" if is_latest => {
                node.claims_until_ms = now_ms + node.random.below(2_500);
                json!(super::contract::claimed(1 + node.random.below(5)))
            }
            _ => answer,
        }
    }
}

fn is_case(call: &Value) -> bool {
    bytes(&call["data"]).is_some_and(|data| bond::asked_case(&data).is_some())
}

fn is_latest(data: &str) -> bool {
    bytes(&json!(data)).is_some_and(|data| super::contract::is_latest(&data))
}
