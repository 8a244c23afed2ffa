// Compiles the contracts from their source alone and writes, or checks, the artifacts that the server embeds.
'use strict';

const { execFileSync } = require('node:child_process');
const { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const solc = require('solc');

const ROOT = path.join(__dirname, '..');
const CONTRACTS = [
  'KedgeAnchor',
  'KedgeJudge',
  'KedgeStateJudge',
  'KedgeStateHistoryJudge',
  'KedgeStateSignerJudge',
  'KedgeBond',
  'KedgeClaims',
  'Groth16Verifier',
];

/** The settings that forge builds and tests with: foundry.toml is the one place for them. */
function compilerSettings() {
  const forge = path.join(ROOT, 'node_modules', '.bin', 'forge');
  const config = JSON.parse(execFileSync(forge, ['config', '--json'], { cwd: ROOT, encoding: 'utf8' }));
  return {
    evmVersion: config.evm_version,
    optimizer: { enabled: config.optimizer, runs: config.optimizer_runs },
    viaIR: config.via_ir,
    metadata: { bytecodeHash: config.bytecode_hash, appendCBOR: config.cbor_metadata },
  };
}

function readImport(name) {
  const file = [path.join(ROOT, name), path.join(ROOT, 'node_modules', name)].find(existsSync);
  return file ? { contents: readFileSync(file, 'utf8') } : { error: `${name} not found` };
}

function compile(settings) {
  const sources = {};
  for (const name of readdirSync(path.join(ROOT, 'src')).sort()) {
    sources[`src/${name}`] = { content: readFileSync(path.join(ROOT, 'src', name), 'utf8') };
  }
  const contractOutput = ['abi', 'evm.bytecode.object', 'evm.bytecode.linkReferences', 'evm.deployedBytecode'];
  const input = {
    language: 'Solidity',
    sources,
    settings: { ...settings, outputSelection: { '*': { '': ['ast'], '*': contractOutput } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport }));
  const failures = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (failures.length > 0) throw new Error(failures.map((error) => error.formattedMessage).join('\n'));
  return output;
}

/** Byte ranges of the deployed code that the constructor fills in, by the immutable's name. */
function immutables(output, deployed) {
  const names = new Map();
  for (const { ast } of Object.values(output.sources)) {
    for (const contract of ast.nodes.filter((node) => node.nodeType === 'ContractDefinition')) {
      for (const node of contract.nodes) names.set(String(node.id), node.name);
    }
  }
  return Object.fromEntries(
    Object.entries(deployed.immutableReferences)
      .map(([id, ranges]) => [names.get(id), ranges])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function artifact(output, settings, contractName) {
  const sourceName = `src/${contractName}.sol`;
  const { abi, evm } = output.contracts[sourceName][contractName];
  if (Object.keys(evm.bytecode.linkReferences).length > 0) throw new Error('the bytecode has unlinked libraries');
  return {
    contractName,
    sourceName,
    compiler: { version: solc.version(), settings },
    abi,
    bytecode: `0x${evm.bytecode.object}`,
    deployedBytecode: `0x${evm.deployedBytecode.object}`,
    immutables: immutables(output, evm.deployedBytecode),
  };
}

const settings = compilerSettings();
const output = compile(settings);
for (const contractName of CONTRACTS) {
  const file = path.join(ROOT, 'artifacts', `${contractName}.json`);
  const shown = path.relative(ROOT, file);
  const text = `${JSON.stringify(artifact(output, settings, contractName), null, 2)}\n`;
  if (process.argv[2] === '--check') {
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
      console.error(`${shown} is not what the source compiles to: run scripts/artifacts.sh`);
      process.exit(1);
    }
    console.log(`${shown} is what the source compiles to`);
  } else {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`wrote ${shown}`);
  }
}
