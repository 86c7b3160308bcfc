import { afterAll, beforeAll, expect, it } from "vitest";
import { query } from "../support/database-server.ts";
import { verified, WebhookReceiver } from "../support/webhook-receiver.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";

let world: World;
let receiver: WebhookReceiver;
let agent: Agent;
const PATH = "/v1/webhooks";

beforeAll(async () => {
  receiver = await WebhookReceiver.open();
  world = await startWorld({ WEBHOOK_NETWORK: "any" });
  agent = await world.agent({ balance: 10_000n, scopes: ["billing:write", "compute:read"] });
});
afterAll(async () => {
  await world.close();
  receiver.close();
});

const send = async (method: string, path: string, body?: object, by = agent) => {
  const response = await fetch(`${world.gateway.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${by.apiKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
};

it("delivers the event of a paid call to an endpoint, and logs the attempt", async () => {
  const { status, body } = await world.post(agent, PATH, { url: receiver.url, types: ["balance.low"] });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    endpoint: { endpoint_id: expect.stringMatching(/^we_/), url: receiver.url, enabled: true },
    secret: expect.stringMatching(/^whsec_/),
  });
  await query(
    world.database.url,
    `update account set low_balance = 10000 where id = '${agent.accountId.slice("acct_".length)}'`,
  );
  const paid = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
  expect(paid.status).toBe(200);
  await receiver.atLeast(1);
  expect(verified(body.secret, receiver.received[0]!)).toMatchObject({
    type: "balance.low",
    data: { account_id: agent.accountId, balance_usdc_microusd: 9_000, low_balance_usdc_microusd: 10_000 },
  });
  const { endpoint_id: id } = body.endpoint;
  await expect
    .poll(async () => (await send("GET", `${PATH}/${id}/attempts`)).body.items)
    .toMatchObject([{ type: "balance.low", status: 204, error: "" }]);
  const tested = await send("POST", `${PATH}/${id}/test`, {});
  await receiver.atLeast(2);
  expect(receiver.received[1]!.headers["webhook-id"]).toBe(tested.body.event_id);
  expect((await send("POST", `${PATH}/${id}/replay`, { event_id: tested.body.event_id })).body).toEqual({
    events: 1,
  });
  await receiver.atLeast(3);
  expect((await send("PATCH", `${PATH}/${id}`, { enabled: false })).body).toMatchObject({ enabled: false });
  expect((await send("POST", `${PATH}/${id}/test`, {})).status).toBe(404);
  expect((await send("POST", `${PATH}/${id}/rotate`, { overlap_seconds: 60 })).body.secret).not.toBe(
    body.secret,
  );
  expect((await send("DELETE", `${PATH}/${id}`)).status).toBe(200);
  expect((await send("GET", PATH)).body.endpoints).toEqual([]);
});

it("names what is wrong with an endpoint", async () => {
  const wished = { url: "https://hooks.example/", types: ["balance.low"] };
  const problem = async (change: object) => {
    const { status, body } = await world.post(agent, PATH, { ...wished, ...change });
    return [status, body.error?.message ?? body.message];
  };
  expect(await problem({ url: "ftp://x/" })).toEqual([400, expect.stringMatching(/^url: must begin/)]);
  expect(await problem({ url: "nonsense" })).toEqual([400, expect.stringMatching(/^url: /)]);
  expect(await problem({ url: "https://a:b@x/" })).toEqual([400, expect.stringMatching(/^url: must not/)]);
  expect(await problem({ types: ["x"] })).toEqual([
    400,
    expect.stringMatching(/^types\[0\]: must be one of/),
  ]);
  expect(await problem({ types: ["audit.violation"] })).toEqual([400, expect.stringMatching(/^types\[0\]/)]);
  expect(await problem({ types: [] })).toEqual([400, expect.stringMatching(/^types: /)]);
  expect(await problem({ deployment: true })).toEqual([403, expect.stringMatching(/operator role/)]);
});

it("requires billing:write, and keeps the deployment's endpoints to operators, whose changes are logged", async () => {
  const stranger = await world.agent();
  expect((await send("GET", PATH, undefined, stranger)).status).toBe(403);
  const operator = await world.agent({ operator: true, scopes: ["billing:write"] });
  const types = ["suspense.received"];
  const made = await world.post(operator, PATH, { url: receiver.url, types, deployment: true });
  expect(made.status).toBe(200);
  expect((await send("GET", `${PATH}?deployment=true`, undefined, operator)).body.endpoints).toHaveLength(1);
  expect((await send("GET", PATH, undefined, operator)).body.endpoints).toEqual([]);
  const { items } = await world.postgres.operatorActions.list({ limit: 10, cursor: undefined });
  expect(items.map(({ name }) => name)).toContain("webhook.create");
});
