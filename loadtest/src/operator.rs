//! The operator's side: tiers without narrow limits, over the server's admin socket. One line of JSON each way.

use std::path::Path;

use kedge_protocol::Id;
use kedge_protocol::resource::CustomLimits;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::error::{Error, Result};
use crate::progress;

/// The value of every limit: each request is counted on each limit, and none is refused.
const REQUESTS_MAX: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    #[serde(default)]
    error: String,
}

/// Gives organizations a tier with limits that no run here reaches.
pub(crate) async fn lift_limits(
    socket: &Path,
    organizations: impl ExactSizeIterator<Item = Id>,
) -> Result<()> {
    let failed = || Error::io(format!("the admin socket {}", socket.display()));
    let stream = UnixStream::connect(socket).await.map_err(failed())?;
    let mut stream = BufReader::new(stream);
    let most = Some(REQUESTS_MAX);
    let limits = CustomLimits {
        requests_per_minute: most,
        requests_per_day: most,
        object_writes_per_minute: most,
        action_batches_per_minute: most,
        file_uploads_per_minute: most,
        template_writes_per_minute: most,
        list_reads_per_minute: most,
        // None: a run would fill it.
        log_bytes: None,
    };
    let bar = progress::bar("tiers set", organizations.len());
    let mut line = String::new();
    for organization_id in organizations {
        let command = json!({
            "command": "tier",
            "organization_id": organization_id,
            "tier": "custom",
            "limits": limits,
        });
        let request = format!("{command}\n");
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(failed())?;
        line.clear();
        stream.read_line(&mut line).await.map_err(failed())?;
        let answer: Answer = serde_json::from_str(&line)
            .map_err(|error| Error::Answer(format!("the admin socket's answer: {error}")))?;
        if !answer.ok {
            let error = answer.error;
            return Err(Error::Answer(format!("setting a tier: {error}")));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}
