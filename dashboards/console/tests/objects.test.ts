// Objects and templates: fields that a schema draws, actions that are final, differences, and the table of objects.

import { JsonText, type KedgeClient } from '@kedge/sdk';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { DESK, PHONE, type Watched, go, logIn, open, person, seriousFindings, stage } from './harness';

const on = stage();
const shots = process.env['CONSOLE_SHOTS'];

/** A schema with everything that fields can show, something that they cannot, and a rule that only the server checks. */
const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', maxLength: 20, description: 'What it is called.' },
    code: { type: 'string', title: 'Code', pattern: '^[A-Z]+$' },
    story: { type: 'string', title: 'Story', maxLength: 2000 },
    seat: { type: 'integer', title: 'Seat', minimum: 1, 'x-index': true },
    price: { type: 'number', title: 'Price', minimum: 0 },
    category: { title: 'Category', enum: ['stalls', 'balcony'] },
    evening: { type: 'string', format: 'date', title: 'Evening' },
    begins: { type: 'string', format: 'date-time', title: 'Begins' },
    used: { type: 'boolean', title: 'Used' },
    gate: { type: 'string', title: 'Gate', default: 'D' },
    venue: { type: 'object', title: 'Venue', properties: { city: { type: 'string', title: 'City' }, hall: { $ref: '#/$defs/hall' } }, required: ['city'] },
    tags: { type: 'array', title: 'Tags', items: { type: 'string', pattern: '^[a-z]+$' }, maxItems: 3 },
    extra: { title: 'Extra', anyOf: [{ type: 'number' }, { type: 'array' }] },
  },
  required: ['name', 'seat', 'category', 'venue'],
  additionalProperties: false,
  $defs: { hall: { type: 'integer', title: 'Hall', minimum: 1 } },
};

const PROPERTIES = { name: 'Front row', code: 'AB', seat: 7, category: 'stalls', venue: { city: 'Bergen' }, tags: ['a', 'b'] };

interface Begun extends Watched {
  readonly client: KedgeClient;
  readonly template: string;
  readonly email: string;
  readonly key: `0x${string}`;
}

/** A page with a login that has a template with the schema. */
async function begun(options: Parameters<typeof open>[2] = {}): Promise<Begun> {
  const { client, email, key } = await person(on);
  const { id: template } = await client.createTemplate({ name: 'ticket', schema: SCHEMA as never });
  const watched = await open(on, '/', options);
  await logIn(watched.page, { email, key });
  return { ...watched, client, template, email, key };
}

/** An answer of the server as it is spelled. */
const spelled = (client: KedgeClient, path: string): Promise<string> =>
  fetch(`${on.server.baseUrl}${path}`, { headers: { authorization: `Bearer ${client.session?.access_token}` } }).then((answer) => answer.text());

/** What is said to be wrong with a field. */
const wrongAt = async (field: Locator): Promise<string> =>
  field.evaluate((control) => {
    const ids = control.getAttribute('aria-describedby')?.split(' ') ?? [];
    return ids.map((id) => document.getElementById(id)).filter((one) => one?.classList.contains('wrong')).map((one) => one?.textContent).join();
  });

/** The requests with this method to this path. */
function sent(page: Page, method: string, path: RegExp): string[] {
  const bodies: string[] = [];
  page.on('request', (request) => {
    if (request.method() === method && path.test(new URL(request.url()).pathname)) bodies.push(request.postData() ?? '');
  });
  return bodies;
}

/** What axe finds, and whether the page fits the screen; a screenshot where they are wanted. */
async function examined({ page }: Watched, name: string): Promise<string[]> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return [...(await seriousFindings(page)), ...(wide > 0 ? [`${wide} px wider than the screen`] : [])].map((text) => `${name}: ${text}`);
}

const field = (page: Page, label: string): Locator => page.getByLabel(label, { exact: true });

