//! Asks a server for a resource's history: its state proof, the proof files of its actions, and what their check needs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kedge_client::{
    Account, Client, ClientError, ClientResult, ListQuery, ProofForm, RetryPolicy, StateQuery,
};
use kedge_protocol::eip712::Domain;
use kedge_protocol::history::{ConsistencyProof, consistency_sizes};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::state::{EntryFields, StateEntry};
use kedge_protocol::{Code, Id, Prefix, SequencerKeys};
use kedge_rules::history::HistoryReplayError;

use super::check::{CheckFailure, HistoryCheck};
use super::files::HistoryFiles;
use crate::input::{API_KEY, secret};
use crate::output::{CliResult, CommandFailure, count_bar, refuse, refuse_usage};

/// Actions of a page.
const PAGE_ACTIONS: u32 = 1_000;
/// Limit of attempts at a request while the server asks to wait.
const ATTEMPTS_MAX: u32 = 8;

#[derive(clap::Args)]
pub(super) struct CollectionArgs {
    /// The server to ask for the history; that of --url if this is absent.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// File with an access token of a wallet that may see the resource.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with an API key, readable only by its owner. It needs the rights to read the resource and actions.
    ///
    /// Without it the API key is read from the environment variable KEDGE_API_KEY.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Verify the resource as of the kept checkpoint of this many batches; of the newest if this is absent.
    #[arg(long, value_name = "BATCHES")]
    checkpoint: Option<u64>,
    /// Write all that the server answered to this file, to verify it again without the server.
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
}

impl CollectionArgs {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--server", self.server.is_some()),
            ("--token-file", self.token_file.is_some()),
            ("--api-key-file", self.api_key_file.is_some()),
            ("--checkpoint", self.checkpoint.is_some()),
            ("--save", self.save.is_some()),
        ];
        let given = options.iter().find(|(_, is_given)| *is_given);
        given.map(|(option, _)| *option)
    }
}

/// What a server answered, and why it is not all.
pub(super) struct CollectedHistory {
    files: HistoryFiles,
    failure: Option<CommandFailure>,
}

impl CollectedHistory {
    pub(super) fn into_parts(self) -> (HistoryFiles, Option<CommandFailure>) {
        (self.files, self.failure)
    }
}

/// A server that is asked for histories.
pub(super) struct HistoryServer {
    account: Account,
    checkpoint: Option<u64>,
    domain: Domain,
    keys: SequencerKeys,
}

impl HistoryServer {
    /// Connects to the server that the options name, or else to the one that is trusted.
    pub(super) async fn connect(
        args: &CollectionArgs,
        trusted: Option<String>,
        (domain, keys): (Domain, SequencerKeys),
    ) -> CliResult<Self> {
        let Some(url) = args.server.clone().or(trusted) else {
            return refuse_usage(
                "name the server to ask with --server or --url, or files that hold the history",
            );
        };
        let token = match &args.token_file {
            None => None,
            Some(path) => {
                let token = std::fs::read_to_string(path);
                Some(token.map_err(CommandFailure::unreadable(path))?)
            }
        };
        let api_key = secret(args.api_key_file.as_deref(), API_KEY)?;
        if token.is_none() && api_key.is_none() {
            let why = "option --token-file or --api-key-file: a resource is shown to those who may see it";
            return refuse_usage(why);
        }
        let policy = RetryPolicy {
            attempts_max: ATTEMPTS_MAX,
            on_unavailable: true,
            ..RetryPolicy::default()
        };
        let mut builder = Client::builder(url).retry(policy).pin(domain, keys.clone());
        if let Some(api_key) = api_key {
            builder = builder.api_key(api_key);
        }
        // Nothing is signed with it.
        let key = SigningKey::from_bytes(&kedge_client::random::bytes()?)?;
        let account = builder.connect().await?.account(key);
        if let Some(token) = token {
            account.use_access_token(token.trim());
        }
        Ok(Self {
            account,
            checkpoint: args.checkpoint,
            domain,
            keys,
        })
    }

