import { create, fromJson, toJsonString } from "@bufbuild/protobuf";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { paymentRequiredToJson } from "#gen/toolgate/v1/payment_http.ts";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { callToolRequestFromJson, toolServiceRoutes } from "#gen/toolgate/v1/tool_service_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";

// Cost of the generated codecs relative to JSON.parse and JSON.stringify: node test/httpjson/bench.ts. Prints
// ratios.

const rounds = 30;
const callsPerRound = 20_000;

/** Least time of any round per call, in ns, the candidates taking turns so that noise hits all alike. */
function measure(candidates: Readonly<Record<string, () => unknown>>): Map<string, number> {
  const least = new Map(Object.keys(candidates).map((name) => [name, Infinity]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(candidates)) {
      const start = process.hrtime.bigint();
      for (let call = 0; call < callsPerRound; call++) {
        run();
      }
      least.set(
        name,
        Math.min(least.get(name) ?? Infinity, Number(process.hrtime.bigint() - start) / callsPerRound),
      );
    }
  }
  return least;
}

function print(title: string, measured: Map<string, number>): void {
  const [base = 1] = measured.values();
  console.log(title);
  for (const [name, ns] of measured) {
    console.log(`  ${name.padEnd(42)} ${ns.toFixed(0).padStart(7)} ns  ${(ns / base).toFixed(2)}`);
  }
}

const echo = JSON.stringify({
  tool: "echo",
  params: { message: "hello, gateway", tags: ["a", "b"] },
  idempotency_key: "3f1c-77aa",
});
const chat = JSON.stringify({
  tool: "inference_chat",
  params: {
    model: "holo-8b",
    messages: Array.from({ length: 6 }, (_, index) => ({
      role: index % 2 ? "assistant" : "user",
      content: "Tell me more about it, please. ".repeat(4),
    })),
  },
  payment_proof: {
    tx_ref: "5".repeat(88),
    network: "solana-mainnet",
    quote_id: "qt_" + "a".repeat(90),
    amount_usdc: "0.01",
  },
});

const transcoder = createTranscoder([toolServiceRoutes]);

for (const [title, text] of Object.entries({
  "CallToolRequest, echo": echo,
  "CallToolRequest, chat with proof": chat,
})) {
  print(
    `${title} (${text.length} bytes)`,
    measure({
      "JSON.parse": () => JSON.parse(text),
      "JSON.parse + generated reader": () => callToolRequestFromJson(JSON.parse(text)),
      "JSON.parse + match + read": () => {
        const match = transcoder.match("POST", "/v1/mcp/tools/call");
        return match.status === 200 ? transcoder.read(match, "", JSON.parse(text)) : undefined;
      },
      "JSON.parse + protobuf-es fromJson": () => fromJson(CallToolRequestSchema, JSON.parse(text)),
    }),
  );
}

const paymentRequired = create(PaymentRequiredSchema, {
  ...{
    code: "PAYMENT_REQUIRED",
    message: "Pay and repeat the call.",
    requestId: "req_01jd2k3m4n5p6q7r8s9t",
    stepId: "step_9f8e7d6c5b4a",
  },
  quote: {
    ...{
      quoteId: "qt_" + "b".repeat(90),
      tool: "inference_chat",
      priceUsdcMicrousd: 2500n,
      amountUsdcMicrousd: 2500n,
      priceDisplay: "$0.0025",
      ttlSeconds: 300,
    },
    expiresAt: { seconds: 1_790_000_000n, nanos: 0 },
  },
  paymentInstructions: {
    ...{
      network: "solana-mainnet",
      asset: "USDC",
      payTo: "C".repeat(44),
      destination: "C".repeat(44),
      usdcMint: "E".repeat(44),
      memoFormat: "svc:{quote_id}",
    },
    ...{
      methods: ["x402_header", "body_payment_proof", "transfer", "solana_pay"],
      x402HeaderFormat: "base64(json)",
      gaslessSupported: true,
    },
    ...{ paymentMethods: ["wallet", "gasless"], feePayer: "F".repeat(44), treasuryOwner: "T".repeat(44) },
  },
  retry: { method: "POST", headers: { "X-Payment": "base64 of {tx, quote_id}" } },
});
const ready: unknown = JSON.parse(JSON.stringify(paymentRequiredToJson(paymentRequired)));

print(
  "PaymentRequired",
  measure({
    "JSON.stringify of a ready object": () => JSON.stringify(ready),
    "generated literal + JSON.stringify": () => JSON.stringify(paymentRequiredToJson(paymentRequired)),
    "protobuf-es toJsonString": () => toJsonString(PaymentRequiredSchema, paymentRequired),
  }),
);
