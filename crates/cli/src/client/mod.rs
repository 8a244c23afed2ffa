//! A client in the shell: `kedge login`, and what a person then does with a log.

mod failure;
mod profiles;

use std::path::PathBuf;

use clap::Args;
use kedge_client::types::ObjectResource;
use kedge_client::{
    Account, ChangedResource, Client, ClientError, NewObject, Properties, RetryPolicy, StateQuery,
};
use kedge_protocol::{Code, Id, Prefix};
use serde::Serialize;
use serde_json::{Value, json};

use self::failure::{ClientFailure, ClientRun};
use self::profiles::{ClientProfile, ProfileFile};
use crate::input::{self, PASSWORD};
use crate::key::KeySourceArgs;
use crate::output::{CliResult, columns, print, print_bytes, print_json, refuse, refuse_usage};

/// The profile, and the form of what is printed.
#[derive(Args)]
pub(crate) struct ClientFormArgs {
    /// The profile: a name for a login.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        env = "KEDGE_PROFILE",
        hide_env_values = true
    )]
    profile: String,
    /// Print JSON, failures too: {"error": {code, message, …}} on standard output.
    #[arg(long)]
    json: bool,
}

/// The password comes from a file or from the environment variable KEDGE_PASSWORD, never from the command line:
///
///    read -rs KEDGE_PASSWORD && export KEDGE_PASSWORD
///    kedge login --url https://log.example.com --email ann@example.com --key-file ann.key
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LoginArgs {
    /// The server.
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        env = "KEDGE_URL",
        hide_env_values = true
    )]
    url: String,
    /// The wallet's e-mail address.
    #[arg(long, value_name = "ADDRESS")]
    email: String,
    /// File with the password, readable only by its owner.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    key: KeySourceArgs,
    /// Register a wallet with this key in a new organization first.
    #[arg(long)]
    register: bool,
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct GetArgs {
    /// The id of an object, a template, an action, a batch, an anchor, a file, a webhook, a key, or a dispute.
    id: Id,
    /// Of an object: as it was at the newest checkpoint, verified.
    #[arg(long)]
    prove: bool,
    #[command(flatten)]
    form: ClientFormArgs,
}

/// Properties of an object: from a file, and single ones, which replace those of the file.
#[derive(Args)]
struct PropertyArgs {
    /// File with the properties, a JSON object; - for standard input.
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// A single property. The value is JSON if it can be read as JSON, and otherwise a text.
    #[arg(long = "set", short = 's', value_name = "NAME=VALUE")]
    single: Vec<String>,
}

