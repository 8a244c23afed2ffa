/** Transfer of a file from another page to the verification page. */

/** Name and text of a file. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

let handed: NamedText | null = null;

/** Passes a file to the verification page, which starts with it. */
export function handOver(name: string, text: string): void {
  handed = { name, text };
}

/** Takes the passed file; the next call returns null. */
export function takeHanded(): NamedText | null {
  const file = handed;
  handed = null;
  return file;
}
