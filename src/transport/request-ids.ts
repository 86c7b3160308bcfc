import type { Clock, Random } from "../domain/core/clock.ts";

/** Random hex digits of an id, and the ids generated per batch: small random reads are slow. */
const [DIGITS, BATCH] = [18, 128];

/** An id that a proxy may choose; `req_` is ours. */
const CHOSEN = /^(?!req_)[\w.:=+/@-]{1,64}$/;

export interface RequestIdOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a proxy stands in front whose X-Request-Id is kept. */
  readonly trustsProxy: boolean;
}

/** Names requests: `req_` and a UUIDv7 (RFC 9562 section 5.7) in hex, whose time bounds searches. */
export class RequestIds {
  readonly #options: RequestIdOptions;
  #drawn = "";
  #used = 0;
  #time = 0;
  #prefix = "";

  constructor(options: RequestIdOptions) {
    this.#options = options;
  }

  /** Returns a well-formed id of a trusted proxy, else a new one. @param sent X-Request-Id */
  of(sent: string | string[] | undefined): string {
    const kept = this.#options.trustsProxy && typeof sent === "string" && CHOSEN.test(sent);
    return kept ? sent : this.next();
  }

  next(): string {
    const { clock, random } = this.#options;
    if (this.#used === this.#drawn.length) {
      this.#drawn = Buffer.from(random.bytes((BATCH * DIGITS) / 2)).toString("hex");
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += DIGITS;
    const time = clock.now();
    if (time !== this.#time) {
      this.#time = time;
      this.#prefix = `req_${time.toString(16).padStart(12, "0")}7`;
    }
    const rest = from + 3;
    return `${this.#prefix}${this.#drawn.slice(from, rest)}a${this.#drawn.slice(rest, this.#used)}`;
  }
}
