// The dashboards and alerts against a real server under load and a real Prometheus: their metrics exist, and their
// queries have answers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { KedgeClient, ServerError, readTrust } from './kedge-client.mjs';
import { admin, eventually, freePort, sleep, startDevelopment } from './harness.mjs';
import { alertTests, consoles, dashboards, documents, runbook, startPrometheus } from './prometheus.mjs';
import * as p from './protocol.mjs';

const PASSWORD = 'a long enough passphrase';
/** Values for Grafana's variables. */
const inGrafana = (expression) => expression.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m');
const RECORDED = /instance:\w+:\w+/g;
const METRIC = /(?<![\w:])kedge_\w+/g;

let system;
let prometheus;
let receiver;
let metricsUrl;
let stream;
let rules;
let ann;
let objects;

const panels = dashboards().flatMap(([file, { panels }]) => panels.filter(({ type }) => type !== 'row').map((panel) => ({ file, ...panel })));
const targets = panels.flatMap(({ file, title, targets = [] }) => targets.map(({ expr, legendFormat }) => ({ where: `${file}: ${title}`, expr: inGrafana(expr), legendFormat })));
const alerts = () => rules.filter(({ type }) => type === 'alerting');
const recorded = () => rules.filter(({ type }) => type === 'recording');

/** The series that an alert watches: its query without thresholds. */
const watched = (query) => query.replace(/ *(==|[<>]=?) *[\d.e+]+( \* [\d.e+]+)*/g, '');

async function refused(promise, ...statuses) {
  const error = await promise.then(() => assert.fail(`expected ${statuses}`), (reason) => reason);
  assert.ok(error instanceof ServerError && statuses.includes(error.status), String(error));
}

/** Repeats until a limit refuses. */
async function untilRefused(attempt) {
  for (let count = 0; count < 20; count += 1) {
    const error = await attempt().then(() => null, (reason) => reason);
    if (error?.status === 429) return;
  }
  assert.fail('no limit refused');
}

/** Every kind of a day's requests, once. */
async function load() {
  ann = new KedgeClient(system.baseUrl, await readTrust(system.baseUrl));
  await ann.register({ email: 'ann@example.com', password: PASSWORD });
  const hook = (path) => JSON.stringify({ url: `http://127.0.0.1:${receiver.address().port}${path}`, events: ['template.created'] });
  await ann.change('POST', '/webhooks', 'webhook.create', '', hook('/good'));
  await ann.change('POST', '/webhooks', 'webhook.create', '', hook('/bad'));
  stream = await fetch(`${system.baseUrl}/ebus/events/stream`, { headers: { authorization: `Bearer ${ann.token}` } });
  assert.equal(stream.status, 200);
  const template = await ann.createTemplate({ name: 'ticket', schema: { properties: { row: { 'x-index': true } } } });
  const mints = Array.from({ length: 100 }, (_, row) => ({ kind: 'mint', target: template.id, payload: JSON.stringify({ properties: { row } }) }));
  const { contents } = await ann.batch(mints);
  objects = contents.map((content) => p.madeId('obj', content, 0));
  await ann.batch(objects.map((target) => ({ kind: 'update', target, payload: '{"properties":{"seen":true}}' })));
  for (const id of objects.slice(0, 5)) await ann.update(id, { seat: 'A' });
  await ann.send('POST', '/objects/search', JSON.stringify({ filter: { field: 'template_id', op: 'eq', value: template.id } }));
  await refused(ann.get(`/objects/obj_${'0'.repeat(26)}`), 404);
  await refused(ann.change('POST', `/objects/${objects[0]}/transfer`, 'transfer', objects[0], '{"to":"nobody"}'), 400, 422);
  await fetch(`${system.baseUrl}/v2/user/profile`, { redirect: 'manual' });
  const stranger = new KedgeClient(system.baseUrl, ann.trust);
  await untilRefused(() => stranger.login('ann@example.com', 'not the passphrase'));
  await untilRefused(() => ann.batch([{ kind: 'emit', target: objects[1], payload: '{}' }]));
  assert.equal((await admin(system.socketPath, 'anchor_now')).ok, true);
}

