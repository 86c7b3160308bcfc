import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstLine, stopChild } from "../support/child.ts";
import { query } from "../support/database-server.ts";
import { secret } from "../support/record.ts";
import { verified, WebhookReceiver } from "../support/webhook-receiver.ts";
import { useWorld } from "../support/use-world.ts";
import type { Agent } from "../support/world.ts";
import { ROOT } from "../tooling/command.ts";

const PAGE = readFileSync(path.join(ROOT, "docs/guides/webhooks.md"), "utf8");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

const world = useWorld({ WEBHOOK_NETWORK: "any" });
let receiver: WebhookReceiver;
let agent: Agent;
const PATH = "/v1/webhooks";

beforeAll(async () => {
  receiver = await WebhookReceiver.open();
  agent = await world.agent({ balance: 10_000n, scopes: ["billing:write", "compute:read"] });
});
afterAll(() => receiver.close());

const send = async (method: string, target: string, body?: object, by = agent) => {
  const response = await fetch(`${world.gateway.baseUrl}${target}`, {
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
    endpoint: {
      verified: false,
      endpoint_id: expect.stringMatching(/^we_/),
      url: receiver.url,
      enabled: true,
    },
    secret: expect.stringMatching(/^whsec_/),
  });
  await query(
    world.database.url,
    `update account set low_balance = 10000 where id = '${agent.accountId.slice("acct_".length)}'`,
  );
  const paid = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
  expect(paid.status).toBe(200);
  await receiver.atLeast(2);
  expect(receiver.types()[0]).toBe("webhook.test");
  expect(verified(body.secret, receiver.received[1]!)).toMatchObject({
    type: "balance.low",
    data: { account_id: agent.accountId, balance_usdc_microusd: 9_000, low_balance_usdc_microusd: 10_000 },
  });
  const { endpoint_id: id } = body.endpoint;
  const attempts = async () => (await send("GET", `${PATH}/${id}/attempts`)).body.items;
  await expect
    .poll(attempts)
    .toMatchObject([{ type: "balance.low", status: 204, error: "" }, { type: "webhook.test" }]);
  const tested = await send("POST", `${PATH}/${id}/test`, {});
  await receiver.atLeast(3);
  expect(receiver.received[2]!.headers["webhook-id"]).toBe(tested.body.event_id);
  // A replay sends what was delivered before, not what is being delivered.
  await expect.poll(attempts).toHaveLength(3);
  expect((await send("POST", `${PATH}/${id}/replay`, { event_id: tested.body.event_id })).body).toEqual({
    events: 1,
  });
  await receiver.atLeast(4);
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

it("refuses more than ten challenges, test events and replays of an account at once", async () => {
  const keen = await world.agent({ scopes: ["billing:write"] });
  const other = await world.agent({ scopes: ["billing:write"] });
  const wished = { url: receiver.url, types: ["balance.low"] };
  const endpointOf = async (by: Agent) => (await world.post(by, PATH, wished)).body.endpoint.endpoint_id;
  const id = await endpointOf(keen);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      n % 2 === 0
        ? world.post(keen, `${PATH}/${id}/test`, {})
        : world.post(keen, `${PATH}/${id}/replay`, { since: "2026-01-01T00:00:00Z" }),
    ),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
  expect(refused).toHaveLength(3);
  expect(refused[0]!.body).toMatchObject({
    code: "RATE_LIMITED",
    message: expect.stringMatching(
      /^too many new or enabled endpoints, test events and replays .*\(5 per minute\); try again in \d+ s$/,
    ),
    retry_after_seconds: expect.any(Number),
  });
  expect((await world.post(other, `${PATH}/${await endpointOf(other)}/test`, {})).status).toBe(200);
});

function programIn(language: string): string {
  const [, program] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  if (program === undefined) throw new Error(`no program in ${language}`);
  return program;
}

async function addEndpoint(url: string): Promise<{ id: string; signingSecret: string }> {
  const { body } = await world.post(agent, PATH, { url, types: ["balance.low"] });
  return { id: body.endpoint.endpoint_id, signingSecret: secret("a webhook's secret", body.secret) };
}

const sendTest = (id: string) => world.post(agent, `${PATH}/${id}/test`, {});

describe("docs/guides/webhooks.md", () => {
  it("shows a receiver in TypeScript that takes the gateway's events only", async () => {
    const listen = 'receiver.listen(0, "127.0.0.1", () => console.log(receiver.address().port));';
    const start = async (signingSecret: string) => {
      const program = `${programIn("ts")}\n${listen}`;
      const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
        cwd: ROOT,
        env: { WEBHOOK_SECRET: signingSecret, NODE_NO_WARNINGS: "1" },
      });
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      return { child, url: `http://127.0.0.1:${Number(await firstLine(child))}/`, output: () => output };
    };
    // The secret exists once the address does, and the address once the receiver has started.
    const reserved = await WebhookReceiver.open();
    const { id, signingSecret } = await addEndpoint(reserved.url);
    reserved.close();
    const running = await start(signingSecret);
    expect((await send("PATCH", `${PATH}/${id}`, { url: running.url })).status).toBe(200);
    await sendTest(id);
    await expect.poll(running.output).toContain("webhook.test");
    const forged = { "webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" };
    const refused = await fetch(running.url, { method: "POST", headers: forged, body: "{}" });
    expect(refused.status).toBe(401);
    await stopChild(running.child);
  });

  it.skipIf(!hasPython)("shows a check in Python that accepts what the gateway sends only", async () => {
    const receiver = await WebhookReceiver.open();
    const { id, signingSecret } = await addEndpoint(receiver.url);
    await sendTest(id);
    await receiver.atLeast(1);
    const { headers, body } = receiver.received[0]!;
    receiver.close();
    const verify = (sent: string, given: object = {}) => {
      const program = `${programIn("python")}
import json, sys
secret, headers, body = json.load(sys.stdin)
print(verify(secret, headers, body.encode()))`;
      const input = JSON.stringify([signingSecret, { ...headers, ...given }, sent]);
      const { stdout, stderr } = spawnSync("python3", ["-c", program], { input, encoding: "utf8" });
      return stdout.trim() || stderr;
    };
    expect(verify(body)).toBe("True");
    expect(verify(`${body} `)).toBe("False");
    expect(verify(body, { "webhook-timestamp": "1764115200" })).toBe("False");
  });
});
