import process from "node:process";
import type { Metrics } from "../app/operations/metrics.ts";
import type { RequestObserver, RequestRecord } from "../app/operations/request-record.ts";
import type { RateTier } from "../domain/accounts/caller.ts";
import type { Clock } from "../domain/core/clock.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Authentication, Credentials } from "./authentication.ts";
import type { ClientAddresses } from "./remote-address.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** What the requests of one address or account may take unpaid: tokens are milliseconds. */
const UNPAID_TIME: RateTier = { ratePerMinute: 25 * 60, burst: 250 };

/** An account may have as many milliseconds a minute as its tier allows requests. */
const MS_PER_REQUEST = 1;

/** Returns what the unpaid requests of an account may take, in milliseconds. */
export function unpaidTimeOf(accountTier: RateTier): RateTier {
  const { ratePerMinute, burst } = UNPAID_TIME;
  const share = Math.max(1, (accountTier.ratePerMinute * MS_PER_REQUEST) / ratePerMinute);
  return { ratePerMinute: ratePerMinute * share, burst: burst * share };
}

/** The longest wait for which one request can be the reason, beside that of an empty bucket, ms. */
const DEBT_MS = 60_000;

/** The kernel updates the CPU time of a thread that often, ms; shorter parts are measured by the clock. */
const TICK_MS = 4;

/** How old a reading of the CPU time may be, ms: it costs some percent of a small request. */
const READING_MS = 2;

/** What an answer takes to be copied to the system, ms; twice as much as on an idle machine. */
const MS_PER_BYTE = 2 / 1_000_000;

export interface UnpaidTimeOptions {
  /** Monotonic, ms with fractions. */
  readonly clock: Clock;
  /** CPU time of this thread so far, ms: waiting for a busy processor is not work. */
  readonly cpuMs?: () => number;
  readonly metrics?: Metrics | undefined;
  readonly clients: ClientAddresses;
}

/**
 * Limits the time for which unpaid requests keep the event loop from all others: each is measured
 * while its message is read, checked and priced, and taken from the bucket of its account, or of its address
 * without one. Paid calls are refunded. Per instance, in memory.
 */
export class UnpaidTime implements RequestObserver {
  readonly #buckets: TokenBuckets;
  readonly #clock: Clock;
  readonly #cpuMs: () => number;
  readonly #metrics: Metrics | undefined;
  readonly #clients: ClientAddresses;
  #cpuRead = { at: Number.NEGATIVE_INFINITY, cpuMs: 0 };

  constructor({ clock, cpuMs = threadCpuMs, metrics, clients }: UnpaidTimeOptions) {
    this.#buckets = new TokenBuckets(clock, UNPAID_TIME, { debtMs: DEBT_MS });
    this.#clock = clock;
    this.#cpuMs = cpuMs;
    this.#metrics = metrics;
    this.#clients = clients;
  }

  /** Finds who answers for the request. @throws ToolgateError RATE_LIMITED when no time is left */
  admit(record: RequestRecord, { caller, client }: Authentication, credentials: Credentials): void {
    record.payer = caller?.accountId ?? client?.network ?? this.#clients.of(credentials).network;
    const own = caller ? unpaidTimeOf(caller.accountTier) : UNPAID_TIME;
    record.timeShare = own.ratePerMinute / UNPAID_TIME.ratePerMinute;
    this.#require(record);
  }

  /** Takes time from an address before its request is admitted. @throws ToolgateError RATE_LIMITED */
  take(credentials: Credentials, ms: number): void {
    const payer = this.#clients.of(credentials).network;
    this.#require({ payer, caller: undefined });
    this.#buckets.count(payer, ms);
  }

  /** Does a part of a request's work, and measures it. @throws ToolgateError RATE_LIMITED; what it throws */
  measure<Result>(record: RequestRecord, work: () => Result): Result {
    if (record.workSince === undefined) this.begin(record);
    try {
      return work();
    } finally {
      this.end(record);
    }
  }

  /** Begins a part of a request's work. @throws ToolgateError RATE_LIMITED */
  begin(record: RequestRecord): void {
    // Others may have arrived with it while there was time left.
    this.#require(record);
    const now = this.#clock.now();
    if (now - this.#cpuRead.at > READING_MS) this.#cpuRead = { at: now, cpuMs: this.#cpuMs() };
    record.workSince = now;
  }

  /** Ends the part that was started, if any. */
  end(record: RequestRecord): void {
    const { workSince } = record;
    if (workSince === undefined) return;
    record.workSince = undefined;
    const wallMs = this.#clock.now() - workSince;
    const ms = wallMs <= TICK_MS ? wallMs : Math.min(wallMs, this.#cpuMs() - this.#cpuRead.cpuMs);
    this.count(record, ms);
  }

  /** Takes time for an answer, which is written later than the request is worked on. */
  answered(record: RequestRecord, bytes: number): void {
    this.count(record, bytes * MS_PER_BYTE);
  }

  /** Counts work, also that of another thread. */
  count(record: RequestRecord, ms: number): void {
    const { payer, timeShare } = record;
    record.workMs += ms;
    if (payer !== undefined) this.#buckets.count(payer, ms / timeShare);
  }

  ended({ payer, charged, workMs, threadMs, timeShare, caller }: RequestRecord): void {
    if (payer === undefined || workMs === 0) return;
    if (charged > 0n) return this.#buckets.giveBack(payer, workMs / timeShare);
    if (threadMs > 0) this.#buckets.count(payer, threadMs / timeShare);
    this.#metrics?.count("toolgate_unpaid_time_seconds_total", workMs / 1000, { by: who(caller) });
  }

  #require({ payer, caller }: Pick<RequestRecord, "payer" | "caller">): void {
    const refusal = payer === undefined ? undefined : this.#buckets.refusal(payer);
    if (!refusal) return;
    this.#metrics?.count("toolgate_unpaid_time_refused_total", 1, { by: who(caller) });
    const { retryAfterSeconds } = refusal;
    const whose = caller ? "of this account" : "from your address";
    throw new ToolgateError(
      "RATE_LIMITED",
      `requests ${whose} that were not paid took too much computing time; send the next one in ` +
        `${retryAfterSeconds} s, and smaller ones; paid calls take none`,
      { retryAfterSeconds },
    );
  }
}

function who(caller: RequestRecord["caller"]): string {
  return caller ? "account" : "address";
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