test('a schema draws the fields of a mint, and what is wrong is said at its field', async () => {
  const { page, context, faults, client, template } = await begun();
  const minted = sent(page, 'POST', /^\/objects$/);
  await go(page, `/templates/${template}`, 'Template');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  // What the page can see itself is not sent.
  await page.getByRole('alert').getByText('4 fields need a change').waitFor();
  expect(await wrongAt(field(page, 'Name'))).toBe('Fill this in.');
  expect(await wrongAt(field(page, 'Category'))).toBe('Choose one.');
  expect(await wrongAt(field(page, 'City'))).toBe('Fill this in.');
  expect(await field(page, 'Name').evaluate((control) => document.activeElement === control)).toBe(true);
  expect(await field(page, 'Name').getAttribute('required')).toBe('');
  expect(await field(page, 'Code').getAttribute('required')).toBeNull();
  expect(await field(page, 'Gate').inputValue()).toBe('D');
  expect(minted).toEqual([]);

  await field(page, 'Name').fill('a name that is far too long');
  await field(page, 'Code').fill('lower');
  await field(page, 'Story').fill('first line\nsecond line');
  await field(page, 'Seat').fill('1.5');
  await field(page, 'Price').fill('1.10');
  await field(page, 'Category').selectOption('balcony');
  await field(page, 'Evening').fill('2026-12-24');
  await field(page, 'Begins').fill('2026-12-24T19:30');
  await field(page, 'Used').selectOption('no');
  await field(page, 'City').fill('Oslo');
  await field(page, 'Hall').fill('0');
  await field(page, 'Extra').fill('[1.50, ');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('alert').getByText('4 fields need a change').waitFor();
  expect(await wrongAt(field(page, 'Name'))).toBe('Must have at most 20 characters; it has 27.');
  expect(await wrongAt(field(page, 'Seat'))).toBe('Write a whole number, such as 12.');
  expect(await wrongAt(field(page, 'Hall'))).toBe('Must be at least 1.');
  expect(await wrongAt(field(page, 'Extra'))).toMatch(/^This is no JSON/);

  await field(page, 'Name').fill('Front row');
  await field(page, 'Seat').fill('9007199254740993');
  await field(page, 'Hall').fill('2');
  await field(page, 'Extra').fill('[1.50, 2]');
  for (const tag of ['a', 'b', 'C']) {
    await page.getByRole('button', { name: 'Add to Tags' }).click();
    // The new field has the focus.
    await page.keyboard.type(tag);
  }
  await page.getByRole('button', { name: 'Remove Tags 1' }).click();
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  // What only the server checks is said at the same places, and nowhere else.
  await page.getByRole('alert').getByText('2 fields need a change').waitFor();
  expect(await wrongAt(field(page, 'Code'))).toMatch(/\^\[A-Z\]\+\$/);
  expect(await wrongAt(field(page, 'Tags 2'))).toMatch(/\^\[a-z\]\+\$/);
  expect(await wrongAt(field(page, 'Tags 1'))).toBe('');
  expect(await page.locator('.wrong').count()).toBe(2);
  expect(await page.getByRole('alert').textContent()).not.toContain('[A-Z]');

  await field(page, 'Code').fill('AB');
  await field(page, 'Tags 2').fill('c');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('heading', { level: 1, name: 'Object', exact: true }).waitFor();
  const text = await spelled(client, `/objects/${page.url().split('/').at(-1)}`);
  // Every number has the digits that were typed.
  for (const part of ['"price":1.10', '"seat":9007199254740993', '"extra":[1.50,2]', '"tags":["b","c"]', '"used":false', '"evening":"2026-12-24"']) expect(text).toContain(part);
  for (const part of ['"venue":{"city":"Oslo","hall":2}', '"gate":"D"', '"story":"first line\\nsecond line"', '"category":"balcony"']) expect(text).toContain(part);
  expect(JSON.parse(text).properties.begins).toMatch(/^2026-12-2[345]T.*Z$/);
  expect(faults).toEqual([]);
  await context.close();
});

