// Buys a tool call over gRPC with connect-node.
//   TOOLGATE_GRPC=127.0.0.1:9090 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node connect-node.ts
// Uses Connect instead with PROTOCOL=connect and TOOLGATE_URL.
// Pays gasless; or with SOLANA_RPC_URL by a transfer, which needs some SOL.
import { setTimeout } from "node:timers/promises";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { PaymentRequiredSchema } from "../../../gen/toolgate/v1/payment_pb.ts";
import { PaymentService } from "../../../gen/toolgate/v1/payment_service_pb.ts";
import { ToolService } from "../../../gen/toolgate/v1/tool_service_pb.ts";
import { signed, transfer, wallet } from "./pay.ts";
import { settings } from "./settings.ts";

const { PROTOCOL, SOLANA_RPC_URL } = process.env;
const server = PROTOCOL === "connect" ? "TOOLGATE_URL" : "TOOLGATE_GRPC";
const { TOOLGATE_KEY, [server]: address } = settings("TOOLGATE_KEY", server);

/** Not confirmed yet: send the same proof again, never a second payment. */
async function repeated<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (ConnectError.from(error).code !== Code.Unavailable) throw error;
      await setTimeout(2_000);
    }
  }
}

/** Pays the offer of a call and repeats the call. */
const paying: Interceptor = (next) => async (request) => {
  request.header.set("Authorization", `Bearer ${TOOLGATE_KEY}`);
  try {
    return await next(request);
  } catch (error) {
    const [offer] = ConnectError.from(error).findDetails(PaymentRequiredSchema);
    if (!offer) throw error;
    const built = { quoteId: offer.quote?.quoteId ?? "", payer: wallet().publicKey.toBase58() };
    const proof = SOLANA_RPC_URL
      ? await transfer(offer, SOLANA_RPC_URL)
      : signed(offer, Buffer.from((await payments.buildTransaction(built)).transaction, "base64"));
    request.header.set("X-Payment", proof);
    return repeated(() => next(request));
  }
};
const transport =
  PROTOCOL === "connect"
    ? createConnectTransport({ baseUrl: address, httpVersion: "1.1", interceptors: [paying] })
    : createGrpcTransport({ baseUrl: `http://${address}`, interceptors: [paying] });
const payments = createClient(PaymentService, transport);
const { result, receipt } = await createClient(ToolService, transport).callTool({
  tool: "vram_estimate",
  params: { model: "llama-3.1-8b", context_length: 8192 },
});
console.log(result?.["total"], receipt);
