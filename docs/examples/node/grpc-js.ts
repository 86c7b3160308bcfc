// Buys a tool call with grpc-js.
//   TOOLGATE_GRPC=127.0.0.1:9090 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node grpc-js.ts
// Pays gasless; or with SOLANA_RPC_URL by a transfer, which needs some SOL.
import { setTimeout } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Client, credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import { PaymentRequiredSchema, type PaymentRequired } from "../../../gen/toolgate/v1/payment_pb.ts";
import { PaymentService } from "../../../gen/toolgate/v1/payment_service_pb.ts";
import { ToolService } from "../../../gen/toolgate/v1/tool_service_pb.ts";
import { signed, transfer, wallet } from "./pay.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_GRPC, TOOLGATE_KEY } = settings("TOOLGATE_GRPC", "TOOLGATE_KEY");
const { SOLANA_RPC_URL } = process.env;
const client = new Client(TOOLGATE_GRPC, credentials.createInsecure());

function unary<I extends DescMessage, O extends DescMessage>(
  { parent, name, input, output }: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  headers: Record<string, string> = {},
): Promise<MessageShape<O>> {
  const metadata = Metadata.fromHttp2Headers({ authorization: `Bearer ${TOOLGATE_KEY}`, ...headers });
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${parent.typeName}/${name}`,
      (message: MessageShape<I>) => Buffer.from(toBinary(input, message)),
      (bytes) => fromBinary(output, bytes),
      create(input, request),
      metadata,
      (error, message) => (message ? resolve(message) : reject(error ?? new Error("no answer"))),
    );
  });
}

/** Returns the offer in the details of an error (google.rpc.Status, field 3). */
function offerIn(error: ServiceError): PaymentRequired {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  const reader = new BinaryReader(Buffer.from(bytes ?? ""));
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const offer =
      field === 3 ? anyUnpack(fromBinary(AnySchema, reader.bytes()), PaymentRequiredSchema) : undefined;
    if (offer) return offer;
    if (field !== 3) reader.skip(type);
  }
  throw error;
}

async function pay(offer: PaymentRequired): Promise<string> {
  if (SOLANA_RPC_URL !== undefined) return transfer(offer, SOLANA_RPC_URL);
  const payer = wallet().publicKey.toBase58();
  const built = await unary(PaymentService.method.buildTransaction, {
    quoteId: offer.quote?.quoteId ?? "",
    payer,
  });
  return signed(offer, Buffer.from(built.transaction, "base64"));
}

const call = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };
const { callTool } = ToolService.method;

/** Not confirmed yet: send the same proof again, never a second payment. */
async function paidFor(proof: string) {
  for (;;) {
    try {
      return await unary(callTool, call, { "x-payment": proof });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === status.UNAVAILABLE)) throw error;
      await setTimeout(2_000);
    }
  }
}

const answer = await unary(callTool, call).catch(async (error: ServiceError) =>
  paidFor(await pay(offerIn(error))),
);
console.log(answer.result?.["total"], answer.receipt);
client.close();
