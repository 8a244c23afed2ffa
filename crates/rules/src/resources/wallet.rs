//! Actions on wallets: names, e-mail addresses, signing keys.

use kedge_protocol::Address;
use kedge_protocol::action::Kind;
use kedge_protocol::limits::WALLET_KEYS_MAX;
use kedge_protocol::possession::{KeyAddition, PossessionError};
use kedge_protocol::resource::Wallet;
use serde::{Deserialize, Deserializer};

use super::email::{is_email, normal_email};
use crate::refusal::Refusal;
use crate::rule::{RuleContext, RuleDecision};
use crate::sequencer::VersionKey;
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, World};

/// Decides an action on a wallet, other than its registration.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (world, caller, input) = context.parts();
    match input.kind {
        Kind::WalletUpdate => {
            let before: &Wallet = context.base()?;
            let after = update(world, caller, before, input)?;
            let is_moved = after.email != before.email;
            let email = |of: &Wallet| is_moved.then(|| VersionKey::email(&of.email));
            let (claim, release) = (email(&after), email(before));
            Ok(RuleDecision::one(after).claiming(claim).releasing(release))
        }
        Kind::WalletKeyAdd => {
            let after = add_key(world, caller, context.base()?, input)?;
            let added = after.keys.last().copied().unwrap_or(after.address);
            // If this wallet had it before, it was claimed then.
            let is_known = world.wallet_by_address(added)?.is_some();
            let claim = (!is_known).then(|| VersionKey::address(added));
            Ok(RuleDecision::one(after).claiming(claim))
        }
        Kind::WalletKeyRemove => remove_key(caller, context.base()?, input).map(RuleDecision::one),
        other => Err(Refusal::wrong_way(other)),
    }
}

/// Checks that the target is the caller's wallet.
fn own(caller: &Caller, wallet: &Wallet, input: &ActionInput<'_>) -> Result<(), Refusal> {
    if wallet.id == caller.wallet_id {
        return Ok(());
    }
    Err(Refusal::not_found("wallet", input.target))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WalletUpdatePayload {
    email: Option<String>,
    #[serde(default)]
    nickname: NicknameChange,
}

/// A nickname in an update: `null` differs from an absent member.
#[derive(Default)]
enum NicknameChange {
    #[default]
    Kept,
    Set(Option<String>),
}

impl<'de> Deserialize<'de> for NicknameChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::Set)
    }
}

/// Changes e-mail address and nickname; a nickname of `null` removes it.
fn update<W: World>(
    world: &W,
    caller: &Caller,
    wallet: &Wallet,
    input: &ActionInput<'_>,
) -> Result<Wallet, Refusal> {
    own(caller, wallet, input)?;
    let payload: WalletUpdatePayload = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    let email = payload.email.as_deref().map(normal_email);
    if email.as_ref().is_some_and(|email| !is_email(email)) {
        problems.add(
            "/email",
            "format",
            "must be an e-mail address such as ann@example.com",
        );
    }
    if let NicknameChange::Set(Some(nickname)) = &payload.nickname {
        problems.name("/nickname", nickname);
    }
    problems.finish()?;
    let mut next = Wallet {
        trace: wallet.trace.next(input.content),
        ..wallet.clone()
    };
    if let Some(email) = email.filter(|email| *email != wallet.email) {
        if world.email_taken(&email)? {
            return Err(Refusal::EmailTaken);
        }
        next.email = email;
    }
    if let NicknameChange::Set(nickname) = payload.nickname {
        next.nickname = nickname;
    }
    Ok(next)
}

/// Reads the payload of an action that adds a key.
///
/// # Errors
/// [`Refusal::Invalid`] names the wrong members.
pub fn key_addition(payload: &str) -> Result<KeyAddition, Refusal> {
    text::read(payload)
}

/// Adds a key. Its address must never have belonged to another wallet: an address belongs to one wallet for ever. A
/// former key of this wallet may return.
///
/// A request must state the key's consent, whose signature was checked before. A replay also accepts additions without
/// one, from logs that are older than this rule.
fn add_key<W: World>(
    world: &W,
    caller: &Caller,
    wallet: &Wallet,
    input: &ActionInput<'_>,
) -> Result<Wallet, Refusal> {
    own(caller, wallet, input)?;
    let addition = key_addition(input.payload)?;
    let address = addition.address;
    if input.allowance.is_some() && addition.possession.is_none() {
        let message = PossessionError::Missing.to_string();
        return Err(Refusal::field("/possession", "required", message));
    }
    if wallet.keys.contains(&address) {
        return Err(Refusal::Conflict(
            "the key already signs for the wallet".into(),
        ));
    }
    let holder = world.wallet_by_address(address)?;
    if holder.is_some_and(|holder| holder.wallet_id != wallet.id) {
        return Err(Refusal::Conflict(
            "the address belongs to another wallet; an address belongs to one wallet for ever"
                .into(),
        ));
    }
    if wallet.keys.len() >= WALLET_KEYS_MAX {
        return Err(Refusal::State(
            format!("the wallet has {WALLET_KEYS_MAX} keys, which is the limit; remove one first")
                .into(),
        ));
    }
    let mut next = Wallet {
        trace: wallet.trace.next(input.content),
        ..wallet.clone()
    };
    next.keys.push(address);
    Ok(next)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WalletKeyPayload {
    address: Address,
}

/// Revokes a key's right to sign; the last key stays.
fn remove_key(
    caller: &Caller,
    wallet: &Wallet,
    input: &ActionInput<'_>,
) -> Result<Wallet, Refusal> {
    own(caller, wallet, input)?;
    let WalletKeyPayload { address } = text::read(input.payload)?;
    if !wallet.keys.contains(&address) {
        return Err(Refusal::not_found("key", &address));
    }
    if wallet.keys.len() == 1 {
        return Err(Refusal::State(
            "it is the wallet's only key; add another one first".into(),
        ));
    }
    let mut next = Wallet {
        trace: wallet.trace.next(input.content),
        ..wallet.clone()
    };
    next.keys.retain(|key| *key != address);
    Ok(next)
}
