//! Contents of files, of which the log holds only the digest. An object store of the same servers keeps them under
//! their digests, so every node can get what another one has accepted.

use async_nats::jetstream::object_store::{Config, GetErrorKind, ObjectStore};
use async_nats::jetstream::stream::StorageType;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy};

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::nats::unreachable;

impl Cluster {
    /// Stores a content under a name; returns once a quorum of the servers has it. May be repeated with the same
    /// content.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer, or the content cannot be read.
    pub async fn put_content(
        &self,
        name: &str,
        mut content: impl AsyncRead + Unpin,
    ) -> Result<(), StreamError> {
        let store = self.contents().await?;
        let put = store.put(name, &mut content).await;
        put.map(|_| ()).map_err(unreachable)
    }

    /// Writes a content to `to`; false if the name is unknown.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer, or writing fails.
    pub async fn get_content(
        &self,
        name: &str,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<bool, StreamError> {
        let store = self.contents().await?;
        let mut found = match store.get(name).await {
            Ok(found) => found,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(unreachable(error)),
        };
        copy(&mut found, &mut to).await.map_err(unreachable)?;
        to.flush().await.map_err(unreachable)?;
        Ok(true)
    }

    /// The object store, created on first use.
    async fn contents(&self) -> Result<ObjectStore, StreamError> {
        let nats = self.0.nats()?;
        let bucket = format!("{}_files", nats.options.stream());
        if let Ok(found) = nats.context.get_object_store(&bucket).await {
            return Ok(found);
        }
        let made = nats.context.create_object_store(Config {
            bucket,
            description: Some("Kedge: contents of files".to_owned()),
            storage: StorageType::File,
            num_replicas: nats.options.replicas,
            ..Config::default()
        });
        made.await.map_err(unreachable)
    }
}
