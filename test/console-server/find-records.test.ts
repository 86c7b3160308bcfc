import { describe, expect, it } from "vitest";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { HistoryService, RecordKind } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { signIn } from "../support/console.ts";
import { memoOf, startWorld, xPayment } from "../support/world.ts";
import { closing } from "../support/postgres.ts";

const PARAMS = { model: "llama-3.1-8b" };

const world = closing(await startWorld({ TRUSTED_PROXY_HOPS: "1", WATCH_INTERVAL_MS: "200" }));
const [agent, other, operator] = await Promise.all([
  world.agent(),
  world.agent({ balance: 10_000n }),
  world.agent({ balance: 10_000n, operator: true }),
]);
const { quote } = (await world.call(agent, "vram_estimate", PARAMS)).body;
const transaction = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
const headers = { ...xPayment(transaction, quote.quote_id), "x-request-id": "proxy-request-77" };
const { receipt } = (await world.call(agent, "vram_estimate", PARAMS, { headers })).body;
const { accountId } = agent;
const adjustment = { accountId, amount: 10_000n, reason: "a call from the balance" };
await world.postgres.accounts.adjust({ ...adjustment, idempotencyKey: "find" });
const paid = await world.call(agent, "vram_estimate", PARAMS);
const person = await signIn(world, agent.wallet);
const own = person.client(HistoryService);
const [key] = (await person.client(KeyService).listKeys({})).keys;
const { deposit } = await person.client(DepositService).createDeposit({ amountUsdcMicrousd: 10_000n });
const depositId = deposit?.depositId ?? "";
const deposited = await world.pay(agent, 10_000n, deposit?.memo ?? "");
/** Identifiers of one account, by what they name. */
const ids = {
  run: receipt.run_id as string,
  receipt: receipt.receipt_id as string,
  key: key?.key?.keyId ?? "",
  prefix: agent.apiKey.slice(0, 14),
  request: paid.headers.get("x-request-id") ?? "",
  proxy: "proxy-request-77",
  transaction,
  quote: quote.quote_id as string,
};
const sessions = [await signIn(world, other.wallet), await signIn(world, operator.wallet)];
const others = sessions.map((session) => session.client(HistoryService));

describe("finding records by an identifier", () => {
  it("returns the account's runs, receipts, keys and deposits", async () => {
    const found = async (id: string) => {
      const { records } = await own.findRecords({ id });
      return records.map(({ kind, title }) => [kind, title]);
    };
    const run = [[RecordKind.RUN, "vram_estimate"]];
    const receipt = [[RecordKind.RECEIPT, "vram_estimate"]];
    for (const name of ["run", "quote"] as const) expect(await found(ids[name]), name).toEqual(run);
    const request = [...run, [RecordKind.REQUEST, "vram_estimate"]];
    for (const name of ["request", "proxy"] as const)
      await expect.poll(() => found(ids[name])).toEqual(request);
    for (const name of ["receipt", "transaction"] as const)
      expect(await found(ids[name]), name).toEqual(receipt);
    for (const name of ["key", "prefix"] as const)
      expect(await found(ids[name]), name).toEqual([[RecordKind.KEY, expect.any(String)]]);
    const deposit = [[RecordKind.DEPOSIT, ""]];
    expect(await found(` ${depositId} `)).toEqual(deposit);
    await expect.poll(() => found(deposited)).toEqual(deposit);
  });

  it("names each record by the id of its page", async () => {
    const [record] = (await own.findRecords({ id: ids.transaction })).records;
    expect(record?.id).toBe(ids.receipt);
  });

  it("finds nothing of another account, also for operators", async () => {
    for (const session of others)
      for (const [name, id] of Object.entries({ ...ids, depositId, deposited }))
        expect((await session.findRecords({ id })).records, name).toEqual([]);
  });

  it("finds nothing for accounts, wallets and text of another kind", async () => {
    for (const id of ["acct_0", "key_0", "qt_0", "%", "no such request", "constructor"])
      expect((await own.findRecords({ id })).records, id).toEqual([]);
  });
});
