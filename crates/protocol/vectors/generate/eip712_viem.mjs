// Writes eip712.json: requests, headers and checkpoints, hashed and signed by viem.
// Usage: node eip712_viem.mjs <output file>
import { writeFileSync } from "node:fs";
import { concat, domainSeparator, encodePacked, getAddress, hashStruct, hashTypedData, hexToBytes, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const KEYS = {
  alice: "a1", bob: "b2", carol: "c3", sequencer: "5e",
};
const accounts = Object.fromEntries(
  Object.entries(KEYS).map(([name, byte]) => [name, privateKeyToAccount("0x" + byte.repeat(32))]),
);

const TYPES = {
  ActionRequest: [
    { name: "signer", type: "address" }, { name: "nonce", type: "uint64" }, { name: "deadline", type: "uint64" },
    { name: "atomic", type: "bool" }, { name: "actions", type: "Action[]" },
  ],
  Action: [
    { name: "kind", type: "string" }, { name: "target", type: "string" },
    { name: "payload", type: "string" }, { name: "salt", type: "bytes32" },
  ],
  Batch: [
    { name: "number", type: "uint64" }, { name: "firstSequence", type: "uint64" }, { name: "count", type: "uint32" },
    { name: "previousHead", type: "bytes32" }, { name: "head", type: "bytes32" }, { name: "root", type: "bytes32" },
    { name: "history", type: "bytes32" }, { name: "state", type: "bytes32" }, { name: "sealedAt", type: "uint64" },
  ],
  Checkpoint: [
    { name: "batches", type: "uint64" }, { name: "sequence", type: "uint64" }, { name: "head", type: "bytes32" },
    { name: "history", type: "bytes32" }, { name: "state", type: "bytes32" }, { name: "issuedAt", type: "uint64" },
  ],
};
const NUMBERS = new Set(["nonce", "deadline", "number", "firstSequence", "sealedAt", "batches", "sequence", "issuedAt"]);

const DOMAINS = [
  { label: "local chain", chainId: "31337", verifyingContract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" },
  { label: "mainnet", chainId: "1", verifyingContract: getAddress("0xde30da39c46104798bb5aa3fe8b9e0e1f348163f") },
  { label: "the same contract elsewhere", chainId: "11155111", verifyingContract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" },
  { label: "a chain id past 2^53", chainId: "9007199254740993", verifyingContract: "0x0000000000000000000000000000000000000001" },
];

const domainOf = (domain, version = "3") => ({
  name: "Digital Object Service", version, chainId: BigInt(domain.chainId), verifyingContract: domain.verifyingContract,
});
const typed = (primaryType) =>
  primaryType === "ActionRequest" ? { ActionRequest: TYPES.ActionRequest, Action: TYPES.Action } : { [primaryType]: TYPES[primaryType] };
const native = (message) =>
  Object.fromEntries(Object.entries(message).map(([field, value]) => [field, NUMBERS.has(field) ? BigInt(value) : value]));

const saltOf = (seed, index) => keccak256(encodePacked(["bytes32", "uint16"], [seed, index]));
const seedOf = (label) => keccak256(toHex("seed of " + label));

async function sign(domain, signer, primaryType, message, version) {
  const parameters = { domain: domainOf(domain, version), types: typed(primaryType), primaryType, message: native(message) };
  return {
    struct_hash: hashStruct({ data: parameters.message, types: parameters.types, primaryType }),
    digest: hashTypedData(parameters),
    signature: await accounts[signer].signTypedData(parameters),
  };
}

function messageOf({ label, signer = "alice", nonce = "1", deadline = "1800000000", atomic = false, actions }) {
  const seed = seedOf(label);
  return {
    salt_seed: seed,
    message: {
      signer: accounts[signer].address, nonce, deadline, atomic,
      actions: actions.map(([kind, target, payload], index) => ({ kind, target, payload, salt: saltOf(seed, index) })),
    },
  };
}

async function request(input) {
  const { label, domain = 0, signer = "alice" } = input;
  const { salt_seed, message } = messageOf(input);
  const signed = await sign(DOMAINS[domain], signer, "ActionRequest", message);
  const action_hashes = message.actions.map((data) =>
    hashStruct({ data, types: { Action: TYPES.Action }, primaryType: "Action" }));
  const authorities = message.actions.map((action) =>
    keccak256(concat([keccak256(signed.signature), action.salt])));
  return { label, domain, signer, salt_seed, message, action_hashes, ...signed, authorities };
}

const WALLET = "wal_1m5vq6v5j1fg2rjv5k8p5s7d4n";
const TEMPLATE = "tpl_7h8rh8fgrh07gkqn56z16p8nc6";
const OBJECT = "obj_5yrzzxc7r7qyrbt578rhejqh4m";
const KEY = "key_0c4sz2w8y1y5tq3j8mgd1v0e6r";
const HOOK = "whk_2s9h7m3k5p1q8v4x6z0b2d4f6h";
const ORGANIZATION = "org_3v7t1n5r9x2c4f6h8k0m1p3s5w";
const DIGEST = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";

// One request of each kind, with the target and payload rule of its endpoint.
const KINDS = [
  ["wallet.register", "", DIGEST], ["wallet.update", WALLET, '{"nickname":"al"}'],
  ["wallet.key_add", WALLET, '{"address":"0x75E0De31eCa89159a26b09cc3b5eF4736A4f8969"}'],
  ["wallet.key_remove", WALLET, ""], ["key.create", "", '{"name":"ci","permissions":[]}'],
  ["key.delete", KEY, ""], ["key.rotate", KEY, '{"overlap_seconds":3600}'],
  ["template.create", "", '{"name":"ticket","max_supply":10}'], ["template.update", TEMPLATE, '{"description":"x"}'],
  ["template.variations", TEMPLATE, '{"variations":[{"name":"red"},{"name":"blue"}]}'],
  ["mint", TEMPLATE, '{"properties":{"seat":"A1"}}'], ["update", OBJECT, '{"properties":{"seat":null}}'],
  ["transfer", OBJECT, '{"to":"0x75E0De31eCa89159a26b09cc3b5eF4736A4f8969"}'],
  ["lock", OBJECT, "{}"], ["unlock", OBJECT, "{}"], ["burn", OBJECT, "{}"],
  ["set_attributes", OBJECT, '{"attributes":{"a":1}}'], ["delete_attributes", OBJECT, '{"names":["a"]}'],
  ["emit", OBJECT, '{"note":"hello"}'], ["x.check_in", OBJECT, '{"gate":4}'], ["file.create", "plan.pdf", DIGEST],
  ["webhook.create", "", '{"url":"https://example.com/h","events":["*"]}'], ["webhook.update", HOOK, '{"active":false}'],
  ["webhook.delete", HOOK, ""], ["webhook.rotate", HOOK, ""], ["org.invite", ORGANIZATION, '{"role":"member"}'],
  ["org.role", ORGANIZATION, `{"wallet_id":"${WALLET}","role":"admin"}`],
  ["system.tier", ORGANIZATION, '{"tier":"developer"}'], ["system.verdict", "dsp_0a1b2c3d4e5f6g7h8j9k0m1n2p", '{"verdict":"upheld"}'],
  ["system.webhook_off", HOOK, '{"reason":"gone"}'],
];

const UNICODE = [
  ["two, three and four byte characters", '{"seat":"Ä2","sign":"€","face":"😀"}'],
  ["escapes stay as they are written", '{"seat":"\\u00c4\\u0001\\ud83d\\ude00"}'],
  ["composed and decomposed forms differ", '{"a":"\u00e9","b":"e\u0301"}'],
  ["white space inside is kept", '{ "a" :\t1,\n "b": [ 1 , 2 ] }'],
  ["numbers keep their spelling", '{"a":1.0,"b":1e0,"c":12.50,"d":-0,"e":123456789012345678901234567890}'],
  ["a byte order mark and a line separator", "\ufeff\u2028"],
  ["a NUL character", "\u0000"],
  ["a long payload", JSON.stringify({ text: "abcdefghij".repeat(700) })],
];

const BOUNDARIES = [
  { label: "empty payload", actions: [["burn", OBJECT, ""]] },
  { label: "everything empty", actions: [["", "", ""]] },
  { label: "no action (hashes, but the service refuses it)", actions: [] },
  { label: "atomic", atomic: true, actions: [["lock", OBJECT, "{}"], ["unlock", OBJECT, "{}"]] },
  { label: "nonce 0", nonce: "0", actions: [["lock", OBJECT, "{}"]] },
  { label: "nonce 2^53 + 1", nonce: "9007199254740993", actions: [["lock", OBJECT, "{}"]] },
  { label: "nonce 2^64 - 1", nonce: "18446744073709551615", actions: [["lock", OBJECT, "{}"]] },
  { label: "deadline 0", deadline: "0", actions: [["lock", OBJECT, "{}"]] },
  { label: "deadline 2^64 - 1", deadline: "18446744073709551615", actions: [["lock", OBJECT, "{}"]] },
  { label: "another chain", domain: 1, actions: [["lock", OBJECT, "{}"]] },
  { label: "another chain, the same contract", domain: 2, actions: [["lock", OBJECT, "{}"]] },
  { label: "a large chain id", domain: 3, actions: [["lock", OBJECT, "{}"]] },
  { label: "bob signs", signer: "bob", actions: [["lock", OBJECT, "{}"]] },
  { label: "carol signs on mainnet, atomic", signer: "carol", domain: 1, atomic: true, actions: [["mint", TEMPLATE, "{}"], ["mint", TEMPLATE, "{}"]] },
  { label: "equal actions differ by salt", actions: Array(4).fill(["emit", OBJECT, "{}"]) },
  { label: "257 actions: the salt's index passes one byte", actions: Array.from({ length: 257 }, (_, i) => ["emit", OBJECT, String(i)]) },
  { label: "500 actions", atomic: true, actions: Array.from({ length: 500 }, (_, i) => ["mint", TEMPLATE, `{"n":${i}}`]) },
];

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const wordHex = (value) => toHex(value, { size: 32 }).slice(2);
function parts(signature) {
  const hex = signature.slice(2);
  return { r: hex.slice(0, 64), s: hex.slice(64, 128), v: Number.parseInt(hex.slice(128), 16) };
}
const join = (r, s, v) => "0x" + r + s + v.toString(16).padStart(2, "0");

// Signatures that are refused whatever message they come with.
function badSignatures(good) {
  const { r, s, v } = parts(good);
  const flipped = v === 27 ? 28 : 27;
  const compact = (BigInt("0x" + s) | (BigInt(v - 27) << 255n));
  const zero = "0".repeat(64);
  return [
    ["high s, v flipped to match", join(r, wordHex(ORDER - BigInt("0x" + s)), flipped)],
    ["high s, v as it was", join(r, wordHex(ORDER - BigInt("0x" + s)), v)],
    ["s just above half the order", join(r, wordHex(ORDER / 2n + 1n), v)],
    ...[2, 3, 26, 29, 35, 37, 255].map((bad) => [`v is ${bad}`, join(r, s, bad)]),
    ["the other v", join(r, s, flipped)],
    ["64 bytes", "0x" + r + s], ["EIP-2098 compact form", "0x" + r + wordHex(compact)],
    ["66 bytes", good + "00"], ["no byte", "0x"], ["all zero", "0x" + "00".repeat(65)],
    ["r is zero", join(zero, s, v)], ["s is zero", join(r, zero, v)],
    ["r is the order", join(wordHex(ORDER), s, v)], ["s is the order", join(r, wordHex(ORDER), v)],
    ["r and s exchanged", join(s, r, v)], ["one bit of r flipped", join(wordHex(BigInt("0x" + r) ^ 1n), s, v)],
  ];
}

// Messages that the good signature does not cover.
function mutations(message) {
  const change = (fields) => ({ ...message, ...fields });
  const first = (fields) => change({ actions: [{ ...message.actions[0], ...fields }, ...message.actions.slice(1)] });
  const [one, two] = message.actions;
  return [
    ["nonce changed", change({ nonce: "8" })], ["deadline changed", change({ deadline: "1800000001" })],
    ["atomic changed", change({ atomic: !message.atomic })], ["signer changed", change({ signer: accounts.bob.address })],
    ["kind changed", first({ kind: "burn" })], ["target changed", first({ target: TEMPLATE })],
    ["a space added to the payload", first({ payload: one.payload + " " })],
    ["a number spelled otherwise", first({ payload: '{"properties":{"n":1}}' })],
    ["salt changed", first({ salt: two.salt })], ["an action left out", change({ actions: [one] })],
    ["an action added", change({ actions: [one, two, two] })], ["actions exchanged", change({ actions: [two, one] })],
  ];
}

async function mustRefuse() {
  const label = "base of the refused";
  const base = messageOf({ label, nonce: "7", actions: [["update", OBJECT, '{"properties":{"n":1.0}}'], ["lock", OBJECT, "{}"]] });
  const good = await sign(DOMAINS[0], "alice", "ActionRequest", base.message);
  const entry = (why, signature, { message = base.message, domain = 0 } = {}) => ({ why, domain, message, signature });
  const oldVersion = await sign(DOMAINS[0], "alice", "ActionRequest", base.message, "2");
  const byBob = await sign(DOMAINS[0], "bob", "ActionRequest", base.message);
  return {
    good: { domain: 0, message: base.message, ...good },
    refused: [
      ...badSignatures(good.signature).map(([why, signature]) => entry(why, signature)),
      entry("signed for another chain", good.signature, { domain: 2 }),
      entry("signed for another chain and contract", good.signature, { domain: 1 }),
      entry("signed for version 2 of the domain", oldVersion.signature),
      entry("signed by another key", byBob.signature),
      ...mutations(base.message).map(([why, message]) => entry(why, good.signature, { message })),
    ],
  };
}

// The same signature in the two spellings of v: both are taken, one is kept.
function spellings(signed) {
  const { r, s, v } = parts(signed.signature);
  return { received: join(r, s, v - 27), kept: signed.signature, kept_hash: keccak256(signed.signature) };
}

const FILL = (byte) => "0x" + byte.repeat(32);
const HEADERS = [
  { number: "0", firstSequence: "1", count: 1, sealedAt: "1790000000100" },
  { number: "41", firstSequence: "9007199254740993", count: 500, sealedAt: "1790000000101" },
  { number: "18446744073709551615", firstSequence: "18446744073709551615", count: 4294967295, sealedAt: "18446744073709551615" },
].map((fields) => ({ ...fields, previousHead: FILL("11"), head: FILL("22"), root: FILL("33"), history: FILL("44"), state: FILL("00") }));
const CHECKPOINTS = [
  { batches: "0", sequence: "0", issuedAt: "0" },
  { batches: "42", sequence: "9007199254741492", issuedAt: "1790000000200" },
  { batches: "18446744073709551615", sequence: "18446744073709551615", issuedAt: "18446744073709551615" },
].map((fields) => ({ ...fields, head: FILL("22"), history: FILL("44"), state: FILL("00") }));

async function signedBySequencer(primaryType, messages) {
  const out = [];
  for (const domain of [0, 1]) {
    for (const message of messages) out.push({ domain, message, ...(await sign(DOMAINS[domain], "sequencer", primaryType, message)) });
  }
  return out;
}

const inputs = [
  ...BOUNDARIES,
  ...UNICODE.map(([label, payload]) => ({ label, actions: [["emit", OBJECT, payload]] })),
  { label: "a file's name in UTF-8", actions: [["file.create", "Grundriß – 平面図.pdf", DIGEST]] },
  ...KINDS.map((action, index) => ({
    label: "kind " + action[0], nonce: String(100 + index), domain: index % 2,
    signer: action[0].startsWith("system.") ? "carol" : "alice", actions: [action],
  })),
];

const requests = [];
for (const input of inputs) requests.push(await request(input));

const output = {
  about: "EIP-712 vectors made by viem and checked by eth-account. Keys are for tests only. See README.md.",
  domains: DOMAINS.map((domain) => ({ ...domain, separator: domainSeparator({ domain: domainOf(domain) }) })),
  keys: Object.fromEntries(Object.entries(accounts).map(([name, { address }]) => [name, { private: "0x" + KEYS[name].repeat(32), address }])),
  requests,
  headers: await signedBySequencer("Batch", HEADERS),
  checkpoints: await signedBySequencer("Checkpoint", CHECKPOINTS),
  spellings: requests.slice(0, 6).map(spellings),
  must_refuse: await mustRefuse(),
};

// One line per array element that is an object of plain values: small files, readable differences.
function compact(value, indent = "") {
  const inner = indent + " ";
  const flat = JSON.stringify(value);
  if (value === null || typeof value !== "object" || flat.length < 160) return flat;
  const rows = Array.isArray(value)
    ? value.map((item) => inner + compact(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${compact(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${rows.join(",\n")}\n${indent}${close}`;
}

if (process.argv.length !== 3) throw new Error("usage: node eip712_viem.mjs <output file>");
if (hexToBytes(requests[0].signature).length !== 65) throw new Error("viem made a signature of another length");
writeFileSync(process.argv[2], compact(output) + "\n");
