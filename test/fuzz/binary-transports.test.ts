import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, Metadata, status as GrpcStatus } from "@grpc/grpc-js";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { useWorld } from "../support/use-world.ts";
import { type Agent } from "../support/world.ts";
import { grpcClient } from "../transport/grpc-client.ts";

/** Damaged protobuf and envelopes over gRPC, gRPC-Web and Connect return an error and break nothing. */

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 150);
const SEED = process.env["FUZZ_SEED"] === undefined ? {} : { seed: Number(process.env["FUZZ_SEED"]) };
const METHOD = "/toolgate.v1.ToolService/CallTool";
/** Codes that a caller's mistakes may cause. */
const OWN_FAULTS = [
  "OK",
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
  "RESOURCE_EXHAUSTED",
];

const world = useWorld({ PAYMENT_WAIT_MS: "0" });
let agent: Agent;
let client: Client;

beforeAll(async () => {
  agent = await world.agent({ balance: 1_000_000n });
  client = grpcClient(world.gateway.grpcAddress);
});
afterAll(() => client.close());

const good = [
  { tool: "echo", params: { message: "hi", more: [1, null, { a: true }] } },
  { tool: "vram_estimate", params: { model: "llama-3.1-8b" }, idempotencyKey: "k" },
  {
    tool: "echo",
    params: { message: "hi" },
    paymentProof: { txRef: "1".repeat(64), network: "solana-mainnet" },
  },
].map((request) => toBinary(CallToolRequestSchema, create(CallToolRequestSchema, request)));

const damaged = fc
  .record({
    message: fc.constantFrom(...good),
    at: fc.nat(80),
    drop: fc.nat(4),
    insert: fc.uint8Array({ maxLength: 4 }),
  })
  .map(({ message, at, drop, insert }) =>
    Buffer.concat([message.slice(0, at), insert, message.slice(at + drop)]),
  );

/** The name of the gRPC status that the bytes end with. */
function sendGrpc(bytes: Buffer): Promise<string> {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${agent.apiKey}`);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      METHOD,
      (same: Buffer) => same,
      (same: Buffer) => same,
      bytes,
      metadata,
      (error) => {
        resolve(GrpcStatus[error?.code ?? GrpcStatus.OK] ?? "");
      },
    );
  });
}

async function post(contentType: string, body: Uint8Array<ArrayBuffer>) {
  const headers = { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": contentType };
  const response = await fetch(world.gateway.baseUrl + METHOD, { method: "POST", headers, body });
  return { status: response.status, body: await response.text() };
}

describe("the gRPC server", () => {
  it("reports damaged gRPC messages as the caller's fault and keeps working", async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (bytes) => {
        expect(OWN_FAULTS).toContain(await sendGrpc(bytes));
      }),
      { numRuns: RUNS, ...SEED },
    );
    expect(await sendGrpc(Buffer.from(good[1] ?? []))).toBe("OK");
  });

  it("refuses a gRPC message nested beyond its limit", async () => {
    expect(await sendGrpc(nested(90))).toBe("INVALID_ARGUMENT");
    expect(await sendGrpc(nested(1_000))).toBe("INVALID_ARGUMENT");
    // Longer than its tool takes, which is found without going into it.
    expect(await sendGrpc(nested(30_000))).toBe("RESOURCE_EXHAUSTED");
  });
});

describe("the Connect handler", () => {
  it("refuses invalid JSON over Connect with 4xx", async () => {
    const bodies = [
      "",
      "{",
      "[]",
      "null",
      '{"tool":1}',
      '{"tool":"echo","params":[]}',
      '{"tool":"echo","params":{"message":"\\ud800"},"idempotencyKey":"k"}',
      '{"tool":"\\ud800"}',
      '{"__proto__":1}',
      '{"tool":"echo","unknown":1}',
      `{"tool":"echo","params":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`,
      '{"tool":"echo","tool":"echo"}',
      '{"params":{"message":1e400}}',
    ];
    for (const body of bodies) {
      const answer = await post("application/json", new Uint8Array(Buffer.from(body)));
      expect(answer.status, body.slice(0, 80)).toBeGreaterThanOrEqual(400);
      expect(answer.status, body.slice(0, 80)).toBeLessThan(500);
      expect(JSON.parse(answer.body)).toMatchObject({ code: expect.any(String) });
    }
  });

  it("answers damaged protobuf and envelopes over Connect and keeps working", async () => {
    const types = [
      "application/proto",
      "application/grpc-web+proto",
      "application/grpc-web-text",
      "application/connect+proto",
    ];
    await fc.assert(
      fc.asyncProperty(damaged, fc.constantFrom(...types), fc.boolean(), async (bytes, type, enveloped) => {
        const head = Buffer.alloc(5);
        head.writeUInt32BE(bytes.length, 1);
        const body = new Uint8Array(enveloped ? Buffer.concat([head, bytes]) : bytes);
        const answer = await post(type, body);
        expect(answer.body).not.toMatch(/node_modules|\bat .*\.ts:\d+/);
        expect((await fetch(`${world.gateway.baseUrl}/health`)).status).toBe(200);
      }),
      { numRuns: RUNS, ...SEED },
    );
  });
});

/** A request whose params are nested `depth` times, as bytes, because encoders refuse it. */
function nested(depth: number): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  // google.protobuf.Struct.fields (1) of google.protobuf.Value (2) of struct_value (5), from the inside out.
  for (let level = 0; level < depth; level++) {
    for (const tag of [0x2a, 0x12]) length = prepend(parts, tag, length);
    parts.push(Buffer.from([0x0a, 1, 0x61]));
    length = prepend(parts, 0x0a, length + 3);
  }
  prepend(parts, 0x12, length);
  parts.push(Buffer.concat([Buffer.from([0x0a, 4]), Buffer.from("echo")]));
  return Buffer.concat(parts.toReversed());
}

/**
 * Prepends tag and length; `parts` is in reverse order.
 * @returns the new length
 */
function prepend(parts: Buffer[], tag: number, length: number): number {
  const bytes = [tag];
  for (let rest = length; ; rest >>>= 7) {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) break;
  }
  parts.push(Buffer.from(bytes));
  return length + bytes.length;
}
