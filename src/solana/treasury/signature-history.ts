import { z } from "zod";
import type { HistoryEntry, HistoryQuery } from "../../app/treasury/treasury-ledger.ts";
import { parseSignature } from "../../domain/core/base58.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { MalformedAnswer, RpcFailure } from "../rpc/rpc-failure.ts";
import { blockTimeSchema, transactionErrorSchema } from "../transactions/transaction-json.ts";

/** A history down to its bound, oldest first. */
export interface HistoryPart {
  readonly entries: HistoryEntry[];
  /** Newest entry before the bound; undefined if the history starts within the bound. */
  readonly before: HistoryEntry | undefined;
}

/** Page size of `getSignaturesForAddress`. */
const PAGE = 1_000;
/** First page size: most polls find a few entries, and a full page is 280 KB. */
const FIRST_PAGE = 50;
/**
 * Maximum page size, bytes. Each entry repeats its untrusted memo: up to 4 KB of characters that JSON escapes
 * with six bytes.
 */
const LONGEST_PAGE = 32 * 1024 * 1024;

const entrySchema = z.object({
  signature: z.string().refine((text) => parseSignature(text) !== undefined, "is no signature"),
  slot: z.int().nonnegative(),
  blockTime: blockTimeSchema.nullish(),
  err: transactionErrorSchema,
  confirmationStatus: z.literal("finalized").nullish(),
});
const pageSchema = z.array(entrySchema).max(PAGE);

/**
 * Reads an account's finalized history from one endpoint, newest first, until an entry lies before the bound.
 * Never mixes pages of two nodes: their histories may differ.
 * @throws RpcFailure or RpcError if the endpoint cannot return all of it; the signal's reason on abort
 */
export async function readHistory(
  endpoint: Endpoint,
  account: string,
  query: HistoryQuery,
): Promise<HistoryPart> {
  const entries: HistoryEntry[] = [];
  const known = new Set<string>();
  for (;;) {
    const page = await readPage(endpoint, account, { entries, known }, query.signal);
    for (const entry of page) {
      // Block times never decrease from slot to slot, so everything that follows is before the bound too.
      if (isBefore(entry, query)) return { entries: entries.toReversed(), before: entry };
      entries.push(entry);
      known.add(entry.txSignature);
    }
    if (page.length === 0) break;
  }
  // The account exists, so at least the transaction that opened it must be listed.
  if (entries.length === 0)
    throw new RpcFailure("not_here", endpoint.host, "knows no transaction of the account");
  await requireBeginning(endpoint, query);
  return { entries: entries.toReversed(), before: undefined };
}

function isBefore({ slot, blockTime }: HistoryEntry, { fromSlot, fromTime }: HistoryQuery): boolean {
  return slot < fromSlot || (blockTime !== undefined && blockTime < fromTime);
}

/** Entries read so far. */
interface SoFar {
  readonly entries: readonly HistoryEntry[];
  /** Their signatures. */
  readonly known: ReadonlySet<string>;
}

/** Reads the entries that follow the known ones; none: the history ends. */
function readPage(
  endpoint: Endpoint,
  account: string,
  soFar: SoFar,
  signal: AbortSignal,
): Promise<HistoryEntry[]> {
  const { entries } = soFar;
  // Each page repeats the last known entry: a node that lost its position returns an empty page, as at the
  // end.
  const [before, last] = entries.length > 1 ? [entries.at(-2), entries.at(-1)] : [entries[0], undefined];
  const limit = entries.length === 0 ? FIRST_PAGE : PAGE;
  const options = { limit, commitment: "finalized", ...(before && { before: before.txSignature }) };
  return endpoint.ask({
    method: "getSignaturesForAddress",
    params: [account, options],
    longestAnswer: LONGEST_PAGE,
    read: (result) => {
      const page = pageSchema.parse(result).map(entryOf);
      if (last && page.shift()?.txSignature !== last.txSignature)
        throw new MalformedAnswer("a page of signatures does not go on where it was asked to");
      return continuation(page, soFar);
    },
    signal,
  });
}

/** Drops repeated entries. @throws MalformedAnswer if the page repeats an earlier one or is unordered */
function continuation(page: readonly HistoryEntry[], { entries, known }: SoFar): HistoryEntry[] {
  const fresh = new Map<string, HistoryEntry>();
  let slot = entries.at(-1)?.slot;
  for (const entry of page) {
    if (known.has(entry.txSignature)) throw new MalformedAnswer("pages of signatures go in circles");
    if (slot !== undefined && entry.slot > slot)
      throw new MalformedAnswer("the signatures are not newest first");
    slot = entry.slot;
    fresh.set(entry.txSignature, entry);
  }
  return [...fresh.values()];
}

function entryOf({ signature, slot, blockTime, err }: z.infer<typeof entrySchema>): HistoryEntry {
  return {
    txSignature: signature,
    slot: BigInt(slot),
    blockTime: typeof blockTime === "number" ? new Date(blockTime * 1_000) : undefined,
    failed: err !== null,
  };
}

/** A history that ends before its bound is complete only if the node keeps everything since the bound. */
async function requireBeginning(
  endpoint: Endpoint,
  { fromSlot, fromTime, signal }: HistoryQuery,
): Promise<void> {
  const ask = (method: string, params: number[]) =>
    endpoint.ask({
      method,
      params,
      read: (result) => z.int().nonnegative().nullable().parse(result),
      signal,
    });
  const first = await ask("getFirstAvailableBlock", []);
  if (first !== null && BigInt(first) <= fromSlot) return;
  const seconds = first === null ? null : await ask("getBlockTime", [first]);
  if (seconds !== null && seconds * 1_000 <= fromTime.getTime()) return;
  throw new RpcFailure("not_here", endpoint.host, "keeps no history as far back as it is needed");
}
