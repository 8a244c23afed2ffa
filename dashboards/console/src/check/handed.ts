/** A file that another page hands to the page that checks files. */

/** A file as its name and its text. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

let handed: NamedText | null = null;

/** Hands a file over: the page that checks files begins with it. */
export function handOver(name: string, text: string): void {
  handed = { name, text };
}

/** What was handed over, once. */
export function takeHanded(): NamedText | null {
  const file = handed;
  handed = null;
  return file;
}
