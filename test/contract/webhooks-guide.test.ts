import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { secret } from "../support/record.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { ROOT } from "../tooling/command.ts";

const PAGE = readFileSync(path.join(ROOT, "docs/guides/webhooks.md"), "utf8");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await startWorld({ WEBHOOK_NETWORK: "any" });
  agent = await world.agent({ scopes: ["billing:write"] });
});
afterAll(() => world.close());

/** The program of the page in that language. */
function programIn(language: string): string {
  const [, program] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  if (program === undefined) throw new Error(`no program in ${language}`);
  return program;
}

/** Adds an endpoint. */
async function addEndpoint(url: string): Promise<{ id: string; signingSecret: string }> {
  const { body } = await world.post(agent, "/v1/webhooks", { url, types: ["balance.low"] });
  return { id: body.endpoint.endpoint_id, signingSecret: secret("a webhook's secret", body.secret) };
}

const sendTest = (id: string) => world.post(agent, `/v1/webhooks/${id}/test`, {});

describe("docs/guides/webhooks.md", () => {
  it("shows a receiver in TypeScript that takes the gateway's events only", async () => {
    const listen = 'receiver.listen(0, "127.0.0.1", () => console.log(receiver.address().port));';
    const start = async (signingSecret: string) => {
      const program = `${programIn("ts")}\n${listen}`;
      const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
        cwd: ROOT,
        env: { WEBHOOK_SECRET: signingSecret, NODE_NO_WARNINGS: "1" },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      await once(child.stdout, "data");
      return { child, url: `http://127.0.0.1:${Number(output)}/`, output: () => output };
    };
    // The secret exists once the address does, and the address once the receiver has started.
    const reserved = await WebhookReceiver.open();
    const { id, signingSecret } = await addEndpoint(reserved.url);
    reserved.close();
    const running = await start(signingSecret);
    const change = await fetch(`${world.gateway.baseUrl}/v1/webhooks/${id}`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" },
      body: JSON.stringify({ url: running.url }),
    });
    expect(change.status).toBe(200);
    await sendTest(id);
    await expect.poll(running.output).toContain("webhook.test");
    const forged = { "webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" };
    const refused = await fetch(running.url, { method: "POST", headers: forged, body: "{}" });
    expect(refused.status).toBe(401);
    running.child.kill();
    await once(running.child, "exit");
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
