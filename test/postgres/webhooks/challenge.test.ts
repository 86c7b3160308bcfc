import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { verified, WebhookReceiver } from "../../support/webhook-receiver.ts";
import { openDeliveries } from "./delivery-fixture.ts";

const { pool, stores, deliver, newEndpointAt, makeDue, empty } = await openDeliveries();
let receiver: WebhookReceiver;
let other: WebhookReceiver;

const answering = (status: number) => (response: ServerResponse) => void response.writeHead(status).end();

beforeEach(async () => {
  [receiver, other] = await Promise.all([WebhookReceiver.open(), WebhookReceiver.open()]);
});
afterEach(async () => {
  receiver.close();
  other.close();
  await empty();
});

it("sends a new endpoint nothing but its challenge until it answers 2xx", async () => {
  const { owner, endpointId, secret, add, state } = await newEndpointAt(receiver.url);
  receiver.answer = answering(401);
  await add();
  await stores.endpoints.replay(owner, endpointId, { since: new Date(0) });
  for (let n = 0; n < 2; n++) {
    await makeDue();
    await deliver();
  }
  expect(receiver.types()).toEqual(["webhook.test", "webhook.test"]);
  expect(await state()).toMatchObject({ verified: false, enabled: true, pending: 2, failures: 2 });
  receiver.answer = answering(200);
  await makeDue();
  await deliver();
  expect(receiver.types().slice(2)).toEqual(["webhook.test", "balance.low"]);
  for (const webhook of receiver.received) verified(secret, webhook);
  expect(await state()).toMatchObject({ verified: true, pending: 0, failures: 0 });
});

it("repeats a challenge at once when a test event is asked for", async () => {
  const { owner, endpointId } = await newEndpointAt(receiver.url);
  receiver.answer = answering(401);
  await deliver();
  const eventId = await stores.endpoints.sendTest(owner, endpointId);
  await deliver();
  expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([eventId, eventId]);
});

it("challenges a changed URL, which the answer of the former one does not verify", async () => {
  const { owner, endpointId, add, state } = await newEndpointAt(receiver.url);
  other.answer = answering(404);
  const answers: ServerResponse[] = [];
  receiver.answer = (response) => void answers.push(response);
  await add();
  const delivering = deliver();
  await receiver.atLeast(1);
  await stores.endpoints.update(owner, endpointId, { url: other.url });
  answers[0]?.writeHead(200).end();
  await delivering;
  expect(await state()).toMatchObject({ verified: false, pending: 2 });
  await makeDue();
  await deliver();
  expect(receiver.received).toHaveLength(1);
  expect(other.types()).toEqual(["webhook.test"]);
  expect(await state()).toMatchObject({ verified: false, pending: 2 });
});

it("keeps a verified endpoint whose other settings change, and challenges one that gets another URL", async () => {
  const { owner, endpointId, state } = await newEndpointAt(receiver.url);
  await deliver();
  await stores.endpoints.update(owner, endpointId, { url: receiver.url, types: ["balance.low"] });
  expect(await state()).toMatchObject({ verified: true, pending: 0 });
  await stores.endpoints.update(owner, endpointId, { enabled: false });
  await stores.endpoints.update(owner, endpointId, { url: other.url });
  expect(await state()).toMatchObject({ verified: false, pending: 0 });
  await stores.endpoints.update(owner, endpointId, { enabled: true });
  await deliver();
  expect(other.types()).toEqual(["webhook.test"]);
  expect(await state()).toMatchObject({ verified: true });
});

it("claims no endpoint whose challenge expired, and counts none of its events as overdue", async () => {
  const { endpointId, owner, add, state } = await newEndpointAt(receiver.url);
  await pool.query("delete from webhook_delivery");
  await add();
  await pool.query("update webhook_endpoint set retry_at = now() - interval '1 hour'");
  await pool.query("update webhook_delivery set created_at = now() - interval '1 hour'");
  expect(await stores.backlog()).toMatchObject({ pending: 1, overdueMs: 0 });
  const claimed = await stores.queue.claim({ most: 1, mostSlow: 1, mostPerAccount: 1, taken: [] });
  expect(claimed).toEqual([]);
  await stores.endpoints.sendTest(owner, endpointId);
  await deliver();
  expect(receiver.types()).toEqual(["webhook.test", "balance.low"]);
  expect(await state()).toMatchObject({ verified: true, pending: 0 });
});
