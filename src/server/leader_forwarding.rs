//! Requests on a follower: changes go to the leader, by forwarding or redirect; everything else is answered here.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use kedge_cluster::node::{FORWARDED_BY, ForwardError, Replica, ReplicaRole, answer_headers};
use kedge_config::ClusterWrites;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{LimitClass, ShareHolder};
use kedge_http::reply::HttpReply;
use kedge_http::signing::SigningScheme;
use kedge_net::request_ids::REQUEST_ID;
use kedge_protocol::Code;

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use super::response::SEQUENCE;
use crate::api::EndpointRow;
use crate::api::endpoint::EndpointAuth;

const ROLE: HeaderName = HeaderName::from_static("x-kedge-role");
const TERM: HeaderName = HeaderName::from_static("x-kedge-term");

/// `Retry-After` of a change that found no leader: another node takes over within a few seconds.
const NO_LEADER_RETRY_S: u64 = 1;

/// Time for a former leader to deliver the answers it still owes.
const LATE_ANSWER: Duration = Duration::from_secs(1);

/// The holder that a change counts on, and the refusal of its credentials, if any.
type ChangeJudgement = (ShareHolder, Option<ApiError>);

impl RequestDispatcher {
    /// The leader's answer to a change, from a node that follows.
    pub(super) async fn answer_by_leader(
        &self,
        replica: &Replica,
        endpoint: &EndpointRow,
        parts: &Parts,
        active: &mut ActiveRequest,
    ) -> ApiResult<HttpReply> {
        let judged = self.judge(endpoint, &parts.headers, active)?;
        let is_second = parts.headers.contains_key(FORWARDED_BY);
        let leader = replica.standing().leader.filter(|_| !is_second);
        let Some(leader) = leader else {
            let message = "no node leads the log at the moment; try again";
            return Err(ApiError::unavailable(message, NO_LEADER_RETRY_S));
        };
        // An upload goes to a file rather than memory, so its caller sends it to the leader itself.
        if self.writes == ClusterWrites::Redirect || endpoint.signs == SigningScheme::File {
            active.index = None;
            return Ok(self.redirect(&leader.url, parts));
        }
        let leading = replica.led_by_another(&leader.url);
        let replaced = async {
            leading.await;
            tokio::time::sleep(LATE_ANSWER).await;
        };
        let forwarding = self.forward(endpoint, &leader.url, (parts, judged), active);
        tokio::select! {
            biased;
            answered = forwarding => answered,
            () = replaced => Err(ApiError::unknown(None)),
        }
    }

    fn redirect(&self, leader: &str, parts: &Parts) -> HttpReply {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let sequence = self.services.published().head.sequence;
        let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
        let text = "This node follows the log; the leader takes changes.\n";
        HttpReply::bytes(
            StatusCode::TEMPORARY_REDIRECT,
            sequence,
            media_type,
            Bytes::from_static(text.as_bytes()),
        )
        .with(LOCATION, &format!("{}{path}", leader.trim_end_matches('/')))
    }

    async fn forward(
        &self,
        endpoint: &EndpointRow,
        leader: &str,
        (parts, (holder, refused)): (&Parts, ChangeJudgement),
        active: &mut ActiveRequest,
    ) -> ApiResult<HttpReply> {
        let services = &self.services;
        services.limits.check_room()?;
        let body = if endpoint.request.is_some() {
            let is_public = endpoint.auth == EndpointAuth::Public || refused.is_some();
            let reading = services
                .bodies
                .read(&parts.headers, &mut active.body, holder, is_public);
            match (reading.await, refused) {
                (Ok(read), _) => Bytes::from(read.text),
                // Without credentials there is no body of that size.
                (Err(error), Some(refused)) if error.code == Code::PayloadTooLarge => {
                    return Err(refused);
                }
                (Err(error), _) => return Err(error),
            }
        } else {
            Bytes::new()
        };
        let _place = services.limits.enter(holder)?;
        let mut passed = parts.clone();
        if let Ok(id) = HeaderValue::from_str(&active.request_id) {
            passed.headers.insert(REQUEST_ID, id);
        }
        if let Some(traced) = &mut active.traced {
            traced.call("forward", &mut passed.headers);
        }
        let sent = self.forwarder.forward(leader, &passed, body, active.peer);
        match sent.await {
            Ok(response) => {
                active.is_forwarded = true;
                Ok(reply_of(response, services.published().head.sequence))
            }
            Err(ForwardError::Unreached(why)) => {
                tracing::debug!(why, "a change was not forwarded");
                let message =
                    "the node that leads the log cannot be reached; nothing was changed, try again";
                Err(ApiError::unavailable(message, NO_LEADER_RETRY_S))
            }
            Err(ForwardError::Unknown(why)) => {
                tracing::debug!(why, "a forwarded change was not answered");
                Err(ApiError::unknown(None))
            }
        }
    }

    /// The holder that a change counts on before its body is read, and the refusal of its credentials, if any. The
    /// leader decides, because this node may not have the newest state; but without credentials no large body is read
    /// for it. Callers without an organization count on their address here too.
    fn judge(
        &self,
        endpoint: &EndpointRow,
        headers: &HeaderMap,
        active: &mut ActiveRequest,
    ) -> ApiResult<ChangeJudgement> {
        let refused = if endpoint.auth == EndpointAuth::Bearer {
            let session = self.services.authenticate(headers, now_s());
            let allowed = session.and_then(|session| {
                session.check(endpoint.right())?;
                Ok(session.organization_id)
            });
            match allowed {
                Ok(organization) => return Ok((ShareHolder::Organization(organization), None)),
                Err(error) => Some(error),
            }
        } else {
            None
        };
        if endpoint.limit != LimitClass::Free {
            self.services
                .limits
                .rates
                .count_address(&mut active.charge)?;
        }
        Ok((active.charge.holder(), refused))
    }

    /// States this node's role in a cluster.
    pub(super) fn state_role(&self, headers: &mut HeaderMap) {
        let Some(replica) = self.services.node.replica.get() else {
            return;
        };
        let standing = replica.standing();
        let role = if self.services.engine.leads() {
            ReplicaRole::Leader
        } else {
            ReplicaRole::Follower
        };
        headers
            .entry(ROLE)
            .or_insert(HeaderValue::from_static(role.name()));
        headers
            .entry(TERM)
            .or_insert(HeaderValue::from(standing.term));
    }
}

/// A leader's answer as this node's own.
fn reply_of(response: hyper::Response<Bytes>, sequence: u64) -> HttpReply {
    let (parts, body) = response.into_parts();
    let stated = parts.headers.get(SEQUENCE);
    let stated = stated
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    let media_type = parts.headers.get(CONTENT_TYPE).cloned();
    let media_type = media_type.unwrap_or(HeaderValue::from_static("application/json"));
    let mut reply = HttpReply::bytes(parts.status, stated.unwrap_or(sequence), media_type, body);
    reply.headers = answer_headers(parts.headers);
    reply
}
