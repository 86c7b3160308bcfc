import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONCURRENT_ENDPOINTS } from "../../../src/app/webhooks/webhook-deliverer.ts";
import {
  type ClaimedEndpoint,
  type FreePlaces,
  MAX_ENDPOINTS,
} from "../../../src/app/webhooks/webhook-endpoints.ts";
import { GIVE_UP_MS } from "../../../src/domain/webhooks/webhook.ts";
import { PostgresSealingKeyAdmin } from "../../../src/postgres/operations/sealing-key-admin.ts";
import { systemRandom } from "../../../src/system.ts";
import { listen } from "../../support/servers.ts";
import { verified, WebhookReceiver } from "../../support/webhook-receiver.ts";
import { openInstance } from "../fixture.ts";
import { newAccount, openDeliveries } from "./delivery-fixture.ts";

const deliveries = await openDeliveries();
const { database, pool, sealingKeys, stores, storesOf, delivererOf, deliver, makeDue } = deliveries;
let receiver: WebhookReceiver;

beforeEach(async () => {
  receiver = await WebhookReceiver.open();
});
afterEach(async () => {
  receiver.close();
  await deliveries.empty();
});

const endpointAt = (url = receiver.url, owner = newAccount()) => deliveries.endpointAt(url, owner);

async function listening(onSocket: (socket: Socket) => void) {
  const server = createServer(onSocket);
  return { url: `http://127.0.0.1:${await listen(server)}/`, close: () => server.close() };
}

describe("a delivery", () => {
  it("is signed as the library of Standard Webhooks verifies", async () => {
    const { secret, add, state, attempts } = await endpointAt();
    await add("deposit.credited", { amount_usdc_microusd: 5_000_000 });
    await deliver();
    expect(receiver.received).toHaveLength(1);
    const [webhook] = receiver.received;
    expect(() => verified(secret, webhook!)).not.toThrow();
    expect(verified(secret, webhook!)).toMatchObject({
      type: "deposit.credited",
      data: { amount_usdc_microusd: 5_000_000 },
    });
    expect(webhook!.headers).toMatchObject({ "content-type": "application/json" });
    expect(webhook!.headers["webhook-id"]).toMatch(/^evt_[0-9a-f]{32}$/);
    const changed = { ...webhook!, body: webhook!.body.replace("5000000", "6000000") };
    expect(() => verified(secret, changed)).toThrow("No matching signature found");
    const headers = {
      ...webhook!.headers,
      "webhook-timestamp": String(Number(webhook!.headers["webhook-timestamp"]) - 1),
    };
    expect(() => verified(secret, { ...webhook!, headers })).toThrow("No matching signature found");
    expect(await state()).toMatchObject({ pending: 0, failures: 0, enabled: true });
    expect(await attempts()).toEqual([{ status: 204, error: undefined }]);
  });

  it("is signed by both secrets during the overlap of a rotation, then by the new one", async () => {
    const { owner, endpointId, secret, add } = await endpointAt();
    const rotated = await stores.endpoints.rotateSecret(owner, endpointId, 60_000);
    await add();
    await deliver();
    for (const each of [secret, rotated!.secret]) verified(each, receiver.received[0]!);
    await pool.query("update webhook_endpoint set old_until = now()");
    await add();
    await makeDue();
    await deliver();
    verified(rotated!.secret, receiver.received[1]!);
    expect(() => verified(secret, receiver.received[1]!)).toThrow("No matching signature found");
  });

  it("repeats the same message with the same id until the receiver takes it, in order", async () => {
    const { secret, add, state, attempts } = await endpointAt();
    receiver.answer = (response) => void response.writeHead(500).end();
    await add("balance.low");
    await add("deposit.credited");
    await deliver();
    expect(receiver.types()).toEqual(["balance.low"]);
    expect(await state()).toMatchObject({ pending: 2, failures: 1 });
    receiver.answer = (response) => void response.writeHead(200).end();
    await makeDue();
    await deliver();
    expect(receiver.types()).toEqual(["balance.low", "balance.low", "deposit.credited"]);
    const [first, second] = receiver.received;
    expect(second!.headers["webhook-id"]).toBe(first!.headers["webhook-id"]);
    expect(second!.body).toBe(first!.body);
    for (const webhook of receiver.received) verified(secret, webhook);
    expect(await attempts()).toEqual([
      { status: 200, error: undefined },
      { status: 200, error: undefined },
      { status: 500, error: "the receiver answered 500" },
    ]);
  });

  it("keeps the order of many events", async () => {
    const { add } = await endpointAt();
    for (let n = 0; n < 30; n++) await add("balance.low", { n });
    await deliver();
    const numbers = receiver.received.map(({ body }) => /"n":(\d+)/.exec(body)?.[1]);
    expect(numbers).toEqual(Array.from({ length: 30 }, (_, n) => String(n)));
  });
});

