/** What a form draws for a JSON Schema (2020-12). What it cannot draw is a box for JSON, for that part alone. */

import { JsonText, writeJson } from '@kedge/sdk';
import { type Exact, type ExactObject, isList, isObject, memberOf, namesOf } from './exact';

/** A choice of a value. */
export interface Option {
  readonly label: string;
  readonly value: Exact;
}

/** A member of an object. */
export interface Member {
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

interface Common {
  /** The schema, with its references resolved. */
  readonly schema: ExactObject;
  readonly title: string | null;
  readonly description: string | null;
}

/** How a value is edited. */
export type Shape = Common &
  (
    | { readonly kind: 'text'; readonly form: 'line' | 'long' | 'date' | 'date-time' }
    | { readonly kind: 'number'; readonly isWhole: boolean }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'object'; readonly members: readonly Member[]; readonly isOpen: boolean }
    | { readonly kind: 'list'; readonly item: Shape }
    | { readonly kind: 'json' }
  );

const DEPTH_MAX = 12;
/** Characters from which a text gets several lines. */
const LONG_TEXT = 160;
/** Keywords that say which values fit in a way that fields do not show. */
const UNDRAWN = ['anyOf', 'allOf', 'not', 'if', 'prefixItems', 'patternProperties', 'dependentSchemas', 'contains', 'unevaluatedItems'];

const textOf = (value: Exact | undefined): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

/** A whole number that a keyword holds. */
export const countOf = (value: Exact | undefined): number | null => {
  const count = value instanceof JsonText ? Number(value.text) : Number.NaN;
  return Number.isFinite(count) ? count : null;
};

/** The schema at a local reference, with what stands next to the reference laid over it. */
function resolved(schema: ExactObject, root: ExactObject, depth: number): ExactObject {
  const reference = memberOf(schema, '$ref');
  if (typeof reference !== 'string' || depth > DEPTH_MAX) return schema;
  if (!/^#(\/[^%]*)?$/.test(reference)) return schema;
  let target: Exact | undefined = root;
  for (const name of namesOf(reference.slice(1))) target = isObject(target) ? memberOf(target, name) : undefined;
  if (!isObject(target)) return schema;
  const { $ref: _, ...own } = schema;
  return { ...resolved(target, root, depth + 1), ...own };
}

function optionsOf(schema: ExactObject): Option[] | null {
  const plain = memberOf(schema, 'enum');
  const labelled = memberOf(schema, 'oneOf');
  if (isList(plain)) return plain.map((value) => ({ value, label: typeof value === 'string' ? value : writeJson(value) }));
  if (!isList(labelled)) return null;
  const options = labelled.map((one) => {
    const value = isObject(one) ? memberOf(one, 'const') : undefined;
    if (!isObject(one) || value === undefined) return null;
    return { value, label: textOf(one['title']) ?? (typeof value === 'string' ? value : writeJson(value)) };
  });
  return options.every((option) => option !== null) ? options : null;
}

/** The only type of the values, other than null; null if there are several. */
function typeOf(schema: ExactObject): string | null {
  const type = memberOf(schema, 'type');
  if (typeof type === 'string') return type;
  if (isList(type)) {
    const others = type.filter((one) => one !== 'null');
    return others.length === 1 ? (others[0] as string) : null;
  }
  return isObject(memberOf(schema, 'properties')) ? 'object' : null;
}

function formOf(schema: ExactObject): 'line' | 'long' | 'date' | 'date-time' {
  const format = memberOf(schema, 'format');
  if (format === 'date' || format === 'date-time') return format;
  const isMedium = typeof memberOf(schema, 'contentMediaType') === 'string';
  return isMedium || (countOf(memberOf(schema, 'maxLength')) ?? 0) >= LONG_TEXT ? 'long' : 'line';
}

function objectOf(schema: ExactObject, root: ExactObject, depth: number) {
  const properties = memberOf(schema, 'properties');
  const required = memberOf(schema, 'required');
  const members = Object.entries(isObject(properties) ? properties : {}).map(([name, of]) => ({
    name,
    isRequired: isList(required) && required.includes(name),
    shape: shapeOf(of, root, depth + 1),
  }));
  // A required member without a schema needs a field too.
  const known = new Set(members.map(({ name }) => name));
  const others = isList(required) ? required.filter((name): name is string => typeof name === 'string' && !known.has(name)) : [];
  const unnamed = others.map((name) => ({ name, isRequired: true, shape: shapeOf({}, root, depth + 1) }));
  const isOpen = memberOf(schema, 'additionalProperties') !== false && memberOf(schema, 'unevaluatedProperties') !== false;
  return { kind: 'object', members: [...members, ...unnamed], isOpen } as const;
}

/** The shape of a schema, which is a part of `root`. */
export function shapeOf(of: Exact | undefined, root: ExactObject, depth = 0): Shape {
  const schema = isObject(of) ? resolved(of, root, 0) : {};
  const common: Common = { schema, title: textOf(schema['title']), description: textOf(schema['description']) };
  const isUndrawn = depth > DEPTH_MAX || UNDRAWN.some((keyword) => Object.hasOwn(schema, keyword)) || typeof schema['$ref'] === 'string';
  // The properties of an object are drawn whatever else the schema says of them; the server checks the rest.
  if (depth > 0 && isUndrawn) return { ...common, kind: 'json' };
  const options = optionsOf(schema);
  if (options !== null) return { ...common, kind: 'choice', options };
  if (Object.hasOwn(schema, 'const')) return { ...common, kind: 'choice', options: [{ label: writeJson(schema['const']), value: schema['const'] as Exact }] };
  if (Object.hasOwn(schema, 'oneOf') && depth > 0) return { ...common, kind: 'json' };
  switch (depth === 0 ? 'object' : typeOf(schema)) {
    case 'string':
      return { ...common, kind: 'text', form: formOf(schema) };
    case 'integer':
      return { ...common, kind: 'number', isWhole: true };
    case 'number':
      return { ...common, kind: 'number', isWhole: false };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'object':
      return { ...common, ...objectOf(schema, root, depth) };
    case 'array':
      return { ...common, kind: 'list', item: shapeOf(schema['items'], root, depth + 1) };
    default:
      return { ...common, kind: 'json' };
  }
}

/** The shape of the properties of a template's objects. */
export const propertiesShape = (schema: ExactObject): Shape & { kind: 'object' } => {
  const shape = shapeOf(schema, schema);
  // The properties are an object, whatever their schema lists.
  return shape.kind === 'object' ? shape : { ...shape, ...objectOf(schema, schema, 0) };
};
