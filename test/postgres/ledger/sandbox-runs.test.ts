import { describe, expect, it } from "vitest";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import type { SandboxRunStart } from "../../../src/app/calls/sandbox-runs.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { PostgresSandboxRuns } from "../../../src/postgres/ledger/sandbox-runs.ts";
import { servingUrl, closing } from "../../support/postgres.ts";
import {
  completed,
  expectCleanAudit,
  expireLeases,
  failed,
  openInstance,
  PRICE,
  type Instance,
  silent,
  idOf,
  openLedger,
} from "../fixture.ts";

/** Sandbox executions on two instances, with production grants. */
const { database, one: owner } = await openLedger();
const [one, two] = [closing(open()), closing(open())];

/** An instance, its notifications and its executions. */
interface Hearing {
  instance: Instance;
  runs: PostgresSandboxRuns;
  heard: string[];
  close(): Promise<void>;
}

/** @param looks whether it polls for cancel requests besides notifications */
function open(looks = true): Hearing {
  const url = servingUrl(database.url);
  const instance = openInstance(url);
  const notifications = new Notifications({ url, log: silent });
  const runs = new PostgresSandboxRuns({ pool: instance.pool, notifications, log: silent });
  const heard: string[] = [];
  runs.onCancel((runId) => heard.push(runId));
  if (looks) runs.start();
  notifications.start();
  const close = async () => {
    await Promise.all([runs.stop(), notifications.stop()]);
    await instance.close();
  };
  return { instance, runs, heard, close };
}

/** A ledger run with a hold, and the start of an execution in it. */
async function started(at: Hearing, more: Partial<SandboxRunStart> = {}) {
  const accountId = more.accountId ?? (await owner.account(20n * PRICE));
  const call = await at.instance.start(accountId, { tool: "sandbox_execute" });
  const start = {
    runId: call.runId,
    accountId,
    keyId: idOf("key"),
    name: undefined,
    mostPerAccount: 2,
    ...more,
  };
  return { call, start, accountId };
}

