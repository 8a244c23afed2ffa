//! Syntax of operator commands.

use std::path::PathBuf;

use kedge_protocol::resource::CustomLimits;
use kedge_protocol::{Address, Id};
use serde::Deserialize;

use super::tiers::nearest_by_default;

/// A command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, tag = "command", rename_all = "snake_case")]
pub(super) enum AdminRequest {
    AnchorNow,
    Status,
    RotateTokenKey {
        /// The new key signs before others can know it.
        #[serde(default)]
        now: bool,
    },
    RotateSideKey,
    RetireTokenKey {
        #[serde(default)]
        id: Option<String>,
    },
    Recover,
    NameSequencerKey {
        key: Address,
        from_batch: u64,
    },
    ReadSequencerKeys,
    Backup {
        directory: PathBuf,
        /// An older backup, to link from.
        #[serde(default)]
        since: Option<PathBuf>,
    },
    Archive {
        directory: PathBuf,
        /// Segments that hold nothing from this sequence on are moved.
        #[serde(default)]
        before_sequence: Option<u64>,
        /// How many of the newest sealed segments stay; older ones are moved.
        #[serde(default)]
        keep_segments: Option<usize>,
    },
    Clock {
        /// The current time, as stated by the operator.
        #[serde(default)]
        confirm: Option<String>,
    },
    ClusterStatus,
    HandOver {
        #[serde(default)]
        to: Option<String>,
    },
    RemoveNode {
        node: String,
    },
    Tier {
        organization_id: Id,
        tier: String,
        #[serde(default)]
        limits: CustomLimits,
    },
    Tiers {
        /// How many of the organizations that are nearest to a limit are shown.
        #[serde(default = "nearest_by_default")]
        nearest: usize,
    },
}

impl AdminRequest {
    /// Whether it changes nothing.
    pub(super) fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Status | Self::Tiers { .. } | Self::ClusterStatus
        )
    }

    /// Its name, as callers write it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::AnchorNow => "anchor_now",
            Self::Status => "status",
            Self::RotateTokenKey { .. } => "rotate_token_key",
            Self::RotateSideKey => "rotate_side_key",
            Self::RetireTokenKey { .. } => "retire_token_key",
            Self::Recover => "recover",
            Self::NameSequencerKey { .. } => "name_sequencer_key",
            Self::ReadSequencerKeys => "read_sequencer_keys",
            Self::Backup { .. } => "backup",
            Self::Archive { .. } => "archive",
            Self::Clock { .. } => "clock",
            Self::ClusterStatus => "cluster_status",
            Self::HandOver { .. } => "hand_over",
            Self::RemoveNode { .. } => "remove_node",
            Self::Tier { .. } => "tier",
            Self::Tiers { .. } => "tiers",
        }
    }
}
