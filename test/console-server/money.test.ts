import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { BalanceService, EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { CallOutcome, HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import { parseCsv } from "../support/csv.ts";
import { signIn } from "../support/console.ts";
import { startWorld } from "../support/world.ts";
import { closing } from "../support/postgres.ts";

const GIFT = 10_000n;
const PRICE = 1_000n;

const world = closing(await startWorld());
const [agent, other] = [await world.agent({ balance: GIFT }), await world.agent({ balance: GIFT })];
for (const buyer of [agent, agent, other])
  expect((await world.call(buyer, "vram_estimate", { model: "llama-3.1-8b" })).status).toBe(200);
const person = await signIn(world, agent.wallet);
const [balance, history] = [person.client(BalanceService), person.client(HistoryService)];
const theirs = (await signIn(world, other.wallet)).client(HistoryService);
const [theirReceipt] = (await theirs.listReceipts({})).items;
const otherAccounts = { receiptId: theirReceipt?.receiptId ?? "", runId: theirReceipt?.runId ?? "" };

const yesterday = () => timestampFromDate(new Date(Date.now() - 86_400_000));

describe("account holder", () => {
  it("sees the computing time that the tier allows for unpaid requests", async () => {
    for (const [ratePerMinute, allowed] of [
      [60, { unpaidMsPerMinute: 1_500, unpaidBurstMs: 250 }],
      [1_500, { unpaidMsPerMinute: 15_000, unpaidBurstMs: 2_500 }],
    ] as const) {
      const { wallet } = await world.agent({ ratePerMinute });
      expect(await (await signIn(world, wallet)).client(BalanceService).getBalance({})).toMatchObject(
        allowed,
      );
    }
  });

  it("sees consistent balance, entries, usage and CSV", async () => {
    const response = await balance.getBalance({});
    expect(response).toMatchObject({
      balanceUsdcMicrousd: GIFT - 2n * PRICE,
      heldUsdcMicrousd: 0n,
      spentTodayUsdcMicrousd: 2n * PRICE,
      spent30DaysUsdcMicrousd: 2n * PRICE,
      low: false,
      ratePerMinute: expect.any(Number),
      burst: expect.any(Number),
      keyLimit: 100,
    });
    expect(response.lowBalanceUsdcMicrousd).toBeUndefined();
    const { items, nextCursor } = await balance.listEntries({});
    expect(nextCursor).toBeUndefined();
    expect(
      items.map(({ kind, amountUsdcMicrousd, balanceUsdcMicrousd }) => [
        kind,
        amountUsdcMicrousd,
        balanceUsdcMicrousd,
      ]),
    ).toEqual([
      [EntryKind.CHARGE, -PRICE, GIFT - 2n * PRICE],
      [EntryKind.CHARGE, -PRICE, GIFT - PRICE],
      [EntryKind.ADJUSTMENT, GIFT, GIFT],
    ]);
    const used = { chargedCalls: 2n, spentUsdcMicrousd: 2n * PRICE, failedCalls: 0n };
    const usage = await balance.getUsage({ from: yesterday(), hourly: true });
    expect(usage).toMatchObject({
      total: used,
      tools: [{ tool: "vram_estimate", usage: used }],
      failures: [],
    });
    expect(usage.keys).toEqual([
      expect.objectContaining({
        keyId: expect.stringMatching(/^key_/),
        usage: expect.objectContaining(used),
      }),
    ]);
    const [key] = usage.keys;
    expect((await balance.getUsage({ from: yesterday(), keyId: key?.keyId ?? "" })).total).toMatchObject(
      used,
    );
    const rows = parseCsv(await text(await file("statement.csv")));
    expect(rows.map((row) => [row["kind"], row["key"], row["amount_usdc"], row["balance_usdc"]])).toEqual([
      ["adjustment", "", "0.010000", "0.010000"],
      ["charge", key?.name, "-0.001000", "0.009000"],
      ["charge", key?.name, "-0.001000", "0.008000"],
    ]);
  });

  it("is warned below the configured balance", async () => {
    await balance.setLowBalance({ lowBalanceUsdcMicrousd: GIFT });
    expect(await balance.getBalance({})).toMatchObject({ lowBalanceUsdcMicrousd: GIFT, low: true });
    await balance.setLowBalance({ lowBalanceUsdcMicrousd: GIFT - 2n * PRICE });
    expect(await balance.getBalance({})).toMatchObject({ low: false });
    await balance.setLowBalance({});
    const { low, lowBalanceUsdcMicrousd } = await balance.getBalance({});
    expect([low, lowBalanceUsdcMicrousd]).toEqual([false, undefined]);
  });

  it("sees receipts and runs with their details", async () => {
    const receipts = await history.listReceipts({
      status: ReceiptStatus.FINAL,
      filter: { tool: "vram_estimate", from: yesterday() },
    });
    const runs = await history.listRuns({ status: RunStatus.COMPLETED, limit: 1 });
    expect([receipts.items.length, runs.items.length, runs.nextCursor]).toEqual([2, 1, expect.any(String)]);
    expect((await history.listRuns({ filter: { to: yesterday() } })).items).toEqual([]);
    const { receiptId = "", runId = "" } = receipts.items[0] ?? {};
    const detail = await history.getReceipt({ receiptId });
    expect(detail).toMatchObject({
      receipt: { receiptId },
      run: { runId },
      keyId: expect.stringMatching(/^key_/),
    });
    expect(detail.payment).toBeUndefined();
    expect((await history.listReceipts({ filter: { keyId: detail.keyId } })).items).toHaveLength(2);
    expect(await history.getRun({ runId })).toMatchObject({
      run: { runId, receiptId },
      keyId: detail.keyId,
      keyName: detail.keyName,
    });
    const list = parseCsv(await text(await file(`receipts.csv?key_id=${detail.keyId}&status=final`)));
    expect(list.map((row) => row["receipt_id"])).toEqual(receipts.items.map((receipt) => receipt.receiptId));
  });

  it("is rejected after too many concurrent reports", async () => {
    const { accountQueries: reading, apiKeys } = world.postgres;
    const { accountId } = agent;
    for (const ask of [
      () =>
        reading.usageReports.usage({
          accountId,
          from: new Date(),
          to: undefined,
          hourly: false,
          tool: undefined,
          keyId: undefined,
        }),
      () => reading.statements.balance(accountId),
      () => apiKeys.listWithUsage(accountId),
    ]) {
      const all = Array.from({ length: 20 }, () => ask().catch(() => {}));
      await expect(ask()).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/too many of these requests/),
      });
      await Promise.all(all);
    }
  });

  it("cannot read receipts and runs of other accounts", async () => {
    await expect(history.getReceipt({ receiptId: otherAccounts.receiptId })).rejects.toThrow(
      /not_found.*no receipt with this id/,
    );
    await expect(history.getRun({ runId: otherAccounts.runId })).rejects.toThrow(
      /not_found.*no run with this id/,
    );
    await expect(history.getRun({ runId: "run_x" })).rejects.toThrow(/not_found/);
    const { accountId } = await world.agent();
    for (const ask of [
      () => history.listReceipts({ accountId }),
      () => history.listRuns({ accountId }),
      () => history.getReceipt({ ...otherAccounts, accountId }),
      () => history.getRun({ ...otherAccounts, accountId }),
      () => balance.listEntries({ accountId }),
    ])
      await expect(ask()).rejects.toThrow(/permission_denied.*account_id: .*operator role/);
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ["no beginning", () => balance.getUsage({}), /from: /],
    [
      "too many hours",
      () => balance.getUsage({ from: timestampFromDate(new Date(0)), hourly: true }),
      /from: at most 7 days by hours/,
    ],
    [
      "a moment after all calendars",
      () => balance.getUsage({ from: { seconds: 10n ** 15n } }),
      /from: must be a timestamp/,
    ],
    [
      "a key that is none",
      () => balance.getUsage({ from: yesterday(), keyId: "mine" }),
      /key_id: must be a key's identifier/,
    ],
    [
      "a tool that is none",
      () => balance.getUsage({ from: yesterday(), tool: "\0" }),
      /tool: must be a tool's name/,
    ],
    [
      "a filter's tool that is none",
      () => history.listReceipts({ filter: { tool: "a\0" } }),
      /filter\.tool: /,
    ],
    [
      "a filter's key that is none",
      () => history.listRuns({ filter: { keyId: "mine" } }),
      /filter\.key_id: /,
    ],
    [
      "a filter without any time",
      () => history.listReceipts({ filter: { from: timestampFromDate(new Date()), to: yesterday() } }),
      /filter\.to: must be after filter\.from/,
    ],
    ["a long page", () => balance.listEntries({ limit: 101 }), /limit: /],
    ["a foreign cursor", () => balance.listEntries({ cursor: "x" }), /cursor: is not one of this list/],
    [
      "a negative warning",
      () => balance.setLowBalance({ lowBalanceUsdcMicrousd: -1n }),
      /low_balance_usdc_microusd: /,
    ],
  ])("gets an error naming the field for %s", async (_, ask, message) => {
    await expect(ask()).rejects.toThrow(/invalid_argument/);
    await expect(ask()).rejects.toThrow(message);
  });
});