/** The outcome of a start: "created" or the error code. */
async function outcomeOf(at: Hearing, start: SandboxRunStart): Promise<string> {
  return at.runs.create(start).then(
    () => "created",
    (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
  );
}

describe("a sandbox execution", () => {
  it("is found by run and by name, by its account only", async () => {
    const { start, accountId } = await started(one, { name: "mine" });
    await one.runs.create(start);
    const known = { runId: start.runId, status: "running" };
    expect(await two.runs.find(accountId, start.runId)).toEqual(known);
    expect(await two.runs.find(accountId, "mine")).toEqual(known);
    const stranger = await owner.account();
    expect(await two.runs.find(stranger, start.runId)).toBeUndefined();
    expect(await two.runs.find(stranger, "mine")).toBeUndefined();
    expect(await two.runs.find(accountId, "another")).toBeUndefined();
  });

  it("starts once, also when retried after a lost response", async () => {
    const { start } = await started(one, { name: "again", mostPerAccount: 1 });
    expect([await outcomeOf(one, start), await outcomeOf(one, start)]).toEqual(["created", "created"]);
  });

  it("keeps the status of its end", async () => {
    const { call, start, accountId } = await started(one);
    await one.runs.create(start);
    expect(await one.runs.end(start.runId, "timeout")).toBe("timeout");
    expect(await one.runs.end(start.runId, "succeeded")).toBe("timeout");
    expect(await two.runs.find(accountId, start.runId)).toMatchObject({ status: "timeout" });
    await one.instance.ledger.capture(completed(call));
    expect(await two.runs.find(accountId, start.runId)).toMatchObject({ status: "timeout" });
    const outcomes = "select outcome from run where id = $1";
    expect((await owner.pool.query(outcomes, [uuidOf("run", start.runId)])).rows).toEqual([
      { outcome: "timeout" },
    ]);
    const other = await started(one);
    await one.runs.create(other.start);
    await one.runs.end(other.start.runId, "succeeded");
    expect((await owner.pool.query(outcomes, [uuidOf("run", other.start.runId)])).rows).toEqual([
      { outcome: null },
    ]);
  });

  it("has failed when its run ended without a status: its instance died or the engine lost it", async () => {
    const { call, start, accountId } = await started(one, { name: "lost" });
    await one.runs.create(start);
    await expireLeases(owner.pool, call);
    expect(await two.instance.sweeper.sweep()).toBe(1);
    expect(await two.runs.find(accountId, "lost")).toMatchObject({ status: "failed" });
    expect(await two.runs.requestCancel(start.runId)).toBe(false);
    const next = await started(two, { ...start, runId: undefined as never, accountId });
    await expect(outcomeOf(two, { ...next.start, runId: next.call.runId, mostPerAccount: 1 })).resolves.toBe(
      "created",
    );
  });
});

describe("concurrent executions of an account", () => {
  it.each([1, 2, 3])("are limited to %i over all keys and instances", async (mostPerAccount) => {
    const accountId = await owner.account(20n * PRICE);
    const all = [];
    for (let n = 0; n < 10; n++) {
      const at = n % 2 === 0 ? one : two;
      all.push({ at, ...(await started(at, { accountId, mostPerAccount })) });
    }
    const outcomes = await Promise.all(all.map(({ at, start }) => outcomeOf(at, start)));
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(mostPerAccount);
    expect(outcomes.filter((outcome) => outcome === "RATE_LIMITED")).toHaveLength(10 - mostPerAccount);

    const first = all[outcomes.indexOf("created")];
    const refused = all[outcomes.indexOf("RATE_LIMITED")];
    if (!first || !refused) throw new Error("there is one of each");
    await expect(refused.at.runs.create(refused.start)).rejects.toMatchObject({
      retryAfterSeconds: 1,
      message: expect.stringMatching(
        new RegExp(`^${mostPerAccount} executions of this account.*sandbox_cancel.*nothing was charged`),
      ),
    });
    expect(await outcomeOf(two, (await started(two)).start), "another account").toBe("created");
    await first.at.runs.end(first.start.runId, "succeeded");
    expect(await outcomeOf(refused.at, refused.start)).toBe("created");
  });
});

describe("an execution name", () => {
  it("belongs to one active execution of the account, over all keys", async () => {
    const { call, start, accountId } = await started(one, { name: "taken" });
    await one.runs.create(start);
    const second = await started(two, { name: "taken", accountId });
    expect(await outcomeOf(two, second.start)).toBe("REQUEST_IN_PROGRESS");
    await expect(two.runs.create(second.start)).rejects.toThrow(/^params\.run_id: "taken" is running; /);
    expect(await outcomeOf(two, (await started(two, { name: "taken" })).start), "another account").toBe(
      "created",
    );

    await one.runs.end(start.runId, "succeeded");
    await one.instance.ledger.capture(completed(call));
    expect(await outcomeOf(two, second.start)).toBe("created");
    expect(await one.runs.find(accountId, "taken")).toEqual({ runId: second.start.runId, status: "running" });
  });
});

describe("a cancel request", () => {
  it("reaches the instance with the execution only", async () => {
    const { start } = await started(one);
    await one.runs.create(start);
    expect(await two.runs.requestCancel(start.runId)).toBe(true);
    await expect.poll(() => one.heard).toContain(start.runId);
    expect(two.heard).not.toContain(start.runId);
    await one.runs.end(start.runId, "cancelled");
  });

  it("arrives by notification, not only by polling", async () => {
    const reported = open(false);
    try {
      const { start } = await started(reported);
      await reported.runs.create(start);
      // It may not listen yet.
      const heard = async () => (await two.runs.requestCancel(start.runId)) && reported.heard;
      await expect.poll(heard).toContain(start.runId);
      await reported.runs.end(start.runId, "cancelled");
    } finally {
      await reported.close();
    }
  });

  it("is repeated until the execution ends, also without notifications", async () => {
    const [{ start }, { start: other }] = [await started(one), await started(one)];
    const times = (of: SandboxRunStart) => one.heard.filter((runId) => runId === of.runId).length;
    const untilHeardAgain = async (of: SandboxRunStart) => {
      const before = times(of);
      await expect.poll(() => times(of)).toBeGreaterThan(before + 1);
    };
    const request = "update sandbox_run set cancel_requested_at = now() where run_id = $1";
    for (const requested of [start, other]) {
      await one.runs.create(requested);
      await owner.pool.query(request, [uuidOf("run", requested.runId)]);
      await untilHeardAgain(requested);
    }
    await one.runs.end(start.runId, "succeeded");
    await untilHeardAgain(other);
    const before = times(start);
    await untilHeardAgain(other);
    expect(times(start)).toBe(before);
    await one.runs.end(other.runId, "succeeded");
  });

  it("cancels the execution when it comes before the end, and is accepted repeatedly", async () => {
    const { start, accountId } = await started(one);
    await one.runs.create(start);
    expect([await two.runs.requestCancel(start.runId), await one.runs.requestCancel(start.runId)]).toEqual([
      true,
      true,
    ]);
    expect(await one.runs.end(start.runId, "succeeded")).toBe("cancelled");
    expect(await two.runs.find(accountId, start.runId)).toMatchObject({ status: "cancelled" });
    expect(await two.runs.requestCancel(start.runId)).toBe(false);
  });

  it("changes nothing after the end", async () => {
    const { call, start, accountId } = await started(one);
    await one.runs.create(start);
    await one.runs.end(start.runId, "succeeded");
    expect(await two.runs.requestCancel(start.runId)).toBe(false);
    await one.instance.ledger.capture(completed(call));
    expect(await two.runs.find(accountId, start.runId)).toMatchObject({ status: "succeeded" });
  });

  it("and a concurrent end never both count", async () => {
    const accountId = await owner.account(20n * PRICE);
    for (let n = 0; n < 15; n++) {
      const { start } = await started(one, { accountId });
      await one.runs.create(start);
      const [accepted, end] = await Promise.all([
        two.runs.requestCancel(start.runId),
        one.runs.end(start.runId, "succeeded"),
      ]);
      expect(end).toBe(accepted ? "cancelled" : "succeeded");
    }
  });

  it("counts although the engine fails afterwards", async () => {
    const { call, start, accountId } = await started(one);
    await one.runs.create(start);
    await two.runs.requestCancel(start.runId);
    await one.instance.ledger.release(failed(call));
    expect(await two.runs.find(accountId, start.runId)).toMatchObject({ status: "cancelled" });
  });
});

describe("executions that ended two days ago", () => {
  it("are deleted in batches, but no active or newer ones", async () => {
    const accountId = await owner.account(20n * PRICE);
    const over = await started(one, { accountId });
    await one.runs.create(over.start);
    await one.instance.ledger.capture(completed(over.call));
    const active = await started(one, { accountId });
    await one.runs.create(active.start);
    const age = (hours: number) =>
      owner.pool.query(
        "update sandbox_run set created_at = now() - $2 * interval '1 hour' where account_id = $1",
        [uuidOf("acct", accountId), hours],
      );
    await age(47);
    expect(await one.instance.sweeper.retention.deleteExpired(["executions"])).toBe(0);
    await age(49);
    expect(await one.instance.sweeper.retention.deleteExpired(["executions"])).toBe(1);
    expect(await one.runs.find(accountId, over.start.runId)).toBeUndefined();
    expect(await one.runs.find(accountId, active.start.runId)).toMatchObject({ status: "running" });
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(owner.pool));
