import { z } from "zod";
import type { GrownLedger } from "./growth-ledger.ts";
import { PAID_CALL, toolCallRequest } from "./http-request.ts";

/** Queries to ledgers of every size. */
export interface Operation {
  readonly name: string;
  /** Whole requests, taken in turn. */
  readonly requests: (ledger: GrownLedger, port: number) => Promise<string[]> | string[];
  readonly expect: { readonly status: number; readonly body: string };
}

const page = z.object({ next_cursor: z.string() });

const PAID = { status: 200, body: '"receipt_id":"rcpt_' };

/** Items on a page, at most. */
const LIMIT = 20;

/**
 * A fifth of the transfers are receipts of the queried account, so that the far page exists.
 * @param farPage page of each list that is read besides the first
 */
export function operationsFor(smallest: GrownLedger, farPage: number): Operation[] {
  const limit = Math.min(LIMIT, Math.floor(smallest.transfers / 8 / (farPage + 1)));
  return [
    {
      name: "paid call, one account",
      requests: ({ keys }) => keys.slice(0, 1).map((key) => toolCallRequest(key, PAID_CALL)),
      expect: PAID,
    },
    {
      name: "paid call, many accounts",
      requests: ({ keys }) =>
        spread(keys, smallest.keys.length).map((key) => toolCallRequest(key, PAID_CALL)),
      expect: PAID,
    },
    {
      name: "free call under the rate limit, many keys",
      requests: ({ keys }) =>
        spread(keys, smallest.keys.length).map((key) =>
          toolCallRequest(key, { tool: "echo", params: { message: "hello" } }),
        ),
      expect: { status: 200, body: '{"echo":"hello"}' },
    },
    {
      name: "replay of an old answer",
      requests: ({ replays }) =>
        spread(replays, smallest.replays.length).map(({ key, idempotencyKey }) =>
          toolCallRequest(key, { ...PAID_CALL, idempotency_key: idempotencyKey }),
        ),
      expect: { status: 200, body: '"note":"xxx' },
    },
    list("receipts", 1, limit),
    list("receipts", farPage, limit),
    list("runs", 1, limit),
    list("runs", farPage, limit),
  ];
}

/** A page of a list of the account with the most. */
function list(name: "receipts" | "runs", pageNumber: number, limit: number): Operation {
  return {
    name: `${name}, page ${pageNumber}`,
    async requests({ keys: [key = ""] }, port) {
      let path = `/${name}?limit=${limit}`;
      for (let n = 1; n < pageNumber; n++) {
        const headers = { authorization: `Bearer ${key}` };
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        path = `/${name}?limit=${limit}&cursor=${page.parse(await answer.json()).next_cursor}`;
      }
      return [`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`];
    },
    expect: { status: 200, body: '"has_more":true' },
  };
}

/** The same number as in the smallest ledger, evenly spaced. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  const every = Math.max(1, Math.floor(items.length / count));
  return items.filter((_, n) => n % every === 0).slice(0, count);
}
