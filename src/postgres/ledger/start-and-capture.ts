import type { RunEnd, CallAuthorization, CompletedRun, RunEndResult } from "../../app/calls/ledger.ts";
import { uuidFromId, idFromUuid } from "../database/row-mapping.ts";
import type { PaidBy, Receipt } from "../../domain/calls/receipt.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { claimKey } from "./claims.ts";

/**
 * Returns the start of a statement that ends runs: it stores the models that served them, in the same
 * transaction. An end that is sent again changes nothing.
 * @param n number of the first of its three parameters, {@link modelValues}
 */
function notingModels(n: number): string {
  return /* sql */ `
    with noted as (
      insert into run_model (run_id, model, cost)
      select run_id, model, cost
      from unnest($${n}::uuid[], $${n + 1}::text[], $${n + 2}::bigint[]) used (run_id, model, cost)
      on conflict do nothing
    )`;
}

/** Parameters of {@link notingModels}; undefined if no run had a model. */
export function modelValues(ends: readonly RunEnd[]): unknown[] | undefined {
  const used = ends.flatMap(({ runId, model }) => (model ? [{ runId, ...model }] : []));
  if (used.length === 0) return undefined;
  return [
    used.map(({ runId }) => uuidFromId("run", runId)),
    // PostgreSQL text excludes NUL and lone surrogates.
    used.map(({ model }) => model.replaceAll("\0", "").toWellFormed()),
    used.map(({ cost }) => cost?.toString() ?? null),
  ];
}

/** Ends the runs of the endings $1, with the results $2, of instance $3, see ledger_end. */
export const END_RUNS = /* sql */ `
  select ended.n, ended.kind, (ended.receipt).*
  from ledger_end(array(select ending
    from json_populate_recordset(null::ledger_ending, $1) ending), $2, $3) ended`;

/** As {@link END_RUNS}; stores the models that served them, too. */
export const END_MODEL_RUNS = `${notingModels(4)} ${END_RUNS}`;

/** Returns the runs of the calls that it starts, see ledger_start. */
export const START_CALLS =
  "select ledger_start($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as started";

/** Returns the runs that it captures and their receipts, see ledger_capture. */
export const CAPTURE_RUNS =
  "select captured, issued, issued_at, sources, reversals from ledger_capture($1, $2, $3, $4, $5)";

/** As {@link CAPTURE_RUNS}; stores the models that served them, too. */
export const CAPTURE_MODEL_RUNS = `${notingModels(6)} ${CAPTURE_RUNS}`;

/** Result row of {@link CAPTURE_RUNS}: the captured runs and, at the same places, what is known of each. */
export interface CapturedRow {
  captured: string[] | null;
  issued: (string | null)[];
  issued_at: Date;
  sources: PaidBy[];
  reversals: boolean[];
}

/** A run to capture, with its call and its stored result, if any. */
export interface Capture {
  readonly run: CompletedRun;
  readonly call: CallAuthorization;
  readonly stored: string | undefined;
}

/** Whether the balance alone pays and no budget counts it: a call that ledger_start can start. */
export function isBalanceCall({ payment, budgeted, price }: CallAuthorization): boolean {
  return payment === undefined && (!budgeted || price === 0n);
}

/** Parameters of {@link START_CALLS}. */
export function startValues(
  calls: readonly CallAuthorization[],
  instanceId: string,
  leaseMs: number,
): unknown[] {
  return [
    array(calls, ({ accountId }) => uuidFromId("acct", accountId)),
    array(calls, ({ runId }) => uuidFromId("run", runId)),
    calls.map(({ requestId }) => requestId),
    calls.map(({ tool }) => tool),
    array(calls, ({ price }) => price.toString()),
    array(calls, ({ keyId }) => uuidOf("key", keyId) ?? "null"),
    calls.map((call) => claimKey(call) ?? null),
    array(calls, ({ fingerprint }) => `"\\\\x${fingerprint.toString("hex")}"`),
    instanceId,
    `${leaseMs} ms`,
    array(calls, ({ configVersion = 0 }) => configVersion.toString()),
    array(calls, ({ limitsVersion }) => limitsVersion.toString()),
  ];
}

/** Parameters of {@link CAPTURE_RUNS}. */
export function captureValues(captures: readonly Capture[], instanceId: string): unknown[] {
  return [
    array(captures, ({ run }) => uuidFromId("run", run.runId)),
    array(captures, ({ run }) => uuidFromId("rcpt", run.receiptId)),
    array(captures, ({ run }) => run.captured?.toString() ?? "null"),
    captures.map(({ stored }) => stored ?? null),
    instanceId,
  ];
}

/** An array of PostgreSQL whose elements need no escapes. */
function array<Item>(items: readonly Item[], elementOf: (item: Item) => string): string {
  return `{${items.map(elementOf).join(",")}}`;
}

/** Results by run identifier; without those of runs that were not captured. */
export function captureResults(captures: readonly Capture[], row: CapturedRow): Map<string, RunEndResult> {
  const places = new Map(row.captured?.map((run, place) => [idFromUuid("run", run), place]));
  const results = captures.flatMap((capture): [string, RunEndResult][] => {
    const place = places.get(capture.run.runId);
    return place === undefined
      ? []
      : [[capture.run.runId, { kind: "captured", receipt: receiptAt(place, row, capture) }]];
  });
  return new Map(results);
}

/** Undefined for a free call. A new receipt is not refunded. */
function receiptAt(place: number, row: CapturedRow, { run, call }: Capture): Receipt | undefined {
  const receipt = row.issued[place];
  const paidBy = row.sources[place];
  if (!receipt || !paidBy) return undefined;
  return {
    receiptId: idFromUuid("rcpt", receipt),
    runId: run.runId,
    tool: call.tool,
    quoteId: call.payment?.quoteId,
    stepId: call.payment?.stepId,
    txSignature: call.payment?.reference,
    quoted: call.price,
    debited: run.captured ?? call.price,
    refunded: 0n,
    paidBy,
    status: row.reversals[place] ? "reversed" : "final",
    createdAt: row.issued_at,
  };
}
