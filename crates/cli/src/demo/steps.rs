//! Signed requests of the demo. The client verifies each answer's receipt immediately.

use indicatif::{ProgressBar, ProgressStyle};
use kedge_client::{
    Account, BatchMode, Client, NewAction, NewObject, NewTemplate, NewVariation, Properties,
    Registration, random,
};
use kedge_protocol::Id;
use kedge_protocol::hash::to_hex;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::SigningKey;
use serde_json::json;

use super::super::key::new_key;
use super::super::output::{CliResult, CommandFailure, refuse};
use super::acknowledgement::DemoAcknowledgement;
use super::report::{DemoMeasurement, DemoReport};

/// Single requests of each kind: enough for a median, within a free organization's limits.
const SINGLE_REQUESTS: usize = 16;

/// A user with login data for other nodes.
pub(super) struct DemoPerson {
    pub(super) account: Account,
    key: SigningKey,
    email: String,
    password: String,
}

impl DemoPerson {
    /// The user's account at another node of the log.
    pub(super) async fn at(&self, client: &Client) -> CliResult<Account> {
        let account = client.account(self.key.clone());
        account.login(&self.email, &self.password).await?;
        Ok(account)
    }
}

/// Objects of the later proofs.
pub(super) struct DemoObjects {
    /// The action's signer.
    pub(super) person: DemoPerson,
    pub(super) template: Id,
    pub(super) action_id: Id,
    /// The minted object.
    pub(super) object_id: Id,
}

pub(super) async fn run(
    client: &Client,
    objects: u32,
    report: &mut DemoReport,
) -> CliResult<DemoObjects> {
    let nickname: String = to_hex(&random::bytes::<4>()?).split_off(2);
    let mut accounts = DemoMeasurement::new("register");
    let ann = register(client, &format!("ann-{nickname}"), &mut accounts).await?;
    let bob = register(client, &format!("bob-{nickname}"), &mut accounts).await?;
    report.measures.push(accounts);

    let (template, variations) = make_template(&ann.account, &nickname, report).await?;
    let minted = mint(&ann.account, template, &variations, objects, report).await?;
    update(&ann.account, &minted, report).await?;
    transfer(&ann.account, &minted, &bob.account, report).await?;

    report.proven(
        "every receipt",
        format!(
            "{} actions: signed by the sequencer, in order, over exactly what was sent",
            report.actions()
        ),
    );
    let first = minted
        .first()
        .ok_or_else(|| CommandFailure::refused("nothing was minted"))?;
    Ok(DemoObjects {
        person: ann,
        template,
        action_id: first.action,
        object_id: first.object,
    })
}

async fn register(
    client: &Client,
    name: &str,
    measure: &mut DemoMeasurement,
) -> CliResult<DemoPerson> {
    let key = new_key()?;
    let account = client.account(key.clone());
    let email = format!("{name}@example.com");
    let password = to_hex(&random::bytes::<32>()?);
    let registration = Registration {
        email: email.clone(),
        password: password.clone(),
        nickname: Some(name.to_owned()),
        organization_name: None,
    };
    measure.time(1, account.register(&registration)).await?;
    account.login(&email, &password).await?;
    Ok(DemoPerson {
        account,
        key,
        email,
        password,
    })
}

async fn make_template(
    ann: &Account,
    name: &str,
    report: &mut DemoReport,
) -> CliResult<(Id, Vec<Id>)> {
    let mut measure = DemoMeasurement::new("template, variations");
    let template = NewTemplate {
        name: format!("ticket {name}"),
        properties: properties(&json!({"hall": "north", "used": false})),
        ..NewTemplate::default()
    };
    let template = measure.time(1, ann.create_template(&template)).await?;
    report
        .acknowledged
        .push(DemoAcknowledgement::single(&template)?);
    let template = template.resource;
    let variations = ["stalls", "balcony", "box"].map(|name| NewVariation {
        name: name.to_owned(),
        properties: properties(&json!({ "area": name })),
    });
    let made = measure
        .time(1, ann.create_variations(template.id, &variations))
        .await?;
    report
        .acknowledged
        .push(DemoAcknowledgement::single(&made)?);
    report.measures.push(measure);
    let variations = made
        .resource
        .items
        .iter()
        .map(|variation| variation.id)
        .collect();
    Ok((template.id, variations))
}