describe("operator", () => {
  it("reads receipts, runs and entries of any account, without results", async () => {
    const operator = await signIn(world, (await world.agent({ operator: true })).wallet);
    const [theirs, entries] = [operator.client(HistoryService), operator.client(BalanceService)];
    const { accountId } = agent;
    const receipts = await theirs.listReceipts({ accountId });
    expect(receipts.items).toEqual((await history.listReceipts({})).items);
    expect(receipts.calls).toEqual(
      receipts.items.map(() =>
        expect.objectContaining({ keyId: agent.keyId, keyName: "test", outcome: CallOutcome.SUCCEEDED }),
      ),
    );
    expect((await theirs.listRuns({ accountId })).items).toEqual((await history.listRuns({})).items);
    expect((await entries.listEntries({ accountId })).items).toEqual((await balance.listEntries({})).items);
    const { receiptId = "", runId = "" } = receipts.items[0] ?? {};
    expect(await theirs.getReceipt({ accountId, receiptId })).toMatchObject({ receipt: { receiptId } });
    const run = await theirs.getRun({ accountId, runId });
    expect(run).toMatchObject({ run: { runId }, outcome: CallOutcome.SUCCEEDED });
    expect([run.result, run.idempotencyKey]).toEqual([undefined, undefined]);
    await expect(theirs.getRun({ accountId: "acct_x", runId })).rejects.toThrow(
      /invalid_argument.*account_id/,
    );
    const none = (await theirs.listReceipts({ accountId, filter: { outcome: CallOutcome.FAILED } })).items;
    expect(none).toEqual([]);
  });
});

