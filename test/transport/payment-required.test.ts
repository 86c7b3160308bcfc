import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { type Client, status } from "@grpc/grpc-js";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PaymentRequired, PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { stepIdOf } from "../../src/domain/payments/quote.ts";
import { type Gateway, PAYMENT, startGateway } from "./gateway.ts";
import { callGrpc, detailOf, failureOf, grpcClient, statusDetails } from "./grpc-client.ts";

const call = { tool: "paid", params: { a: 1 } };

describe("an unpaid call of a paid tool", () => {
  let gateway: Gateway;
  let client: Client;
  let authorization: string;

  beforeAll(async () => {
    gateway = await startGateway();
    client = grpcClient(gateway.grpcAddress);
    ({ authorization } = gateway.key());
  });
  afterAll(async () => {
    client.close();
    await gateway.close();
  });

  it("returns FAILED_PRECONDITION with the offer as detail to grpc-js", async () => {
    const error = await failureOf(
      callGrpc(client, ToolService.method.callTool, call, { metadata: { authorization } }),
    );
    expect(error.code).toBe(status.FAILED_PRECONDITION);
    expect(statusDetails(error)).toMatchObject({ code: status.FAILED_PRECONDITION, message: error.details });
    expectOffer(detailOf(error, PaymentRequiredSchema));
  });

  const transports: [name: string, make: () => Transport][] = [
    [
      "Connect's gRPC client, from the grpc-js server",
      () => createGrpcTransport({ baseUrl: `http://${gateway.grpcAddress}` }),
    ],
    [
      "a Connect client, JSON",
      () => createConnectTransport({ baseUrl: gateway.baseUrl, httpVersion: "1.1" }),
    ],
    [
      "a Connect client, binary",
      () => createConnectTransport({ baseUrl: gateway.baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
    ],
    ["a gRPC-Web client", () => createGrpcWebTransport({ baseUrl: gateway.baseUrl, httpVersion: "1.1" })],
  ];
  it.each(transports)("returns failed_precondition with the offer as detail to %s", async (_name, make) => {
    const error = await createClient(ToolService, make())
      .callTool(call, { headers: { authorization } })
      .then(() => undefined, ConnectError.from);
    expect(error?.code).toBe(Code.FailedPrecondition);
    const [offer] = error?.findDetails(PaymentRequiredSchema) ?? [];
    expectOffer(offer);
  });
});

function expectOffer(offer: PaymentRequired | undefined): void {
  const { code, requestId, quote, paymentInstructions, stepId, retry } = offer ?? {};
  expect(code).toBe("PAYMENT_REQUIRED");
  expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
  expect(quote).toMatchObject({
    tool: "paid",
    priceUsdcMicrousd: 10_000n,
    amountUsdcMicrousd: 10_000n,
    priceDisplay: "$0.01",
    ttlSeconds: 300,
  });
  expect(quote?.quoteId).toMatch(/^qt_/);
  expect(quote?.expiresAt && timestampMs(quote.expiresAt)).toBeGreaterThan(Date.now());
  expect(stepId).toBe(stepIdOf(quote?.quoteId ?? ""));
  expect(paymentInstructions).toMatchObject({
    network: "solana-mainnet",
    asset: "USDC",
    payTo: PAYMENT.payTo,
    destination: PAYMENT.payTo,
    usdcMint: PAYMENT.usdcMint,
    memoFormat: "<step_id>:<quote_id>:<nonce>",
    methods: ["x402_header", "body_payment_proof", "transfer", "solana_pay"],
    gaslessSupported: false,
    paymentMethods: ["wallet"],
  });
  expect(paymentInstructions?.feePayer).toBeUndefined();
  expect(paymentInstructions?.treasuryOwner).toBeUndefined();
  expect(retry).toMatchObject({ method: "POST" });
  expect(retry?.headers["X-Payment"]).toContain("base64url");
}
