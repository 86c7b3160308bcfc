import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const bought = z.object({ receipt: z.object({ receipt_id: z.string() }) });

/** Longest time until a call is answered, ms: a cell may be restarting. */
const PATIENCE_MS = 120_000;
const TIMEOUT_MS = 10_000;

/** What happened to a call. */
export interface Attempt {
  readonly ms: number;
  /** 0 without an answer. */
  readonly status: number;
  readonly receiptId?: string;
}

interface CustomerOptions {
  readonly accountId: string;
  readonly apiKey: string;
  readonly cell: number;
  readonly baseUrl: string;
  /** @param bystander whether the account stayed in a cell that worked */
  readonly report: (attempt: Attempt, bystander: boolean) => void;
  /** The cell that has the account now; undefined if none has, or the cell is down. */
  readonly workingCell: (customer: Customer) => number | undefined;
}

/** Buys one call after the other through the router, and repeats each until it is answered. */
export class Customer {
  readonly accountId: string;
  /** The cell that has the account; undefined while it moves. */
  cell: number | undefined;
  /** Receipts by idempotency key. */
  readonly answered = new Map<string, string>();
  readonly #options: CustomerOptions;
  #buying = true;
  #playing: Promise<void> = Promise.resolve();

  constructor(options: CustomerOptions) {
    ({ accountId: this.accountId, cell: this.cell } = options);
    this.#options = options;
  }

  begin(): void {
    this.#playing = this.#play();
    // drain() reports the error.
    this.#playing.catch(() => {});
  }

  async drain(): Promise<void> {
    this.#buying = false;
    await this.#playing;
  }

  /** Sends a call once. */
  async send(key: string, baseUrl = this.#options.baseUrl): Promise<Attempt> {
    const [started, authorization] = [performance.now(), `Bearer ${this.#options.apiKey}`];
    const headers = { authorization, "content-type": "application/json", "idempotency-key": key };
    const body = JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b" } });
    const asked = { method: "POST", headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const answer = await fetch(`${baseUrl}/v1/mcp/tools/call`, asked)
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => ({ status: 0, text: "" }));
    const attempt = { ms: performance.now() - started, status: answer.status };
    // The router's own answers are no JSON.
    if (answer.status !== 200) return attempt;
    return { ...attempt, receiptId: bought.parse(JSON.parse(answer.text)).receipt.receipt_id };
  }

  async #play(): Promise<void> {
    const { report, workingCell } = this.#options;
    while (this.#buying) {
      const key = `call-${this.answered.size + 1}`;
      const since = performance.now();
      for (;;) {
        const cell = workingCell(this);
        const attempt = await this.send(key);
        report(attempt, cell !== undefined && cell === workingCell(this));
        if (attempt.receiptId !== undefined) {
          this.answered.set(key, attempt.receiptId);
          break;
        }
        if (performance.now() - since > PATIENCE_MS)
          throw new Error(`${this.accountId}: ${key} was not answered, at last with ${attempt.status}`);
        await sleep(50);
      }
    }
  }
}
