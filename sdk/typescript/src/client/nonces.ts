/** Nonces for requests in parallel: each is handed out once, and those in flight stay within the service's window. */

/**
 * Most numbers between the lowest nonce in flight and the next: half the window of 1,024, for other users of the key.
 */
const SPAN = 512n;
/** How far above the highest nonce the service accepts one. */
const JUMP_MAX = 1n << 20n;

/** The nonces of one signing key in one process. Processes that share a key may count at the same time. */
export class Nonces {
  #next: bigint | null = null;
  #start: Promise<bigint> | null = null;
  readonly #inFlight = new Set<bigint>();
  readonly #waiting: (() => void)[] = [];

  /**
   * The next nonce. Waits while one far below is still in flight: committed later, it would be too old. `start` reads
   * the highest spent nonce, the first time.
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
    // A set is in the order of insertion, and nonces rise.
    for (const nonce of this.#inFlight) return nonce;
    return this.#next ?? 0n;
  }

  /** The outcome of a nonce's request is known, or nobody asks for it any more. */
  release(nonce: bigint): void {
    if (!this.#inFlight.delete(nonce)) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Learns the highest nonce that the service has seen: other processes may sign with the same key. */
  learn(highest: bigint): void {
    if (this.#next === null || this.#next <= highest) this.#next = highest + 1n;
  }

  /** After the service refused a nonce and stated the highest: also goes back if this counter is too far ahead. */
  resynchronise(refused: bigint, highest: bigint): void {
    if (refused > highest + JUMP_MAX) this.#next = highest + 1n;
    else this.learn(highest);
  }
}
