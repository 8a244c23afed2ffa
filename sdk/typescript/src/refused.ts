/** Error of all verification functions. */

/** Verification failed; the message states the reason. Do not rely on any of the input. */
export class Refused extends Error {
  override readonly name: string = 'Refused';
}

/** Throws a {@link Refused} with `why` unless `holds`. */
export function refuseUnless(holds: boolean, why: string): asserts holds {
  if (!holds) throw new Refused(why);
}
