//! Redis: a stream, answered when it is in the append-only file and that is synced (`appendfsync
//! always`, which whoever starts the instance sets and this checks).

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, Pipeline};

use crate::load::Append;
use crate::records::{Record, groups};
use crate::{Options, Result};

const STREAM: &str = "records";
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A connection with its pipelines.
pub(crate) struct Stream {
    connection: MultiplexedConnection,
    pipelines: Vec<Pipeline>,
    next: usize,
}

impl Stream {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        let client = Client::open(format!("redis://{}", options.address))?;
        begin_anew(&mut client.get_multiplexed_async_connection().await?).await?;
        let mut opened = Vec::new();
        for number in 0..options.connections {
            let groups = groups(number, options.records, options.bytes);
            opened.push(Self {
                connection: client.get_multiplexed_async_connection().await?,
                pipelines: groups.iter().map(|group| pipeline(group)).collect(),
                next: 0,
            });
        }
        Ok(opened)
    }
}

/// An empty stream, and a file without the one before.
async fn begin_anew(connection: &mut MultiplexedConnection) -> Result<()> {
    let (_, sync): (String, String) = redis::cmd("CONFIG")
        .arg(&["GET", "appendfsync"])
        .query_async(connection)
        .await?;
    if sync != "always" {
        return Err(format!("appendfsync is {sync}, not always").into());
    }
    redis::cmd("DEL")
        .arg(STREAM)
        .query_async::<()>(connection)
        .await?;
    redis::cmd("BGREWRITEAOF")
        .query_async::<()>(connection)
        .await?;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let info: String = redis::cmd("INFO")
            .arg("persistence")
            .query_async(connection)
            .await?;
        let done = ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0"];
        if done.iter().all(|line| info.contains(line)) {
            return Ok(());
        }
    }
}

fn pipeline(group: &[Record]) -> Pipeline {
    let mut pipeline = redis::pipe();
    for record in group {
        let fields = ["object", &record.object, "payload", &record.payload];
        pipeline
            .cmd("XADD")
            .arg(STREAM)
            .arg("*")
            .arg(&fields)
            .ignore();
    }
    pipeline
}

impl Append for Stream {
    async fn append(&mut self) -> Result<()> {
        let pipeline = &self.pipelines[self.next % self.pipelines.len()];
        self.next += 1;
        pipeline.query_async::<()>(&mut self.connection).await?;
        Ok(())
    }
}