describe("a receiver", () => {
  it("that redirects is not followed", async () => {
    const { add, attempts } = await endpointAt();
    const other = await WebhookReceiver.open();
    receiver.answer = (response) => void response.writeHead(307, { location: other.url }).end();
    await add();
    await deliver();
    other.close();
    expect(other.received).toEqual([]);
    expect(await attempts()).toEqual([
      { status: 307, error: expect.stringContaining("redirects are not followed") },
    ]);
  });

  it("that answers 410 disables its endpoint", async () => {
    const { owner, endpointId, add, state } = await endpointAt();
    receiver.answer = (response) => void response.writeHead(410).end();
    await add();
    await deliver();
    expect(await state()).toMatchObject({
      enabled: false,
      disabledReason: "the receiver answered 410 Gone",
      pending: 1,
    });
    await makeDue();
    await deliver();
    expect(receiver.received).toHaveLength(1);
    receiver.answer = (response) => void response.writeHead(204).end();
    await stores.endpoints.update(owner, endpointId, { enabled: true });
    await deliver();
    expect(receiver.received).toHaveLength(2);
    expect(await state()).toMatchObject({ enabled: true, disabledReason: undefined, pending: 0 });
  });

  it("that fails for three days pauses its endpoint, with the last problem", async () => {
    const { add, state } = await endpointAt();
    receiver.answer = (response) => void response.writeHead(503).end();
    await add();
    await deliver();
    await makeDue();
    await deliver(delivererOf(stores.queue, { now: () => Date.now() + GIVE_UP_MS }));
    expect(await state()).toMatchObject({
      enabled: false,
      disabledReason: "deliveries failed for three days, last: the receiver answered 503",
    });
  });

  it("that asks for a later attempt gets it then", async () => {
    const { add, state } = await endpointAt();
    receiver.answer = (response) => void response.writeHead(429, { "retry-after": "3600" }).end();
    await add();
    const before = Date.now();
    await deliver();
    const retryAt = (await state())?.retryAt?.getTime() ?? 0;
    expect(retryAt).toBeGreaterThanOrEqual(before + 3_599_000);
  });

  it("that is down, speaks no HTTP or never answers is tried again", async () => {
    const silent = await listening(() => {});
    const garbage = await listening((socket) => {
      socket.on("error", () => {});
      socket.end("hello\r\n\r\n");
    });
    const down = await listening(() => {});
    const endpoints = [
      await endpointAt(down.url),
      await endpointAt(garbage.url),
      await endpointAt(silent.url),
    ];
    down.close();
    for (const { add } of endpoints) await add();
    await deliver(delivererOf(stores.queue, { attemptMs: 300 }));
    silent.close();
    garbage.close();
    const errors = await Promise.all(endpoints.map(async ({ attempts }) => (await attempts())?.[0]?.error));
    expect(errors).toEqual([
      "the receiver refused the connection",
      "the response is not HTTP",
      "no response within 0.3 s",
    ]);
  });

  it("whose body never ends has answered", async () => {
    const { add, attempts } = await endpointAt();
    let closed = false;
    receiver.answer = (response) => {
      response.writeHead(200);
      const more = setInterval(() => response.write("x".repeat(65_536)), 1);
      response.on("close", () => {
        closed = true;
        clearInterval(more);
      });
    };
    await add();
    await deliver();
    expect(await attempts()).toEqual([{ status: 200, error: undefined }]);
    await expect.poll(() => closed).toBe(true);
  });

  it("that is slow delays no other", async () => {
    const slow = await endpointAt();
    receiver.answer = () => {};
    const quick = await WebhookReceiver.open();
    const other = await endpointAt(quick.url);
    await slow.add();
    const stop = new AbortController();
    const running = deliver(delivererOf(), stop.signal);
    await receiver.atLeast(1);
    await other.add();
    await quick.atLeast(1);
    stop.abort(new Error("done"));
    await expect(running).rejects.toThrow("done");
    quick.close();
  });
});

describe("several instances", () => {
  it("deliver again what an instance did not record before it died", async () => {
    const { add, secret } = await endpointAt();
    const two = openInstance(database.url);
    await add();
    // Dies after the receiver has it.
    const dead = {
      ...storesOf(two).queue,
      leaseMs: stores.queue.leaseMs,
      claim: (places: FreePlaces) => storesOf(two).queue.claim(places),
      next: (endpoint: ClaimedEndpoint) => storesOf(two).queue.next(endpoint),
      delivered: () => Promise.reject(new Error("died")),
      release: async () => {},
    };
    await expect(deliver(delivererOf({ ...stores.queue, ...dead }))).rejects.toThrow("not delivered");
    await deliver();
    expect(receiver.received).toHaveLength(1);
    await pool.query("update webhook_endpoint set lease_until = now()");
    await deliver();
    expect(receiver.received).toHaveLength(2);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    for (const webhook of receiver.received) verified(secret, webhook);
    await two.close();
  });

  it("never make the same attempt at once", async () => {
    const instances = [openInstance(database.url), openInstance(database.url), openInstance(database.url)];
    const open = new Set<string>();
    let overlaps = 0;
    receiver.answer = (response, { path }) => {
      if (open.has(path)) overlaps++;
      open.add(path);
      setImmediate(() => {
        open.delete(path);
        response.writeHead(204).end();
      });
    };
    const endpoints = await Promise.all(
      Array.from({ length: 12 }, (_, n) => endpointAt(`${receiver.url}/${n}`)),
    );
    for (const { add } of endpoints) for (let n = 0; n < 5; n++) await add("balance.low", { n });
    await Promise.all(instances.map((instance) => deliver(delivererOf(storesOf(instance).queue))));
    await makeDue();
    await deliver();
    expect(overlaps).toBe(0);
    expect(receiver.received).toHaveLength(60);
    await Promise.all(instances.map((instance) => instance.close()));
  });
});

