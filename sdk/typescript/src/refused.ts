/** The one error of everything that verifies. */

/** Something does not hold: the message states what. Nothing that was read may be relied on. */
export class Refused extends Error {
  override readonly name: string = 'Refused';
}

/** Throws a {@link Refused} with `why` unless `holds`. */
export function refuseUnless(holds: boolean, why: string): asserts holds {
  if (!holds) throw new Refused(why);
}
