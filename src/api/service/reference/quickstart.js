// The quickstart: from a new key to an object that is read with its proof. Tests run it in each language.

const QUICKSTART = [
  {
    title: 'Get a client',
    text: 'The SDKs sign every change and check every receipt. For curl, the program `kedge` signs.',
    curl: `# kedge is the server's own program; jq reads the answers
URL=${origin}
kedge keys new ann.key`,
    typescript: `// in a clone of Kedge, in sdk/typescript: npm ci && npm run build && npm pack
// then, in your project: npm install /path/to/kedge-sdk-0.1.0.tgz
import { KedgeClient, generateKey } from '@kedge/sdk';

const key = generateKey(); // keep it: no other key can replace it
const kedge = new KedgeClient({ baseUrl: '${origin}', signer: key });`,
    python: `# in a clone of Kedge: pip install ./sdk/python
import time
from kedge import Kedge, KeySigner

key = KeySigner.random()  # or KeySigner("0x…") for a key that you keep
client = Kedge("${origin}", key=key)`,
  },
  {
    title: 'Register a wallet',
    text: 'The key becomes the first key of a new wallet, in a new organization. You are logged in.',
    curl: `cat >body.json <<END
{"email": "$(date +%s)@example.com", "password": "${PASSWORD}",
 "address": "$(kedge keys address --key-file ann.key)",
 "blind": "$(head -c 16 /dev/urandom | base64)"}
END
kedge sign --url $URL --key-file ann.key --kind wallet.register \\
  --digest --payload body.json --nonce 1 >headers
curl -fsS -H @headers -H 'Content-Type: application/json' \\
  --data-binary @body.json $URL/wallets/register >wallet.json
TOKEN=$(jq -r .access_token wallet.json)`,
    typescript: `const { wallet } = await kedge.registerWallet({
  email: \`\${Date.now()}@example.com\`,
  password: '${PASSWORD}',
});
console.log('registered', wallet.id);`,
    python: `email = f"{time.time_ns()}@example.com"
answer = client.register(email, "${PASSWORD}")
print("registered", answer["wallet"]["id"])`,
  },
  {
    title: 'Create a template',
    text: 'A template defines its objects: what they hold, and who may do what.',
    curl: `echo '{"name": "ticket", "properties": {"gate": "D"}}' >body.json
kedge sign --url $URL --key-file ann.key --kind template.create \\
  --payload body.json --nonce 2 >headers
curl -fsS -H @headers -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  --data-binary @body.json $URL/templates >template.json
TEMPLATE=$(jq -r .id template.json)`,
    typescript: `const template = await kedge.createTemplate({
  name: 'ticket',
  properties: { gate: 'D' },
});`,
    python: `template = client.create_template({
    "name": "ticket",
    "properties": {"gate": "D"},
})`,
  },
  {
    title: 'Mint an object',
    text: 'The answer is durable, and its receipt gives the action a place in the log.',
    curl: `echo '{"template_id": "'$TEMPLATE'", "properties": {"seat": 1}}' >body.json
kedge sign --url $URL --key-file ann.key --kind mint --target $TEMPLATE \\
  --payload body.json --nonce 3 >headers
curl -fsS -H @headers -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  --data-binary @body.json $URL/objects >object.json
kedge verify receipt object.json --url $URL`,
    typescript: `const ticket = await kedge.mintObject({
  template_id: template.id,
  properties: { seat: 1 },
});
console.log('minted', ticket.id, 'at sequence', ticket.sequence);`,
    python: `ticket = client.mint_object({
    "template_id": template["id"],
    "properties": {"seat": 1},
})
print("minted", ticket["id"], "at sequence", ticket["sequence"])`,
  },
  {
    title: 'Read it with its proof',
    text: 'The server signs a root over everything once a minute. The proof leads from the object to that root.',
    curl: `OBJECT=$(jq -r .id object.json)
SEQUENCE=$(jq -r .sequence object.json)
curl -fsS -H "Authorization: Bearer $TOKEN" \\
  "$URL/objects/$OBJECT?prove=true&min_sequence=$SEQUENCE&wait=60" >proven.json
kedge verify state proven.json --url $URL`,
    typescript: `const { proven } = await kedge.objects.get(ticket.id, {
  prove: true,
  minSequence: ticket.sequence,
  wait: 60,
});
console.log(proven.statement);`,
    python: `# raises unless the object is what its proof shows
proven = client.objects.get(
    ticket["id"], prove=True, min_sequence=ticket["sequence"], wait=60
)
print("proven:", proven["properties"])`,
  },
];

function quickstart() {
  const whole = () => QUICKSTART.map((step) => step[language]).join('\n\n') + '\n';
  const step = ({ title, text, ...texts }, i) =>
    el('li', {}, el('div', { class: 'step' }, el('h3', {}, el('span', { class: 'count', 'aria-hidden': 'true' }, String(i + 1)), title), el('p', {}, words(text))), codeBox(title, [{ title, texts }]));
  return el(
    'section',
    { class: 'quickstart', 'aria-labelledby': 'quickstart' },
    el('div', { class: 'row' }, el('h2', { id: 'quickstart' }, 'Quickstart'), copyButton(whole, 'Copy the whole program')),
    el('ol', {}, QUICKSTART.map(step)),
  );
}
