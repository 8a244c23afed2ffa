// A real Prometheus with the project's own rules, and readers of the dashboards' files.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, freePort, start, stop } from './harness.mjs';

const folder = (name) => fileURLToPath(new URL(`../../${name}/`, import.meta.url));
const DASHBOARDS = folder('dashboards');
const PROMETHEUS = folder('dashboards/prometheus');
const GRAFANA = folder('dashboards/grafana/dashboards');
const DOCS = folder('docs');

const filesOf = (path, ending) => readdirSync(path).filter((name) => name.endsWith(ending)).map((name) => [name, readFileSync(join(path, name), 'utf8')]);

/** Prometheus with the project's configuration, except for the target's address and the intervals. */
export async function startPrometheus(target) {
  const directory = mkdtempSync(join(tmpdir(), 'kedge-prometheus-'));
  const shipped = readFileSync(join(PROMETHEUS, 'prometheus.yml'), 'utf8');
  const configuration = shipped.replaceAll(/interval: 15s/g, 'interval: 1s').replace('127.0.0.1:9464', target).replace('- rules/', `- ${PROMETHEUS}rules/`);
  const path = join(directory, 'prometheus.yml');
  writeFileSync(path, configuration);
  const port = await freePort();
  const child = start(process.env.PROMETHEUS_BIN ?? 'prometheus', [
    `--config.file=${path}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    `--web.console.templates=${join(PROMETHEUS, 'consoles')}`,
    `--web.console.libraries=${join(PROMETHEUS, 'consoles')}`,
    '--enable-feature=exemplar-storage',
  ], process.env);
  const url = `http://127.0.0.1:${port}`;
  const cleanUp = async () => {
    await stop(child, 'SIGTERM');
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await Promise.race([child.failed, eventually('Prometheus', async () => (await fetch(`${url}/-/ready`)).ok)]);
  } catch (error) {
    await cleanUp();
    throw error.code === 'ENOENT' ? new Error('prometheus was not found: scripts/monitor.sh gets it; PROMETHEUS_BIN may name it', { cause: error }) : error;
  }
  const api = async (name, parameters = {}) => {
    const answer = await (await fetch(`${url}/api/v1/${name}?${new URLSearchParams(parameters)}`)).json();
    if (answer.status !== 'success') throw new Error(`${JSON.stringify(parameters)}: ${answer.error}`);
    return answer.data;
  };
  return {
    /** The present result of a query. */
    query: async (query) => (await api('query', { query })).result,
    /** A query's exemplars of the last ten minutes. */
    exemplars: (query) => api('query_exemplars', { query, start: Date.now() / 1000 - 600, end: Date.now() / 1000 + 60 }),
    /** All rules that Prometheus has loaded. */
    rules: async () => (await api('rules')).groups.flatMap(({ rules }) => rules),
    page: (path) => fetch(`${url}${path}`),
    stop: cleanUp,
  };
}

/** The dashboards: [file name, content]. */
export const dashboards = () => filesOf(GRAFANA, '.json').map(([name, text]) => [name, JSON.parse(text)]);

/** The texts of the alerts' unit tests, of their runbook, of all documents, and of the console. */
export const alertTests = () => filesOf(join(PROMETHEUS, 'tests'), '.yml').map(([, text]) => text).join('\n');
export const runbook = () => readFileSync(join(DASHBOARDS, 'RUNBOOK.md'), 'utf8');
export const documents = () => [...filesOf(DOCS, '.md'), ...filesOf(join(DOCS, 'operations'), '.md')].map(([, text]) => text).concat(runbook()).join('\n');
export const consoles = () => filesOf(join(PROMETHEUS, 'consoles'), '.html');
