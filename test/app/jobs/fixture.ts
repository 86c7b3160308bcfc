import { walletCaller } from "../../../src/domain/accounts/caller.ts";
import { randomBytes } from "node:crypto";
import type { Metrics } from "../../../src/app/operations/metrics.ts";
import type { Events } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { newSettledTransactions } from "../../../src/app/jobs/record-history.ts";
import { NO_CELL, newId } from "../../../src/domain/core/ids.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";
import { Quotes } from "../../../src/domain/payments/quote.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { GENESIS, MemoryLedger, MemoryChain, Steps } from "./memory-treasury.ts";

/** Counted and set values, by name and label. */
export class MemoryMetrics implements Metrics {
  readonly values = new Map<string, number>();

  count: Metrics["count"] = (name, by = 1, labels = {}) => {
    const key = keyOf(name, labels);
    this.values.set(key, (this.values.get(key) ?? 0) + by);
  };

  observe = () => {};
  onScrape = () => {};
  set: Metrics["set"] = (name, value, labels = {}) => void this.values.set(keyOf(name, labels), value);
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  return [name.replace(/^toolgate_/, ""), ...Object.values(labels)].join(" ");
}

/** A log that is kept: level, message, details. */
export class MemoryLog {
  readonly lines: { level: string; message: string; details: object }[] = [];

  info = (details: object, message: string) => this.#add("info", details, message);
  warn = (details: object, message: string) => this.#add("warn", details, message);
  error = (details: object, message: string) => this.#add("error", details, message);

  /** The messages of one level. */
  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  #add(level: string, details: object, message: string): void {
    this.lines.push({ level, message, details });
  }
}

export type Scene = ReturnType<typeof setScene>;

/** A treasury in memory, and an account that has quotes. */
export function setScene() {
  const steps = new Steps();
  const secret = randomBytes(32);
  const key = { version: 1, secret };
  const keys = { current: () => key, version: () => undefined, find: async () => key };
  const quotes = new Quotes(keys, systemClock, systemRandom, 300);
  const accountId = newId("acct", systemClock, systemRandom);
  const deposits = new Map<string, string>();
  const events: string[][] = [];
  const clock = { at: GENESIS + 2_000_000, now: () => clock.at };
  const chain = new MemoryChain(steps);
  return {
    steps,
    chain,
    networks: new Map([[SOLANA, chain]]),
    ledger: new MemoryLedger(steps),
    quotes,
    wallets: { open: async (wallet: string) => walletCaller(wallet) },
    deposits: { accountOf: async (depositId: string) => deposits.get(depositId) },
    added: events,
    events: {
      addDaily: async (...[owner, type, data, about]: Parameters<Events["addDaily"]>) =>
        void events.push([owner, type, JSON.stringify(data), about]),
    },
    memoPrefix: "svc",
    settled: newSettledTransactions(),
    metrics: new MemoryMetrics(),
    log: new MemoryLog(),
    clock,
    accountId,
    /** The memo of a fresh deposit of the account. */
    depositMemo: () => {
      const depositId = newId("dep", systemClock, systemRandom);
      deposits.set(depositId, accountId);
      return `svc:${depositId}`;
    },
    /** The memo of a fresh quote of the account, of a cell with the same secrets. */
    memo: (cell = NO_CELL) => {
      const { quoteId } = new Quotes(keys, systemClock, systemRandom, 300, cell).issue(
        accountId,
        1_000n,
        Buffer.alloc(32),
      );
      return `svc:${quoteId}`;
    },
    signal: new AbortController().signal,
  };
}
