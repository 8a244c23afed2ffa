// What forms make of JSON Schemas and values: exact numbers, patches, shapes, drafts and messages.

import { writeJson } from '@kedge/sdk';
import { expect, test } from 'vitest';
import { wrongOf } from '../src/schema/check';
import { draftOf, filled, objectValue, placed } from '../src/schema/draft';
import { type ExactObject, differences, exactOf, indentedExact, isSame, merged, patchOf, readExact } from '../src/schema/exact';
import { propertiesShape } from '../src/schema/shape';

const exact = (text: string): ExactObject => readExact(text) as ExactObject;
const shapeOf = (schema: object) => propertiesShape(exactOf(schema) as ExactObject);

test('numbers keep their digits, and hostile texts stay texts', () => {
  const text = '{"a":1.10,"b":[9007199254740993,-0,1e400,"n5","s"],"n":"1.5","__proto__":{"x":1.0},"q":"\\"1\\\\","":null}';
  expect(writeJson(readExact(text))).toBe(text);
  expect(({} as { x?: unknown }).x).toBeUndefined();
  expect(indentedExact(exact('{"a":[1.0,{}],"b":{"c":[]}}'))).toBe('{\n  "a": [\n    1.0,\n    {}\n  ],\n  "b": {\n    "c": []\n  }\n}');
  for (const wrong of ['', '{', '01', '[1,]', '"a', '{"a":1}x', 'NaN']) expect(() => readExact(wrong), wrong).toThrow(SyntaxError);
});

test('a patch makes one object of another, and says which nulls it cannot set', () => {
  const pairs = [
    ['{"a":1,"b":{"c":2,"d":[1.0]}}', '{"b":{"c":3,"d":[1.0]},"e":{"f":"x"}}'],
    ['{"a":{"b":1}}', '{"a":5}'],
    ['{"a":5}', '{"a":{"b":{"c":1.50}}}'],
    ['{"a":1.0}', '{"a":1.00}'],
    ['{}', '{}'],
  ] as const;
  for (const [before, after] of pairs) {
    const patch = patchOf(exact(before), exact(after), () => expect.unreachable());
    expect(isSame(merged(exact(before), patch), exact(after)), writeJson(patch)).toBe(true);
  }
  const nulls: string[] = [];
  expect(writeJson(patchOf(exact('{"a":1,"k":null}'), exact('{"a":null,"b":{"c/d":null},"k":null}'), (pointer) => nulls.push(pointer)))).toBe('{"b":{}}');
  expect(nulls).toEqual(['/a', '/b/c~1d']);
  expect(differences(exact('{"a":[1,2],"b":1}'), exact('{"a":[1,3],"c":1}')).map(({ pointer }) => pointer)).toEqual(['/a/1', '/b', '/c']);
});

test('a draft stands for the value that it was made of', () => {
  const shape = shapeOf({
    properties: {
      text: { type: 'string' },
      list: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
      nested: { type: 'object', properties: { a: { type: 'string' } } },
      flag: { type: 'boolean' },
      pick: { enum: ['x', 1.5, null] },
      maybe: { type: ['integer', 'null'] },
      any: { anyOf: [{}] },
    },
  });
  const values = [
    '{}',
    '{"text":"","list":[],"nested":{},"flag":false,"pick":1.5,"maybe":null,"any":{"deep":[1.0]},"more":2.50}',
    '{"text":7,"list":[{"n":1.0},{"n":"x"},5],"nested":[],"flag":"no","pick":"y","maybe":12}',
    '{"list":{"a":1},"nested":{"a":"b","c":1.10}}',
  ];
  for (const text of values) {
    const value = objectValue(shape, draftOf(shape, exact(text)), ({ message }) => expect.unreachable(message));
    expect(isSame(value, exact(text)), `${writeJson(value)} of ${text}`).toBe(true);
  }
});

test('defaults fill what is absent, and an optional group stays absent', () => {
  const shape = shapeOf({
    properties: {
      a: { type: 'string', default: 'D' },
      kind: { const: 'v1' },
      other: { const: 'v2' },
      group: { type: 'object', properties: { inner: { type: 'boolean' } }, required: ['inner'] },
      given: { type: 'integer', default: 1 },
    },
    required: ['kind'],
  });
  expect(writeJson(filled(shape, exact('{"given":5}')))).toBe('{"given":5,"a":"D","kind":"v1"}');
  expect(writeJson(objectValue(shape, draftOf(shape, {}), () => {}))).toBe('{}');
});

test('messages say what to do, at the nearest place that is drawn', () => {
  const shape = shapeOf({
    properties: {
      n: { type: 'integer', minimum: 9007199254740993n, exclusiveMaximum: 9007199254740999n },
      x: { type: 'number', exclusiveMinimum: 0, maximum: 1.5 },
      s: { type: 'string', minLength: 2 },
      tags: { type: 'array', items: { type: 'string' }, minItems: 2, uniqueItems: true },
      pick: { oneOf: [{ const: 'a', title: 'First' }, { const: 'b' }] },
    },
    required: ['s', 'gone'],
    additionalProperties: false,
  });
  const wrong = (text: string): string[] => [...wrongOf(shape, exact(text))].map(({ pointer, message }) => `${pointer} ${message}`);
  expect(wrong('{"s":"ok","gone":1,"n":9007199254740992,"x":0}')).toEqual(['/n Must be at least 9007199254740993.', '/x Must be more than 0.']);
  expect(wrong('{"s":"😀","gone":1,"n":9007199254740999,"x":1.50}')).toEqual([
    '/n Must be less than 9007199254740999.',
    '/s Must have at least 2 characters; it has 1.',
  ]);
  expect(wrong('{"tags":["a","a"],"pick":"c","n":1.0e1,"q":1}')).toEqual([
    '/n Must be at least 9007199254740993.',
    '/s Fill this in.',
    '/tags No entry may be there twice.',
    '/pick Must be one of: First, b.',
    '/gone Fill this in.',
    ' The schema knows no property "q": remove it.',
  ]);
  const draft = draftOf(shape, exact('{"tags":["a"],"gone":{"deep":1}}'));
  const at = (pointer: string) => placed(shape, draft, { pointer, message: 'No.' });
  expect(at('/tags/0')).toEqual({ pointer: '/tags/0', message: 'No.' });
  expect(at('/tags/5')).toEqual({ pointer: '/tags', message: '5: No.' });
  expect(at('/gone/deep/x~1y')).toEqual({ pointer: '/gone', message: 'deep › x/y: No.' });
  expect(at('/unknown')).toEqual({ pointer: '', message: 'unknown: No.' });
});
