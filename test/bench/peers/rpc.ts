import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { text } from "node:stream/consumers";
import { base58 } from "@scure/base";
import { z } from "zod";
import { listen } from "./listen.ts";

// An RPC node that reports copies of one real payment with their own signatures and memos, so that the
// benchmark measures the gateway and not the chain. It forwards other requests to the local chain.
// node test/bench/peers/rpc.ts <the local chain's URL>

const [chainUrl = ""] = process.argv.slice(2);

const request = z.object({
  id: z.number().nullish(),
  method: z.string(),
  params: z.array(z.unknown()).optional(),
});
/** `bench_land`: the real payment, its memo, and the signatures and memos of its copies. */
const landParams = z.tuple([
  z.looseObject({ transaction: z.looseObject({ signatures: z.array(z.string()).min(1) }) }),
  z.string(),
  z.array(z.tuple([z.string(), z.string()])),
]);

const answers = new Map<unknown, string>();

listen((incoming, response) => void answer(incoming, response));

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(incoming);
  const { id, method, params = [] } = request.parse(JSON.parse(body));
  if (method === "bench_land") land(...landParams.parse(params));
  const known = method === "bench_land" ? "true" : answers.get(params[0]);
  if (known === undefined || (method !== "getTransaction" && method !== "bench_land"))
    return forward(body, response);
  const reply = `{"jsonrpc":"2.0","result":${known},"id":${id ?? null}}`;
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(reply) });
  response.end(reply);
}

async function forward(body: string, response: ServerResponse): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answered = await fetch(chainUrl, { method: "POST", headers, body });
  response.writeHead(answered.status, headers).end(await answered.text());
}

function land(made: z.output<typeof landParams>[0], madeMemo: string, payments: [string, string][]): void {
  answers.clear();
  const [signature = ""] = made.transaction.signatures;
  const model = JSON.stringify({ ...made, blockTime: Math.floor(Date.now() / 1000) });
  const data = base58.encode(Buffer.from(madeMemo));
  for (const [txSignature, memo] of payments) {
    const copy = model
      .replaceAll(signature, txSignature)
      .replaceAll(data, base58.encode(Buffer.from(memo)))
      .replaceAll(madeMemo, memo);
    answers.set(txSignature, copy);
  }
}
