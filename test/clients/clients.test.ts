import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fromJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { signed } from "../../docs/examples/node/pay.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { CELLS, SHORT_CELLS, WAYS, type Cell } from "./cells.ts";
import { manipulate, MANIPULATIONS, startMaliciousGateway } from "./malicious-gateway.ts";
import { tableOfClients } from "./page.ts";
import { missingPrograms, runExample } from "./run-example.ts";

/** Runs the examples of the cells of the table in docs/guides/clients.md as a reader would. */

const PRICE = 1_000n;

let world: World;
let folder: string;
let missing: ReadonlyMap<string, string>;
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-clients-"));
  // A busy machine confirms payments late.
  [world, missing] = await Promise.all([startWorld({ PAYMENT_WAIT_MS: "30000" }), missingPrograms()]);
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An agent that can pay only this way, and the environment of its example. */
async function buyer({
  way,
  asksChain,
  variables: more,
}: Omit<Cell, "name" | "file" | "protocol">): Promise<{ agent: Agent; variables: Record<string, string> }> {
  const agent = await world.agent(way === "balance" ? { balance: PRICE } : {});
  const wallet = world.chain.controls.createWallet({
    microUsd: way === "balance" ? 0n : 10n * PRICE,
    lamports: way === "transfer" ? 10_000_000n : 0n,
  });
  const WALLET = path.join(folder, `${agent.accountId}.json`);
  writeFileSync(WALLET, JSON.stringify([...wallet.secretKey]));
  const variables = {
    TOOLGATE_URL: world.gateway.baseUrl,
    TOOLGATE_GRPC: world.gateway.grpcAddress,
    TOOLGATE_KEY: agent.apiKey,
    WALLET,
    // Saves compiling the same modules for each example.
    NODE_COMPILE_CACHE: path.join(folder, "compiled"),
    ...more,
    ...((way === "transfer" || asksChain === true) && { SOLANA_RPC_URL: world.chain.url }),
  };
  return { agent: { ...agent, wallet }, variables };
}

const cells = process.env["EVERY_CELL"] === undefined ? SHORT_CELLS : CELLS;

describe.concurrent("an example of docs/guides/clients.md buys a call", () => {
  it.for(cells)("$name", async (cell, { skip, expect }) => {
    const { file, way } = cell;
    const reason = missing.get(path.extname(file));
    if (reason !== undefined) skip(reason);
    const { agent, variables } = await buyer(cell);
    const { code, stdout, stderr } = await runExample(file, variables);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const { items } = (await world.get(agent, "/receipts")).body;
    expect(items).toEqual([expect.objectContaining({ paid_by: way, debited_usdc_microusd: Number(PRICE) })]);
    expect(stdout).toContain(items[0].receipt_id);
    expect((await world.call(agent, "get_status", {})).body.result.balance_usdc).toBe("0.000000");
  });
});

it("docs/guides/clients.md names each test in the row of its protocol and the column of its method", () => {
  const named = tableOfClients().flatMap(({ protocol, cells }) =>
    cells.map((cell, column) => ({ cell, ends: `-${protocol.toLowerCase()}-${WAYS[column]}\`` })),
  );
  const tests = named.filter(({ cell }) => cell.startsWith("`"));
  expect(tests.filter(({ cell, ends }) => !cell.endsWith(ends))).toEqual([]);
  expect(tests.map(({ cell }) => cell.slice(1, -1))).toEqual(CELLS.map(({ name }) => name));
});

it("the cells of npm test are of each program, and of each way over each protocol", () => {
  const kinds = (all: readonly Cell[]) =>
    [...new Set(all.flatMap(({ file, way, protocol }) => [file, `${protocol} ${way}`]))].toSorted();
  expect(kinds(SHORT_CELLS)).toEqual(kinds(CELLS));
});

describe.concurrent("an example refuses a manipulated transaction of the gateway", () => {
  const programs = ["python/buy.py", "go/buy/main.go"];
  const rows = programs.flatMap((file) =>
    MANIPULATIONS.map((manipulation) => ({ file, manipulation, does: manipulation.name })),
  );
  it.for(rows)("$file refuses a transaction that $does", async ({ file, manipulation }, { skip, expect }) => {
    const reason = missing.get(path.extname(file));
    if (reason !== undefined) skip(reason);
    const { variables } = await buyer({ way: "gasless" });
    const gateway = await startMaliciousGateway(world.gateway.baseUrl, manipulation);
    const { code, stdout, stderr } = await runExample(file, { ...variables, TOOLGATE_URL: gateway.url });
    await gateway.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/not signed: /);
  });
});

describe.concurrent("an example whose payment is pending", () => {
  it.for(["python/buy.py", "go/buy/main.go", "curl/http.sh"])(
    "%s repeats the same proof until its payment is confirmed",
    async (file, { skip, expect }) => {
      const reason = missing.get(path.extname(file));
      if (reason !== undefined) skip(reason);
      const { agent, variables } = await buyer({ way: "gasless" });
      const gateway = await startMaliciousGateway(world.gateway.baseUrl, { name: "", pending: true });
      const { code, stdout, stderr } = await runExample(file, { ...variables, TOOLGATE_URL: gateway.url });
      await gateway.close();
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [first] = gateway.proofs;
      expect(gateway.proofs).toEqual([first, first]);
      expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
      expect(stdout).toContain("rcpt_");
    },
  );
});

describe.concurrent("an example with an unknown API key", () => {
  const files = [
    "node/fetch.ts",
    "node/x402.ts",
    "curl/http.sh",
    "curl/mcp.sh",
    "curl/connect.sh",
    "curl/buf.sh",
  ];
  it.for(files)("%s prints the reason of a refusal, and nothing else", async (file, { skip, expect }) => {
    const reason = missing.get(path.extname(file));
    if (reason !== undefined) skip(reason);
    const { variables } = await buyer({ way: "gasless" });
    const refused = { ...variables, TOOLGATE_KEY: "sk-agent-unknown", SOLANA_RPC_URL: world.chain.url };
    const { code, stdout, stderr } = await runExample(file, refused);
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toContain("the API key is unknown");
  });
});

describe("docs/examples/node/pay.ts", () => {
  it("pay.ts signs the transaction of the gateway, and no manipulated one", async () => {
    const { agent, variables } = await buyer({ way: "gasless" });
    vi.stubEnv("WALLET", variables["WALLET"] ?? "");
    const { body } = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    const payment = { quote_id: body.quote.quote_id, payer: agent.wallet.publicKey.toBase58() };
    const built = Buffer.from(
      (await world.post(agent, "/v1/payments/transaction", payment)).body.transaction,
      "base64",
    );
    const offer = (price?: number) => {
      const quote = { ...body.quote, ...(price !== undefined && { price_usdc_microusd: price }) };
      return fromJson(PaymentRequiredSchema, { ...body, quote });
    };
    expect(signed(offer(), built)).toMatch(/^[\w-]+$/);
    for (const manipulation of MANIPULATIONS)
      expect(
        () => signed(offer(manipulation.price), manipulate(built, manipulation).serialize()),
        manipulation.name,
      ).toThrow(/^not signed: /);
    vi.unstubAllEnvs();
  });
});