test('an update sends what has changed alone, and its preview is a difference', async () => {
  const { page, context, faults, client, template } = await begun();
  const object = await client.mintObject({ template_id: template, properties: { ...PROPERTIES, price: 2.5, story: '', extra: [1.5] } as never });
  // Digits that a double does not keep.
  await client.submitAction({ action_type: 'update', object_id: object.id, payload: new JsonText('{"properties":{"price":2.50}}') });
  await go(page, `/objects/${object.id}`, 'Object');
  const posted = sent(page, 'POST', /^\/ebus\/actions$/);
  expect(await field(page, 'Name').inputValue()).toBe('Front row');
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByText('Nothing is changed yet').waitFor();
  await field(page, 'Price').fill('12.50');
  await field(page, 'Code').fill('');
  await field(page, 'Tags 2').fill('z');
  await page.getByRole('button', { name: 'Preview' }).click();
  const difference = page.getByRole('region', { name: 'What would happen' });
  await difference.waitFor();
  const rows = await difference.getByRole('row').evaluateAll((all) => all.slice(1).map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)));
  expect(rows).toEqual([
    ['Code', 'AB', 'not set'],
    ['Tags › 2', 'b', 'z'],
    ['Price', '2.50', '12.50'],
  ]);
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByText('The receipt was checked.').waitFor();
  expect(posted.map((body) => JSON.parse(body).payload)).toEqual([{ properties: { code: null, price: 12.5, tags: ['a', 'z'] } }]);
  expect(await spelled(client, `/objects/${object.id}`)).toContain('"price":12.50');

  // The form holds what the object holds now, and keeps the spelling of what is not changed.
  await expect.poll(() => field(page, 'Price').inputValue()).toBe('12.50');
  await page.getByRole('button', { name: 'As JSON' }).click();
  const json = field(page, 'Properties, as JSON');
  expect(await json.inputValue()).toContain('"price": 12.50');
  await json.fill('{"price": 12.50');
  await page.getByRole('button', { name: 'As JSON' }).click();
  expect(await wrongAt(json)).toMatch(/^This is no JSON/);
  await json.fill(JSON.stringify({ ...PROPERTIES, code: undefined, seat: 8, gate: 7 }));
  await page.getByRole('button', { name: 'As JSON' }).click();
  expect(await field(page, 'Seat').inputValue()).toBe('8');
  // A value that its field cannot show is JSON, and what is wrong with it is said there.
  expect(await field(page, 'Gate').inputValue()).toBe('7');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect.poll(() => wrongAt(field(page, 'Gate'))).toBe('Must be a text.');
  await field(page, 'Gate').fill('"E"');
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByText('The receipt was checked.').waitFor();
  await expect.poll(async () => JSON.parse(await spelled(client, `/objects/${object.id}`)).properties).toEqual({ ...PROPERTIES, code: undefined, seat: 8, gate: 'E' });

  // What the server refuses in a preview is said at the field too.
  await field(page, 'Code').fill('wrong');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect.poll(() => wrongAt(field(page, 'Code'))).toMatch(/\^\[A-Z\]\+\$/);
  expect(faults).toEqual([]);
  await context.close();
});

