/** Names of objects: what their properties call them. */

const NAMES = ['name', 'title'];
/** Longer names are not typed, and do not fit in a line. */
const LENGTH_MAX = 80;
/** Characters that are not seen, or change the direction of others. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The name that an object's properties hold; null if they hold none that can be read and typed. */
export function nameIn(properties: Readonly<Record<string, unknown>>): string | null {
  for (const member of NAMES) {
    const name = Object.hasOwn(properties, member) ? properties[member] : undefined;
    if (typeof name === 'string' && name.trim() !== '' && name.length <= LENGTH_MAX && !UNSEEN.test(name)) return name.trim();
  }
  return null;
}
