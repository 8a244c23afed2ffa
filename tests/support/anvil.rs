//! Anvil, the Ethereum node of the tests.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kedge_chain::contract::{DeployOptions, deploy};
use kedge_chain::rpc::{RpcClient, RpcOptions};
use kedge_chain::transaction::FeePolicy;
use kedge_devchain::insecure_development_keys;
use kedge_protocol::Address;

use super::eventually;

/// Anvil's default.
pub(crate) const CHAIN_ID: u64 = 31_337;

/// A running Anvil; dropping it kills it.
pub(crate) struct Anvil {
    child: Child,
    port: u16,
}

impl Anvil {
    /// Starts Anvil with a block each second; a block is final two blocks later. `state` is read at the start and
    /// written at the end.
    pub(crate) async fn start(port: u16, state: &Path) -> Self {
        let binary = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates/chain/tests/anvil/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
        assert!(
            binary.exists(),
            "Anvil is not installed: run `npm ci --prefix crates/chain/tests/anvil`"
        );
        let child = Command::new(binary)
            .args(["--host", "127.0.0.1", "--slots-in-an-epoch", "1"])
            .args(["--block-time", "1", "--port", &port.to_string()])
            .args([Path::new("--state"), state])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let anvil = Self { child, port };
        let rpc = anvil.rpc();
        let answers = || async { rpc.chain_id().await.ok() };
        eventually("Anvil answers", Duration::from_secs(10), answers).await;
        anvil
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn rpc(&self) -> RpcClient {
        rpc(&self.url())
    }

    /// Stops it so that it can write its state.
    pub(crate) fn stop(mut self) {
        let id = self.child.id().to_string();
        let reported = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(reported.success());
        self.child.wait().unwrap();
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _already_dead = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A client of any node.
pub(crate) fn rpc(url: &str) -> RpcClient {
    RpcClient::new(url.parse().unwrap(), RpcOptions::default())
}

/// Deploys the anchor contract; the first development key pays and owns.
pub(crate) async fn deploy_anchor(rpc: &RpcClient, sequencer: Address) -> Address {
    let owner = insecure_development_keys()[0].clone();
    let options = DeployOptions {
        owner: owner.address(),
        sequencer_key: sequencer,
        domain_contract: None,
        fee_policy: FeePolicy::default(),
        patience_ms: 20_000,
    };
    deploy(rpc, &owner, &options).await.unwrap().address
}
