//! Whom a verification trusts: a domain and a sequencer that the caller knows, that a server tells,
//! or that the contract holds. Never those that stand in the file.

use clap::Args;
use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::{Endpoint, Options, RpcClient};
use kedge_client::Client;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;

use super::output::Failure;

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// Trust the domain and the sequencer that this server tells.
    #[arg(long, value_name = "URL", conflicts_with_all = ["domain", "sequencer"])]
    url: Option<String>,
    /// Trust this log: its chain id and its first anchor contract.
    #[arg(long, value_name = "CHAIN_ID:ADDRESS", value_parser = parse_domain, requires = "sequencer")]
    domain: Option<Domain>,
    /// Trust this sequencer.
    #[arg(long, value_name = "ADDRESS", requires = "domain")]
    sequencer: Option<Address>,
    /// Ask an Ethereum node: trust the contract's domain and keys, and check that it holds the
    /// checkpoint of a proof.
    #[arg(long, value_name = "URL")]
    rpc: Option<Endpoint>,
    /// The anchor contract; the domain's where that is known from --url or --domain.
    #[arg(long, value_name = "ADDRESS", requires = "rpc")]
    contract: Option<Address>,
}

/// Reads `CHAIN_ID:ADDRESS`.
pub(crate) fn parse_domain(text: &str) -> Result<Domain, String> {
    let (chain_id, contract) = text
        .split_once(':')
        .ok_or("must be a chain id, a colon and an address, such as 1:0x…")?;
    Ok(Domain {
        chain_id: chain_id
            .parse()
            .map_err(|_| "the chain id must be a number")?,
        verifying_contract: contract.parse().map_err(|error| format!("{error}"))?,
    })
}

/// What is known before a file is read.
pub(crate) struct Trust {
    known: Option<(Domain, Address)>,
    contract: Option<AnchorContract>,
}

impl TrustArgs {
    pub(crate) async fn resolve(self) -> Result<Trust, Failure> {
        let known = match (self.url, self.domain.zip(self.sequencer)) {
            (Some(url), _) => {
                let client = Client::builder(url).connect().await?;
                Some((client.domain(), client.sequencer()))
            }
            (None, given) => given,
        };
        let address = self
            .contract
            .or(known.map(|(domain, _)| domain.verifying_contract));
        let contract = match (self.rpc, address) {
            (Some(endpoint), Some(address)) => {
                let rpc = RpcClient::new(endpoint, Options::default());
                Some(AnchorContract::new(rpc, address))
            }
            (Some(_), None) => {
                return Err(Failure::usage(
                    "--rpc needs --contract, unless --url or --domain tells the contract",
                ));
            }
            (None, _) => None,
        };
        if known.is_none() && contract.is_none() {
            return Err(Failure::usage(
                "whom to trust? name --rpc and --contract, or --url, or --domain and --sequencer",
            ));
        }
        Ok(Trust { known, contract })
    }
}

impl Trust {
    #[cfg(test)]
    pub(crate) fn given(domain: Domain, sequencer: Address) -> Self {
        Self {
            known: Some((domain, sequencer)),
            contract: None,
        }
    }

    /// The contract, if a node is to be asked.
    pub(crate) fn contract(&self) -> Option<&AnchorContract> {
        self.contract.as_ref()
    }

    /// The domain and the first sequencer of the log itself, where no file claims any.
    pub(crate) async fn of_log(&self) -> Result<(Domain, Address), Failure> {
        let domain = match (self.known, &self.contract) {
            (Some((domain, _)), _) => domain,
            (None, Some(contract)) => Domain {
                chain_id: contract.rpc().chain_id().await.map_err(Failure::refused)?,
                verifying_contract: contract.address(),
            },
            (None, None) => return Err(Failure::usage("no domain and no contract to trust")),
        };
        self.of(domain, 0).await
    }

    /// The domain and the sequencer to verify a file with that claims this domain and this batch.
    pub(crate) async fn of(
        &self,
        claimed: Domain,
        batch: u64,
    ) -> Result<(Domain, Address), Failure> {
        if let Some((domain, _)) = self.known
            && domain != claimed
        {
            return Err(Failure::refused(
                "the file is of another log than the one to trust",
            ));
        }
        let Some(contract) = &self.contract else {
            return self
                .known
                .ok_or_else(|| Failure::usage("no domain and no contract to trust"));
        };
        let separator = contract.domain_separator().await.map_err(read_failure)?;
        if claimed.separator() != separator {
            return Err(Failure::refused(
                "the file is of another log than the contract anchors",
            ));
        }
        let key = contract
            .sequencer_key_at(batch)
            .await
            .map_err(read_failure)?;
        match self.known {
            Some((_, sequencer)) if sequencer != key => Err(Failure::refused(format!(
                "the contract names {key} as the sequencer of batch {batch}, not {sequencer}"
            ))),
            _ => Ok((claimed, key)),
        }
    }
}

/// A contract that could not be read.
pub(crate) fn read_failure(error: impl std::fmt::Display) -> Failure {
    Failure::refused(format!("the contract: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        let text = "31337:0x5FbDB2315678afecb367f032d93F642f64180aa3";
        let domain = parse_domain(text).unwrap();
        assert_eq!(domain.chain_id, 31337);
        assert_eq!(
            domain.separator().to_string(),
            "0x0a4d73c7924f24cffaf92adf4fe8a31aec225479d5d5924e985d751ef94306c9"
        );
        for bad in ["", "31337", "x:0x00", "1:0x00", "1:"] {
            assert!(parse_domain(bad).is_err(), "{bad}");
        }
    }
}
