import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  CONCURRENT_ENDPOINTS,
  PER_ACCOUNT,
  SLOW_ENDPOINTS,
} from "../../../src/app/webhooks/webhook-deliverer.ts";
import { MAX_ENDPOINTS } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { type ReceivedWebhook, WebhookReceiver } from "../../support/webhook-receiver.ts";
import { newAccount, openDeliveries } from "./delivery-fixture.ts";

const { pool, stores, delivererOf, deliver, endpointAt, makeDue, empty } = await openDeliveries();
let slow: WebhookReceiver;
let quick: WebhookReceiver;

beforeEach(async () => {
  [slow, quick] = await Promise.all([WebhookReceiver.open(), WebhookReceiver.open()]);
  slow.answer = () => {};
});
afterEach(async () => {
  slow.close();
  quick.close();
  await empty();
});

/** An account with endpoints that are due, at the paths /name/0, /name/1, … */
async function slowAccount(name: number, count: number) {
  const owner = newAccount();
  const endpoints = [];
  for (let n = 0; n < count; n++)
    endpoints.push(await endpointAt(new URL(`/${name}/${n}`, slow.url).href, owner));
  await endpoints[0]?.add();
  return endpoints;
}

/** The name of the account in the path. */
const accountOf = ({ path }: ReceivedWebhook) => path.split("/")[1];

/** An endpoint whose last delivery was quick. */
async function quickEndpoint() {
  const endpoint = await endpointAt(quick.url);
  await endpoint.add();
  await deliver();
  await makeDue();
  return endpoint;
}

/** Runs the deliverer during `work`. */
async function during(work: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  await Promise.all([
    expect(deliver(delivererOf(stores.queue, { attemptMs: 30_000 }), stop.signal)).rejects.toThrow("done"),
    work().finally(() => stop.abort(new Error("done"))),
  ]);
}

/** Held attempts by account, most first. */
function held(received: readonly ReceivedWebhook[]): number[] {
  const accounts = Map.groupBy(received, accountOf);
  return [...accounts.values()].map(({ length }) => length).toSorted((a, b) => b - a);
}

it("delivers to a quick endpoint while slow endpoints of many accounts never answer", async () => {
  const victim = await quickEndpoint();
  for (let name = 0; name < 5; name++) await slowAccount(name, MAX_ENDPOINTS);
  await during(async () => {
    await slow.atLeast(SLOW_ENDPOINTS);
    await victim.add("deposit.credited");
    await quick.atLeast(2);
    await expect.poll(async () => (await victim.state())?.pending).toBe(0);
    expect(quick.types()).toEqual(["balance.low", "deposit.credited"]);
    expect(slow.received).toHaveLength(SLOW_ENDPOINTS);
    expect(held(slow.received)).toEqual([2, 2, 2, 1, 1]);
  });
  expect(SLOW_ENDPOINTS).toBe(CONCURRENT_ENDPOINTS / 4);
});

it("serves an account with one due endpoint before the second of another", async () => {
  await slowAccount(0, MAX_ENDPOINTS);
  for (let name = 1; name < SLOW_ENDPOINTS; name++) await slowAccount(name, 1);
  await during(async () => {
    await slow.atLeast(SLOW_ENDPOINTS);
    expect(held(slow.received)).toEqual(Array.from({ length: SLOW_ENDPOINTS }, () => 1));
  });
});

it("serves the account first whose last turn is the longest ago", async () => {
  const [first] = await slowAccount(0, 2);
  let now = Date.now();
  slow.answer = (response) => {
    now += 3_000;
    response.writeHead(204).end();
  };
  await deliver(delivererOf(undefined, { now: () => now }));
  slow.answer = () => {};
  await pool.query("update webhook_endpoint set retry_at = now() - interval '1 hour'");
  await first?.add();
  for (let name = 1; name <= SLOW_ENDPOINTS; name++) await slowAccount(name, 1);
  await during(async () => {
    await slow.atLeast(2 + SLOW_ENDPOINTS);
    expect(held(slow.received.slice(2))).toEqual(Array.from({ length: SLOW_ENDPOINTS }, () => 1));
    expect(slow.received.slice(2).map(accountOf)).not.toContain("0");
  });
});