before(async () => {
  receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/bad' ? 500 : 204).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const target = `127.0.0.1:${await freePort()}`;
  metricsUrl = `http://${target}/metrics`;
  system = await startDevelopment({
    KEDGE_METRICS_LISTEN: target,
    KEDGE_WEBHOOK_ALLOWED_NETWORKS: '["127.0.0.0/8"]',
    KEDGE_WEBHOOK_RETRY_SCHEDULE_S: '[0]',
    // Tracing, so that Prometheus scrapes OpenMetrics; any server that takes a POST will do as the collector.
    KEDGE_TRACING_ENDPOINT: `http://127.0.0.1:${receiver.address().port}`,
    KEDGE_TRACING_SAMPLE_RATIO: '1',
  });
  prometheus = await startPrometheus(target);
  // Rates need a sample from before the load.
  await eventually('a scrape', async () => (await prometheus.query('up{job="kedge"} == 1')).length === 1);
  rules = await prometheus.rules();
  await load();
  await eventually('an anchor and two deliveries', async () => {
    const text = await (await fetch(metricsUrl)).text();
    const has = (line) => new RegExp(`^${line} [1-9]`, 'm').test(text);
    return ['kedge_anchor_gas_used_count', 'kedge_webhook_deliveries_total\\{status="delivered"\\}', 'kedge_webhook_deliveries_total\\{status="failed"\\}'].every(has);
  });
});

after(async () => {
  await stream?.body.cancel();
  receiver?.close();
  await prometheus?.stop();
  if (system) assert.equal(await system.stop(), 0, 'the server drains and ends well');
});

/** The types of the exported metrics, by their names. */
async function exported() {
  const text = await (await fetch(metricsUrl)).text();
  return new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]));
}

/** Every document that names metrics, with its text. */
const places = () => [
  ...targets.map(({ where, expr }) => [where, expr]),
  ...dashboards().flatMap(([file, { templating }]) => templating.list.map(({ name, definition = '' }) => [`${file}: $${name}`, definition])),
  ...rules.map(({ name, query }) => [name, query]),
  ...consoles(),
];

/** Names in the program of metrics of clusters and edges; a single node, as in these tests, exports none of them. */
const ofCluster = new Set(
  ['crates/cluster/src', 'src/edge'].flatMap((folder) => {
    const text = readFileSync(new URL(`../../${folder}/metric_definitions.rs`, import.meta.url), 'utf8');
    return text.match(/kedge_(cluster|edge)_\w+/g);
  }),
);
const needsCluster = (text) => /kedge_(cluster|edge)_/.test(text);

test('what panels, rules and the console name is exported, and what is exported is named', async () => {
  const types = await exported();
  const samples = new Set([...types].flatMap(([name, type]) => (type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name])));
  const named = new Set();
  for (const [where, text] of places()) {
    for (const [name] of text.matchAll(METRIC)) {
      if (needsCluster(name)) {
        assert.ok(ofCluster.has(name.replace(/_(bucket|sum|count)$/, '')), `${where} names ${name}, which no node exports`);
        continue;
      }
      assert.ok(samples.has(name), `${where} names ${name}, which the server does not export`);
      named.add(name);
    }
  }
  const prose = documents();
  for (const [name, type] of types) {
    if (!name.startsWith('kedge_')) continue;
    const used = type === 'histogram' ? ['_bucket', '_sum', '_count'].some((end) => named.has(name + end)) : named.has(name);
    assert.ok(used || prose.includes(name), `${name} is in no panel, no rule and no document`);
  }
  assert.ok(types.size > 30, 'the server exports its metrics');
});

test('what rules record is used, and what is used is recorded', () => {
  const names = new Set(recorded().map(({ name }) => name));
  const used = new Set(places().flatMap(([, text]) => text.match(RECORDED) ?? []));
  assert.deepEqual([...used].sort(), [...names].sort());
});

/** Waits for a nonempty answer from Prometheus; returns it. */
async function answered(where, expr) {
  const seen = async () => {
    const result = await prometheus.query(expr);
    return result.length > 0 && result;
  };
  return eventually(`${where}: ${expr}`, seen, 15_000);
}

test("every panel's query has data after load, with the labels that its legend names", async () => {
  assert.ok(targets.length > 80, `${targets.length} queries`);
  for (const { where, expr, legendFormat } of targets.filter(({ expr }) => !needsCluster(expr))) {
    const [{ metric }] = await answered(where, expr);
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      // A placeholder for "none" has no labels.
      assert.ok(label in metric || expr.includes('vector(0)'), `${where}: the legend names ${label}; there is ${Object.keys(metric)}`);
    }
  }
});

test("every rule's query is answered, and what an alert watches is there", async () => {
  for (const { name, query, health, lastError } of rules) {
    assert.equal(health, 'ok', `${name}: ${lastError}`);
    await prometheus.query(query);
    if (query.startsWith('absent(') || needsCluster(query)) continue;
    await answered(name, watched(query));
  }
  // People soon ignore an alert that a healthy server sets off.
  for (const name of ['KedgeServerDown', 'KedgeNotScraped', 'KedgeReadOnly', 'KedgeClockSkew', 'KedgeCommitFailed', 'KedgeOverloaded']) {
    const { query } = alerts().find((alert) => alert.name === name);
    assert.deepEqual(await prometheus.query(query), [], name);
  }
});

