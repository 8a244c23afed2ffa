//! Transaction fees and their growth (EIP-1559).

use ethers_core::types::U256;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::rpc::{FeeHistory, RpcClient, RpcError};

/// The two fee caps of an EIP-1559 transaction, in wei per gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Cap of base fee and tip together.
    pub max_fee_per_gas_wei: u128,
    /// Cap of the tip.
    pub max_priority_fee_per_gas_wei: u128,
}

/// Rules of the fees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeePolicy {
    /// Ceiling of the cap, in wei per gas; a transaction that needs more waits.
    pub max_fee_ceiling_wei: u128,
    pub tip_min_wei: u128,
    /// First cap as a multiple of base fee and tip: 2 outlasts six full blocks.
    pub base_fee_multiplier: u128,
    /// Growth of both caps per bump; nodes reject less than 10.
    pub bump_percent: u128,
}

/// Why a policy is contradictory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FeePolicyError {
    /// Nodes accept a replacement only if both caps grow by at least a tenth.
    #[error("a fee bump must be at least 10 percent")]
    BumpTooSmall,
    /// Nothing could ever be sent.
    #[error("the smallest tip is above the fee ceiling")]
    TipAboveCeiling,
    /// A cap below the base fee is never mined.
    #[error("the base fee multiplier must be at least 1")]
    Multiplier,
}

/// Number of blocks from which the market's tip is read.
const MARKET_BLOCKS: u64 = 10;
const TIP_PERCENTILE: f64 = 50.0;
const GWEI: u128 = 1_000_000_000;

impl Default for FeePolicy {
    fn default() -> Self {
        Self {
            max_fee_ceiling_wei: 200 * GWEI,
            tip_min_wei: GWEI / 10,
            base_fee_multiplier: 2,
            bump_percent: 12,
        }
    }
}

impl FeePolicy {
    /// Checks the policy for contradictions; call it once, at start.
    pub fn validate(&self) -> Result<(), FeePolicyError> {
        if self.bump_percent < 10 {
            return Err(FeePolicyError::BumpTooSmall);
        }
        if self.tip_min_wei > self.max_fee_ceiling_wei {
            return Err(FeePolicyError::TipAboveCeiling);
        }
        if self.base_fee_multiplier == 0 {
            return Err(FeePolicyError::Multiplier);
        }
        Ok(())
    }

    /// First offer by the newest blocks.
    pub(crate) async fn market(&self, rpc: &RpcClient) -> Result<Fees, RpcError> {
        let history = rpc.fee_history(MARKET_BLOCKS, &[TIP_PERCENTILE]).await?;
        Ok(self.first_offer(&history))
    }

    /// First offer: the median of recent tips on top of a multiple of the next base fee, below the ceiling.
    pub fn first_offer(&self, history: &FeeHistory) -> Fees {
        let base_fee = history.base_fee_per_gas.last().map_or(0, saturate);
        let mut tips: Vec<u128> = history
            .reward
            .iter()
            .flatten()
            .filter_map(|block| block.first().map(saturate))
            .filter(|tip| *tip > 0)
            .collect();
        tips.sort_unstable();
        let median = tips.get(tips.len() / 2).copied().unwrap_or(0);
        let tip = median.max(self.tip_min_wei).min(self.max_fee_ceiling_wei);
        let cap = base_fee
            .saturating_mul(self.base_fee_multiplier)
            .saturating_add(tip);
        Fees {
            max_fee_per_gas_wei: cap.min(self.max_fee_ceiling_wei),
            max_priority_fee_per_gas_wei: tip,
        }
    }

    /// The offer that replaces `previous` on the same nonce: both caps grow by the bump, or to the market's price if
    /// that is higher. `None` above the ceiling.
    pub fn bump(&self, previous: Fees, market: Fees) -> Option<Fees> {
        let least = Fees {
            max_fee_per_gas_wei: self.raised(previous.max_fee_per_gas_wei),
            max_priority_fee_per_gas_wei: self.raised(previous.max_priority_fee_per_gas_wei),
        };
        let ceiling = self.max_fee_ceiling_wei;
        if least.max_fee_per_gas_wei > ceiling || least.max_priority_fee_per_gas_wei > ceiling {
            return None;
        }
        let max_fee = least
            .max_fee_per_gas_wei
            .max(market.max_fee_per_gas_wei.min(ceiling));
        let tip = least
            .max_priority_fee_per_gas_wei
            .max(market.max_priority_fee_per_gas_wei)
            .min(max_fee);
        Some(Fees {
            max_fee_per_gas_wei: max_fee,
            max_priority_fee_per_gas_wei: tip,
        })
    }

    fn raised(&self, wei: u128) -> u128 {
        let extra = wei.saturating_mul(self.bump_percent).div_ceil(100).max(1);
        wei.saturating_add(extra)
    }
}

fn saturate(wei: &U256) -> u128 {
    u128::try_from(*wei).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(base_fee: u128, tips: &[u128]) -> FeeHistory {
        FeeHistory {
            base_fee_per_gas: vec![1.into(), base_fee.into()],
            reward: Some(tips.iter().map(|tip| vec![U256::from(*tip)]).collect()),
        }
    }

    fn fees(max_fee: u128, tip: u128) -> Fees {
        Fees {
            max_fee_per_gas_wei: max_fee,
            max_priority_fee_per_gas_wei: tip,
        }
    }

    #[test]
    fn the_first_offer_follows_the_market_below_the_ceiling() {
        let policy = FeePolicy::default();
        assert_eq!(
            policy.first_offer(&history(10 * GWEI, &[GWEI, 3 * GWEI, 2 * GWEI])),
            fees(22 * GWEI, 2 * GWEI)
        );
        assert_eq!(
            policy.first_offer(&history(10 * GWEI, &[0, 0])),
            fees(20 * GWEI + GWEI / 10, GWEI / 10)
        );
        assert_eq!(
            policy.first_offer(&history(900 * GWEI, &[])),
            fees(200 * GWEI, GWEI / 10)
        );
    }

    #[test]
    fn a_bump_raises_both_caps_by_a_tenth_at_least_until_the_ceiling() {
        let policy = FeePolicy {
            max_fee_ceiling_wei: 1_000,
            tip_min_wei: 1,
            base_fee_multiplier: 2,
            bump_percent: 10,
        };
        let mut offer = fees(101, 3);
        let mut bumps = 0;
        while let Some(next) = policy.bump(offer, fees(0, 0)) {
            assert!(next.max_fee_per_gas_wei * 10 >= offer.max_fee_per_gas_wei * 11);
            assert!(
                next.max_priority_fee_per_gas_wei * 10 >= offer.max_priority_fee_per_gas_wei * 11
            );
            assert!(next.max_fee_per_gas_wei <= 1_000);
            assert!(next.max_priority_fee_per_gas_wei <= next.max_fee_per_gas_wei);
            offer = next;
            bumps += 1;
        }
        assert!(bumps > 20, "only {bumps} bumps");
        assert_eq!(
            policy.bump(fees(100, 3), fees(5_000, 50)),
            Some(fees(1_000, 50))
        );
    }

    #[test]
    fn policies_that_cannot_work_are_refused() {
        let good = FeePolicy::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(
            FeePolicy {
                bump_percent: 9,
                ..good
            }
            .validate(),
            Err(FeePolicyError::BumpTooSmall)
        );
        assert_eq!(
            FeePolicy {
                tip_min_wei: u128::MAX,
                ..good
            }
            .validate(),
            Err(FeePolicyError::TipAboveCeiling)
        );
    }
}
