//! A request while it is answered.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;
use kedge_http::auth::CallerSession;
use kedge_http::body::IncomingBody;
use kedge_http::clock::now_s;
use kedge_http::envelope::ErrorForm;
use kedge_http::limits::LimitCharge;
use kedge_http::v2;
use kedge_protocol::Address;
use kedge_telemetry::RequestTrace;

use super::dispatcher::RequestDispatcher;
use super::http_metrics::traced_method;
use crate::api::{EndpointRow, TABLE};

/// State of a request while it is answered.
pub(super) struct ActiveRequest {
    pub(super) request_id: Arc<str>,
    pub(super) form: ErrorForm,
    pub(super) charge: LimitCharge,
    pub(super) body: IncomingBody,
    pub(super) peer: IpAddr,
    pub(super) is_reserve: bool,
    /// Another node made the answer, and compared it with the document.
    pub(super) is_forwarded: bool,
    /// The index of its endpoint in [`TABLE`].
    pub(super) index: Option<usize>,
    pub(super) session: Option<CallerSession>,
    /// The alleged signer, and whether the signature proves it.
    pub(super) signer: Option<Address>,
    pub(super) signer_is_known: bool,
    /// The request's trace, if it is sampled.
    pub(super) traced: Option<Box<RequestTrace>>,
}

impl ActiveRequest {
    /// The state of a new request.
    pub(super) fn of(
        server: &RequestDispatcher,
        parts: &Parts,
        body: IncomingBody,
        peer: IpAddr,
        is_reserve: bool,
    ) -> Self {
        let headers = &parts.headers;
        let tracer = server.services.tracer.as_ref();
        Self {
            traced: tracer.and_then(|tracer| tracer.begin(headers, traced_method(&parts.method))),
            request_id: server.ids.of(headers),
            form: if v2::covers(parts.uri.path()) {
                ErrorForm::Legacy
            } else {
                ErrorForm::of(headers)
            },
            charge: server.services.limits.rates.begin(peer, headers, now_s()),
            body,
            peer,
            is_reserve,
            is_forwarded: false,
            index: None,
            session: None,
            signer: None,
            signer_is_known: false,
        }
    }

    /// Its endpoint; `None` until one is found.
    pub(super) fn endpoint(&self) -> Option<&'static EndpointRow> {
        self.index.map(|index| &TABLE[index])
    }

    /// Begins a phase of the trace, if there is one.
    pub(super) fn phase(&mut self, name: &'static str) {
        if let Some(traced) = &mut self.traced {
            traced.phase(name);
        }
    }
}