// Holds invariant 198.
test('a bucket of the request times leads to a trace', async () => {
  const stored = await eventually('an exemplar', async () => {
    const found = await prometheus.exemplars('kedge_http_request_seconds_bucket{route="/templates"}');
    return found.length > 0 && found;
  });
  for (const { labels, value } of stored.flatMap(({ exemplars }) => exemplars)) {
    assert.match(labels.trace_id, /^[0-9a-f]{32}$/);
    assert.ok(Number(value) > 0);
  }
});

test('counters that nothing has counted yet are 0 and not absent', async () => {
  for (const name of ['kedge_storage_commit_failures_total', 'kedge_requests_overloaded_total', 'kedge_event_streams_cut_off_total', 'kedge_rate_limited_total{policy="tier-day"}']) {
    const [{ value }] = await answered(name, name);
    assert.equal(value[1], '0', name);
  }
});

test('a request whose caller went away is not in flight for ever', async () => {
  const { hostname, port } = new URL(system.baseUrl);
  const payload = '{"properties":{"left":true}}';
  for (const [i, target] of objects.slice(10, 40).entries()) {
    const { headers } = await ann.sign([{ kind: 'update', target, payload }]);
    const fields = { host: hostname, authorization: `Bearer ${ann.token}`, 'content-type': 'application/json', 'content-length': payload.length, ...headers };
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`PATCH /objects/${target} HTTP/1.1\r\n${Object.entries(fields).map((field) => field.join(': ')).join('\r\n')}\r\n\r\n${payload}`);
    // Ends at a different moment of the request each time.
    await sleep(i % 10);
    socket.destroy();
    await once(socket, 'close');
  }
  await eventually('nothing is in flight', async () => /^kedge_requests_under_way 0$/m.test(await (await fetch(metricsUrl)).text()), 10_000);
});

test('every alert has unit tests, and an entry in the runbook to which it links', () => {
  const tests = alertTests();
  const text = runbook();
  const entries = new Map(text.split(/^## /m).slice(1).map((entry) => [entry.split('\n', 1)[0], entry]));
  assert.deepEqual([...entries.keys()].sort(), alerts().map(({ name }) => name).sort());
  for (const { name, annotations, labels } of alerts()) {
    assert.equal(annotations.runbook_url, `dashboards/RUNBOOK.md#${name.toLowerCase()}`);
    for (const part of ['**Meaning.**', '**Look at.**', '**Do.**']) assert.ok(entries.get(name).includes(part), `${name}: ${part}`);
    assert.ok(annotations.summary && annotations.description, name);
    assert.match(labels.severity, /^(critical|warning)$/, name);
    assert.match(tests, new RegExp(`alertname="${name}"[^\\n]*\\n\\s+value: 1`), `${name} is never seen to fire`);
  }
});

test('dashboards import into Grafana 10: a variable for the source, and for each panel a text, a unit, a place', () => {
  const uids = new Set();
  for (const [file, { uid, title, schemaVersion, templating, panels }] of dashboards()) {
    assert.ok(schemaVersion >= 38 && title, file);
    assert.equal(`${uid}.json`, file);
    uids.add(uid);
    assert.ok(templating.list.some(({ name, type }) => name === 'datasource' && type === 'datasource'), file);
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, file);
    const taken = new Set();
    for (const panel of panels) {
      const { x, y, w, h } = panel.gridPos;
      assert.ok(x + w <= 24, `${file}: ${panel.title}`);
      for (let cell = 0; cell < w * h; cell += 1) {
        const place = `${x + (cell % w)},${y + Math.floor(cell / w)}`;
        assert.ok(!taken.has(place), `${file}: ${panel.title} lies on another panel`);
        taken.add(place);
      }
      if (panel.type === 'row') continue;
      assert.ok(panel.description, `${file}: ${panel.title} has no description`);
      if (panel.type === 'text') continue;
      assert.ok(panel.fieldConfig.defaults.unit && panel.fieldConfig.defaults.thresholds, `${file}: ${panel.title}`);
      for (const { datasource } of [panel, ...panel.targets]) assert.equal(datasource.uid, '${datasource}', `${file}: ${panel.title}`);
    }
  }
  assert.equal(uids.size, 7);
});

test('the console shows the server without anything of a Prometheus installation', async () => {
  const response = await prometheus.page('/consoles/kedge.html');
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(text, new RegExp(`<h2>${metricsUrl.split('/')[2]}</h2>`));
  assert.match(text, /<td>Actions in the log<\/td>\s*<td>[1-9]/);
});
