import type { Log } from "../../domain/core/log.ts";
import type { RequestObserver, RequestRecord } from "./request-record.ts";

/** Time in which refusals are counted, ms, and those logged of one account and code in it. */
const [PERIOD_MS, LOGGED_REFUSALS] = [1_000, 10];

/** Pairs of account and code that are counted apart in that time; the others share one count. */
const MAX_COUNTED = 200;

/** Refusals of one account and code in the current second. */
interface Refusals {
  readonly fields: object;
  count: number;
}

/**
 * Logs one line per request: calls with a run or receipt always, refusals up to a rate and then their number,
 * and a share of the other successes.
 */
export class RequestLog implements RequestObserver {
  readonly #log: Pick<Log, "info">;
  readonly #every: number;
  readonly #after: (ms: number, run: () => void) => void;
  readonly #refusals = new Map<string, Refusals>();
  #successes = 0;

  /**
   * @param every one of so many successes without a run is logged; 0: none
   * @param after calls back after the time, once
   */
  constructor(log: Pick<Log, "info">, every: number, after: (ms: number, run: () => void) => void) {
    this.#log = log;
    this.#every = every;
    this.#after = after;
  }

  ended(record: RequestRecord): void {
    if (this.#isLogged(record)) this.#log.info(lineOf(record), "request");
  }

  /** Logs how many refusals were left out. */
  flush(): void {
    for (const { fields, count } of this.#refusals.values())
      if (count > LOGGED_REFUSALS)
        this.#log.info(
          { event: "requests_not_logged", ...fields, requests: count - LOGGED_REFUSALS },
          "refused requests were not logged",
        );
    this.#refusals.clear();
  }

  #isLogged(record: RequestRecord): boolean {
    if (record.runId !== undefined || record.receiptId !== undefined) return true;
    if (record.status >= 400) return this.#countRefusal(record) <= LOGGED_REFUSALS;
    return this.#every > 0 && this.#successes++ % this.#every === 0;
  }

  /** Returns the number of such refusals in this second. */
  #countRefusal({ caller, code, status }: RequestRecord): number {
    const refusals = this.#refusals;
    if (refusals.size === 0) this.#after(PERIOD_MS, () => this.flush());
    const own = `${caller?.accountId ?? ""} ${code ?? status}`;
    const key = refusals.has(own) || refusals.size < MAX_COUNTED ? own : "";
    let counted = refusals.get(key);
    if (!counted) {
      const fields = key === "" ? {} : { account_id: caller?.accountId, code, status };
      refusals.set(key, (counted = { fields, count: 0 }));
    }
    return ++counted.count;
  }
}

/** The fields of a line, named as in the API. */
function lineOf({ caller, requestId, ms, ...record }: RequestRecord): object {
  return {
    event: "request",
    transport: record.transport,
    method: record.method,
    tool: record.tool,
    status: record.status,
    code: record.code,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    run_id: record.runId,
    receipt_id: record.receiptId,
    ms: Math.round(ms * 100) / 100,
    bytes: record.bytes,
    request_id: requestId || undefined,
    trace_id: record.span?.traceId,
  };
}