it("gives the first free of all places to the account that holds the fewest", async () => {
  slow.answer = (response) => void response.writeHead(204).end();
  const accounts = [await slowAccount(0, PER_ACCOUNT + 1)];
  while (accounts.length < CONCURRENT_ENDPOINTS / PER_ACCOUNT)
    accounts.push(await slowAccount(accounts.length, PER_ACCOUNT));
  await deliver();
  await makeDue();
  const before = slow.received.length;
  const firsts: ServerResponse[] = [];
  slow.answer = (response, webhook) => void (accountOf(webhook) === "0" && firsts.push(response));
  for (const [endpoint] of accounts) await endpoint?.add();
  await during(async () => {
    await slow.atLeast(before + CONCURRENT_ENDPOINTS);
    expect(held(slow.received.slice(before))).toEqual(accounts.map(() => PER_ACCOUNT));
    await slowAccount(accounts.length, 1);
    await pool.query(
      `update webhook_endpoint set claimed_at = now() + interval '1 hour'
       where not exists (select from webhook_attempt where endpoint_id = id)`,
    );
    firsts[0]?.writeHead(204).end();
    await slow.atLeast(before + CONCURRENT_ENDPOINTS + 1);
    expect(slow.received.slice(before + CONCURRENT_ENDPOINTS).map(accountOf)).toEqual([
      String(accounts.length),
    ]);
  });
});

it("claims again when all deliveries end during a claim for which no place was free", async () => {
  slow.answer = (response) => void response.writeHead(204).end();
  for (let name = 0; name <= SLOW_ENDPOINTS; name++) await slowAccount(name, 1);
  const { queue } = stores;
  const claim = queue.claim.bind(queue);
  const released = vi.spyOn(queue, "release");
  const slowClaim = vi.spyOn(queue, "claim").mockImplementation(async (free) => {
    const claimed = await claim(free);
    await expect.poll(() => released.mock.settledResults.length).toBeGreaterThanOrEqual(free.taken.length);
    return claimed;
  });
  await deliver();
  slowClaim.mockRestore();
  released.mockRestore();
  expect(slow.received).toHaveLength(SLOW_ENDPOINTS + 1);
});

it("holds two places for an account with quick and new endpoints that do not answer", async () => {
  slow.answer = (response) => void response.writeHead(204).end();
  const [first] = await slowAccount(0, PER_ACCOUNT + 1);
  await deliver();
  slow.answer = () => {};
  await makeDue();
  const victim = await quickEndpoint();
  await endpointAt(slow.url, first?.owner);
  await first?.add();
  await during(async () => {
    await slow.atLeast(2 * PER_ACCOUNT + 1);
    await victim.add();
    await quick.atLeast(2);
    await expect.poll(async () => (await victim.state())?.pending).toBe(0);
    expect(slow.received).toHaveLength(2 * PER_ACCOUNT + 1);
  });
});

it("holds two places for an account, also after it deleted the endpoints that hold them", async () => {
  const victim = await quickEndpoint();
  const endpoints = await slowAccount(0, MAX_ENDPOINTS);
  await during(async () => {
    await slow.atLeast(PER_ACCOUNT);
    for (const { path } of [...slow.received]) {
      const { owner, endpointId } = endpoints[Number(path.split("/")[2])]!;
      expect(await stores.endpoints.delete(owner, endpointId)).toBe(true);
    }
    await victim.add();
    await quick.atLeast(2);
    await expect.poll(async () => (await victim.state())?.pending).toBe(0);
    expect(slow.received).toHaveLength(PER_ACCOUNT);
  });
});

it.each([
  ["that can no longer make an attempt within 30 s", 1_900, 20, 8],
  ["after an answer that took longer than 2 s", 2_001, 3, 1],
])("ends a claim %s", async (_when, answerMs, events, attempts) => {
  let now = Date.now();
  quick.answer = (response) => {
    now += answerMs;
    response.writeHead(204).end();
  };
  const endpoint = await endpointAt(quick.url);
  for (let n = 0; n < events; n++) await endpoint.add();
  await deliver(delivererOf(undefined, { now: () => now }));
  expect(quick.received).toHaveLength(attempts);
  expect(await endpoint.state()).toMatchObject({ pending: events - attempts, failures: 0 });
});
