import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { ROOT, toolEnvironment } from "../tooling/command.ts";

/** curl over HTTP/JSON, and buf curl over gRPC, which reads the contract by reflection. */

const CALL = '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}';

const world = useWorld();
let agent: Agent;

beforeAll(async () => {
  agent = await world.agent();
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; undefined when it is not installed. */
function run(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...toolEnvironment(false), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (ended.stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (ended.stderr += String(chunk)));
    child.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? resolve(undefined) : reject(error),
    );
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

  it("walks the README: 402, pay, 200 with a receipt, replay, and the list of receipts", async () => {
    const offer = await toolCall();
    expect(offer.status).toBe(402);
    // Extracted like the README's sed.
    const quoteId = /.*"quote_id":"([^"]*)".*/.exec(JSON.stringify(offer.body))?.[1] ?? "";
    const tx = await world.pay(agent, 1000n, memoOf({ quote_id: quoteId }));
    const proof = `X-Payment: ${xPayment(tx, quoteId)["X-Payment"]}`;
    const paid = await toolCall("-H", proof);
    expect(paid.status).toBe(200);
    expect(paid.body["receipt"]).toMatchObject({
      paid_by: "transfer",
      tx_signature: tx,
      debited_usdc_microusd: 1000,
    });
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

  it("sends HEAD, a form and a file upload, and gets the documented errors", async () => {
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

  it("lists services and methods by both names of reflection", async () => {
    const ended = await bufCurl("", "--list-methods");
    expect(ended?.stdout).toContain("toolgate.v1.ToolService/CallTool");
    expect(ended?.stdout).toContain("grpc.health.v1.Health/Check");
    const [services, older] = await Promise.all([
      bufCurl("", "--list-services"),
      bufCurl("", "--list-services", "--reflect-protocol", "grpc-v1alpha"),
    ]);
    expect(services?.stdout.trim().split("\n")).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "toolgate.v1.AccountService",
      "toolgate.v1.AuditService",
      "toolgate.v1.FacilitatorService",
      "toolgate.v1.HealthService",
      "toolgate.v1.KeyService",
      "toolgate.v1.OperationsService",
      "toolgate.v1.PaymentService",
      "toolgate.v1.ReceiptService",
      "toolgate.v1.RunService",
      "toolgate.v1.ToolService",
      "toolgate.v1.TreasuryService",
      "toolgate.v1.WalletKeyService",
      "toolgate.v1.WalletService",
      "toolgate.v1.WebhookService",
    ]);
    expect(older?.stdout).toBe(services?.stdout);
  });

  it("sends headers as metadata: a repeated idempotency key is not charged again", async () => {
    const rich = await world.agent({ balance: 10_000n });
    const once = ["-H", `authorization: Bearer ${rich.apiKey}`, "-H", "idempotency-key: once", "-d", CALL];
    const first = await bufCurl("/toolgate.v1.ToolService/CallTool", ...once);
    expect(JSON.parse(first?.stdout ?? "")).toMatchObject({
      ok: true,
      receipt: { debitedUsdcMicrousd: "1000" },
    });
    const again = await bufCurl("/toolgate.v1.ToolService/CallTool", ...once);
    expect(JSON.parse(again?.stdout ?? "")).toEqual(JSON.parse(first?.stdout ?? ""));
  });

  it("reads the offer of an unpaid call from the error details", async () => {
    const ended = await bufCurl("/toolgate.v1.ToolService/CallTool", ...key(), "-d", CALL);
    expect(ended?.code).not.toBe(0);
    const reported = JSON.parse(ended?.stderr ?? "");
    expect(reported).toMatchObject({
      code: "failed_precondition",
      details: [{ type: "toolgate.v1.PaymentRequired" }],
    });
    const offer = fromBinary(PaymentRequiredSchema, base64Decode(reported.details[0].value));
    expect(offer.quote).toMatchObject({ tool: "vram_estimate", priceUsdcMicrousd: 1000n });
  });
});

describe("the proto files alone", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "toolgate-protos-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("build as a module without other files", async () => {
    expect(await run("buf", ["export", "proto", "-o", path.join(folder, "protos")])).toMatchObject({
      code: 0,
    });
    expect(await run("buf", ["build", "protos"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  });

  it("generate a TypeScript client as docs/guides/protos.md describes, which calls the gateway", async () => {
    const page = await readFile(path.join(ROOT, "docs/guides/protos.md"), "utf8");
    const section = page.slice(page.indexOf("## TypeScript"), page.indexOf("## Go"));
    const [, template = ""] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
    const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(section) ?? [];
    await writeFile(path.join(folder, "buf.gen.yaml"), template);
    await writeFile(path.join(folder, "call.ts"), program);
    await writeFile(path.join(folder, "package.json"), '{"type":"module"}');
    await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "junction");
    expect(await run("buf", ["generate", "protos"], { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
    const env = { TOOLGATE_URL: world.gateway.baseUrl, TOOLGATE_KEY: agent.apiKey };
    const called = await run(process.execPath, ["call.ts"], { cwd: folder, env });
    expect(called).toEqual({ code: 0, stderr: "", stdout: '{"echo":"hello"}\nFailedPrecondition $0.001\n' });
  });

  it("suffice for buf curl to speak Connect", async () => {
    const url = `${world.gateway.baseUrl}/toolgate.v1.ToolService/CallTool`;
    const data = '{"tool":"echo","params":{"message":"hi"}}';
    const key = `authorization: Bearer ${agent.apiKey}`;
    const ended = await run("buf", ["curl", "--schema", "proto", "-H", key, "-d", data, url]);
    expect(JSON.parse(ended?.stdout ?? "")).toEqual({ ok: true, result: { echo: "hi" } });
  });
});
