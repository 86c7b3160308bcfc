import type { Json } from "./json.ts";

export type Fault =
  | { readonly kind: "delay"; readonly ms: number }
  /** The provider answers with a status instead of JSON-RPC: 429, 500, 503. */
  | { readonly kind: "http"; readonly status: number; readonly retryAfterSeconds?: number }
  | { readonly kind: "rpc_error"; readonly code: number; readonly message?: string; readonly data?: Json }
  /** The node finds nothing. */
  | { readonly kind: "null" }
  /** The node returns this false result. */
  | { readonly kind: "result"; readonly result: Json }
  /** A body that is not JSON, with status 200. */
  | { readonly kind: "garbage" }
  /** The node lags this many slots behind. */
  | { readonly kind: "stale"; readonly slots: number }
  /** The node never responds. */
  | { readonly kind: "hang" };

export interface FaultRule {
  /** A JSON-RPC method, or `*` for all of them. */
  readonly method: string;
  readonly fault: Fault;
  /** Number of calls it affects; default: until it is cleared. */
  readonly calls?: number;
}

/** Selects the calls that fail, and counts all calls. */
export class Faults {
  readonly #rules: { readonly rule: FaultRule; left: number }[] = [];
  readonly #counts = new Map<string, number>();

  /** Adds a rule; the first matching rule applies. */
  add(rule: FaultRule): void {
    this.#rules.push({ rule, left: rule.calls ?? Number.POSITIVE_INFINITY });
  }

  clear(method?: string): void {
    const kept = this.#rules.filter(({ rule }) => method !== undefined && rule.method !== method);
    this.#rules.splice(0, this.#rules.length, ...kept);
  }

  strike(method: string): Fault | undefined {
    this.#counts.set(method, this.callCount(method) + 1);
    const struck = this.#rules.find(
      ({ rule, left }) => left > 0 && (rule.method === method || rule.method === "*"),
    );
    if (struck === undefined) return undefined;
    struck.left--;
    return struck.rule.fault;
  }

  /** How often a method has been called since the last reset. */
  callCount(method: string): number {
    return this.#counts.get(method) ?? 0;
  }

  callCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  resetCallCounts(): void {
    this.#counts.clear();
  }
}
