import type { Pool } from "pg";
import type {
  SearchedRecord,
  TimelineEvent,
  TimelineQueries,
} from "../../app/operations/request-timeline.ts";
import { KEY_PREFIX } from "../../domain/accounts/api-key.ts";
import { uuidOf, type IdPrefix } from "../../domain/core/ids.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { ANY_WALLET } from "../../domain/payments/quote.ts";
import { archivedMonthOf } from "../archived/archived-rows.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { AFTER, AFTER_MS, BEFORE_MS, idsAround } from "../database/entry-ids.ts";
import {
  paymentOfRef,
  referenceText,
  type PaymentColumns,
  idFromUuid,
  signatureFrom,
  uuidFromId,
} from "../database/row-mapping.ts";
import { queryWithRetry } from "../database/retry.ts";
import {
  ACCOUNTS,
  EVENTS,
  PAYMENTS_OF_ACCOUNT,
  PAYMENTS_OF_DEPOSIT,
  PAYMENTS_OF_QUOTE,
  PAYMENTS_OF_RUNS,
  RUNS_OF_ACCOUNT,
  RUNS_OF_PAYMENTS,
  RUNS_OF_PROXY_REQUEST,
  RUNS_OF_QUOTE,
  RUNS_OF_REQUEST,
} from "./timeline-sql.ts";

/** Rows whose events belong to a timeline. */
interface Found {
  readonly runs: Set<string>;
  readonly payments: PaymentColumns[];
  readonly accounts: string[];
  readonly keys: string[];
}

interface EventRow {
  at: Date;
  event: string;
  prefix: IdPrefix | null;
  id: string | null;
  network: string | null;
  reference: Buffer | null;
  account_id: string | null;
  amount: bigint | null;
  details: Record<string, unknown>;
}

/** Prefixes of the details that are ids. */
const PREFIXES: Readonly<Record<string, IdPrefix>> = { key_id: "key", run_id: "run", assigned_to: "acct" };

/** Request timelines on PostgreSQL. Statements are unnamed: what is searched for decides the plan. */
export class PostgresRequestTimelines implements TimelineQueries {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async eventsOf(record: SearchedRecord): Promise<TimelineEvent[]> {
    const found: Found = { runs: new Set(), payments: [], accounts: [], keys: [] };
    await this.#search(record, found);
    if (found.runs.size > 0)
      found.payments.push(...(await this.#query<PaymentColumns>(PAYMENTS_OF_RUNS, [[...found.runs]])));
    const payments = distinct(found.payments);
    const networks = payments.map(({ network }) => network);
    const references = payments.map(({ reference }) => reference);
    if (networks.length > 0) await this.#addRuns(found, RUNS_OF_PAYMENTS, [networks, references]);
    const values = [[...found.runs], networks, references, found.accounts, found.keys];
    return (await this.#query<EventRow>(EVENTS, values)).map(eventOf);
  }

  async #search(record: SearchedRecord, found: Found): Promise<void> {
    switch (record.kind) {
      case "run":
        found.runs.add(uuidFromId("run", record.id));
        return;
      case "receipt":
        await this.#addRuns(found, "select run_id as id from receipt where id = $1", [
          uuidFromId("rcpt", record.id),
        ]);
        if (found.runs.size === 0) await this.#refuseArchived(record.id);
        return;
      case "request":
        return record.receivedAt === undefined
          ? this.#addRuns(found, RUNS_OF_PROXY_REQUEST, [record.id])
          : this.#addRuns(found, RUNS_OF_REQUEST, [record.id, ...idsAround(record.receivedAt)]);
      case "quote": {
        const { accountId, quoteId, issuedAt, expiresAt } = record.quote;
        // The runs of a quote for any wallet are those of its payment.
        const quoted = [accountId === ANY_WALLET ? null : uuidFromId("acct", accountId), quoteId];
        const times = [new Date(issuedAt - BEFORE_MS), new Date(expiresAt + AFTER_MS)];
        await this.#addRuns(found, RUNS_OF_QUOTE, [...quoted, ...idsAround(issuedAt, expiresAt)]);
        found.payments.push(...(await this.#query<PaymentColumns>(PAYMENTS_OF_QUOTE, [...quoted, ...times])));
        return;
      }
      case "deposit":
        found.payments.push(...(await this.#query<PaymentColumns>(PAYMENTS_OF_DEPOSIT, [record.id])));
        return;
      case "transaction":
        found.payments.push({ network: SOLANA, reference: signatureFrom(record.signature) });
        return;
      default:
        return this.#addAccounts(record, found);
    }
  }

  /** @throws ToolgateError NOT_FOUND for a receipt of an archived time */
  async #refuseArchived(receiptId: string): Promise<void> {
    const month = await archivedMonthOf(this.#pool, uuidFromId("rcpt", receiptId));
    if (month !== undefined)
      throw new ToolgateError(
        "NOT_FOUND",
        `no such receipt in the database; those of its time are archived: toolgate archive restore ${month}`,
      );
  }

  async #addAccounts(
    record: Extract<SearchedRecord, { kind: "account" | "wallet" | "key" }>,
    found: Found,
  ): Promise<void> {
    const account = record.kind === "account" ? uuidOf("acct", record.id) : undefined;
    const wallet = record.kind === "wallet" ? record.address : undefined;
    const key = record.kind === "key" ? uuidOf("key", record.id) : undefined;
    const prefix = record.kind === "key" && record.id.startsWith(KEY_PREFIX) ? record.id : undefined;
    const rows = await this.#query<{ account_id: string; key_id: string | null }>(ACCOUNTS, [
      account,
      wallet,
      key,
      prefix,
      prefix && prefix + AFTER,
    ]);
    for (const { account_id: accountId, key_id: keyId } of rows) {
      if (keyId === null) found.accounts.push(accountId);
      else found.keys.push(keyId);
      await this.#addRuns(found, RUNS_OF_ACCOUNT, [accountId, keyId]);
      if (keyId !== null) continue;
      const paid = await this.#query<{ ref: Buffer }>(PAYMENTS_OF_ACCOUNT, [accountId]);
      found.payments.push(...paid.map(({ ref }) => paymentOfRef(ref)));
    }
  }

  async #addRuns({ runs }: Found, text: string, values: unknown[]): Promise<void> {
    for (const { id } of await this.#query<{ id: string }>(text, values)) runs.add(id);
  }

  #query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { text, values });
  }
}

function distinct(payments: readonly PaymentColumns[]): PaymentColumns[] {
  const known = new Map(payments.map((one) => [`${one.network}:${one.reference.toString("hex")}`, one]));
  return [...known.values()];
}

function eventOf(row: EventRow): TimelineEvent {
  const { at, event, prefix, id, network, reference, account_id: accountId, amount } = row;
  const paid = network !== null && reference ? referenceText({ network, reference }) : "";
  const details = Object.entries(row.details)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => [name, textOf(name, String(value))] as const);
  return {
    at,
    event,
    id: prefix === null || id === null ? paid : idFromUuid(prefix, id),
    accountId: accountId === null ? undefined : idFromUuid("acct", accountId),
    amount: amount ?? undefined,
    details: Object.fromEntries(details),
  };
}

function textOf(name: string, value: string): string {
  const prefix = PREFIXES[name];
  return prefix === undefined ? value : idFromUuid(prefix, value);
}
