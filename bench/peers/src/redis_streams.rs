//! Redis: a stream, answered when its append-only file is synced. The instance must run with `appendfsync always`,
//! which this checks. The client is hand-written for the part of RESP2 that it needs
//! (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).

use std::time::Duration;

use crate::error::Result;
use crate::load::Append;
use crate::options::Options;
use crate::records::{Record, groups};
use crate::wire::Wire;

const STREAM: &str = "records";
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A connection with its prepared pipelines.
pub(crate) struct Stream {
    wire: Wire,
    pipelines: Vec<Vec<u8>>,
    records: usize,
    next: usize,
}

impl Stream {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        begin_anew(&mut Wire::connect(&options.address).await?).await?;
        let mut opened = Vec::new();
        for number in 0..options.connections {
            let groups = groups(number, options.records, options.bytes);
            opened.push(Self {
                wire: Wire::connect(&options.address).await?,
                pipelines: groups.iter().map(|group| pipeline(group)).collect(),
                records: options.records,
                next: 0,
            });
        }
        Ok(opened)
    }
}

impl Append for Stream {
    async fn append(&mut self) -> Result<()> {
        let pipeline = &self.pipelines[self.next % self.pipelines.len()];
        self.next += 1;
        self.wire.send(pipeline).await?;
        for _ in 0..self.records {
            answer(&mut self.wire).await?;
        }
        Ok(())
    }
}

/// Starts with an empty stream, and an append-only file without the previous one.
async fn begin_anew(wire: &mut Wire) -> Result<()> {
    let sync = ask(wire, &["CONFIG", "GET", "appendfsync"]).await?;
    if !sync.ends_with("always") {
        return Err(format!("Redis is set to {sync}, not always").into());
    }
    ask(wire, &["DEL", STREAM]).await?;
    ask(wire, &["BGREWRITEAOF"]).await?;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let info = ask(wire, &["INFO", "persistence"]).await?;
        let done = ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0"];
        if done.iter().all(|line| info.contains(line)) {
            return Ok(());
        }
    }
}

async fn ask(wire: &mut Wire, words: &[&str]) -> Result<String> {
    let mut text = String::new();
    push_command(&mut text, words);
    wire.send(text.as_bytes()).await?;
    answer(wire).await
}

fn push_command(text: &mut String, words: &[&str]) {
    text.push_str(&format!("*{}\r\n", words.len()));
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
}

fn pipeline(group: &[Record]) -> Vec<u8> {
    let mut text = String::new();
    for Record { object, payload } in group {
        let words = ["XADD", STREAM, "*", "object", object, "payload", payload];
        push_command(&mut text, &words);
    }
    text.into_bytes()
}

/// Reads one answer, and joins the words of a list.
async fn answer(wire: &mut Wire) -> Result<String> {
    let mut words = Vec::new();
    let mut left = 1_usize;
    while left > 0 {
        left -= 1;
        let line = wire.line().await?;
        let (kind, rest) = line.split_at_checked(1).ok_or("an empty answer")?;
        match kind {
            "+" | ":" => words.push(rest.to_owned()),
            "$" => {
                let bytes = wire.counted(rest.parse()?).await?;
                words.push(String::from_utf8_lossy(&bytes).into_owned());
            }
            "*" => left += rest.parse::<usize>()?,
            _ => return Err(format!("Redis: {line}").into()),
        }
    }
    Ok(words.join(" "))
}
