import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { base58 } from "@scure/base";
import { z } from "zod";

// An RPC node that reports copies of one real payment with their own signatures and memos, so that the
// benchmark measures the gateway and not the chain. It forwards other requests to the local chain.
// node test/bench/rpc-stand-in/main.ts <the local chain's URL>

const [chainUrl = ""] = process.argv.slice(2);

const request = z.object({
  id: z.number().nullish(),
  method: z.string(),
  params: z.array(z.unknown()).optional(),
});
const signatureParam = z.string();
/** `bench_land`: the real payment, its memo, and the signatures and memos of its copies. */
const landParams = z.tuple([
  z.object({
    answer: z.looseObject({ transaction: z.looseObject({ signatures: z.array(z.string()).min(1) }) }),
    memo: z.string(),
  }),
  z.array(z.tuple([z.string(), z.string()])),
]);
const slowParams = z.tuple([z.number()]);

const answers = new Map<string, string>();
const counts = new Map<string, number>();
let answerAfterMs = 0;

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => void answer(incoming, Buffer.concat(chunks).toString(), response));
});
// Keeps connections open between measurements.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`${JSON.stringify({ port: address?.port })}\n`);
});

async function answer(incoming: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
  const { id, method, params = [] } = request.parse(JSON.parse(body));
  if (method.startsWith("bench_")) return reply(response, id, JSON.stringify(control(method, params)));
  counts.set(method, (counts.get(method) ?? 0) + 1);
  const known = method === "getTransaction" ? answers.get(signatureParam.parse(params[0])) : undefined;
  if (known === undefined) return forward(incoming, body, response);
  if (answerAfterMs > 0) await sleep(answerAfterMs);
  reply(response, id, known);
}

function reply(response: ServerResponse, id: number | null | undefined, result: string): void {
  const text = `{"jsonrpc":"2.0","result":${result},"id":${id ?? null}}`;
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

async function forward(incoming: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
  const headers = { "content-type": incoming.headers["content-type"] ?? "application/json" };
  const answered = await fetch(chainUrl, { method: "POST", headers, body });
  response.writeHead(answered.status, { "content-type": "application/json" }).end(await answered.text());
}

/** Handles the benchmark's own methods. */
function control(method: string, params: unknown[]): unknown {
  if (method === "bench_land") return land(...landParams.parse(params));
  if (method === "bench_slow") [answerAfterMs] = slowParams.parse(params);
  if (method === "bench_counts") return Object.fromEntries(counts);
  return null;
}

function land(
  made: z.output<typeof landParams>[0],
  payments: readonly (readonly [string, string])[],
): number {
  answers.clear();
  const [signature = ""] = made.answer.transaction.signatures;
  const model = JSON.stringify({ ...made.answer, blockTime: Math.floor(Date.now() / 1000) });
  const data = base58.encode(Buffer.from(made.memo));
  for (const [txSignature, memo] of payments) {
    const text = model
      .replaceAll(signature, txSignature)
      .replaceAll(data, base58.encode(Buffer.from(memo)))
      .replaceAll(made.memo, memo);
    answers.set(txSignature, text);
  }
  return answers.size;
}
