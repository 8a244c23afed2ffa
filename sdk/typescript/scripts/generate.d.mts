export function generate(document: unknown): Promise<Record<string, string>>;