    /// Asks for a resource's history. What came before a failure is kept.
    pub(super) async fn collect(&self, id: Id) -> CollectedHistory {
        let mut files = HistoryFiles::default();
        let failure = self.fill(id, &mut files).await.err();
        CollectedHistory { files, failure }
    }

    async fn fill(&self, id: Id, files: &mut HistoryFiles) -> CliResult<()> {
        let query = StateQuery {
            checkpoint: self.checkpoint,
            ..StateQuery::default()
        };
        let answer = self.account.state_as_sent(id, query).await?;
        let shown = answer.verify(&self.domain, &self.keys);
        files.states.push(answer);
        // The check says what is wrong with it.
        let Some((entry, batches)) = shown
            .ok()
            .and_then(|shown| Some((shown.entry?, shown.checkpoint.batches)))
        else {
            return Ok(());
        };
        self.add_actions(id, &entry, files).await?;
        for other in self.neighbours(id, &entry, files).await? {
            self.add_state(other, batches, files).await?;
        }
        self.add_consistency(batches, files).await?;
        self.complete(id, batches, files).await
    }

    /// Adds what the replay asks for.
    async fn complete(&self, id: Id, batches: u64, files: &mut HistoryFiles) -> CliResult<()> {
        loop {
            let check = HistoryCheck {
                files,
                domain: &self.domain,
                keys: &self.keys,
            };
            match check.shown(id) {
                Err(CheckFailure::Replay(HistoryReplayError::NeedsProof(other)))
                    if files.state_of(other).is_none() =>
                {
                    self.add_state(other, batches, files).await?;
                    if files.state_of(other).is_none() {
                        return refuse(format!(
                            "the server does not show {other} to this wallet, and the replay needs its state proof: a \
                             wallet that may see it can save the answer of GET /state/{other}?checkpoint={batches}"
                        ));
                    }
                }
                Err(CheckFailure::Replay(HistoryReplayError::NeedsHistory(other))) => {
                    let answer = files.state_of(other);
                    let shown = answer.and_then(|of| of.verify(&self.domain, &self.keys).ok());
                    let Some(entry) = shown.and_then(|shown| shown.entry) else {
                        return Ok(());
                    };
                    let before = files.proofs.len();
                    self.add_actions(other, &entry, files).await?;
                    if files.proofs.len() == before {
                        return Ok(());
                    }
                    self.add_consistency(batches, files).await?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Other resources whose proofs the comparison uses, where the caller may see them.
    async fn neighbours(
        &self,
        id: Id,
        entry: &StateEntry,
        files: &HistoryFiles,
    ) -> CliResult<BTreeSet<Id>> {
        let mut others = BTreeSet::new();
        if let EntryFields::Object(object) = &entry.fields {
            others.extend([object.template_id, object.owner_id]);
            others.extend(object.variation_id);
        }
        if let Some(me) = seen(self.account.me().await)? {
            others.insert(me.id);
            let maker = files.proofs.iter().min_by_key(|proof| proof.leaf.sequence);
            let maker = maker.map(|proof| proof.action.signer);
            if maker.is_some_and(|maker| maker != me.address && !me.keys.contains(&maker)) {
                let query = ListQuery {
                    limit: Some(PAGE_ACTIONS),
                    ..ListQuery::default()
                };
                let mut members = self.account.members(&query);
                while let Some(member) = seen(members.next().await)?.flatten() {
                    if Some(member.address) == maker {
                        others.insert(member.id);
                    }
                }
            }
        }
        others.remove(&id);
        Ok(others)
    }

    /// Adds the state proof of another resource, if the caller may see it.
    async fn add_state(&self, id: Id, batches: u64, files: &mut HistoryFiles) -> CliResult<()> {
        let query = StateQuery {
            checkpoint: Some(batches),
            ..StateQuery::default()
        };
        let answer = seen(self.account.state_as_sent(id, query).await)?;
        files.states.extend(answer);
        Ok(())
    }

    /// Adds the proof files of a resource's actions up to its entry.
    async fn add_actions(
        &self,
        id: Id,
        entry: &StateEntry,
        files: &mut HistoryFiles,
    ) -> CliResult<()> {
        let actions = self.actions(id, entry).await?;
        let bar = count_bar("fetching", actions.len());
        for action in actions {
            let proof = match self.account.proof(action, ProofForm::Authorship).await {
                // The signature is shown to the organization that signed.
                Err(error) if error.code() == Some(Code::Forbidden.text()) => {
                    self.account.proof(action, ProofForm::Inclusion).await?
                }
                proof => proof?,
            };
            files.proofs.push(proof);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// The ids of a resource's actions up to its entry.
    async fn actions(&self, id: Id, entry: &StateEntry) -> CliResult<Vec<Id>> {
        if id.prefix == Prefix::Object
            && let Some(listed) = self.listed_history(id, entry).await?
        {
            return Ok(listed);
        }
        let last = self.account.action_at(entry.sequence).await?;
        let mut found = vec![last.id];
        if entry.version == 1 {
            return Ok(found);
        }
        let query = ListQuery {
            limit: Some(PAGE_ACTIONS),
            descending: true,
            ..ListQuery::default()
        };
        let mut all = self.account.actions(&query);
        while let Some(action) = all.next().await? {
            let made = Id::made_by(Prefix::Organization, &action.content, 1);
            let is_its =
                action.resource_id == id || (id.prefix == Prefix::Organization && made == id);
            if is_its && action.sequence < entry.sequence {
                found.push(action.id);
                if found.len() as u64 >= entry.version {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The actions of an object, if its listed history reaches back to its mint.
    async fn listed_history(&self, id: Id, entry: &StateEntry) -> CliResult<Option<Vec<Id>>> {
        let query = ListQuery {
            limit: Some(PAGE_ACTIONS),
            ..ListQuery::default()
        };
        let mut pages = self.account.history(id, &query);
        let mut found = Vec::new();
        while let Some(page) = pages.next_page().await? {
            if page.pruned_before.is_some() {
                return Ok(None);
            }
            let actions = page.items.into_iter();
            let actions = actions.filter(|action| action.sequence <= entry.sequence);
            found.extend(actions.map(|action| action.id));
        }
        Ok(Some(found))
    }

    /// Adds the consistency proofs that lead from the batches of all proof files to the checkpoint.
    async fn add_consistency(&self, batches: u64, files: &mut HistoryFiles) -> CliResult<()> {
        let sizes = files.proofs.iter().flat_map(|proof| {
            let anchored = proof.anchor.as_ref();
            let anchored = anchored.map(|anchor| anchor.checkpoint.checkpoint.batches);
            let number = proof.batch.header.number;
            let is_covered = number < batches;
            let sizes = is_covered.then(|| consistency_sizes(number, anchored, batches));
            sizes.unwrap_or_default()
        });
        let mut sizes: BTreeSet<(u64, u64)> = sizes.collect();
        for known in &files.consistency {
            sizes.remove(&(known.from, known.to));
        }
        let bar = count_bar("comparing", sizes.len());
        for (from, to) in sizes {
            let answer = self.account.client().consistency(from, to).await?;
            files.consistency.push(ConsistencyProof {
                from: answer.from,
                to: answer.to,
                first_root: answer.first_root,
                second_root: answer.second_root,
                proof: answer.proof,
            });
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }
}

/// An answer, or `None` if the caller may not see it.
fn seen<T>(answer: ClientResult<T>) -> Result<Option<T>, ClientError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let hidden = [
                Code::ResourceNotFound,
                Code::Forbidden,
                Code::Unauthenticated,
            ];
            if hidden.iter().any(|code| error.code() == Some(code.text())) {
                Ok(None)
            } else {
                Err(error)
            }
        }
    }
}