test('a schema that is no honest one leaves the page usable', async () => {
  const { client, email, key } = await person(on);
  const evil = '<img src=x onerror="document.title=\'owned\'">';
  const schema = {
    properties: {
      [evil]: { type: 'string', title: evil, description: evil },
      ['__proto__']: { $ref: '#/$defs/a~1b' },
      slow: { type: 'string', pattern: '^(a+)+$', title: 'Slow' },
      choice: { enum: [evil, null, 1.5], title: 'Choice' },
    },
    required: [],
    $defs: { 'a/b': { type: 'string', title: 'Referred' } },
  };
  const { id } = await client.createTemplate({ name: 'hostile', schema: schema as never });
  const { page, context, faults, outside } = await open(on);
  await logIn(page, { email, key });
  await go(page, `/templates/${id}`, 'Template');
  await field(page, evil).fill(evil);
  // The browser's engine would take for ever.
  await field(page, 'Slow').fill(`${'a'.repeat(40)}`);
  await field(page, 'Referred').fill('to');
  await page.getByText('Other properties', { exact: true }).click();
  await field(page, 'Other properties, as JSON').fill('{"name": "<b>bold</b>", "free": 1.0}');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('heading', { level: 1, name: 'Object', exact: true }).waitFor();
  await page.getByText('<b>bold</b>').first().waitFor();
  expect(await spelled(client, `/objects/${page.url().split('/').at(-1)}`)).toContain('"__proto__":"to"');
  expect(await page.evaluate(() => [document.querySelectorAll('main :is(img, b)').length, document.title])).toEqual([0, expect.not.stringContaining('owned')]);
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

test('burning asks for the object’s name, by keyboard alone', async () => {
  const { page, context, faults, client, template } = await begun();
  const object = await client.mintObject({ template_id: template, properties: PROPERTIES });
  await go(page, `/objects/${object.id}`, 'Object');
  const posted = sent(page, 'POST', /^\/ebus\/actions$/);
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
  await page.getByRole('radio', { name: 'Update' }).focus();
  for (let i = 0; i < 10 && !(await page.getByRole('radio', { name: 'Burn' }).isChecked()); i += 1) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Sign and send');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Burn this object for good?' });
  await dialog.getByText('Burning is final.').waitFor();
  const word = dialog.getByLabel('Type the object’s name, Front row, to go on');
  expect(await word.evaluate((control) => document.activeElement === control)).toBe(true);
  // The focus stays in the dialog.
  for (let i = 0; i < 6; i += 1) {
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null)).toBe(true);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(focused).toBe('Sign and send');
  await page.keyboard.press('Enter');
  await word.waitFor();
  await page.keyboard.type('Front rows');
  await page.keyboard.press('Enter');
  expect(await dialog.getByRole('button', { name: 'Burn it' }).isDisabled()).toBe(true);
  expect(posted).toEqual([]);
  await page.keyboard.press('Backspace');
  await page.keyboard.press('Enter');
  await page.getByText('The receipt was checked.').waitFor();
  await page.getByText('The object is burned: nothing more can be done with it.').waitFor();
  expect(await page.getByRole('button', { name: 'Sign and send' }).count()).toBe(0);
  expect((await client.getObject(object.id)).status).toBe('burned');
  expect(posted.map((body) => JSON.parse(body).action_type)).toEqual(['burn']);
  expect(faults).toEqual([]);
  await context.close();
});

test('a transfer asks for the end of the id of an object without a name, and only what is allowed is offered', async () => {
  const other = await person(on);
  const { client, email, key } = await person(on);
  const { id: template } = await client.createTemplate({ name: 'plain', public_access: true, actions: [{ kind: 'x.stamp', who: 'anyone' }, { kind: 'lock', who: 'issuer' }] });
  const object = await client.mintObject({ template_id: template });
  const { page, context, faults } = await open(on);
  await logIn(page, { email, key });
  await go(page, `/objects/${object.id}`, 'Object');
  const kinds = (): Promise<string[]> => page.getByRole('radio').evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''));
  await expect.poll(kinds).toEqual(['update', 'set_attributes', 'delete_attributes', 'transfer', 'lock', 'emit', 'burn', 'x.stamp']);
  await page.getByRole('radio', { name: 'Transfer' }).check();
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByLabel('To', { exact: true }).fill(other.client.address);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('region', { name: 'What would happen' }).getByText('Owner').waitFor();
  await page.getByRole('button', { name: 'Sign and send' }).click();
  const dialog = page.getByRole('dialog', { name: 'Give this object away?' });
  await dialog.getByText(other.client.address).waitFor();
  await dialog.getByLabel(`Type the last 6 characters of the object’s id, ${object.id.slice(-6)}, to go on`).fill(object.id.slice(-6));
  await dialog.getByRole('button', { name: 'Transfer it' }).click();
  await page.getByText('The receipt was checked.').waitFor();
  // It belongs to another wallet now; the rules of the template say what is left.
  await expect.poll(kinds).toEqual(['lock', 'x.stamp']);
  await page.getByRole('radio', { name: 'Lock' }).check();
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByText('The object is locked, and the template does not let you unlock it.').waitFor();
  expect((await client.getObject(object.id)).owner_address).toBe(other.client.address);
  expect(faults).toEqual([]);
  await context.close();
});

