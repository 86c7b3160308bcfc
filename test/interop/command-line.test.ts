import { spawn } from "node:child_process";
import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { memoOf, startWorld, xPayment, type Agent, type World } from "../support/world.ts";
import { toolEnvironment } from "../tooling/command.ts";

/** What people type: curl over HTTP/JSON, and buf curl over gRPC, which learns the contract by reflection alone. */

const CALL = '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}';

let world: World;
let agent: Agent;

beforeAll(async () => {
  world = await startWorld();
  agent = await world.agent();
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; undefined when it is not installed. */
function run(program: string, args: readonly string[]): Promise<Ended | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: toolEnvironment(false), stdio: ["ignore", "pipe", "pipe"] });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (ended.stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (ended.stderr += String(chunk)));
    child.on("error", (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? resolve(undefined) : reject(error)));
    child.on("close", (code) => resolve({ ...ended, code }));
  });
}

const curlIsInstalled = (await run("curl", ["--version"]))?.code === 0;

describe.runIf(curlIsInstalled)("curl", () => {
  /** The function of the README, with its flags. */
  async function toolCall(...more: string[]): Promise<{ status: number; body: Record<string, unknown> }> {
    const ended = await run("curl", [
      "-s",
      "-w",
      "\nHTTP %{http_code}\n",
      `${world.gateway.baseUrl}/v1/mcp/tools/call`,
      "-H",
      `Authorization: Bearer ${agent.apiKey}`,
      "-H",
      "Content-Type: application/json",
      "-d",
      CALL,
      ...more,
    ]);
    const [body = "", status = ""] = ended?.stdout.split("\nHTTP ") ?? [];
    return { status: Number(status), body: JSON.parse(body) };
  }

  it("walks the README: 402, pay, 200 with a receipt, the same again, and the list of receipts", async () => {
    const offer = await toolCall();
    expect(offer.status).toBe(402);
    // As the README's sed finds it.
    const quoteId = /.*"quote_id":"([^"]*)".*/.exec(JSON.stringify(offer.body))?.[1] ?? "";
    const tx = await world.pay(agent, 1000n, memoOf({ quote_id: quoteId }));
    const proof = `X-Payment: ${xPayment(tx, quoteId)["X-Payment"]}`;
    const paid = await toolCall("-H", proof);
    expect(paid.status).toBe(200);
    expect(paid.body["receipt"]).toMatchObject({ paid_by: "transfer", tx_signature: tx, debited_usdc_microusd: 1000 });
    const again = await toolCall("-H", proof);
    expect(again).toEqual(paid);
    const list = await run("curl", [
      "-s",
      `${world.gateway.baseUrl}/receipts?limit=5`,
      "-H",
      `Authorization: Bearer ${agent.apiKey}`,
    ]);
    expect(JSON.parse(list?.stdout ?? "")).toEqual({
      items: [paid.body["receipt"]],
      next_cursor: null,
      has_more: false,
    });
  });

  it("sends HEAD, a form and a file upload, and is told what is wrong", async () => {
    const url = `${world.gateway.baseUrl}/v1/mcp/tools/call`;
    const key = ["-H", `Authorization: Bearer ${agent.apiKey}`];
    const status = async (...args: string[]) =>
      (await run("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...args]))?.stdout;
    expect(await status("-I", `${world.gateway.baseUrl}/health`)).toBe("200");
    expect(await status("-I", url)).toBe("405");
    expect(await status("-d", CALL, ...key, url)).toBe("415");
    expect(await status("-F", "tool=echo", ...key, url)).toBe("415");
    expect(await status("--http2", `${world.gateway.baseUrl}/health`)).toBe("200");
  });
});

describe("buf curl over gRPC", () => {
  const bufCurl = (method: string, ...more: string[]) =>
    run("buf", [
      "curl",
      "--protocol",
      "grpc",
      "--http2-prior-knowledge",
      ...more,
      `http://${world.gateway.grpcAddress}${method}`,
    ]);
  const key = () => ["-H", `authorization: Bearer ${agent.apiKey}`];

  it("lists the services that reflection tells", async () => {
    const ended = await bufCurl("", "--list-methods");
    expect(ended?.stdout).toContain("toolgate.v1.ToolService/CallTool");
    expect(ended?.stdout).toContain("grpc.health.v1.Health/Check");
  });

  it("calls a tool", async () => {
    const data = '{"tool":"echo","params":{"message":"hi"}}';
    const ended = await bufCurl("/toolgate.v1.ToolService/CallTool", ...key(), "-d", data);
    expect(JSON.parse(ended?.stdout ?? "")).toEqual({ ok: true, result: { echo: "hi" } });
  });

  it("reads the offer of an unpaid call out of the error's detail", async () => {
    const ended = await bufCurl("/toolgate.v1.ToolService/CallTool", ...key(), "-d", CALL);
    expect(ended?.code).not.toBe(0);
    const told = JSON.parse(ended?.stderr ?? "");
    expect(told).toMatchObject({ code: "failed_precondition", details: [{ type: "toolgate.v1.PaymentRequired" }] });
    const offer = fromBinary(PaymentRequiredSchema, base64Decode(told.details[0].value));
    expect(offer.quote).toMatchObject({ tool: "vram_estimate", priceUsdcMicrousd: 1000n });
  });
});
