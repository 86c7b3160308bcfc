import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { z } from "zod";

const bought = z.object({ receipt: z.object({ receipt_id: z.string() }) });

/** Longest time until a call is answered, ms: a cell may be restarting. */
const PATIENCE_MS = 120_000;
const TIMEOUT_MS = 10_000;

/** A call that was answered. */
export interface Answered {
  readonly key: string;
  readonly receiptId: string;
}

interface Answer {
  /** 0 without an answer. */
  readonly status: number;
  readonly receiptId?: string;
  readonly error?: string;
}

/** What happened to a call. */
export interface Attempt {
  readonly ms: number;
  readonly status: number;
  /** Whether the account stayed in a cell that worked. */
  readonly bystander: boolean;
}

interface CustomerOptions {
  readonly report: (attempt: Attempt) => void;
  /** The cell that has the account now; undefined if none has, or the cell is down. */
  readonly workingCell: (customer: Customer) => number | undefined;
}

/** Buys one call after the other through the router, and repeats each until it is answered. */
export class Customer {
  readonly accountId: string;
  readonly apiKey: string;
  /** The cell that has the account; undefined while it moves. */
  cell: number | undefined;
  readonly answered: Answered[] = [];
  readonly #baseUrl: string;
  readonly #options: CustomerOptions;
  #buying = true;
  #playing: Promise<void> = Promise.resolve();

  constructor(
    account: { accountId: string; apiKey: string; cell: number },
    baseUrl: string,
    options: CustomerOptions,
  ) {
    ({ accountId: this.accountId, apiKey: this.apiKey, cell: this.cell } = account);
    this.#baseUrl = baseUrl;
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
  async send(key: string, baseUrl = this.#baseUrl): Promise<Answer> {
    try {
      const response = await fetch(`${baseUrl}/v1/mcp/tools/call`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.apiKey}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b" } }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      // The router's own answers are no JSON.
      const body: unknown = response.status === 200 ? await response.json() : await response.text();
      if (response.status !== 200) return { status: response.status };
      return { status: 200, receiptId: bought.parse(body).receipt.receipt_id };
    } catch (error) {
      return { status: 0, error: inspect(error) };
    }
  }

  async #play(): Promise<void> {
    const { report, workingCell } = this.#options;
    let number = 0;
    while (this.#buying) {
      const key = `call-${++number}`;
      const since = performance.now();
      for (;;) {
        const [started, cell] = [performance.now(), workingCell(this)];
        const { status, receiptId } = await this.send(key);
        const bystander = cell !== undefined && cell === workingCell(this);
        report({ ms: performance.now() - started, status, bystander });
        if (receiptId !== undefined) {
          this.answered.push({ key, receiptId });
          break;
        }
        if (performance.now() - since > PATIENCE_MS)
          throw new Error(`${this.accountId}: ${key} was not answered, at last with ${status}`);
        await sleep(50);
      }
    }
  }
}