describe("endpoints", () => {
  it("are at most ten per owner, also when they are created at once", async () => {
    const owner = newAccount();
    const created = await Promise.allSettled(
      Array.from({ length: 15 }, () => endpointAt("https://hooks.example/", owner)),
    );
    expect(created.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_ENDPOINTS);
    await expect(endpointAt("https://hooks.example/", owner)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    expect(CONCURRENT_ENDPOINTS).toBeGreaterThan(MAX_ENDPOINTS);
  });

  it("belong to their owner", async () => {
    const { endpointId } = await endpointAt();
    const { endpoints } = stores;
    const stranger = newAccount();
    expect(await endpoints.list(stranger)).toEqual([]);
    expect(await endpoints.update(stranger, endpointId, { enabled: false })).toBeUndefined();
    expect(await endpoints.rotateSecret(stranger, endpointId, 0)).toBeUndefined();
    expect(await endpoints.sendTest(stranger, endpointId)).toBeUndefined();
    expect(await endpoints.replay(stranger, endpointId, { since: new Date(0) })).toBeUndefined();
    const page = { owner: stranger, endpointId, limit: 1, cursor: undefined };
    expect(await endpoints.attempts(page)).toBeUndefined();
    expect(await endpoints.delete(stranger, endpointId)).toBe(false);
  });

  it("receive test events, and again what they ask for", async () => {
    const { owner, endpointId, add, attempts } = await endpointAt();
    const eventId = await stores.endpoints.sendTest(owner, endpointId);
    await add("session.created");
    await deliver();
    expect(receiver.types()).toEqual(["webhook.test", "session.created"]);
    expect(receiver.received[0]!.headers["webhook-id"]).toBe(eventId);
    expect(await stores.endpoints.replay(owner, endpointId, { eventId: eventId! })).toBe(1);
    expect(await stores.endpoints.replay(owner, endpointId, { since: new Date(0) })).toBe(1);
    expect(await stores.endpoints.replay(owner, endpointId, { eventId: "evt_0" })).toBe(0);
    await makeDue();
    await deliver();
    expect(receiver.types().slice(2)).toEqual(["webhook.test", "session.created"]);
    expect(await attempts()).toHaveLength(4);
    expect(await stores.endpoints.delete(owner, endpointId)).toBe(true);
    const { rows } = await pool.query("select from webhook_delivery");
    expect(rows).toHaveLength(0);
  });

  it("keep their secret sealed, and free an old sealing key", async () => {
    const { secret, add } = await endpointAt();
    const { rows } = await pool.query<{ secret: Buffer }>("select secret from webhook_endpoint");
    expect(rows[0]?.secret.includes(secret)).toBe(false);
    const admin = new PostgresSealingKeyAdmin(pool, systemRandom);
    await admin.rotate({ purpose: "quotes", now: true });
    await pool.query(
      `update sealing_key set active_from = now() - interval '2 days' - interval '1 day' / version`,
    );
    await sealingKeys.reload();
    const needed = async () => (await admin.list("quotes")).find(({ version }) => version === 1)?.neededFor;
    expect(await needed()).toContain("seals secrets of 1 webhook endpoint");
    await stores.resealSecrets();
    expect(await needed()).toBeUndefined();
    await admin.retire({ purpose: "quotes", version: 1, force: false });
    await sealingKeys.reload();
    await add();
    await deliver();
    verified(secret, receiver.received[0]!);
  });
});

describe("the backlog", () => {
  it("is overdue only while an endpoint may be tried", async () => {
    const { add } = await endpointAt();
    await add();
    await pool.query("update webhook_delivery set created_at = now() - interval '1 hour'");
    await pool.query("update webhook_endpoint set retry_at = now() - interval '10 minutes'");
    const backlog = await stores.backlog();
    expect(backlog).toMatchObject({ pending: 1, failingEndpoints: 0 });
    expect(backlog.overdueMs).toBeGreaterThanOrEqual(600_000);
    expect(backlog.oldestMs).toBeGreaterThanOrEqual(3_600_000);
    receiver.answer = (response) => void response.writeHead(500).end();
    await deliver();
    expect(await stores.backlog()).toMatchObject({ pending: 1, overdueMs: 0, failingEndpoints: 1 });
  });
});
