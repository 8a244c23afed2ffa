//! Execution of transactions, calls and gas estimates on the chain's state.

use revm::bytecode::Bytecode;
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction, ResultAndState};
use revm::context::{BlockEnv, CfgEnv, TxEnv};
use revm::database::{CacheDB, EmptyDB};
use revm::database_interface::WrapDatabaseRef;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, U256};
use revm::state::AccountInfo;
use revm::{Context, DatabaseCommit, DatabaseRef, ExecuteEvm, MainBuilder, MainContext};

use super::failure::JsonRpcFailure;
use super::header::{BLOCK_GAS_LIMIT, EmbeddedHeader};

/// The hard fork in force on the embedded chain: Ethereum's since December 2025.
pub(super) const SPEC: SpecId = SpecId::OSAKA;

type EvmDatabase = CacheDB<EmptyDB>;

/// All accounts with their code and storage.
#[derive(Debug, Clone, Default)]
pub(super) struct EvmAccounts {
    database: EvmDatabase,
}

impl EvmAccounts {
    /// Sets a balance; for the genesis block only.
    pub(super) fn fund(&mut self, address: Address, balance_wei: U256) {
        let info = AccountInfo {
            balance: balance_wei,
            ..AccountInfo::default()
        };
        self.database.insert_account_info(address, info);
    }

    /// The account, or an empty one if it is unknown.
    pub(super) fn account(&self, address: Address) -> AccountInfo {
        let Ok(account) = self.database.basic_ref(address);
        account.unwrap_or_default()
    }

    pub(super) fn code(&self, address: Address) -> Bytecode {
        let Ok(code) = self
            .database
            .code_by_hash_ref(self.account(address).code_hash);
        code
    }

    /// A word of a contract's storage.
    pub(super) fn storage(&self, address: Address, slot: U256) -> U256 {
        let Ok(word) = self.database.storage_ref(address, slot);
        word
    }

    /// Stores a block's hash for the BLOCKHASH opcode.
    pub(super) fn remember_block_hash(&mut self, number: u64, hash: revm::primitives::B256) {
        self.database
            .cache
            .block_hashes
            .insert(U256::from(number), hash);
    }

    /// Applies the changes of an execution.
    pub(super) fn commit(&mut self, changes: revm::state::EvmState) {
        self.database.commit(changes);
    }

    /// Executes a signed transaction with `header`'s number, time and base fee. The state changes only with
    /// [`EvmAccounts::commit`].
    pub(super) fn execute(
        &self,
        chain_id: u64,
        header: &EmbeddedHeader,
        transaction: TxEnv,
    ) -> Result<ResultAndState, JsonRpcFailure> {
        self.run(configuration(chain_id), header, transaction)
            .map_err(|error| rejection(&error))
    }

    /// Executes a call; the sender needs no signature and no funds.
    pub(super) fn call(
        &self,
        chain_id: u64,
        header: &EmbeddedHeader,
        mut call: TxEnv,
    ) -> Result<ExecutionResult, JsonRpcFailure> {
        let mut configuration = configuration(chain_id);
        configuration.disable_nonce_check = true;
        configuration.disable_base_fee = true;
        configuration.disable_balance_check = true;
        configuration.disable_eip3607 = true;
        configuration.tx_gas_limit_cap = Some(u64::MAX);
        call.gas_limit = call.gas_limit.min(BLOCK_GAS_LIMIT);
        call.chain_id = Some(chain_id);
        self.run(configuration, header, call)
            .map(|outcome| outcome.result)
            .map_err(|error| rejection(&error))
    }

    /// The lowest gas limit that lets the call succeed, found by bisection.
    pub(super) fn estimate_gas(
        &self,
        chain_id: u64,
        header: &EmbeddedHeader,
        call: &TxEnv,
    ) -> Result<u64, JsonRpcFailure> {
        let attempt = |gas_limit| {
            let call = TxEnv {
                gas_limit,
                ..call.clone()
            };
            self.call(chain_id, header, call)
        };
        let mut enough = call.gas_limit.min(BLOCK_GAS_LIMIT);
        let result = attempt(enough)?;
        output(&result)?;
        // A lower bound: gas used excludes refunds and the 1/64 that calls hold back.
        let mut too_little = result.tx_gas_used().saturating_sub(1);
        while too_little + 1 < enough {
            let middle = too_little + (enough - too_little) / 2;
            // "Below the intrinsic gas" is an error instead of a failed result, and also means too little.
            if attempt(middle).is_ok_and(|result| result.is_success()) {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Ok(enough)
    }

    fn run(
        &self,
        configuration: CfgEnv,
        header: &EmbeddedHeader,
        transaction: TxEnv,
    ) -> Result<ResultAndState, EvmError> {
        Context::mainnet()
            .with_db(WrapDatabaseRef(&self.database))
            .with_cfg(configuration)
            .with_block(block_environment(header))
            .build_mainnet()
            .transact(transaction)
    }
}

type EvmError = EVMError<core::convert::Infallible, InvalidTransaction>;

/// The output of a call, or the client's error for its failure.
pub(super) fn output(result: &ExecutionResult) -> Result<&[u8], JsonRpcFailure> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.data()),
        ExecutionResult::Revert { output, .. } => Err(JsonRpcFailure::reverted(output)),
        ExecutionResult::Halt { reason, .. } => Err(JsonRpcFailure::transaction_rejected(format!(
            "EVM error {reason:?}"
        ))),
    }
}

fn configuration(chain_id: u64) -> CfgEnv {
    CfgEnv::new_with_spec(SPEC).with_chain_id(chain_id)
}

fn block_environment(header: &EmbeddedHeader) -> BlockEnv {
    let mut block = BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp_s),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_wei,
        difficulty: U256::ZERO,
        prevrandao: Some(header.mix_hash),
        ..BlockEnv::default()
    };
    block.set_blob_excess_gas_and_price(
        0,
        revm::primitives::eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE,
    );
    block
}

/// The rejection of a transaction, in the wording of other development nodes.
fn rejection(error: &EvmError) -> JsonRpcFailure {
    let EVMError::Transaction(reason) = error else {
        return JsonRpcFailure::internal(error.to_string());
    };
    let message = match reason {
        InvalidTransaction::NonceTooLow { .. } => "nonce too low".to_owned(),
        InvalidTransaction::NonceTooHigh { .. } => "nonce too high".to_owned(),
        InvalidTransaction::LackOfFundForMaxFee { .. } => {
            "Insufficient funds for gas * price + value".to_owned()
        }
        InvalidTransaction::GasPriceLessThanBasefee => {
            "max fee per gas less than block base fee".to_owned()
        }
        InvalidTransaction::PriorityFeeGreaterThanMaxFee => {
            "max priority fee per gas higher than max fee per gas".to_owned()
        }
        InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
        | InvalidTransaction::GasFloorMoreThanGasLimit { .. } => {
            return JsonRpcFailure::invalid_input("intrinsic gas too low");
        }
        InvalidTransaction::InvalidChainId | InvalidTransaction::MissingChainId => {
            "invalid chain id for signer".to_owned()
        }
        other => other.to_string(),
    };
    JsonRpcFailure::transaction_rejected(message)
}
