//! Admin socket of a server: tiers with wide limits. One line of JSON each way.

use std::path::Path;

use kedge_protocol::Id;
use kedge_protocol::resource::CustomLimits;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::error::{LoadtestError, LoadtestResult};
use crate::progress;

/// Value of every limit: requests are counted, but none is refused.
const REQUESTS_MAX: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct SocketAnswer {
    ok: bool,
    #[serde(default)]
    error: String,
}

/// A connection to a server's admin socket.
pub struct AdminConnection {
    stream: BufReader<UnixStream>,
    name: String,
}

impl AdminConnection {
    /// Connects to the socket at this path.
    pub async fn connect(socket: &Path) -> LoadtestResult<Self> {
        let name = format!("the admin socket {}", socket.display());
        let stream = UnixStream::connect(socket).await;
        let stream = BufReader::new(stream.map_err(LoadtestError::io(&name))?);
        Ok(Self { stream, name })
    }

    /// Gives an organization a custom tier with these limits.
    pub async fn set_limits(
        &mut self,
        organization: Id,
        limits: &CustomLimits,
    ) -> LoadtestResult<()> {
        let command = json!({
            "command": "tier",
            "organization_id": organization,
            "tier": "custom",
            "limits": limits,
        });
        let request = format!("{command}\n");
        let mut line = String::new();
        let asked = async {
            self.stream.write_all(request.as_bytes()).await?;
            self.stream.read_line(&mut line).await
        };
        asked.await.map_err(LoadtestError::io(&self.name))?;
        let answer: SocketAnswer = serde_json::from_str(&line).map_err(|error| {
            LoadtestError::answer(format_args!("the admin socket's answer: {error}"))
        })?;
        if answer.ok {
            Ok(())
        } else {
            let error = answer.error;
            Err(LoadtestError::answer(format_args!(
                "setting a tier: {error}"
            )))
        }
    }
}

/// Gives organizations a tier whose limits no run reaches.
pub(crate) async fn lift_limits(
    socket: &Path,
    organizations: impl ExactSizeIterator<Item = Id>,
) -> LoadtestResult<()> {
    let mut operator = AdminConnection::connect(socket).await?;
    let most = Some(REQUESTS_MAX);
    let limits = CustomLimits {
        requests_per_minute: most,
        requests_per_day: most,
        object_writes_per_minute: most,
        action_batches_per_minute: most,
        file_uploads_per_minute: most,
        template_writes_per_minute: most,
        list_reads_per_minute: most,
        // No limit, because a run would reach it.
        log_bytes: None,
    };
    let bar = progress::bar("tiers set", organizations.len());
    for organization in organizations {
        operator.set_limits(organization, &limits).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}
