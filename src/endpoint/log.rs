//! The rows of the public log.

use kedge_api::Page;
use kedge_api::action::BatchAction;
use kedge_api::log::{AnchorView, BatchView, CheckpointView, ConsistencyView, LeavesView};
use kedge_api::sequencer_keys::SequencerKeyView;

use super::Auth::Public;
use super::LimitClass::Lists;
use super::row::{get, handler};
use super::{Endpoint, docs, schema};
use crate::listing::LIST;
use crate::routes::{anchors, batches, sequencer_keys};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            auth: Public,
            limit: Lists,
            query: &[LIST],
            response: schema::<Page<BatchView>>,
            ..get(
                "/batches",
                &docs::log::LIST_BATCHES,
                handler!(batches::list),
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<BatchView>,
            etag: true,
            ..get(
                "/batches/{id}",
                &docs::log::GET_BATCH,
                handler!(batches::get),
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<LeavesView>,
            etag: true,
            ..get(
                "/batches/{id}/leaves",
                &docs::log::GET_LEAVES,
                handler!(batches::leaves),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<BatchAction>>,
            ..get(
                "/batches/{id}/actions",
                &docs::log::LIST_BATCH_ACTIONS,
                handler!(batches::actions),
            )
        },
        Endpoint {
            auth: Public,
            query: &[LIST],
            response: schema::<Page<AnchorView>>,
            ..get(
                "/anchors",
                &docs::log::LIST_ANCHORS,
                handler!(anchors::list),
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<AnchorView>,
            etag: true,
            ..get(
                "/anchors/{id}",
                &docs::log::GET_ANCHOR,
                handler!(anchors::get),
            )
        },
        Endpoint {
            auth: Public,
            response: schema::<CheckpointView>,
            etag: true,
            ..get(
                "/checkpoint",
                &docs::log::GET_CHECKPOINT,
                handler!(anchors::checkpoint),
            )
        },
        Endpoint {
            auth: Public,
            query: &[LIST],
            response: schema::<Page<SequencerKeyView>>,
            ..get(
                "/sequencer-keys",
                &docs::log::LIST_SEQUENCER_KEYS,
                handler!(sequencer_keys::list),
            )
        },
        Endpoint {
            auth: Public,
            query: &[anchors::SIZES],
            response: schema::<ConsistencyView>,
            etag: true,
            ..get(
                "/consistency",
                &docs::log::GET_CONSISTENCY,
                handler!(anchors::consistency),
            )
        },
    ]
}
