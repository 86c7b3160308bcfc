import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { RequestBodies, RequestLogService } from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import { signIn } from "../support/console.ts";
import { startWorld, type Agent } from "../support/world.ts";
import { closing } from "../support/postgres.ts";

const PARAMS = { model: "llama-3.1-8b" };

const world = closing(await startWorld());
const agent = await world.agent({ balance: 1_000_000n });
const clientOf = async ({ wallet }: Agent) => (await signIn(world, wallet)).client(RequestLogService);
const own = await clientOf(agent);
const other = await clientOf(await world.agent());
const operator = await clientOf(await world.agent({ operator: true }));

async function entryOf(requestId: string | null) {
  const find = async () => (await own.getRequest({ id: requestId ?? "" })).request;
  const found = async () => (await find().catch(() => undefined))?.requestId;
  await expect.poll(found, { interval: 100 }).toBe(requestId);
  return find();
}

/** Stores params from now on: every instance hears of it within a second. */
async function storeAll() {
  await own.setRequestLogSettings({ bodies: RequestBodies.ALL, hours: 24 });
  const probe = async () => {
    await world.call(agent, "echo", { message: "probe" });
    const { items } = await own.listRequests({ filter: { tool: "echo" } });
    return items.length > 0;
  };
  await expect.poll(probe, { interval: 200 }).toBe(true);
}

describe("the request log of an account", () => {
  it("has paid calls and refusals on day one, without params and free calls", async () => {
    expect(await own.getRequestLogSettings({})).toMatchObject({ bodies: RequestBodies.NONE, hours: 168 });
    const free = await world.call(agent, "echo", { message: "hi" });
    const paid = await world.call(agent, "vram_estimate", PARAMS);
    const refused = await world.call(agent, "vram_estimate", { model: 1 });
    const entry = await entryOf(paid.headers.get("x-request-id"));
    const { receipt } = paid.body;
    expect(entry).toMatchObject({
      ...{ keyId: agent.keyId, transport: "http", method: "ToolService/CallTool", tool: "vram_estimate" },
      ...{ status: 200, code: "", runId: receipt.run_id, receiptId: receipt.receipt_id },
    });
    expect(entry?.chargedUsdcMicrousd).toBeGreaterThan(0n);
    expect(entry?.totalUs).toBeGreaterThan(0n);
    expect(await entryOf(refused.headers.get("x-request-id"))).toMatchObject({ status: 400 });
    const { items } = await own.listRequests({});
    expect(items.map(({ status }) => status)).toEqual([400, 200]);
    expect(items.map(({ requestId }) => requestId)).not.toContain(free.headers.get("x-request-id"));
    expect((await own.getRequest({ id: entry?.id ?? "" })).stored).toBe(false);
  });

  it("has params and results of every call when the account says so, for itself only", async () => {
    await storeAll();
    const called = await world.call(agent, "echo", { message: "hi" });
    const { id = "" } = (await entryOf(called.headers.get("x-request-id"))) ?? {};
    const found = await own.getRequest({ id });
    expect(found).toMatchObject({ stored: true, params: { message: "hi" }, omitted: [] });
    expect(found.result).toEqual(called.body.result);
    const failed = await world.call(agent, "vram_estimate", { model: 1 });
    const failure = await entryOf(failed.headers.get("x-request-id"));
    const { params, message } = await own.getRequest({ id: failure?.id ?? "" });
    expect({ params, message }).toEqual({ params: { model: 1 }, message: failed.body.message });

    const byWallet = await world.postgres.walletAccounts.find(agent.wallet.publicKey.toBase58());
    expect(byWallet?.requestLog).toEqual({ bodies: "all", hours: 24 });

    const seen = await operator.getRequest({ id, accountId: agent.accountId });
    expect(seen).toMatchObject({ request: { id, tool: "echo" }, stored: false });
    expect(seen.params).toBeUndefined();
    expect(seen.result).toBeUndefined();
    for (const name of [id, called.headers.get("x-request-id") ?? ""])
      expect(await codeOf(other.getRequest({ id: name }))).toBe(Code.NotFound);
    expect(await codeOf(other.getRequest({ id, accountId: agent.accountId }))).toBe(Code.PermissionDenied);
    expect(await codeOf(other.listRequests({ accountId: agent.accountId }))).toBe(Code.PermissionDenied);
    expect((await other.deleteRequests({ id })).deleted).toBe(0);
    expect((await operator.deleteRequests({})).deleted).toBe(0);
  });

  it("has one call that was repeated twice, charged once", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await world.call(agent, "vram_estimate", PARAMS, { headers });
    const again = await world.call(agent, "vram_estimate", PARAMS, { headers });
    const entries = [first, again].map(({ headers: sent }) => entryOf(sent.get("x-request-id")));
    const [charged, repeated] = await Promise.all(entries);
    expect(charged?.chargedUsdcMicrousd).toBeGreaterThan(0n);
    expect(repeated?.chargedUsdcMicrousd).toBe(0n);
    expect(repeated?.receiptId).toBe(charged?.receiptId);
  });

  it("names the account of requests that were refused before they were read", async () => {
    await world.postgres.accounts.setBlocked(agent.accountId, { blocked: true, reason: "test" });
    await expect.poll(async () => (await world.call(agent, "echo", { message: "hi" })).status).toBe(403);
    const refused = await world.call(agent, "echo", { message: "hi" });
    await world.postgres.accounts.setBlocked(agent.accountId, { blocked: false, reason: "test" });
    expect(await entryOf(refused.headers.get("x-request-id"))).toMatchObject({
      status: 403,
      code: "FORBIDDEN",
      tool: "",
      keyId: agent.keyId,
    });
  });

  it("is deleted on request", async () => {
    await expect.poll(async () => (await own.deleteRequests({})).deleted).toBe(0);
    expect((await own.listRequests({})).items).toEqual([]);
  });
});

async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}
