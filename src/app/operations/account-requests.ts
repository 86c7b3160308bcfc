import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";
import { type Caller, DEFAULT_REQUEST_LOG, type RequestLogSettings } from "../../domain/accounts/caller.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Metrics } from "./metrics.ts";
import type { RequestObserver, RequestRecord, Transport } from "./request-record.ts";

/** Largest params and largest result that are stored, characters of JSON. */
export const MAX_BODY = 16_384;

interface RequestParts {
  readonly params: JsonObject | undefined;
  readonly result: JsonObject | undefined;
  /** Of the error. */
  readonly message: string | undefined;
}

export interface RequestBody extends RequestParts {
  /** Parts that were too large. */
  readonly omitted: readonly string[];
}

/** Returns the parts as JSON, without those that are too large; undefined when there is nothing to store. */
function bodyText({ params, result, message }: RequestParts): string | undefined {
  if (params === undefined && result === undefined && message === undefined) return undefined;
  const omitted = Object.entries({ params, result }).flatMap(([name, part]) =>
    isWithin(part, MAX_BODY) ? [] : [name],
  );
  const keep = (name: string, part: JsonObject | undefined) => (omitted.includes(name) ? undefined : part);
  const body: RequestBody = {
    params: keep("params", params),
    result: keep("result", result),
    message: message?.slice(0, MAX_BODY),
    omitted,
  };
  return JSON.stringify(body);
}

/** Reads what {@link bodyText} returned. @param text undefined: it cannot be read any more */
export function bodyOf(text: string | undefined): RequestBody {
  const parsed: unknown = JSON.parse(text ?? "{}");
  const { params, result, message, omitted } = isJsonObject(parsed) ? parsed : {};
  return {
    params: isJsonObject(params) ? params : undefined,
    result: isJsonObject(result) ? result : undefined,
    message: typeof message === "string" ? message : undefined,
    omitted: Array.isArray(omitted) ? omitted.map(String) : [],
  };
}

/** Whether the JSON of a value is about as short as the limit. Reads no more of it than the limit. */
function isWithin(value: unknown, limit: number): boolean {
  let left = limit;
  const read = (part: unknown): void => {
    left -= typeof part === "string" ? part.length + 2 : 4;
    if (left < 0 || typeof part !== "object" || part === null) return;
    for (const [name, member] of Object.entries(part)) {
      left -= name.length + 3;
      if (left < 0) return;
      read(member);
    }
  };
  read(value);
  return left >= 0;
}

interface LoggedRequest {
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

/** How requests ended: below 400, 402, other statuses below 500, the rest. */
export type RequestOutcome = "succeeded" | "payment_required" | "refused" | "failed";

/** Selects a page of an account's requests. Undefined members match everything. */
export interface RequestQuery extends PageRequest {
  readonly accountId: string;
  readonly outcome: RequestOutcome | undefined;
  readonly tool: string | undefined;
  /** `key_…` */
  readonly keyId: string | undefined;
  /** Inclusive. */
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
  readonly minCharged: MicroUsd | undefined;
}

export interface ListedRequest extends LoggedRequest {
  readonly keyName: string;
}

export interface RequestDetails extends ListedRequest {
  /** Undefined: not stored. Empty: stored, but its secret was retired. */
  readonly body: RequestBody | undefined;
}

export interface RequestLogQueries {
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: RequestQuery): Promise<Page<ListedRequest>>;
  /** @param id `log_…`, or the id of a request: then its latest row */
  find(accountId: string, id: string): Promise<RequestDetails | undefined>;
  /** Deletes one request, or all. @param id `log_…`; undefined: all */
  delete(accountId: string, id: string | undefined): Promise<number>;
  settings(accountId: string): Promise<RequestLogSettings>;
  /** Requests that are stored already expire no later than the settings say. */
  setSettings(accountId: string, settings: RequestLogSettings): Promise<void>;
}
