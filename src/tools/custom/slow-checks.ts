import { Worker } from "node:worker_threads";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { CheckedFor } from "../../domain/tools/tool.ts";

export interface CheckRequest {
  /** JSON: copied faster than objects. */
  readonly schema: string;
  readonly params: string;
}

export interface CheckAnswer {
  readonly problems: string | undefined;
  /** CPU time, ms. */
  readonly ms: number;
}

interface Waiting extends CheckRequest, Pick<PromiseWithResolvers<CheckAnswer>, "resolve" | "reject"> {}

/** Checks that may wait, of one payer and in all. */
const [MAX_OF_PAYER, MAX_WAITING] = [32, 1_000];
const MEMORY_MB = 128;

/** One thread for the checks that would hold up the event loop. Payers take turns. */
class SlowChecks {
  /** By payer, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #count = 0;
  #running: Waiting | undefined;
  #worker: Worker | undefined;

  /** @throws ToolgateError RATE_LIMITED, UNAVAILABLE */
  answerTo(request: CheckRequest, payer: string): Promise<CheckAnswer> {
    const own = this.#waiting.get(payer) ?? [];
    if (own.length >= MAX_OF_PAYER) throw busy("RATE_LIMITED", "requests of yours wait to be checked");
    if (this.#count >= MAX_WAITING) throw busy("UNAVAILABLE", "requests wait to be checked");
    const { promise, ...settle } = Promise.withResolvers<CheckAnswer>();
    own.push({ ...request, ...settle });
    this.#waiting.set(payer, own);
    this.#count++;
    this.#next();
    return promise;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (this.#running || !first) return;
    const [payer, requests] = first;
    this.#running = requests.shift();
    this.#count--;
    // Behind all others.
    this.#waiting.delete(payer);
    if (requests.length > 0) this.#waiting.set(payer, requests);
    if (!this.#running) return;
    const { schema, params } = this.#running;
    this.#worker ??= this.#start();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
    this.#worker.postMessage({ schema, params });
  }

  #start(): Worker {
    const worker = new Worker(new URL("check-thread.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.unref();
    worker.on("message", (answer: CheckAnswer) => this.#end((running) => running.resolve(answer)));
    // Out of memory, for instance. The next check starts another thread.
    const failed = (cause: unknown) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const message = "params: cannot be checked; send shorter or fewer values";
      this.#end((running) => running.reject(new ToolgateError("INVALID_REQUEST", message, { cause })));
    };
    worker.on("error", failed).on("exit", failed);
    return worker;
  }

  #end(settle: (running: Waiting) => void): void {
    const running = this.#running;
    this.#running = undefined;
    if (running) settle(running);
    this.#next();
  }
}

function busy(code: "RATE_LIMITED" | "UNAVAILABLE", what: string): ToolgateError {
  const retryAfterSeconds = 1;
  return new ToolgateError(code, `params: too many ${what}; send the next one in ${retryAfterSeconds} s`, {
    retryAfterSeconds,
  });
}

const slowChecks = new SlowChecks();

/** Checks parameters in a thread. @throws ToolgateError RATE_LIMITED, UNAVAILABLE while too many wait */
export async function problemsInThread(request: CheckRequest, by: CheckedFor): Promise<string | undefined> {
  const { problems, ms } = await slowChecks.answerTo(request, by.payer ?? "");
  by.threadMs += ms;
  return problems;
}
