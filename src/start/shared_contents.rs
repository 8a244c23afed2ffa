//! File contents shared by the nodes of a cluster.

use std::io;
use std::path::PathBuf;

use kedge_cluster::{Cluster, StreamError};
use kedge_http::files::{ContentFuture, SharedContents};
use kedge_protocol::Hash;

/// Contents in the object store of the NATS servers.
pub(super) struct StreamContents(pub(super) Cluster);

fn failed(error: StreamError) -> io::Error {
    io::Error::other(error)
}

impl SharedContents for StreamContents {
    fn put(&self, sha256: Hash, from: PathBuf) -> ContentFuture<io::Result<()>> {
        let cluster = self.0.clone();
        Box::pin(async move {
            let content = tokio::fs::File::open(from).await?;
            let name = const_hex::encode(sha256.0);
            let put = cluster.put_content(&name, content);
            put.await.map_err(failed)
        })
    }

    fn fetch(&self, sha256: Hash, to: PathBuf) -> ContentFuture<io::Result<bool>> {
        let cluster = self.0.clone();
        Box::pin(async move {
            let content = tokio::fs::File::create(to).await?;
            let name = const_hex::encode(sha256.0);
            let fetched = cluster.get_content(&name, content);
            fetched.await.map_err(failed)
        })
    }
}
