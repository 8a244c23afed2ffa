//! The rows of disputes.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::DisputeBody;
use kedge_api::dispute::DisputeView;
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::resource::Area;

use super::row::{get, handler, unsigned};
use super::{Endpoint, docs, schema};
use crate::listing::LIST;
use crate::routes::disputes;

/// A submission is not signed, because it proves itself; but submitting it is more than a read.
const BRINGS: Option<Right> = Some(Right {
    area: Area::Batches,
    access: Access::Create,
});

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            right: BRINGS,
            keeps_answer: true,
            request: Some(schema::<DisputeBody>),
            status: 201,
            response: schema::<DisputeView>,
            ..unsigned(
                Method::POST,
                "/disputes",
                &docs::disputes::CREATE,
                handler!(disputes::create),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<DisputeView>>,
            ..get("/disputes", &docs::disputes::LIST, handler!(disputes::list))
        },
        Endpoint {
            response: schema::<DisputeView>,
            etag: true,
            ..get(
                "/disputes/{id}",
                &docs::disputes::GET,
                handler!(disputes::get),
            )
        },
    ]
}