struct DemoMint {
    action: Id,
    object: Id,
}

async fn mint(
    ann: &Account,
    template: Id,
    variations: &[Id],
    objects: u32,
    report: &mut DemoReport,
) -> CliResult<Vec<DemoMint>> {
    let actions = (0..objects)
        .map(|seat| {
            let object = NewObject {
                variation_id: variations
                    .get(seat as usize % variations.len().max(1))
                    .copied(),
                properties: properties(&json!({ "seat": seat })),
                to: None,
            };
            NewAction::mint(template, &object)
        })
        .collect::<Result<Vec<NewAction>, _>>()?;
    let mut measure = DemoMeasurement::new("mint, batches of 500");
    let done = batches(ann, &actions, &mut measure, "mint", report).await?;
    report.measures.push(measure);
    Ok(done)
}

/// Sends the actions in atomic batches of 500.
async fn batches(
    account: &Account,
    actions: &[NewAction],
    measure: &mut DemoMeasurement,
    name: &'static str,
    report: &mut DemoReport,
) -> CliResult<Vec<DemoMint>> {
    let bar = bar(name, actions.len());
    let mut done = Vec::with_capacity(actions.len());
    for chunk in actions.chunks(BATCH_ACTIONS_MAX) {
        let request = account.batch(chunk, BatchMode::Atomic);
        let outcome = measure.time(chunk.len() as u64, request).await?;
        if let Some((index, envelope)) = outcome.first_refusal() {
            return refuse(format!("action {index} of a batch was refused: {envelope}"));
        }
        report
            .acknowledged
            .extend(DemoAcknowledgement::batch(&outcome)?);
        done.extend(outcome.done().map(|action| DemoMint {
            action: action.id,
            object: action.object_id,
        }));
        bar.inc(chunk.len() as u64);
    }
    bar.finish();
    Ok(done)
}

async fn update(ann: &Account, minted: &[DemoMint], report: &mut DemoReport) -> CliResult<()> {
    let patch = properties(&json!({"used": true, "gate": "B"}));
    let actions = minted
        .iter()
        .take(BATCH_ACTIONS_MAX)
        .map(|minted| NewAction::update(minted.object, &patch))
        .collect::<Result<Vec<NewAction>, _>>()?;
    let mut measure = DemoMeasurement::new("update, batch of 500");
    batches(ann, &actions, &mut measure, "update", report).await?;
    report.measures.push(measure);

    let mut measure = DemoMeasurement::new("update, one by one");
    let bar = bar("update singly", SINGLE_REQUESTS.min(minted.len()));
    for minted in minted.iter().take(SINGLE_REQUESTS) {
        let patch = properties(&json!({"gate": null}));
        let updated = measure.time(1, ann.update(minted.object, &patch)).await?;
        report
            .acknowledged
            .push(DemoAcknowledgement::single(&updated)?);
        bar.inc(1);
    }
    bar.finish();
    report.measures.push(measure);
    Ok(())
}

async fn transfer(
    ann: &Account,
    minted: &[DemoMint],
    bob: &Account,
    report: &mut DemoReport,
) -> CliResult<()> {
    let to = bob.address().to_string();
    let mut measure = DemoMeasurement::new("transfer, one by one");
    let bar = bar("transfer", SINGLE_REQUESTS.min(minted.len()));
    for minted in minted.iter().take(SINGLE_REQUESTS) {
        let given = measure.time(1, ann.transfer(minted.object, &to)).await?;
        if given.resource.owner_address != bob.address() {
            return refuse("a transferred object did not change its owner");
        }
        report
            .acknowledged
            .push(DemoAcknowledgement::single(&given)?);
        bar.inc(1);
    }
    bar.finish();
    report.measures.push(measure);
    Ok(())
}

fn properties(value: &serde_json::Value) -> Properties {
    value.as_object().cloned().unwrap_or_default()
}

fn bar(name: &'static str, length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(name);
    if let Ok(style) = ProgressStyle::with_template("{msg:<14} {bar:40} {pos:>5}/{len} {per_sec}") {
        bar.set_style(style);
    }
    bar
}
