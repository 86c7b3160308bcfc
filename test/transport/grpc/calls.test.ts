import { randomBytes } from "node:crypto";
import { fromJson } from "@bufbuild/protobuf";
import { type Client, Client as GrpcClient, credentials, Metadata, status } from "@grpc/grpc-js";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { HealthService, HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { PaidBy } from "#gen/toolgate/v1/receipt_pb.ts";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { RunSchema } from "#gen/toolgate/v1/run_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { BODY_LIMIT, type Gateway, startGateway } from "../gateway.ts";
import { callGrpc, detailOf, failureOf, grpcClient, statusDetails } from "../grpc-client.ts";

const { callTool, getCapabilities } = ToolService.method;
const echo = { tool: "echo", params: { message: "hi" } };

describe("a call over gRPC", () => {
  let gateway: Gateway;
  let client: Client;
  let metadata: { authorization: string };

  beforeAll(async () => {
    gateway = await startGateway();
    client = grpcClient(gateway.grpcAddress);
  });
  beforeEach(() => {
    metadata = { authorization: gateway.key({ balance: 1_000_000n }).authorization };
  });
  afterAll(async () => {
    client.close();
    await gateway.close();
  });

  it("runs a free tool", async () => {
    const { message } = await callGrpc(client, callTool, echo, { metadata });
    expect(message).toMatchObject({ ok: true, result: { echo: "hi" } });
    expect(message.receipt).toBeUndefined();
  });

  it("charges the balance and lists receipt and run", async () => {
    const { message } = await callGrpc(client, callTool, { tool: "paid", params: {} }, { metadata });
    const { receipt } = message;
    expect(receipt).toMatchObject({
      tool: "paid",
      debitedUsdcMicrousd: 10_000n,
      quotedUsdcMicrousd: 10_000n,
    });
    const { listReceipts, getReceipt } = ReceiptService.method;
    const receipts = await callGrpc(client, listReceipts, {}, { metadata });
    expect(receipts.message).toMatchObject({ items: [receipt], hasMore: false });
    expect(receipts.message.nextCursor).toBeUndefined();
    const one = await callGrpc(client, getReceipt, { id: receipt?.receiptId ?? "" }, { metadata });
    expect(one.message.receipt).toEqual(receipt);
    const { listRuns, getRun } = RunService.method;
    const runs = await callGrpc(client, listRuns, { status: 2 }, { metadata });
    const [run] = runs.message.items;
    expect(run).toMatchObject({
      runId: receipt?.runId,
      status: 2,
      receiptId: receipt?.receiptId,
      spentUsdcMicrousd: 10_000n,
    });
    expect((await callGrpc(client, getRun, { id: run?.runId ?? "" }, { metadata })).message.run).toEqual(run);
  });

  it("returns request id and rate in metadata", async () => {
    const { headers } = await callGrpc(client, callTool, echo, { metadata });
    expect(headers.get("x-request-id")[0]).toMatch(/^req_[0-9a-f]{32}$/);
    expect(headers.getMap()).toMatchObject({
      "x-ratelimit-limit": "60",
      "x-ratelimit-remaining": "9",
      "x-ratelimit-reset": "1800000000",
    });
  });

  it("reads idempotency-key metadata like the member", async () => {
    const key = `key ${Math.random()}`;
    const paid = { tool: "paid", params: {} };
    const first = await callGrpc(client, callTool, paid, {
      metadata: { ...metadata, "idempotency-key": key },
    });
    const again = await callGrpc(client, callTool, { ...paid, idempotencyKey: key }, { metadata });
    expect(again.message.receipt).toEqual(first.message.receipt);
    const other = { ...paid, idempotencyKey: `${key}!` };
    const error = await failureOf(
      callGrpc(client, callTool, other, { metadata: { ...metadata, "idempotency-key": key } }),
    );
    expect(detailOf(error, ErrorBodySchema).code).toBe("INVALID_REQUEST");
    const long = await failureOf(
      callGrpc(client, callTool, paid, { metadata: { ...metadata, "idempotency-key": "x".repeat(256) } }),
    );
    expect(detailOf(long, ErrorBodySchema)).toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringContaining("Idempotency-Key"),
    });
  });

  it("reads x-payment metadata as a proof", async () => {
    const error = await failureOf(
      callGrpc(
        client,
        callTool,
        { tool: "paid", params: {} },
        { metadata: { ...metadata, "x-payment": "not a proof" } },
      ),
    );
    expect(detailOf(error, ErrorBodySchema)).toMatchObject({
      code: "INVALID_PAYMENT",
      message: expect.stringContaining("X-Payment"),
    });
    const proof = { txRef: "1".repeat(64), network: "solana-devnet" };
    const wrong = await failureOf(
      callGrpc(client, callTool, { tool: "paid", params: {}, paymentProof: proof }, { metadata }),
    );
    expect(detailOf(wrong, ErrorBodySchema)).toMatchObject({
      code: "INVALID_PAYMENT",
      message: expect.stringContaining("network"),
    });
  });

  it("accepts an x-payment proof and returns the stored result for a repeat", async () => {
    const { authorization } = gateway.key();
    const paid = { tool: "paid", params: { n: 1 } };
    const unpaid = await failureOf(callGrpc(client, callTool, paid, { metadata: { authorization } }));
    const { quote, stepId } = detailOf(unpaid, PaymentRequiredSchema);
    const quoteId = quote?.quoteId ?? "";
    const tx = base58.encode(randomBytes(64));
    gateway.chain.verdict = {
      kind: "paid",
      amount: 10_000n,
      memo: `${stepId}:${quoteId}:1`,
      payer: undefined,
      slot: 1n,
      blockTime: new Date(),
      finalized: false,
    };
    const proof = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
    const first = await callGrpc(client, callTool, paid, { metadata: { authorization, "x-payment": proof } });
    expect(first.message.receipt).toMatchObject({
      quoteId,
      stepId,
      txSignature: tx,
      paidBy: PaidBy.TRANSFER,
    });
    gateway.chain.verdict = { kind: "not_found" };
    const again = await callGrpc(client, callTool, paid, { metadata: { authorization, "x-payment": proof } });
    expect(again.message).toEqual(first.message);
    const paymentProof = { txRef: base58.encode(randomBytes(64)), network: "solana-mainnet", quoteId };
    const early = await failureOf(
      callGrpc(client, callTool, { ...paid, paymentProof }, { metadata: { authorization } }),
    );
    expect(detailOf(early, ErrorBodySchema)).toMatchObject({ code: "INVALID_PAYMENT", retryAfterSeconds: 2 });
    expect(early.metadata.get("retry-after")).toEqual(["2"]);
  });

  it("lists the catalogue without a key but rejects a bad one", async () => {
    const { message } = await callGrpc(client, getCapabilities, {});
    expect(message).toMatchObject({ version: "1.2.3", network: "solana-mainnet", asset: "USDC" });
    expect(message.tools.map(({ name, status: state, billable }) => [name, state, billable])).toEqual([
      ["echo", 1, false],
      ["paid", 1, true],
      ["wait", 1, false],
      ["tell", 1, false],
      ["break", 1, false],
      ["later", 2, false],
    ]);
    expect(message.tools[1]?.price).toMatchObject({ priceUsdcMicrousd: 10_000n, priceDisplay: "$0.01" });
    const error = await failureOf(
      callGrpc(client, getCapabilities, {}, { metadata: { authorization: "Bearer sk-agent-bad" } }),
    );
    expect(error.code).toBe(status.UNAUTHENTICATED);
  });

  it("maps errors to gRPC codes", async () => {
    const foreign = gateway.key({ balance: 1_000_000n });
    const paid = await callGrpc(
      client,
      callTool,
      { tool: "paid", params: {} },
      { metadata: { authorization: foreign.authorization } },
    );
    const { status: unknownStatus } = fromJson(RunSchema, { status: 99 });
    const noScope = { authorization: gateway.key({ scopes: ["billing:write"] }).authorization };
    const cases: [call: Promise<unknown>, rpc: keyof typeof status, code: string, says: RegExp][] = [
      [callGrpc(client, callTool, echo), "UNAUTHENTICATED", "UNAUTHORIZED", /Authorization: Bearer/],
      [
        callGrpc(client, callTool, echo, { metadata: { authorization: "Basic abc" } }),
        "UNAUTHENTICATED",
        "UNAUTHORIZED",
        /Bearer/,
      ],
      [
        callGrpc(client, callTool, { tool: "", params: {} }, { metadata }),
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
        /^tool: /,
      ],
      [
        callGrpc(client, callTool, { tool: "echo" }, { metadata }),
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
        /^params: /,
      ],
      [
        callGrpc(client, callTool, { tool: "echo", params: {} }, { metadata }),
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
        /params\.message/,
      ],
      [
        callGrpc(client, callTool, { tool: "nope", params: {} }, { metadata }),
        "NOT_FOUND",
        "TOOL_NOT_FOUND",
        /nope/,
      ],
      [
        callGrpc(client, callTool, { tool: "later", params: {} }, { metadata }),
        "UNIMPLEMENTED",
        "TOOL_UNAVAILABLE",
        /later/,
      ],
      [
        callGrpc(client, callTool, { tool: "paid", params: {} }, { metadata: noScope }),
        "PERMISSION_DENIED",
        "FORBIDDEN",
        /compute:read/,
      ],
      [
        callGrpc(client, ReceiptService.method.listReceipts, {}, { metadata: noScope }),
        "PERMISSION_DENIED",
        "FORBIDDEN",
        /billing:read/,
      ],
      [
        callGrpc(client, RunService.method.listRuns, {}, { metadata: noScope }),
        "PERMISSION_DENIED",
        "FORBIDDEN",
        /compute:read/,
      ],
      [
        callGrpc(client, RunService.method.listRuns, { limit: 101 }, { metadata }),
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
        /^limit: /,
      ],
      [
        callGrpc(client, RunService.method.listRuns, { status: unknownStatus }, { metadata }),
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
        /^status: .*active/,
      ],
      [
        callGrpc(
          client,
          ReceiptService.method.getReceipt,
          { id: paid.message.receipt?.receiptId ?? "" },
          { metadata },
        ),
        "NOT_FOUND",
        "NOT_FOUND",
        /receipt/,
      ],
    ];
    for (const [call, rpc, code, says] of cases) {
      const error = await failureOf(call);
      const body = detailOf(error, ErrorBodySchema);
      expect([status[error.code], body.code]).toEqual([rpc, code]);
      expect(body.message).toMatch(says);
      expect(error.details).toBe(body.message);
      expect(statusDetails(error)).toMatchObject({ code: error.code, message: body.message });
      expect(error.metadata.get("x-request-id")).toEqual([body.requestId]);
    }
  });

  it("returns retry-after when the key exceeds its rate", async () => {
    const before = gateway.rate.decision;
    gateway.rate.decision = { ...before, allowed: false, remaining: 0, retryAfterSeconds: 3 };
    const error = await failureOf(callGrpc(client, callTool, echo, { metadata }));
    gateway.rate.decision = before;
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(detailOf(error, ErrorBodySchema)).toMatchObject({ code: "RATE_LIMITED", retryAfterSeconds: 3 });
    expect(error.metadata.getMap()).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "3" });
  });

  it("hides unexpected errors and logs them with the request id", async () => {
    const error = await failureOf(
      callGrpc(client, HealthService.method.getHealth, {}).then(() =>
        callGrpc(client, callTool, { tool: "break", params: {} }, { metadata }),
      ),
    );
    const body = detailOf(error, ErrorBodySchema);
    expect([error.code, body.code]).toEqual([status.INTERNAL, "INTERNAL"]);
    expect(JSON.stringify([error.details, body])).not.toContain("secret");
    expect(gateway.logged).toContainEqual({
      request_id: body.requestId,
      err: expect.objectContaining({ message: expect.stringContaining("is down") }),
    });
  });

  it("reports undecodable messages to callers with a key only", async () => {
    const { parent, name } = callTool;
    const send = (authorization: string | undefined) =>
      failureOf(
        new Promise((resolve, reject) => {
          const entries = new Metadata();
          if (authorization) entries.set("authorization", authorization);
          const same = (bytes: Buffer) => bytes;
          const path = `/${parent.typeName}/${name}`;
          client.makeUnaryRequest(path, same, same, Buffer.from([0xff, 0xff]), entries, (error, bytes) =>
            error ? reject(error) : resolve(bytes),
          );
        }),
      );
    expect(detailOf(await send(undefined), ErrorBodySchema).code).toBe("UNAUTHORIZED");
    expect(detailOf(await send(metadata.authorization), ErrorBodySchema)).toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringContaining("toolgate.v1.CallToolRequest"),
    });
  });

  it("rejects a message that is too large", async () => {
    const error = await failureOf(
      callGrpc(client, callTool, { tool: "echo", params: { message: "x".repeat(BODY_LIMIT) } }, { metadata }),
    );
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  });

  it("returns UNIMPLEMENTED for an unknown method", async () => {
    const ghost = { ...callTool, name: "Nothing" };
    const other = new GrpcClient(gateway.grpcAddress, credentials.createInsecure());
    const error = await failureOf(callGrpc(other, ghost, echo, { metadata }));
    other.close();
    expect(error.code).toBe(status.UNIMPLEMENTED);
  });

  it("returns the health detail when the database is gone", async () => {
    expect((await callGrpc(client, HealthService.method.getHealth, {})).message).toMatchObject({
      status: "ok",
      version: "1.2.3",
    });
    gateway.health.up = false;
    const error = await failureOf(callGrpc(client, HealthService.method.getHealth, {}));
    gateway.health.up = true;
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(detailOf(error, HealthUnavailableSchema)).toMatchObject({
      status: "unavailable",
      version: "1.2.3",
    });
  });
});

