//! PostgreSQL: a plain table, and one whose rows form a hash chain. A transaction is answered when it is durable
//! (`synchronous_commit`, on by default).

use std::sync::Arc;

use bytes::Bytes;
use futures_util::SinkExt as _;
use std::pin::pin;
use tokio_postgres::{Client, NoTls, Statement};

use crate::error::Result;
use crate::load::Append;
use crate::options::Options;
use crate::records::{Record, groups};

const PLAIN: &str = "
DROP TABLE IF EXISTS records;
CREATE TABLE records (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    object text NOT NULL,
    payload text NOT NULL
)";

/// Requests extend the chain one at a time, because each locks the tip's row until its commit.
const CHAINED: &str = "
DROP FUNCTION IF EXISTS append_records;
DROP TABLE IF EXISTS chained, tip;
CREATE TABLE chained (
    sequence bigint PRIMARY KEY,
    object text NOT NULL,
    payload text NOT NULL,
    head bytea NOT NULL
);
CREATE TABLE tip (sequence bigint NOT NULL, head bytea NOT NULL);
INSERT INTO tip VALUES (0, sha256(''));
CREATE FUNCTION append_records(objects text[], payloads text[]) RETURNS bigint AS $$
DECLARE
    last tip%ROWTYPE;
    heads bytea[];
    chained_head bytea;
BEGIN
    SELECT * INTO last FROM tip FOR UPDATE;
    chained_head := last.head;
    FOR i IN 1 .. cardinality(objects) LOOP
        chained_head := sha256(chained_head || convert_to(objects[i] || payloads[i], 'UTF8'));
        heads[i] := chained_head;
    END LOOP;
    INSERT INTO chained
        SELECT last.sequence + place, object, payload, head
        FROM unnest(objects, payloads, heads) WITH ORDINALITY AS new (object, payload, head, place);
    UPDATE tip SET sequence = last.sequence + cardinality(objects), head = chained_head;
    RETURN last.sequence + cardinality(objects);
END
$$ LANGUAGE plpgsql";

async fn connect(address: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    // The client gets its error too, with the failing statement.
    tokio::spawn(connection);
    Ok(client)
}

/// Creates the tables and connects.
async fn clients(options: &Options, tables: &str) -> Result<Vec<Client>> {
    connect(&options.address)
        .await?
        .batch_execute(tables)
        .await?;
    let mut clients = Vec::with_capacity(options.connections);
    for _ in 0..options.connections {
        clients.push(connect(&options.address).await?);
    }
    Ok(clients)
}

/// COPY of a group in one transaction.
pub(crate) struct Copy {
    client: Client,
    statement: Statement,
    groups: Vec<Bytes>,
    next: usize,
}

impl Copy {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        let mut opened = Vec::new();
        for (number, client) in clients(options, PLAIN).await?.into_iter().enumerate() {
            let copy = "COPY records (object, payload) FROM STDIN";
            let statement = client.prepare(copy).await?;
            let groups = groups(number, options.records, options.bytes);
            let rows = |group: &Vec<Record>| {
                let rows = group
                    .iter()
                    .map(|record| format!("{}\t{}\n", record.object, record.payload));
                Bytes::from(rows.collect::<String>())
            };
            opened.push(Self {
                statement,
                groups: groups.iter().map(rows).collect(),
                next: 0,
                client,
            });
        }
        Ok(opened)
    }
}

impl Append for Copy {
    async fn append(&mut self) -> Result<()> {
        let rows = self.groups[self.next % self.groups.len()].clone();
        self.next += 1;
        let mut sink = pin!(self.client.copy_in(&self.statement).await?);
        sink.send(rows).await?;
        sink.finish().await?;
        Ok(())
    }
}

/// INSERT of one record.
pub(crate) struct Insert {
    client: Client,
    statement: Statement,
    groups: Vec<Vec<Record>>,
    next: usize,
}

impl Insert {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        let mut opened = Vec::new();
        for (number, client) in clients(options, PLAIN).await?.into_iter().enumerate() {
            let insert = "INSERT INTO records (object, payload) VALUES ($1, $2)";
            opened.push(Self {
                statement: client.prepare(insert).await?,
                groups: groups(number, options.records, options.bytes),
                next: 0,
                client,
            });
        }
        Ok(opened)
    }
}

impl Append for Insert {
    async fn append(&mut self) -> Result<()> {
        let group = &self.groups[self.next % self.groups.len()];
        self.next += 1;
        for Record { object, payload } in group {
            self.client
                .execute(&self.statement, &[object, payload])
                .await?;
        }
        Ok(())
    }
}

/// The chaining function, called for a group.
pub(crate) struct Chain {
    client: Client,
    statement: Statement,
    groups: Arc<[(Vec<String>, Vec<String>)]>,
    next: usize,
}

impl Chain {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        let mut opened = Vec::new();
        for (number, client) in clients(options, CHAINED).await?.into_iter().enumerate() {
            let groups = groups(number, options.records, options.bytes);
            let columns = |group: Vec<Record>| {
                let texts = group.into_iter();
                texts.map(|record| (record.object, record.payload)).unzip()
            };
            opened.push(Self {
                statement: client.prepare("SELECT append_records($1, $2)").await?,
                groups: groups.into_iter().map(columns).collect(),
                next: 0,
                client,
            });
        }
        Ok(opened)
    }
}

impl Append for Chain {
    async fn append(&mut self) -> Result<()> {
        let (objects, payloads) = &self.groups[self.next % self.groups.len()];
        self.next += 1;
        self.client
            .query_one(&self.statement, &[objects, payloads])
            .await?;
        Ok(())
    }
}
