import { parseAddress, parseSignature } from "../../domain/core/base58.ts";
import { KEY_PREFIX, SHOWN_LENGTH } from "../../domain/accounts/api-key.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { ANY_WALLET, type Quote, type Quotes } from "../../domain/payments/quote.ts";

/** What an operator searches for. Times are milliseconds since the Unix epoch. */
export type SearchedRecord =
  | { readonly kind: "run" | "receipt" | "deposit"; readonly id: string }
  | { readonly kind: "account"; readonly id: string }
  /** Of our own ids we know the time; undefined: a proxy chose it. */
  | { readonly kind: "request"; readonly id: string; readonly receivedAt: number | undefined }
  | { readonly kind: "quote"; readonly quote: Quote }
  | { readonly kind: "transaction"; readonly signature: string }
  /** A `key_…`, or the first characters of a secret. */
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "wallet"; readonly address: string };

export interface TimelineEvent {
  readonly at: Date;
  /** Such as "run started". */
  readonly event: string;
  /** The record: `run_…`, `rcpt_…`, a transaction, a quote. */
  readonly id: string;
  readonly accountId: string | undefined;
  readonly amount: MicroUsd | undefined;
  /** Other members, by their names in the API. */
  readonly details: Readonly<Record<string, string>>;
}

/** Reads what the database knows about a record and those that belong to it. */
export interface TimelineQueries {
  /** In the order of time; empty when nothing was stored. */
  eventsOf(record: SearchedRecord): Promise<TimelineEvent[]>;
}

const REQUEST = /^req_[0-9a-f]{32}$/;
const PROXY_REQUEST = /^(?!\w+_|sk-agent-)[\w.:=+/@-]{1,64}$/;
const ACCEPTED =
  "a request id, a run_…, a rcpt_…, a qt_… (quote), a dep_…, a transaction signature, " +
  "a key_… or the start of an API key, an acct_… or a wallet";

/** Returns what happened to a call, a payment, a key or an account. */
export class RequestTimelines {
  readonly #queries: TimelineQueries;
  readonly #quotes: Pick<Quotes, "open">;

  constructor(queries: TimelineQueries, quotes: Pick<Quotes, "open">) {
    this.#queries = queries;
    this.#quotes = quotes;
  }

  /**
   * Returns the events that belong to the record, in the order of time.
   * @throws ToolgateError INVALID_REQUEST for text that names no kind of record; NOT_FOUND
   */
  async find(text: string): Promise<TimelineEvent[]> {
    const record = parseRecord(text.trim(), this.#quotes);
    const stored = await this.#queries.eventsOf(record);
    if (stored.length === 0 && record.kind !== "quote") throw nothingFound(record);
    return withQuotes(stored, this.#quotes, record);
  }
}

/**
 * Returns the record that the text names.
 * @throws ToolgateError INVALID_REQUEST for text that names no kind of record; NOT_FOUND for a foreign quote
 */
export function parseRecord(text: string, quotes: Pick<Quotes, "open">): SearchedRecord {
  if (uuidOf("run", text) !== undefined) return { kind: "run", id: text };
  if (uuidOf("rcpt", text) !== undefined) return { kind: "receipt", id: text };
  if (uuidOf("acct", text) !== undefined) return { kind: "account", id: text };
  if (uuidOf("dep", text) !== undefined) return { kind: "deposit", id: text };
  if (uuidOf("key", text) !== undefined) return { kind: "key", id: text };
  if (text.startsWith(KEY_PREFIX)) return { kind: "key", id: text.slice(0, SHOWN_LENGTH) };
  if (REQUEST.test(text))
    return { kind: "request", id: text, receivedAt: Number.parseInt(text.slice(4, 16), 16) };
  const quote = quotes.open(text);
  if (quote) return { kind: "quote", quote };
  if (parseSignature(text)) return { kind: "transaction", signature: text };
  if (parseAddress(text)) return { kind: "wallet", address: text };
  if (PROXY_REQUEST.test(text)) return { kind: "request", id: text, receivedAt: undefined };
  if (text.startsWith("qt_"))
    throw new ToolgateError("NOT_FOUND", "not a quote of this installation, or its key was retired");
  throw new ToolgateError("INVALID_REQUEST", `id: must be ${ACCEPTED}`);
}

function nothingFound({ kind }: SearchedRecord): ToolgateError {
  const where =
    kind === "request"
      ? "no run was started by this request; calls that were refused, free or replayed are only in the log"
      : `no such ${kind}`;
  return new ToolgateError("NOT_FOUND", where);
}

/** Adds the quotes that the events name: they are sealed into their ids, not stored. */
function withQuotes(
  stored: readonly TimelineEvent[],
  quotes: Pick<Quotes, "open">,
  record: SearchedRecord,
): TimelineEvent[] {
  const named = stored.flatMap(({ details }) => details["quote_id"] ?? []);
  if (record.kind === "quote") named.push(record.quote.quoteId);
  const opened = [...new Set(named)].flatMap((id) => quotes.open(id) ?? []);
  const events = [...opened.map(issued), ...stored];
  return events.toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

function issued({ quoteId, accountId: quotedTo, price, issuedAt, expiresAt }: Quote): TimelineEvent {
  const isForAll = quotedTo === ANY_WALLET;
  const accountId = isForAll ? undefined : quotedTo;
  const details = {
    expires_at: new Date(expiresAt).toISOString(),
    ...(isForAll && { quoted_to: "any wallet; no account until one pays" }),
  };
  return { at: new Date(issuedAt), event: "quote issued", id: quoteId, accountId, amount: price, details };
}
