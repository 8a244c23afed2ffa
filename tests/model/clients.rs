//! The clients: wallets with a key each, several tasks per wallet, and the outcome of every request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::{Value, json};

use crate::oracle::Wallet;
use crate::plan::{Form, Known, Plan};
use crate::support::{PASSWORD, Rng, eventually};
use crate::wire::{Answer, Prepared, Terms, Wire};

/// Longest time that a server is down.
const RESTART_LIMIT: Duration = Duration::from_mins(1);

/// The outcome of one action, according to the answer.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// In the log, as described in the answer.
    Done(Value),
    /// Refused with this code.
    Refused(String),
    /// Not in the log, and the answer with the reason was lost.
    NotDone,
}

/// A request and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) plan: Plan,
    pub(crate) contents: Vec<Hash>,
    /// The times of the first and last sending, and of the answer, on a logical clock.
    pub(crate) first_sent: u64,
    pub(crate) answered: u64,
    /// The sequence visible to all clients when it was last sent.
    pub(crate) seen: u64,
    pub(crate) attempts: u32,
    pub(crate) fates: Vec<Fate>,
    /// The answer's body, unless the outcome had to be looked up.
    pub(crate) body: Option<Value>,
}

/// An object as read by a client.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) reader: usize,
    pub(crate) object: String,
    pub(crate) seen: u64,
    pub(crate) answered: u64,
    pub(crate) answer: Answer,
}

/// A wallet's key, token and nonces.
pub(crate) struct Signer {
    pub(crate) key: SigningKey,
    pub(crate) token: String,
    nonce: AtomicU64,
}

