/** Nonces of parallel requests: each is used once, and those in flight stay within the server's window. */

/**
 * Limit on the distance between the lowest nonce in flight and the next: half of the window of 1,024, so that other
 * users of the key have the rest.
 */
const SPAN = 512n;
/** Limit on the distance of a nonce above the highest one. */
const JUMP_MAX = 1n << 20n;

/** Nonces of one signing key in one process. Other processes may use the key at the same time. */
export class Nonces {
  #next: bigint | null = null;
  #start: Promise<bigint> | null = null;
  readonly #inFlight = new Set<bigint>();
  readonly #waiting: (() => void)[] = [];

  /**
   * The next nonce. Waits while a far lower one is in flight, which would become too old. `start` reads the highest
   * spent nonce at first use.
   */
  async take(start: () => Promise<bigint>): Promise<bigint> {
    if (this.#next === null) {
      this.#start ??= start();
      try {
        this.learn(await this.#start);
      } finally {
        this.#start = null;
      }
    }
    while ((this.#next as bigint | null ?? 0n) >= this.#lowest() + SPAN) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const nonce = this.#next as bigint | null ?? 1n;
    this.#next = nonce + 1n;
    this.#inFlight.add(nonce);
    return nonce;
  }

  #lowest(): bigint {
    // Sets keep the order of insertion, and nonces rise.
    for (const nonce of this.#inFlight) return nonce;
    return this.#next ?? 0n;
  }

  /** Releases a nonce whose outcome is known, or no longer needed. */
  release(nonce: bigint): void {
    if (!this.#inFlight.delete(nonce)) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Takes over the server's highest nonce; other processes may sign with the same key. */
  learn(highest: bigint): void {
    if (this.#next === null || this.#next <= highest) this.#next = highest + 1n;
  }

  /** Adjusts the counter after a refused nonce. May go back, because the counter may be too far ahead. */
  resynchronise(refused: bigint, highest: bigint): void {
    if (refused > highest + JUMP_MAX) this.#next = highest + 1n;
    else this.learn(highest);
  }
}
