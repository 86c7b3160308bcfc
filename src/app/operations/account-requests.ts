import type { Caller } from "../../domain/accounts/caller.ts";
import { DEFAULT_REQUEST_LOG, type RequestLogSettings } from "../../domain/accounts/request-log.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Metrics } from "./metrics.ts";
import { bodyText } from "./request-bodies.ts";
import type { RequestObserver, RequestRecord, Transport } from "./request-record.ts";

/** A request as its account's log stores it. */
export interface LoggedRequest {
  /** `log_…` */
  readonly id: string;
  readonly accountId: string;
  readonly requestId: string;
  /** `key_…`; undefined for a wallet without a key. */
  readonly keyId: string | undefined;
  readonly transport: Transport;
  readonly method: string;
  readonly tool: string | undefined;
  readonly status: number;
  readonly code: string | undefined;
  readonly runId: string | undefined;
  readonly receiptId: string | undefined;
  readonly charged: MicroUsd;
  readonly traceId: string | undefined;
  /** Milliseconds: of the whole request, in the tool, and for the payment. */
  readonly ms: number;
  readonly toolMs: number;
  readonly paymentMs: number;
  readonly receivedAt: Date;
  readonly expiresAt: Date;
  /** How many equal requests have no row of their own. */
  readonly repeats: number;
}

/** A request that is not stored yet. */
export interface PendingRequest extends LoggedRequest {
  repeats: number;
  /** Params and result as JSON; undefined when they are not stored. */
  readonly body: string | undefined;
}

/** Requests that wait for the database, of all accounts and of one, and characters of their bodies. */
const [MAX_PENDING, MAX_OF_ACCOUNT, MAX_CHARACTERS] = [5_000, 1_000, 16_000_000];

/** Equal refusals with a row of their own, between two writes. */
const MAX_EQUAL = 5;

const HOUR_MS = 3_600_000;

interface Refusals {
  count: number;
  last: PendingRequest;
}

/**
 * Collects the requests that accounts find in their request log: charged calls and refusals, and all calls
 * where the account stores their params. Never waits: what does not fit is dropped and counted.
 */
export class AccountRequests implements RequestObserver {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: Pick<Metrics, "count"> | undefined;
  #pending: PendingRequest[] = [];
  #characters = 0;
  readonly #ofAccount = new Map<string, number>();
  readonly #refusals = new Map<string, Refusals>();

  constructor(clock: Clock, random: Random, metrics?: Pick<Metrics, "count">) {
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
  }

  ended(record: RequestRecord): void {
    const { caller, transport, requestId } = record;
    if (!caller || transport === "console" || requestId === "") return;
    const settings = caller.requestLog ?? DEFAULT_REQUEST_LOG;
    if (!isLogged(record, settings) || uuidOf("acct", caller.accountId) === undefined) return;
    const refusal = refusalOf(record, caller);
    const equal = refusal === undefined ? undefined : this.#refusals.get(refusal);
    if (equal && ++equal.count > MAX_EQUAL) equal.last.repeats++;
    else if (this.#isFull(caller.accountId)) this.dropped(1, "full");
    else {
      const request = this.#requestOf(record, caller, settings);
      this.#add(request);
      if (refusal !== undefined) this.#refusals.set(refusal, { count: equal?.count ?? 1, last: request });
    }
  }

  /** Returns what waits, and forgets it. */
  take(): readonly PendingRequest[] {
    const taken = this.#pending;
    if (taken.length === 0) return taken;
    this.#pending = [];
    this.#characters = 0;
    this.#ofAccount.clear();
    this.#refusals.clear();
    return taken;
  }

  /** Counts requests that the log misses. */
  dropped(requests: number, reason: "full" | "database"): void {
    this.#metrics?.count("toolgate_request_log_dropped_total", requests, { reason });
  }

  #isFull(accountId: string): boolean {
    return (
      this.#pending.length >= MAX_PENDING ||
      this.#characters >= MAX_CHARACTERS ||
      (this.#ofAccount.get(accountId) ?? 0) >= MAX_OF_ACCOUNT
    );
  }

  #add(request: PendingRequest): void {
    const { accountId, body } = request;
    this.#pending.push(request);
    this.#characters += body?.length ?? 0;
    this.#ofAccount.set(accountId, (this.#ofAccount.get(accountId) ?? 0) + 1);
  }

  #requestOf(
    record: RequestRecord,
    { accountId, keyId }: Caller,
    { bodies, hours }: RequestLogSettings,
  ): PendingRequest {
    const receivedAt = this.#clock.now() - record.ms;
    const stored = bodies === "all" || (bodies === "errors" && record.status >= 400);
    return {
      id: newId("log", this.#clock, this.#random),
      accountId,
      requestId: record.requestId,
      keyId: uuidOf("key", keyId) === undefined ? undefined : keyId,
      transport: record.transport,
      method: record.method,
      tool: record.tool,
      status: record.status,
      code: record.code,
      runId: record.runId,
      receiptId: record.receiptId,
      charged: record.charged,
      traceId: record.span?.traceId,
      ms: record.ms,
      toolMs: record.toolMs,
      paymentMs: record.paymentMs,
      receivedAt: new Date(receivedAt),
      expiresAt: new Date(receivedAt + hours * HOUR_MS),
      repeats: 0,
      body: stored ? bodyText(record) : undefined,
    };
  }
}

/** Successes without a charge are logged where their params are: they are many, and cost nothing. */
function isLogged(
  { status, tool, runId, receiptId }: RequestRecord,
  { bodies }: Pick<RequestLogSettings, "bodies">,
): boolean {
  if (status >= 400 || runId !== undefined || receiptId !== undefined) return true;
  return tool !== undefined && bodies === "all";
}

/** Returns what equal refusals share; undefined for what is no refusal: its row is never left out. */
function refusalOf(
  { status, code, tool, method, runId }: RequestRecord,
  { accountId, keyId }: Caller,
): string | undefined {
  if (status < 400 || runId !== undefined) return undefined;
  return `${accountId} ${keyId} ${status} ${code} ${method} ${tool}`;
}