describe("the operator's services", () => {
  let gateway: Gateway;
  let client: Client;

  beforeAll(async () => {
    gateway = await startGateway();
    client = grpcClient(gateway.grpcAddress);
  });
  afterAll(async () => {
    client.close();
    await gateway.close();
  });

  it("the operator's services reject an ordinary key in every method", async () => {
    const { authorization } = gateway.key();
    const accounts = AccountService.method;
    const keys = KeyService.method;
    const metadata = { authorization };
    const calls = [
      callGrpc(client, accounts.createAccount, { wallet: "w".repeat(40) }, { metadata }),
      callGrpc(client, accounts.getAccount, { accountId: "acct_1" }, { metadata }),
      callGrpc(
        client,
        accounts.adjustBalance,
        { accountId: "acct_1", amountUsdcMicrousd: 1n, reason: "gift", idempotencyKey: "1" },
        { metadata },
      ),
      callGrpc(
        client,
        accounts.setTier,
        { accountId: "acct_1", ratePerMinute: 600, burst: 100 },
        { metadata },
      ),
      callGrpc(client, accounts.listAccounts, {}, { metadata }),
      callGrpc(
        client,
        accounts.setBlocked,
        { accountId: "acct_1", blocked: true, reason: "abuse" },
        { metadata },
      ),
      callGrpc(client, keys.createKey, { accountId: "acct_1" }, { metadata }),
      callGrpc(client, keys.listKeys, { accountId: "acct_1" }, { metadata }),
      callGrpc(client, keys.updateKey, { keyId: "key_1" }, { metadata }),
      callGrpc(client, keys.revokeKey, { keyId: "key_1" }, { metadata }),
      callGrpc(client, keys.createKeyGroup, { accountId: "acct_1", name: "a" }, { metadata }),
      callGrpc(client, keys.listKeyGroups, { accountId: "acct_1" }, { metadata }),
      callGrpc(client, keys.updateKeyGroup, { groupId: "grp_1" }, { metadata }),
      callGrpc(client, keys.deleteKeyGroup, { groupId: "grp_1" }, { metadata }),
    ];
    expect(calls).toHaveLength(AccountService.methods.length + KeyService.methods.length);
    for (const call of calls) {
      const error = await failureOf(call);
      expect([error.code, detailOf(error, ErrorBodySchema).code]).toEqual([
        status.PERMISSION_DENIED,
        "FORBIDDEN",
      ]);
    }
  });

  it("the operator's services manage accounts and keys", async () => {
    const metadata = { authorization: gateway.key({ operator: true }).authorization };
    const { adjustBalance, setTier, createAccount, getAccount } = AccountService.method;
    const wallet = "w".repeat(40);
    const { accountId = "" } =
      (await callGrpc(client, createAccount, { wallet }, { metadata })).message.account ?? {};
    const gift = { accountId, amountUsdcMicrousd: 5n, reason: "gift", idempotencyKey: "1" };
    await callGrpc(client, adjustBalance, gift, { metadata });
    expect((await callGrpc(client, getAccount, { accountId }, { metadata })).message.account).toMatchObject({
      accountId,
      balanceUsdcMicrousd: 5n,
      ratePerMinute: 60,
      burst: 10,
    });
    const tier = await callGrpc(client, setTier, { accountId, ratePerMinute: 600, burst: 100 }, { metadata });
    expect(tier.message.account).toMatchObject({ ratePerMinute: 600, burst: 100 });

    const { createKey, listKeys, revokeKey } = KeyService.method;
    const made = (await callGrpc(client, createKey, { accountId, name: "mine" }, { metadata })).message;
    expect(made).toMatchObject({ secret: "sk-agent-abcdef", key: { accountId, name: "mine" } });
    expect(made.key?.scopes).toEqual(["inference:write", "compute:read", "compute:run", "billing:read"]);
    const revoked = await callGrpc(client, revokeKey, { keyId: made.key?.keyId ?? "" }, { metadata });
    expect(revoked.message.key?.revokedAt).toBeDefined();
    expect((await callGrpc(client, listKeys, { accountId }, { metadata })).message.keys).toEqual([
      revoked.message.key,
    ]);
    const error = await failureOf(
      callGrpc(client, createKey, { accountId, scopes: ["billing:read", "all"] }, { metadata }),
    );
    expect(detailOf(error, ErrorBodySchema)).toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringMatching(/^scopes\[1\]: /),
    });
  });
});
