import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { startWorld, type World } from "../support/world.ts";

/** /llms.txt and deploy/server.json lead a program to its first call. */

let world: World;
/** An instance that relays nothing. */
let plainGateway: Gateway;

beforeAll(async () => {
  world = await startWorld();
  plainGateway = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
});
afterAll(() => world.close());

const textOf = async (url: string) => (await fetch(url)).text();

describe("/llms.txt", () => {
  it("follows llmstxt.org: one heading, a summary, text, then sections of links", async () => {
    const lines = (await textOf(`${world.gateway.baseUrl}/llms.txt`)).split("\n");
    expect(lines.filter((line) => line.startsWith("# "))).toEqual([lines[0]]);
    expect(lines.slice(1, 4)).toEqual(["", expect.stringMatching(/^> ./), ""]);
    const sections = lines.slice(lines.findIndex((line) => line.startsWith("## ")));
    expect(lines.filter((line) => line.startsWith("#")).slice(1)).toEqual(["## Contract", "## Optional"]);
    for (const line of sections) expect(line).toMatch(/^(?:|## \w+|- \[[^\]]+\]\(https?:[^)]+\): .+)$/);
  });

  it("links only to existing pages", async () => {
    const links = (await textOf(`${world.gateway.baseUrl}/llms.txt`)).matchAll(/\]\((http[^)]+)\)/g);
    const answers = await Promise.all(
      [...links].map(async ([, url = ""]) => [url, (await fetch(url)).status]),
    );
    expect(answers.length).toBeGreaterThan(2);
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
  });

  it("names every tool of the catalogue with its price", async () => {
    const page = await textOf(`${world.gateway.baseUrl}/llms.txt`);
    const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
    for (const { name, status, billable, price } of tools) {
      const words = status === "active" ? (billable ? price?.price_display : "free") : "not available yet";
      expect(page).toMatch(new RegExp(`^- \`${name}\` \\(.*${(words ?? "quote").replace("$", "\\$")}`, "m"));
    }
  });

  it("shows a call that works once the key is filled in", async () => {
    const page = await textOf(`${world.gateway.baseUrl}/llms.txt`);
    const [, url = "", body] = /^POST (\S+)\n[^{]*(\{.*\})$/m.exec(page) ?? [];
    const { apiKey } = await world.agent();
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const answer = await fetch(url, { method: "POST", headers, body: body ?? "" });
    expect(await answer.json()).toEqual({ ok: true, result: { echo: "hello" } });
  });

  it("offers the relay only when it is enabled", async () => {
    const [relaying, plain] = await Promise.all([
      textOf(`${world.gateway.baseUrl}/llms.txt`),
      textOf(`${plainGateway.baseUrl}/llms.txt`),
    ]);
    expect(relaying).toContain("/v1/payments/transaction");
    expect(relaying).toContain("PAYMENT-REQUIRED");
    expect(plain).not.toMatch(/v1\/payments\/transaction|PAYMENT-REQUIRED/);
  });
});

describe("deploy/server.json for registries", () => {
  it("describes a remote that works as described", async () => {
    const file = await readFile(path.join(import.meta.dirname, "../../deploy/server.json"), "utf8");
    const { version, name, description: words, remotes } = JSON.parse(file);
    expect(version).toBe("0.1.0");
    // Requirements of the registry's schema of 2025-12-11.
    expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(words.length).toBeLessThanOrEqual(100);
    const [{ type, url, variables, headers }] = remotes;
    expect([type, Object.keys(variables)]).toEqual(["streamable-http", ["host"]]);
    const [header] = headers;
    expect(header).toMatchObject({ name: "Authorization", isRequired: true, isSecret: true });
    const { apiKey } = await world.agent();
    const answer = await fetch(url.replace("https://{host}", world.gateway.baseUrl), {
      method: "POST",
      headers: {
        [header.name]: header.value.replace("{api_key}", apiKey),
        "content-type": "application/json",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(await answer.json()).toMatchObject({
      result: { tools: expect.arrayContaining([expect.anything()]) },
    });
  });
});
