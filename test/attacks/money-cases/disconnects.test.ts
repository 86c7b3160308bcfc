import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { query } from "../../support/database-server.ts";
import { useModelServer } from "../../support/use-world.ts";
import { useScene } from "../scene.ts";
import { ChatBuyer } from "./chat.ts";
import { TRANSPORTS } from "./transports.ts";

/** Clients that disconnect during each part of a paid call, on every transport. */
const model = useModelServer();
const world = useScene(() => ({ INFERENCE_BASE_URL: model.url, PAYMENT_WAIT_MS: "20000" }));
let paid: ChatBuyer;
let leaving: AbortController;
const KEY = { "idempotency-key": "k" };
beforeEach(async () => {
  paid = await ChatBuyer.pay(world);
  leaving = new AbortController();
});
afterEach(() => world.chain.faults.clear());

describe.each(TRANSPORTS)("a caller that disconnects, at %s", (_name, call) => {
  const ask = (signal = AbortSignal.timeout(300_000)) =>
    call(world, paid.agent, { "x-payment": paid.headers["X-Payment"] ?? "", ...KEY }, signal);
  const begin = () => {
    const answer = ask(leaving.signal);
    answer.catch(() => {});
    return answer;
  };

  /** Leaves, and waits for answers that show that the gateway has read the earlier requests. */
  async function leave(answer: Promise<unknown>): Promise<void> {
    leaving.abort();
    await expect(answer).rejects.toThrow();
    for (const _ of [1, 2, 3]) await world.get(undefined, "/health");
  }

  it("finishes, charges and stores the call when its caller disconnects while the tool runs", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const answer = begin();
    await expect.poll(() => paid.runs()).toEqual(["active"]);
    await leave(answer);
    expect(await paid.runs()).toEqual(["active"]);
    gate.resolve();
    await expect.poll(() => paid.runs()).toEqual(["completed"]);
    await paid.expectOneCall();
    const [receipt] = await paid.receipts();
    expect(receipt.tx_signature).toBe(paid.tx);
    expect(await ask()).toMatchObject({ receipt_id: receipt.receipt_id, tx_signature: paid.tx });
    expect((await paid.chat({ headers: KEY })).body.receipt).toEqual(receipt);
    expect((await paid.proved()).body.receipt).toEqual(receipt);
    await paid.expectOneCall();
  });

  it("releases the hold when the caller disconnects before the tool; the retry needs no second payment", async () => {
    await withAccountLocked(async (waiting) => {
      const answer = begin();
      await expect.poll(waiting, { interval: 10 }).toBe(1);
      await leave(answer);
    });
    await expect.poll(() => paid.runs()).toEqual(["cancelled"]);
    await paid.expectAccount(paid.price, 0);
    expect(await ask()).toMatchObject({ tx_signature: paid.tx });
    await paid.expectOneCall();
    expect(await paid.runs()).toEqual(["completed", "cancelled"]);
  });

  it("consumes nothing when the caller disconnects while its transaction is awaited", async () => {
    world.chain.faults.resetCallCounts();
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "null" } });
    const unseen = { context: { slot: 1 }, value: [null] };
    world.chain.faults.add({ method: "getSignatureStatuses", fault: { kind: "result", result: unseen } });
    const answer = begin();
    await expect.poll(() => world.chain.faults.callCount("getTransaction")).toBeGreaterThan(0);
    await leave(answer);
    world.chain.faults.clear();
    expect(await paid.runs()).toEqual([]);
    await paid.expectNothing();
    expect(await ask()).toMatchObject({ tx_signature: paid.tx });
    await paid.expectOneCall();
  });
});

/** Holds up whatever changes the agent's account; `waiting` counts what waits for it. */
async function withAccountLocked(work: (waiting: () => Promise<number>) => Promise<void>): Promise<void> {
  const holder = new pg.Client({ connectionString: world.database.url });
  await holder.connect();
  try {
    await holder.query("begin");
    const id = uuidOf("acct", paid.agent.accountId);
    await holder.query("select from account where id = $1 for update", [id]);
    await work(async () => {
      const { rows } = await query(
        world.database.url,
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock'`,
      );
      return rows[0].waiting;
    });
  } finally {
    await holder.end();
  }
}