test('the table of a template’s objects has its columns, and the address keeps the choice', async () => {
  const { page, context, faults, client, template } = await begun();
  const { id: plain } = await client.createTemplate({ name: 'plain <b>one</b>' });
  const { id: unnamed } = await client.mintObject({ template_id: plain, properties: { seat: 1 } });
  await client.mintObject({ template_id: template, properties: PROPERTIES });
  const second = await client.mintObject({ template_id: template, properties: { ...PROPERTIES, name: '<i>Back</i> row', seat: 31 } });
  await client.submitAction({ action_type: 'lock', object_id: second.id });
  const table = page.getByRole('region', { name: 'Objects' });
  const heads = (): Promise<string[]> => table.locator('th').allTextContents();
  const cells = (): Promise<(string | null)[][]> => table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)));

  await go(page, '/objects', 'Objects');
  await table.getByRole('link', { name: '<i>Back</i> row' }).waitFor();
  await table.getByRole('link', { name: unnamed.slice(0, 12) }).waitFor();
  await table.getByRole('link', { name: 'plain <b>one</b>' }).waitFor();
  expect(await heads()).toEqual(['Object', 'Template', 'Status', 'Owner', 'Changed']);

  await page.getByLabel('Template', { exact: true }).selectOption('ticket');
  await expect.poll(heads).toEqual(['Object', 'Code', 'Seat', 'Price', 'Category', 'Status', 'Owner', 'Changed']);
  await expect.poll(cells).toHaveLength(2);
  const changed = table.locator('time').first();
  expect(await changed.getAttribute('datetime')).toMatch(/^\d{4}-\d\d-\d\dT/);
  expect(await changed.getAttribute('title')).toMatch(/20\d\d/);
  expect(await changed.textContent()).toMatch(/now|second|minute/);

  await page.getByText('Columns', { exact: true }).click();
  await page.getByRole('checkbox', { name: 'Price' }).uncheck();
  await page.getByRole('checkbox', { name: 'Category' }).uncheck();
  await page.getByRole('checkbox', { name: 'Category' }).check();
  await page.getByRole('button', { name: 'Move Category to the left' }).click();
  await expect.poll(heads).toEqual(['Object', 'Code', 'Category', 'Seat', 'Status', 'Owner', 'Changed']);
  await page.getByLabel('Order').selectOption('Seat, lowest first');
  await expect.poll(async () => (await cells()).map((row) => row.slice(0, 5))).toEqual([
    ['Front row', 'AB', 'stalls', '7', 'active'],
    ['<i>Back</i> row', 'AB', 'stalls', '31', 'locked'],
  ]);
  await page.getByLabel('Status').selectOption('locked');
  await expect.poll(async () => (await cells()).map(([name]) => name)).toEqual(['<i>Back</i> row']);
  const address = new URL(page.url()).hash.slice(1);
  expect(address).toContain('columns=code%2Ccategory%2Cseat');

  // The same address shows the same table.
  await go(page, '/templates', 'Templates');
  await go(page, address, 'Objects');
  await expect.poll(heads).toEqual(['Object', 'Code', 'Category', 'Seat', 'Status', 'Owner', 'Changed']);
  await expect.poll(async () => (await cells()).map(([name]) => name)).toEqual(['<i>Back</i> row']);
  await page.getByLabel('Value').fill('8');
  await page.getByLabel('Property').fill('seat');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByText('No object matches.').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(cells).toHaveLength(3);
  await table.getByRole('link', { name: 'Front row' }).click();
  await page.getByRole('heading', { level: 1, name: 'Object', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

/** A PNG of two pixels. */
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4zwAE/wEHAAH/4iOeWQAAAABJRU5ErkJggg==', 'base64');

test('a picture that a property names is shown if it matches its digest', async () => {
  const { client, email, key } = await person(on);
  const upload = async (bytes: Buffer, name: string): Promise<string> => (await client.uploadFile({ file: new Uint8Array(bytes), name })).id;
  const huge = Buffer.from(PNG);
  huge.writeUInt32BE(60_000, 16);
  huge.writeUInt32BE(60_000, 20);
  const photo = { type: 'string', 'x-file': true };
  const schema = { properties: { photo: { ...photo, title: 'Photo' }, plan: { ...photo, title: 'Plan' }, other: { ...photo, title: 'Other' } } };
  const { id: template } = await client.createTemplate({ name: 'pictured', schema: schema as never });
  const files = { photo: await upload(PNG, 'a <b>photo</b>.png'), plan: await upload(huge, 'plan.png'), other: await upload(Buffer.from('%PDF-1.7\n'), 'text.pdf') };
  const object = await client.mintObject({ template_id: template, properties: files });
  const { page, context, faults, outside } = await open(on);
  await logIn(page, { email, key });
  await go(page, `/objects/${object.id}`, 'Object');
  const picture = page.getByRole('img', { name: 'a <b>photo</b>.png' });
  const show = page.getByRole('button', { name: 'Show the picture' });
  await expect.poll(() => show.count()).toBe(2);
  expect(await picture.count()).toBe(0);
  const path = `**/files/${files.photo}/content`;
  await page.route(path, (route) => route.fulfill({ status: 200, body: Buffer.concat([PNG, Buffer.from('x')]) }));
  await show.first().click();
  await page.getByText('does not match the digest in the log').waitFor();
  expect(await picture.count()).toBe(0);
  await page.unroute(path);
  await show.first().click();
  await picture.waitFor();
  expect(await picture.evaluate((canvas) => (canvas as HTMLCanvasElement).width)).toBe(2);
  await show.click();
  await page.getByText('The picture is too large to be shown here').waitFor();
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

test('who has nothing yet begins with an example', async () => {
  const { email, key } = await person(on);
  const { page, context, faults } = await open(on);
  await logIn(page, { email, key });
  await go(page, '/objects', 'Objects');
  await page.getByRole('link', { name: 'Begin with an example' }).click();
  await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
  expect(await field(page, 'Name').inputValue()).toBe('ticket');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  await page.getByRole('heading', { level: 1, name: 'Template', exact: true }).waitFor();
  await page.getByRole('link', { name: 'show them' }).click();
  await page.getByRole('link', { name: 'Mint one' }).click();
  await field(page, 'Name').fill('Row 3');
  await field(page, 'Category').selectOption('box');
  await field(page, 'Row').fill('3');
  await field(page, 'Seat').fill('4');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('heading', { level: 1, name: 'Object', exact: true }).waitFor();
  await go(page, '/objects', 'Objects');
  await page.getByRole('link', { name: 'Row 3' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test.each([
  { screen: 'desk', viewport: DESK, colorScheme: 'light' },
  { screen: 'desk', viewport: DESK, colorScheme: 'dark' },
  { screen: 'phone', viewport: PHONE, colorScheme: 'light' },
  { screen: 'wide-phone', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const)('forms, dialogs and tables have no serious finding and fit: $screen, $colorScheme', async ({ screen, viewport, colorScheme }) => {
  const watched = await begun({ viewport, colorScheme });
  const { page, client, template } = watched;
  const story = 'a long story without an end '.repeat(20);
  const object = await client.mintObject({ template_id: template, properties: { ...PROPERTIES, story, code: 'A'.repeat(90), extra: [1, 2] } as never });
  const name = (what: string): string => `objects-${screen}-${colorScheme}-${what}`;
  const found: string[] = [];
  await go(page, `/objects?template_id=${template}`, 'Objects');
  await page.getByRole('link', { name: 'Front row' }).waitFor();
  await page.getByText('Columns', { exact: true }).click();
  found.push(...(await examined(watched, name('table'))));
  await go(page, `/templates/${template}`, 'Template');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Add to Tags' }).click();
  found.push(...(await examined(watched, name('mint'))));
  await go(page, `/objects/${object.id}`, 'Object');
  await field(page, 'Seat').fill('9');
  await field(page, 'Story').fill('a short one');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('region', { name: 'What would happen' }).waitFor();
  found.push(...(await examined(watched, name('update'))));
  await page.getByRole('radio', { name: 'Burn' }).check();
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByRole('dialog').waitFor();
  found.push(...(await examined(watched, name('burn'))));
  expect(found).toEqual([]);
  expect(watched.faults).toEqual([]);
  expect(watched.outside).toEqual([]);
  await watched.context.close();
});