#[derive(Args)]
pub(crate) struct MintArgs {
    /// The template.
    template: Id,
    /// One of the template's variations.
    #[arg(long, value_name = "ID")]
    variation: Option<Id>,
    /// The owner, by wallet id or address, in place of the caller.
    #[arg(long, value_name = "WALLET")]
    to: Option<String>,
    #[command(flatten)]
    properties: PropertyArgs,
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct UpdateArgs {
    /// The object.
    object: Id,
    #[command(flatten)]
    properties: PropertyArgs,
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct TransferArgs {
    /// The object.
    object: Id,
    /// The new owner, by wallet id or address.
    to: String,
    #[command(flatten)]
    form: ClientFormArgs,
}

#[derive(Args)]
pub(crate) struct CallArgs {
    /// GET, POST, …
    method: String,
    /// The path with its query, such as /objects?limit=3.
    path: String,
    /// File with the body, JSON; - for standard input.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    #[command(flatten)]
    form: ClientFormArgs,
}

impl PropertyArgs {
    fn read(&self) -> CliResult<Properties> {
        let mut all: Properties = match &self.properties {
            Some(file) => input::parse(&input::read(file)?, "a JSON object of properties")?,
            None => Properties::new(),
        };
        for one in &self.single {
            let Some((name, text)) = one.split_once('=').filter(|(name, _)| !name.is_empty())
            else {
                return refuse_usage(format!("--set {one}: a property is NAME=VALUE"));
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            all.insert(name.to_owned(), value);
        }
        Ok(all)
    }
}

pub(crate) async fn login(args: LoginArgs) -> CliResult<()> {
    failure::shown(args.form.json, log_in(&args).await)
}

async fn log_in(args: &LoginArgs) -> ClientRun<()> {
    let key = args.key.read()?;
    let password = input::secret(args.password_file.as_deref(), PASSWORD)?;
    let Some(password) = password else {
        return Ok(refuse_usage(format!(
            "option --password-file: name a file, or put the password into the variable {PASSWORD}"
        ))?);
    };
    let file = ProfileFile::open()?;
    let url = profiles::plain_url(&args.url);
    let mut builder = Client::builder(&url).retry(RetryPolicy::never());
    // A login again is to the same log.
    if let Some(known) = file.read(&args.form.profile)? {
        if known.url != url {
            return Ok(refuse_usage(format!(
                "profile {:?} is of {}: `kedge logout` forgets it, and --profile names another one",
                args.form.profile, known.url
            ))?);
        }
        builder = builder.pin(known.domain, known.sequencer_keys);
    }
    let account = builder.connect().await?.account(key);
    let wallet = if args.register {
        let registration = kedge_client::Registration {
            email: args.email.clone(),
            password,
            nickname: None,
            organization_name: None,
        };
        account.register(&registration).await?
    } else {
        account.login(&args.email, &password).await?
    };
    let address = account.address();
    if !wallet.keys.is_empty() && !wallet.keys.contains(&address) {
        return Ok(refuse(format!(
            "{address} is no key of this wallet, so nothing that it signs would be taken; its keys: {:?}",
            wallet.keys
        ))?);
    }
    let key_file = args.key.file().map(std::path::absolute).transpose();
    let client = account.client();
    let profile = ClientProfile {
        url,
        domain: client.domain(),
        sequencer_keys: client.sequencer_keys(),
        key_file: key_file.map_err(ClientFailure::of)?,
        email: args.email.clone(),
        tokens: account.login_tokens()?,
    };
    file.write(&args.form.profile, profile)?;
    let rows = [
        ("wallet", wallet.id.to_string()),
        ("organization", wallet.organization_id.to_string()),
        ("key", address.to_string()),
        (
            "profile",
            format!("{} in {}", args.form.profile, file.path().display()),
        ),
    ];
    args.form.show(&wallet, &rows)
}

pub(crate) fn logout(args: &LogoutArgs) -> CliResult<()> {
    let name = &args.form.profile;
    let forgotten = ProfileFile::open().and_then(|file| file.forget(name));
    let run = forgotten
        .map_err(ClientFailure::from)
        .and_then(|was_there| {
            let text = if was_there { "forgotten" } else { "not known" };
            args.form.show(
                &json!({"profile": name, "forgotten": was_there}),
                &[(name, text.to_owned())],
            )
        });
    failure::shown(args.form.json, run)
}

pub(crate) async fn whoami(args: WhoamiArgs) -> CliResult<()> {
    let run = async {
        let session = args.form.session().await?;
        let wallet = session.with(async |account| account.me().await).await?;
        let rows = [
            ("wallet", wallet.id.to_string()),
            ("organization", wallet.organization_id.to_string()),
            ("email", wallet.email.clone()),
            ("role", format!("{:?}", wallet.role).to_lowercase()),
            ("key", session.account.address().to_string()),
            ("server", session.account.client().base_url().to_owned()),
        ];
        args.form.show(&wallet, &rows)
    };
    failure::shown(args.form.json, run.await)
}

pub(crate) async fn get(args: GetArgs) -> CliResult<()> {
    let run = async {
        let id = args.id;
        if args.prove && id.prefix != Prefix::Object {
            return Ok(refuse_usage(
                "--prove is for objects; `kedge verify state` reads the other proofs",
            )?);
        }
        let Some(path) = path_of(id) else {
            return Ok(refuse_usage(format!("nothing is read by an id like {id}"))?);
        };
        let session = args.form.session().await?;
        let value = if args.prove {
            let query = StateQuery::default();
            let proven = session.with(async |account| account.proven_object(id, query).await);
            let found = proven.await?;
            let checkpoint = found.proven.statement.checkpoint;
            json!({"object": found.object, "verified": true, "checkpoint": checkpoint})
        } else {
            let read = session.with(async |account| account.send("GET", &path, Vec::new()).await);
            serde_json::from_slice(&read.await?).map_err(ClientFailure::of)?
        };
        Ok(print_json(&value)?)
    };
    failure::shown(args.form.json, run.await)
}

/// Path of what an id names.
fn path_of(id: Id) -> Option<String> {
    let list = match id.prefix {
        Prefix::Object => "objects",
        Prefix::Template => "templates",
        Prefix::Action => "ebus/actions",
        Prefix::Batch => "batches",
        Prefix::Anchor => "anchors",
        Prefix::File => "files",
        Prefix::Webhook => "webhooks",
        Prefix::Key => "api-keys",
        Prefix::Dispute => "disputes",
        _ => return None,
    };
    Some(format!("/{list}/{id}"))
}

pub(crate) async fn mint(args: MintArgs) -> CliResult<()> {
    let run = async {
        let object = NewObject {
            variation_id: args.variation,
            properties: args.properties.read()?,
            to: args.to.clone(),
        };
        let session = args.form.session().await?;
        let mint = session.with(async |account| account.mint(args.template, &object).await);
        let made = mint.await?;
        args.form.show_change(&made)
    };
    failure::shown(args.form.json, run.await)
}

pub(crate) async fn update(args: UpdateArgs) -> CliResult<()> {
    let run = async {
        let properties = args.properties.read()?;
        if properties.is_empty() {
            return Ok(refuse_usage(
                "name what changes, with --set or --properties",
            )?);
        }
        let session = args.form.session().await?;
        let update = session.with(async |account| account.update(args.object, &properties).await);
        let made = update.await?;
        args.form.show_change(&made)
    };
    failure::shown(args.form.json, run.await)
}

pub(crate) async fn transfer(args: TransferArgs) -> CliResult<()> {
    let run = async {
        let session = args.form.session().await?;
        let transfer = session.with(async |account| account.transfer(args.object, &args.to).await);
        let made = transfer.await?;
        args.form.show_change(&made)
    };
    failure::shown(args.form.json, run.await)
}

pub(crate) async fn call(args: CallArgs) -> CliResult<()> {
    let run = async {
        let body = match &args.data {
            Some(file) => input::read(file)?.into_bytes(),
            None => Vec::new(),
        };
        let session = args.form.session().await?;
        let method = args.method.to_ascii_uppercase();
        let call = async |account: &Account| account.send(&method, &args.path, body.clone()).await;
        let answer = session.with(call).await?;
        let end: &[u8] = if answer.ends_with(b"\n") { b"" } else { b"\n" };
        Ok(print_bytes(&[&answer, end].concat())?)
    };
    failure::shown(args.form.json, run.await)
}

/// A login that a command continues.
struct ClientSession {
    account: Account,
    file: ProfileFile,
    name: String,
    profile: ClientProfile,
}

impl ClientSession {
    /// Carries out a command, once more if the server finds the token expired, and keeps the newer keys that the log proved.
    async fn with<T>(
        &self,
        command: impl AsyncFn(&Account) -> Result<T, ClientError>,
    ) -> ClientRun<T> {
        let mut done = command(&self.account).await;
        // A token is refused before anything is done.
        if let Err(error) = &done
            && error.code() == Some(Code::TokenExpired.text())
        {
            let used = self.account.access_token()?;
            self.exchange(&used).await?;
            done = command(&self.account).await;
        }
        let keys = self.account.client().sequencer_keys();
        if keys != self.profile.sequencer_keys {
            let locked = self.file.lock()?;
            if let Some(mut profile) = self.present()? {
                profile.sequencer_keys = keys;
                locked.write(&self.name, profile)?;
            }
        }
        Ok(done?)
    }

    /// The profile as it is now, unless it has become another login's.
    fn present(&self) -> ClientRun<Option<ClientProfile>> {
        let found = self.file.read(&self.name)?;
        Ok(found.filter(|found| found.is_of(&self.profile)))
    }

    /// Takes over a token that another command got in exchange for this one, or exchanges it. A refresh token is used once:
    /// the server revokes a login whose token comes a second time. So no command exchanges one without the file's lock.
    async fn exchange(&self, used: &str) -> ClientRun<()> {
        let locked = self.file.lock()?;
        let Some(mut profile) = self.present()? else {
            return Ok(refuse(
                "the profile was changed meanwhile; run the command again",
            )?);
        };
        if profile.tokens.access_token == used {
            self.account.resume(profile.tokens.clone());
            self.account.refresh().await?;
            profile.tokens = self.account.login_tokens()?;
            locked.write(&self.name, profile.clone())?;
        }
        self.account.use_access_token(profile.tokens.access_token);
        Ok(())
    }
}

impl ClientFormArgs {
    async fn session(&self) -> ClientRun<ClientSession> {
        let file = ProfileFile::open()?;
        let Some(profile) = file.read(&self.profile)? else {
            return Ok(refuse_usage(format!(
                "there is no profile {:?}: `kedge login --profile {}` makes it",
                self.profile, self.profile
            ))?);
        };
        let key = KeySourceArgs::of(profile.key_file.clone()).read()?;
        let builder = Client::builder(&profile.url).retry(RetryPolicy::never());
        let pinned = builder.pin(profile.domain, profile.sequencer_keys.clone());
        let account = pinned.connect().await?.account(key);
        // Without its refresh token, which the account would use without the file's lock.
        account.use_access_token(profile.tokens.access_token.clone());
        let session = ClientSession {
            account,
            file,
            name: self.profile.clone(),
            profile,
        };
        if session.profile.is_expired() {
            session
                .exchange(&session.profile.tokens.access_token)
                .await?;
        }
        Ok(session)
    }

    fn show(&self, value: &impl Serialize, rows: &[(&str, String)]) -> ClientRun<()> {
        if self.json {
            return Ok(print_json(value)?);
        }
        Ok(print(&columns(rows))?)
    }

    fn show_change(&self, change: &ChangedResource<ObjectResource>) -> ClientRun<()> {
        let rows = [
            ("object", change.resource.id.to_string()),
            ("action", change.action_id.to_string()),
            ("sequence", change.resource.sequence.to_string()),
            ("receipt", "verified".to_owned()),
        ];
        self.show(change, &rows)
    }
}