/// State that all clients share.
pub(crate) struct Clients {
    pub(crate) wire: Wire,
    pub(crate) separator: Hash,
    pub(crate) signers: Vec<Signer>,
    pub(crate) known: Mutex<Known>,
    pub(crate) exchanges: Mutex<Vec<Exchange>>,
    pub(crate) readings: Mutex<Vec<Reading>>,
    clock: AtomicU64,
    pub(crate) begun: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    /// Requests whose answer was lost, and how many of them were in the log.
    pub(crate) lost: AtomicU64,
    pub(crate) lost_but_done: AtomicU64,
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

impl Signer {
    fn next_nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Clients {
    /// Two organizations of two wallets each: an owner and a member.
    pub(crate) async fn register(url: String, separator: Hash, rng: &mut Rng) -> Self {
        let mut clients = Self {
            wire: Wire::new(url),
            separator,
            signers: Vec::new(),
            known: Mutex::default(),
            exchanges: Mutex::default(),
            readings: Mutex::default(),
            clock: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            lost_but_done: AtomicU64::new(0),
        };
        for _ in 0..2 {
            clients.join(rng, None).await;
            let owner = clients.signers.len() - 1;
            let code = clients.invite(rng, owner).await;
            clients.join(rng, Some(code)).await;
        }
        clients
    }

    async fn send_signed(
        &self,
        signer: &Signer,
        (kind, target, payload): (&str, &str, &str),
        (path, body): (&str, &Value),
        rng: &mut Rng,
    ) -> Value {
        let terms = self.terms(signer, rng);
        let (mut headers, _) = terms.sign(false, &[(kind, target, payload)]);
        if !signer.token.is_empty() {
            headers.push(("authorization", format!("Bearer {}", signer.token)));
        }
        let request = Prepared {
            method: "POST",
            path: path.to_owned(),
            headers,
            body: body.to_string(),
        };
        let answer = self
            .wire
            .send(&request)
            .await
            .expect("a server that answers");
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body
    }

    async fn join(&mut self, rng: &mut Rng, invitation: Option<String>) {
        let mut signer = Signer {
            key: rng.key(),
            token: String::new(),
            nonce: AtomicU64::new(0),
        };
        let address = signer.key.address().to_string();
        let mut body = json!({
            "email": format!("{address}@example.com").to_lowercase(),
            "password": PASSWORD,
            "address": address,
            "blind": base64::engine::general_purpose::STANDARD.encode([7; 16]),
        });
        if let Some(code) = invitation {
            body["invitation"] = code.into();
        }
        let payload = digest_text(&sha256(body.to_string().as_bytes()));
        let signed = ("wallet.register", "", payload.as_str());
        let made = self
            .send_signed(&signer, signed, ("/wallets/register", &body), rng)
            .await;
        signer.token = text(&made["access_token"]);
        let wallet = &made["wallet"];
        self.known.lock().unwrap().wallets.push(Wallet {
            id: text(&wallet["id"]),
            organization: text(&wallet["organization_id"]),
            address,
            administers: wallet["role"] != "member",
        });
        self.signers.push(signer);
    }

    async fn invite(&self, rng: &mut Rng, owner: usize) -> String {
        let organization = self.known.lock().unwrap().wallets[owner]
            .organization
            .clone();
        let signed = ("org.invite", organization.as_str(), "{}");
        let path = "/organizations/me/invitations";
        let made = self
            .send_signed(&self.signers[owner], signed, (path, &json!({})), rng)
            .await;
        text(&made["code"])
    }

    fn terms<'a>(&'a self, signer: &'a Signer, rng: &mut Rng) -> Terms<'a> {
        let seed = sha256(&rng.next().to_be_bytes());
        Terms {
            key: &signer.key,
            separator: &self.separator,
            nonce: signer.next_nonce(),
            seed,
        }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Makes requests for one wallet until all clients together have made `steps`.
    pub(crate) async fn work(self: Arc<Self>, caller: usize, steps: u64, mut rng: Rng) {
        while self.begun.fetch_add(1, Ordering::SeqCst) < steps {
            self.in_flight.fetch_add(1, Ordering::SeqCst);
            if rng.below(6) == 0 {
                self.read(caller, &mut rng).await;
            } else {
                self.change(caller, &mut rng).await;
            }
            self.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
    }

    async fn read(&self, reader: usize, rng: &mut Rng) {
        let objects = self.known.lock().unwrap().objects.clone();
        if objects.is_empty() {
            return;
        }
        let object = rng.pick(&objects);
        let path = format!("/objects/{object}");
        let (seen, answer) = self.get(&path, reader).await;
        if let Some(tag) = answer.header("etag") {
            let tag = (object.clone(), tag.to_owned());
            self.known.lock().unwrap().tags.push(tag);
        }
        let reading = Reading {
            reader,
            object,
            seen,
            answered: self.tick(),
            answer,
        };
        self.readings.lock().unwrap().push(reading);
    }

    /// Reads, again if the server went down meanwhile; returns the sequence visible before.
    async fn get(&self, path: &str, reader: usize) -> (u64, Answer) {
        let token = &self.signers[reader].token;
        let ask = || async {
            let seen = self.wire.seen();
            Some((seen, self.wire.get(path, token).await?))
        };
        eventually("an answer to a read", RESTART_LIMIT, ask).await
    }

    async fn change(&self, caller: usize, rng: &mut Rng) {
        let plan = self.known.lock().unwrap().plan(rng, caller);
        let signer = &self.signers[caller];
        let (mut request, contents) = self.terms(signer, rng).prepare(&plan);
        request
            .headers
            .push(("authorization", format!("Bearer {}", signer.token)));
        let key = format!("{caller}-{}", rng.next());
        request.headers.push(("idempotency-key", key));
        let mut exchange = Exchange {
            plan,
            contents,
            first_sent: self.tick(),
            answered: 0,
            seen: self.wire.seen(),
            attempts: 1,
            fates: Vec::new(),
            body: None,
        };
        let mut answer = self.wire.send(&request).await;
        if answer.is_none() {
            self.lost.fetch_add(1, Ordering::SeqCst);
            if rng.below(3) == 0 {
                exchange.fates = self.look_up(caller, &exchange.contents).await;
            } else {
                let again = || async {
                    let seen = self.wire.seen();
                    Some((seen, self.wire.send(&request).await?))
                };
                let (seen, found) = eventually("an answer", RESTART_LIMIT, again).await;
                (exchange.seen, exchange.attempts, answer) = (seen, 2, Some(found));
            }
        }
        exchange.answered = self.tick();
        if let Some(answer) = answer {
            exchange.fates = if exchange.attempts > 1 && answer.code() == "NONCE_REUSED" {
                // The first attempt was refused as a whole, which the server remembers.
                vec![Fate::NotDone; exchange.contents.len()]
            } else {
                fates(&exchange.plan, &answer)
            };
            let replayed = answer.header("idempotent-replayed") == Some("true");
            assert!(!replayed || exchange.attempts > 1, "{request:?}");
            exchange.body = Some(answer.body);
        }
        let done = exchange
            .fates
            .iter()
            .any(|fate| matches!(fate, Fate::Done(_)));
        let was_lost = exchange.attempts > 1 || exchange.body.is_none();
        self.lost_but_done
            .fetch_add(u64::from(was_lost && done), Ordering::SeqCst);
        self.learn(&exchange);
        self.exchanges.lock().unwrap().push(exchange);
    }

    /// Asks a restarted server which actions are in the log. It uses a new connection, after the old server has ended,
    /// so the outcome is final.
    async fn look_up(&self, caller: usize, contents: &[Hash]) -> Vec<Fate> {
        let mut fates = Vec::with_capacity(contents.len());
        for content in contents {
            let id = Id::of_hash(Prefix::Action, content);
            let path = format!("/ebus/actions/{id}");
            let (_, answer) = self.get(&path, caller).await;
            fates.push(match answer.status {
                200 => Fate::Done(answer.body),
                404 => Fate::NotDone,
                other => panic!("{other}: {}", answer.body),
            });
        }
        fates
    }

    fn learn(&self, exchange: &Exchange) {
        let mut known = self.known.lock().unwrap();
        let acts = exchange.plan.acts.iter().zip(&exchange.contents);
        for ((act, content), fate) in acts.zip(&exchange.fates) {
            if !matches!(fate, Fate::Done(_)) {
                continue;
            }
            let made = |prefix, index| Id::made_by(prefix, content, index).to_string();
            match act.kind {
                "mint" => known.objects.push(made(Prefix::Object, 0)),
                "template.create" => {
                    let wallet = &known.wallets[exchange.plan.caller];
                    let organization = wallet.organization.clone();
                    known
                        .templates
                        .push((made(Prefix::Template, 0), organization));
                }
                "template.variations" => {
                    let count = act.payload["variations"].as_array().unwrap().len();
                    for index in 0..count as u32 {
                        let variation = made(Prefix::Variation, index);
                        known.variations.push((variation, act.target.clone()));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The outcome of each action in an answer. Anything that is not a valid answer to these requests
/// fails the test.
fn fates(plan: &Plan, answer: &Answer) -> Vec<Fate> {
    let body = &answer.body;
    let refused = || Fate::Refused(answer.code().to_owned());
    match (plan.form, answer.status) {
        (Form::Single, 201) | (Form::Resource, 200 | 201) => vec![Fate::Done(body.clone())],
        (Form::Batch { .. }, 200) => {
            let results = body["results"].as_array().unwrap().iter();
            let fate = |result: &Value| match result.get("error") {
                None => Fate::Done(result.clone()),
                Some(error) => Fate::Refused(text(&error["code"])),
            };
            results.map(fate).collect()
        }
        (Form::Batch { atomic: true }, 422) => {
            let mut fates = vec![Fate::NotDone; plan.acts.len()];
            let index = body["body"]["index"].as_u64().unwrap();
            fates[index as usize] = Fate::Refused(text(&body["body"]["error"]["code"]));
            fates
        }
        (Form::Single | Form::Resource, 400 | 403 | 404 | 409 | 412 | 422) => vec![refused()],
        (_, status) => panic!("{status} is no answer to {plan:?}: {body}"),
    }
}
