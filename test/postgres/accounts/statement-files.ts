import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresHistory, PostgresReceipts } from "../../../src/postgres/ledger/history.ts";
import { PostgresRuns } from "../../../src/postgres/ledger/runs.ts";
import type { PostgresStatements } from "../../../src/postgres/accounts/statement.ts";
import { receiptsFile, runsFile } from "../../../src/transport/exports/history-files.ts";
import { statementFile } from "../../../src/transport/exports/statement-file.ts";
import { parseCsv } from "../../support/csv.ts";
import { serveExports } from "../../transport/export-server.ts";
import { KEY_NAMES, type BookedEntry, type StatementWorld } from "./statement-fixture.ts";

/** Compares the exported files with the test's own reading of the ledger. */
export function describeFiles(
  get: () => { world: StatementWorld; statements: PostgresStatements; day: (ago: number) => Date },
) {
  let server: Awaited<ReturnType<typeof serveExports>>;

  beforeAll(async () => {
    const { world, statements } = get();
    const { pool } = world.treasurer;
    const [receipts, runs] = [new PostgresReceipts(pool), new PostgresRuns(pool)];
    const history = new PostgresHistory({ pool, receipts, runs });
    const files = [statementFile(statements), receiptsFile(receipts, history), runsFile(runs, history)];
    server = await serveExports(world.accountId, files);
  });
  afterAll(() => server?.close());

  const saved = async (path: string) => {
    const response = await server.get(`/console/export/${path}`);
    expect(response.status).toBe(200);
    return parseCsv(Buffer.from(await response.arrayBuffer()).toString());
  };
  const dayOf = (ago: number) => get().day(ago).toISOString().slice(0, 10);

  describe("a statement export", () => {
    it("contains every entry, oldest first, exact to the micro-USD", async () => {
      const { world } = get();
      const rows = await saved("statement.csv");
      let balance = 0n;
      const expected = world.entries.map((entry) => {
        balance += entry.amount;
        return { ...expectedRow(entry, world), balance_usdc: usdc(balance) };
      });
      expect(rows).toEqual(expected);
      for (const row of rows) {
        expect(row["amount_usdc"]).toMatch(/^-?\d+\.\d{6}$/);
        for (const cell of ["tool", "key", "note"]) expect(row[cell]).not.toMatch(/^[=+\-@\t\r\n]/);
      }
    });

    it("starts with the opening balance and ends where the next span starts", async () => {
      const { world } = get();
      const [whole, early, late] = [
        await saved("statement.csv"),
        await saved(`statement.csv?from=${dayOf(38)}&to=${dayOf(9)}`),
        await saved(`statement.csv?from=${dayOf(9)}`),
      ];
      const before = world.entries.filter(({ time }) => time < dayOf(38));
      const opening = (ago: number, balance: string) => ({
        ...expectedRow(undefined, world),
        time_utc: `${dayOf(ago)}T00:00:00.000Z`,
        kind: "opening",
        balance_usdc: balance,
      });
      // A day's entries at least: fewer the later it is.
      expect(before.length).toBeGreaterThan(30);
      expect(early[0]).toEqual(opening(38, usdc(before.reduce((sum, { amount }) => sum + amount, 0n))));
      expect(late[0]).toEqual(opening(9, early.at(-1)?.["balance_usdc"] ?? ""));
      expect([...whole.slice(0, before.length), ...early.slice(1), ...late.slice(1)]).toEqual(whole);
      expect(await saved(`statement.csv?to=${dayOf(38)}`)).toEqual(whole.slice(0, before.length));
      expect(await saved("statement.csv?from=2099-01-01")).toEqual([
        { ...opening(0, whole.at(-1)?.["balance_usdc"] ?? ""), time_utc: "2099-01-01T00:00:00.000Z" },
      ]);
      expect(await saved("statement.csv?to=2020-01-01")).toEqual([]);
    });
  });

  describe("receipt and run exports", () => {
    it("match the lists with the same filters", async () => {
      const { world } = get();
      const receipts = await saved("receipts.csv");
      const charged = world.entries.filter(({ kind }) => kind === "charge");
      expect(sorted(receipts.map((row) => row["debited_usdc"]))).toEqual(
        sorted(charged.map(({ amount }) => usdc(-amount))),
      );
      const refunds = world.entries.filter(({ kind }) => kind === "refund");
      expect(await saved("receipts.csv?status=refunded")).toHaveLength(refunds.length);
      const of = await saved(
        `receipts.csv?tool=vram_estimate&key_id=${world.keyIds[0]}&from=${dayOf(20)}&to=${dayOf(10)}`,
      );
      const fitting = charged.filter(({ ref, time }) => {
        const run = world.runs.get(ref);
        return (
          run?.tool === "vram_estimate" &&
          run.keyId === world.keyIds[0] &&
          time >= dayOf(20) &&
          time < dayOf(10)
        );
      });
      expect(fitting.length).toBeGreaterThan(50);
      expect(sorted(of.map((row) => row["run_id"]))).toEqual(sorted(fitting.map(({ ref }) => `run_${ref}`)));
      expect(of[0]).toMatchObject({ key_id: world.keyIds[0], outcome: "succeeded" });
      const failed = await saved("runs.csv?status=failed");
      expect(failed).toHaveLength(
        [...world.runs.values()].filter(({ status }) => status === "failed").length,
      );
      expect(failed[0]).toMatchObject({
        error_code: "TOOL_FAILED",
        spent_usdc: "0.000000",
        receipt_id: "",
        outcome: "failed",
        key_id: world.runs.get(failed[0]?.["run_id"]?.slice(4) ?? "")?.keyId,
      });
      expect(await saved("runs.csv?outcome=failed")).toEqual(failed);
    });

    it.each([
      ["runs.csv?status=done", /^status: must be one of active, completed, failed, cancelled/],
      [
        "receipts.csv?outcome=active",
        /^outcome: must be one of succeeded, failed, timeout, limit, cancelled/,
      ],
      ["receipts.csv?key_id=mine", /^key_id: must be a key's identifier/],
      ["receipts.csv?from=2026-01-02&to=2026-01-01", /^to: must be after from/],
    ])("reject %s and name the parameter", async (path, message) => {
      const response = await server.get(`/console/export/${path}`);
      expect([response.status, await response.json()]).toEqual([
        400,
        { code: "INVALID_REQUEST", message: expect.stringMatching(message) },
      ]);
    });
  });
}

const sorted = (texts: readonly (string | undefined)[]) =>
  [...texts].sort((a = "", b = "") => (a < b ? -1 : a > b ? 1 : 0));

/** Formats six decimals independently. */
function usdc(amount: bigint): string {
  const [sign, digits] = [amount < 0n ? "-" : "", String(amount < 0n ? -amount : amount).padStart(7, "0")];
  return `${sign}${digits.slice(0, digits.length - 6)}.${digits.slice(digits.length - 6)}`;
}

/** Prefixes possible formulas with an apostrophe. */
const safe = (text: string) =>
  text.replace(/^([=+\-@\t\r\n])/, "'$1").replaceAll(/;(\s*)([=+\-@])/g, ";$1'$2");

/** Kinds of the account's entries. */
const [CALLS, ON_CHAIN] = [
  ["charge", "refund"],
  ["deposit", "assignment", "reversal"],
];

function expectedRow(entry: BookedEntry | undefined, { runs, keyIds, receipts }: StatementWorld) {
  const { time = "", kind = "", ref = "", note } = entry ?? {};
  const run = CALLS?.includes(kind) ? runs.get(ref) : undefined;
  const keyName = run?.keyId ? KEY_NAMES[keyIds.indexOf(run.keyId)] : undefined;
  return {
    time_utc: time,
    kind,
    tool: safe(run?.tool ?? ""),
    key: safe(keyName ?? ""),
    amount_usdc: entry ? usdc(entry.amount) : "",
    balance_usdc: "",
    receipt_id: run ? (receipts.get(ref) ?? "none") : "",
    run_id: run ? `run_${ref}` : "",
    tx_signature: ON_CHAIN?.includes(kind) ? base58.encode(Buffer.from(ref, "hex").subarray(-64)) : "",
    note: safe(note ?? ""),
  };
}