describe("CSV export", () => {
  it("requires a session and a same-origin request", async () => {
    const { cookie } = person;
    const refused = async (headers: Record<string, string>) => {
      const response = await file("statement.csv", headers);
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    expect(await refused({})).toEqual([401, "UNAUTHORIZED"]);
    expect(await refused({ authorization: `Bearer ${agent.apiKey}` })).toEqual([401, "UNAUTHORIZED"]);
    expect(await refused({ cookie, "sec-fetch-site": "cross-site" })).toEqual([403, "FORBIDDEN"]);
    expect(await refused({ cookie, "sec-fetch-site": "same-site" })).toEqual([403, "FORBIDDEN"]);
    expect((await file("runs.csv?tool=%00")).status).toBe(400);
    const typed = await file("statement.csv?from=2026-01-01", { cookie, "sec-fetch-site": "none" });
    expect(typed.headers.get("content-disposition")).toBe(
      'attachment; filename="toolgate-statement-from-2026-01-01.csv"',
    );
    expect(typed.headers.get("cache-control")).toBe("no-store");
    expect(parseCsv(await text(typed))).toHaveLength(4);
  });
});

const file = (
  path: string,
  headers: Record<string, string> = { cookie: person.cookie, "sec-fetch-site": "same-origin" },
) => fetch(`${world.gateway.consoleUrl}/export/${path}`, { headers });

const text = async (response: Response) => Buffer.from(await response.arrayBuffer()).toString();
