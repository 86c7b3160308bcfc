import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { restartPort } from "../support/ports.ts";
import { createLogger } from "../../src/log.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { runToolgate, runToolgateHere } from "../cli/toolgate.ts";
import { Instances, type Instance } from "../instances/process.ts";
import { secret } from "../support/record.ts";
import { startGround, xPayment, type Agent, type Ground } from "../support/world.ts";
import { closeServer, listen } from "../support/servers.ts";

/** One secret of each kind, different in every run. */
const planted = {
  rpc: `rpc-${randomUUID()}`,
  inference: `inference-${randomUUID()}`,
  key: `sk-agent-${randomUUID().replaceAll("-", "")}`,
  payment: Buffer.from(JSON.stringify({ tx: randomUUID(), quote_id: randomUUID() })).toString("base64url"),
  signature: Buffer.from(randomUUID()).toString("base64"),
  cookie: `session-${randomUUID()}`,
};

let folder: string;
let ground: Ground;
let agent: Agent;
let instance: Instance;
let grpcAddress: string;
let model: Awaited<ReturnType<typeof echoingModel>>;
const instances = new Instances();

/** A model server that rejects requests and echoes key and prompt. */
async function echoingModel() {
  const server = createServer((request, response) => {
    const { authorization } = request.headers;
    response.writeHead(401, { "content-type": "application/json", "x-echo": authorization ?? "" });
    response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${authorization}` } }));
  });
  return { url: `http://127.0.0.1:${await listen(server)}/v1`, close: () => closeServer(server) };
}

beforeAll(async () => {
  for (const [kind, value] of Object.entries(planted)) secret(`planted: ${kind}`, value);
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-secrets-"));
  [ground, model] = await Promise.all([startGround(), echoingModel()]);
  agent = await ground.agent({ balance: 1_000_000n });
  const price = {
    input_usd_per_million: 1,
    output_usd_per_million: 1,
    context_length: 1_000,
    max_output_tokens: 100,
  };
  const config = path.join(folder, "toolgate.json");
  await writeFile(
    config,
    JSON.stringify({ inference: { upstreams: [{ name: "main", models: [{ id: "m1", ...price }] }] } }),
  );
  const grpc = await restartPort();
  grpcAddress = `127.0.0.1:${grpc}`;
  instance = await instances.serve({
    ...ground.settings,
    GRPC_PORT: String(grpc),
    SOLANA_RPC_URLS: `${ground.chain.url}/?api-key=${planted.rpc}`,
    INFERENCE_BASE_URL: model.url,
    INFERENCE_API_KEY: planted.inference,
    TOOLGATE_CONFIG: config,
    LOG_LEVEL: "trace",
  });
});
afterAll(async () => {
  await instances.close();
  await ground.close();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const password = () => new URL(ground.database.servingUrl).password;

/** Returns the names of the secrets that a text contains. */
function held(text: string): string[] {
  const all = { ...planted, agent: agent.apiKey, password: password() };
  return Object.entries(all).flatMap(([name, value]) => {
    const forms = [value, Buffer.from(value).toString("base64"), Buffer.from(value).toString("hex")];
    return forms.some((form) => text.includes(form)) ? [name] : [];
  });
}

const all = () => ({
  Authorization: `Bearer ${planted.key}`,
  "X-Payment": planted.payment,
  "PAYMENT-SIGNATURE": planted.signature,
  Cookie: planted.cookie,
});

async function bodyOf(target: string, init: RequestInit): Promise<string> {
  const response = await fetch(instance.baseUrl + target, init);
  return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
}

const CALL = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };

describe("secrets of a request", () => {
  const requests: readonly [string, () => readonly [target: string, init: RequestInit]][] = [
    ["a made-up key", () => ["/receipts", { headers: all() }]],
    [
      "a key in another scheme",
      () => ["/receipts", { headers: { ...all(), Authorization: `Token ${planted.key}` } }],
    ],
    [
      "a key twice",
      () => ["/receipts", { headers: { Authorization: `Bearer ${planted.key}, Bearer ${agent.apiKey}` } }],
    ],
    ["a key in the query", () => [`/receipts?api_key=${planted.key}`, { headers: mine() }]],
    ["a key in the path", () => [`/receipts/${planted.key}`, { headers: mine() }]],
    ["a key in a path that is not there", () => [`/${planted.key}`, {}]],
    ["a key as a cursor", () => [`/receipts?cursor=${planted.key}`, { headers: mine() }]],
    ["a proof that names nothing", () => post("/v1/mcp/tools/call", CALL, { ...all(), ...mine() })],
    ["a key in the body", () => post("/v1/mcp/tools/call", { ...CALL, api_key: planted.key }, mine())],
    [
      "a key as a tool's parameter",
      () => post("/v1/mcp/tools/call", { tool: "echo", params: { mesage: planted.key } }, mine()),
    ],
    [
      "JSON that breaks off in a key",
      () => [
        "/v1/mcp/tools/call",
        {
          method: "POST",
          headers: { ...mine(), "Content-Type": "application/json" },
          body: `{"a":"${planted.key}`,
        },
      ],
    ],
    [
      "a key in JSON-RPC",
      () =>
        post(
          "/mcp",
          {
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name: "vram_estimate", arguments: { key: planted.key } },
          },
          mine(),
        ),
    ],
    [
      "a key in an idempotency key that is too long",
      () => post("/v1/mcp/tools/call", { ...CALL, idempotency_key: planted.key.repeat(20) }, mine()),
    ],
    ["a key to Connect", () => post(`/${ReceiptService.typeName}/ListReceipts`, {}, all())],
    ["a proof to Connect", () => post(`/${ToolService.typeName}/CallTool`, CALL, { ...all(), ...mine() })],
  ];
  const mine = () => ({ Authorization: `Bearer ${agent.apiKey}` });
  const post = (target: string, body: object, headers: Record<string, string>): [string, RequestInit] => [
    target,
    {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    },
  ];

  it.each(requests)("%s", async (_, make) => {
    const before = instance.log().length;
    expect(held(await bodyOf(...make()))).toEqual([]);
    expect(held(instance.log().slice(before))).toEqual([]);
  });

  it("keeps gRPC metadata out of responses and log", async () => {
    const client = grpcClient(grpcAddress);
    const metadata = Object.fromEntries(
      Object.entries(all()).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const error: unknown = await callGrpc(client, ReceiptService.method.listReceipts, {}, { metadata }).catch(
      (reason: unknown) => reason,
    );
    client.close();
    expect(error).toBeInstanceOf(Error);
    expect(held(`${String(error)} ${JSON.stringify(error)}`)).toEqual([]);
  });

  it("redacts a key that an upstream echoes in a logged error", async () => {
    const chat = {
      tool: "inference_chat",
      params: { model: "m1", messages: [{ role: "user", content: "hi" }], max_tokens: 5 },
    };
    const body = await bodyOf(...post("/v1/mcp/tools/call", chat, mine()));
    expect(body).toContain("TOOL_FAILED");
    await expect.poll(() => instance.log()).toContain("Incorrect API key provided");
    expect([held(body), held(instance.log())]).toEqual([[], []]);
  });

  it("redacts keys of a failing RPC endpoint in the log", async () => {
    const buyer = { Authorization: `Bearer ${(await ground.agent()).apiKey}` };
    const [, body = ""] = (await bodyOf(...post("/v1/mcp/tools/call", CALL, buyer))).split("]] ");
    const { quote } = JSON.parse(body) as { quote: { quote_id: string } };
    await ground.chain.close();
    const proof = xPayment(base58.encode(randomBytes(64)), quote.quote_id);
    const answer = await bodyOf(...post("/v1/mcp/tools/call", CALL, { ...buyer, ...proof }));
    expect(answer).toMatch(/^503 .*"UNAVAILABLE"/);
    expect([held(answer), held(instance.log())]).toEqual([[], []]);
    expect(instance.log()).not.toContain(proof["X-Payment"]);
  });
});

describe("secrets of the configuration", () => {
  const settings = () => ({
    ...ground.settings,
    DATABASE_URL: ground.database.servingUrl,
    SOLANA_RPC_URLS: `https://user:${planted.rpc}@rpc.example/?api-key=${planted.rpc}`,
    INFERENCE_API_KEY: planted.inference,
  });

  it("hides secrets in serve --print-config", async () => {
    const { code, stdout, stderr } = await runToolgateHere(settings(), ["serve", "--print-config", "--json"]);
    expect([code, held(stdout + stderr)]).toEqual([0, []]);
  });

  /** Runs doctor and serve, which fail, and expects no secret in their output. */
  async function expectHidden(
    start: (settings: Record<string, string>, args: readonly string[]) => ReturnType<typeof runToolgate>,
    change: Record<string, string>,
  ): Promise<void> {
    for (const command of ["doctor", "serve"]) {
      const { code, stdout, stderr } = await start({ ...ground.settings, ...change }, [command]);
      expect(code, stdout + stderr).not.toBe(0);
      expect(held(stdout + stderr)).toEqual([]);
    }
  }

  // They end before there is a log.
  it.each([
    ["a database's address that is none", () => ({ DATABASE_URL: `mysql://u:${password()}@h/d` })],
    [
      "a database's address with a bad port",
      () => ({ DATABASE_URL: `postgres://u:${password()}@h:99999/d` }),
    ],
    ["an RPC address that is none", () => ({ SOLANA_RPC_URLS: `ftp://${planted.rpc}@h` })],
    [
      "an upstream with a password in its address",
      () => ({ INFERENCE_BASE_URL: `http://u:${planted.inference}@h/v1` }),
    ],
    ["a treasury that is no address", () => ({ TREASURY_OWNER: planted.key })],
  ])("hides secrets in doctor and serve, with %s", (_, change) => expectHidden(runToolgateHere, change()));

  it.each([
    ["a database that is not there", () => ({ DATABASE_URL: `postgres://u:${password()}@127.0.0.1:9/d` })],
    [
      "a database that refuses the password",
      () => ({ DATABASE_URL: ground.database.servingUrl.replace("toolgate_serving", "nobody") }),
    ],
    [
      "a database that is not there, and the password in the query",
      () => ({ DATABASE_URL: `postgres://127.0.0.1:9/d?user=u&password=${password()}` }),
    ],
    [
      "an RPC endpoint that is not there",
      () => ({ SOLANA_RPC_URLS: `http://u:${planted.rpc}@127.0.0.1:9/${planted.rpc}?k=${planted.rpc}` }),
    ],
  ])("hides secrets in doctor and serve, with %s", (_, change) => expectHidden(runToolgate, change()));

  it("hides the content of an unreadable file", async () => {
    const file = path.join(folder, "broken.yaml");
    await writeFile(
      file,
      `inference:\n  upstreams: [\n    {base_url: "https://u:${planted.inference}@h"\n  prices: }`,
    );
    const { code, stderr } = await runToolgateHere({ ...ground.settings, TOOLGATE_CONFIG: file }, ["serve"]);
    expect([code, held(stderr)]).toEqual([2, []]);
    expect(stderr).toMatch(/TOOLGATE_CONFIG: .* at line \d+/);
  });
});

describe("the log", () => {
  it("redacts API keys, passwords and configured secrets in every encoding", async () => {
    const file = path.join(folder, "log");
    const hush = `hush "quoted" ${randomUUID()}`;
    const log = createLogger("info", { file, secrets: [hush] });
    log.info({ deep: { deeper: { deepest: [`Bearer ${planted.key}`] } } }, `postgres://u:${password()}@h/d`);
    log.error(
      { err: new Error(`refused ${hush}`, { cause: new Error(encodeURIComponent(hush)) }) },
      Buffer.from(hush).toString("base64"),
    );
    log.info(
      { url: `postgres:///d?host=/run&sslpassword=${password()}&password=${password()}&user=u` },
      "in a query",
    );
    log.warn({ authorization: planted.cookie, headers: { "x-payment": planted.payment } }, "redacted");
    const text = await readFile(file, "utf8");
    expect(
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => typeof JSON.parse(line)),
    ).toEqual(["object", "object", "object", "object"]);
    expect([
      held(text),
      text.includes(hush),
      text.includes(encodeURIComponent(hush)),
      text.includes(JSON.stringify(hush).slice(1, -1)),
    ]).toEqual([[], false, false, false]);
    expect(text).toContain("postgres://u:***@h/d");
    expect(text).toContain("sslpassword=***&password=***&user=u");
  });
});
