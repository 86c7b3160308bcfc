import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { openSponsor } from "../../src/gateway/relay.ts";
import { ExternalSigner } from "../../src/payments/gasless/external-signer.ts";
import { firstLine, stopChild } from "../support/child.ts";
import { gaslessPayment, signBuilt } from "../support/gasless.ts";
import { secret } from "../support/record.ts";
import { useWorld } from "../support/use-world.ts";
import { type Agent, type World } from "../support/world.ts";

/** A gateway whose fee payer's key is in another process. */

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-signer-"));
const socket = path.join(folder, "signer.sock");
const token = secret("the signer's token", randomBytes(24).toString("hex"));
const signed: string[] = [];
const world = useWorld({ FEE_PAYER_KEYPAIR: "" });
let agent: Agent;
let signer: ChildProcess | undefined;
let gateway: World["gateway"];

const settings = (more: Record<string, string> = {}) => ({
  FEE_PAYER_KEYPAIR: "",
  FEE_PAYER_SIGNER: `unix://${socket}`,
  FEE_PAYER_SIGNER_TOKEN: token,
  ...more,
});

beforeAll(async () => {
  agent = await world.agent();
  const seed = Buffer.from(world.feePayer.secretKey.subarray(0, 32)).toString("hex");
  const child = spawn(process.execPath, ["test/support/stub-signer.ts", socket, token], {
    env: { SIGNER_SEED: secret("the fee payer's seed", seed) },
  });
  signer = child;
  await firstLine(child);
  createInterface({ input: child.stdout }).on("line", (line) => signed.push(line));
  gateway = await world.startAnother(settings({ FEE_PAYER_SIGNER_TIMEOUT_MS: "500" }));
});
afterAll(async () => {
  await stopChild(signer);
  rmSync(folder, { recursive: true });
});

async function post(url: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.baseUrl}${url}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${agent.apiKey}`, "content-type": "application/json", ...headers },
  });
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: response.status, body: (await response.json()) as any };
}

const call = (headers: Record<string, string> = {}) =>
  post("/v1/mcp/tools/call", { tool: "vram_estimate", params: { model: "llama-3.1-8b" } }, headers);

/** A quote, and the transaction that pays it with the payer's signature only. */
async function payment() {
  const payer = world.chain.controls.createWallet({ lamports: 0n, microUsd: 10_000n });
  const { quote } = (await call()).body;
  const built = (
    await post("/v1/payments/transaction", { quote_id: quote.quote_id, payer: payer.publicKey.toBase58() })
  ).body;
  return { built, proof: gaslessPayment(signBuilt(built, payer), quote.quote_id), quote };
}

async function setMode(mode: string): Promise<void> {
  const sent = request({ socketPath: socket, path: "/mode", method: "POST" });
  sent.end(mode);
  const [response] = await once(sent, "response");
  response.resume();
}

it("relays a payment whose message an external signer signs, once", async () => {
  const { built, proof } = await payment();
  expect((await call(proof)).body).toMatchObject({ ok: true, receipt: { paid_by: "gasless" } });
  expect(signed).toEqual([built.message]);
  expect((await call(proof)).status).toBe(200);
  expect(signed).toHaveLength(1);
});

it("does not ask the signer about a transaction that breaks a rule", async () => {
  signed.length = 0;
  const { built, quote } = await payment();
  const unsigned = gaslessPayment(built.transaction, quote.quote_id);
  expect(await call(unsigned)).toMatchObject({ status: 402, body: { code: "INVALID_PAYMENT" } });
  expect(signed).toEqual([]);
});

it("keeps signatures that are no part of Node's buffer pool, which each would keep 64 KB of", async () => {
  const own = await ExternalSigner.open({ url: `unix://${socket}`, token, timeoutMs: 60_000 });
  const message = Buffer.concat([Buffer.from([2, 0, 0, 2]), own.publicKey]);
  await own.prepare(message);
  expect(own.sign(message).buffer.byteLength).toBe(64);
});

it("consumes nothing while the signer does not sign, and relays the repeated call afterwards", async () => {
  const { proof } = await payment();
  for (const mode of ["refuse", "wrong", "long", "odd", "hang"]) {
    await setMode(mode);
    expect(await call(proof), mode).toMatchObject({
      status: 503,
      body: { code: "UNAVAILABLE", message: expect.stringContaining("fee payer cannot sign now") },
    });
  }
  await setMode("sign");
  // A busy machine may take longer than the signer's time limit.
  await expect.poll(async () => (await call(proof)).status).toBe(200);
});

it.each([
  ["no process listens", { FEE_PAYER_SIGNER: "unix:///nonexistent/s.sock" }, /does not answer .*ENOENT/],
  ["the token is wrong", { FEE_PAYER_SIGNER_TOKEN: "wrong-token" }, /GET public-key: it answered 401/],
  ["a key file is set too", { FEE_PAYER_KEYPAIR: "/key.json" }, /FEE_PAYER_KEYPAIR is set too/],
  ["HTTP is not encrypted", { FEE_PAYER_SIGNER: "http://signer" }, /must be unix:\/\/\/path .* https:/],
])("refuses to start when %s", async (_, more, problem) => {
  const environment = { ...settings(more), TREASURY_OWNER: world.treasury.publicKey.toBase58() };
  const open = async () =>
    openSponsor({ ...readConfig(environment), TREASURY_OWNER: environment.TREASURY_OWNER });
  await expect(open()).rejects.toThrow(problem);
  await expect(open()).rejects.toThrow(/FEE_PAYER_SIGNER: /);
});
