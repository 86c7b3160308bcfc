import process from "node:process";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { rpcRequest } from "../rpc-request.ts";
import { listen } from "./listen.ts";

// The least that a verification of payments can be: fetches the transactions of a request's signatures, 64 at
// once, and reads their JSON. node test/bench/peers/rpc-client.ts <RPC URL>

const [url = ""] = process.argv.slice(2);
const AT_ONCE = 64;
const OPTIONS = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
const signatures = z.array(z.string());
const reported = z.object({ slot: z.number() });

listen((request, response) => {
  void json(request)
    .then((body) => lookUp(signatures.parse(body)))
    .then(
      () => response.end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
});

async function lookUp(all: readonly string[]): Promise<void> {
  const left = all.values();
  const loop = async (): Promise<void> => {
    for (const signature of left)
      reported.parse(await rpcRequest(url, "getTransaction", [signature, OPTIONS]));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
}
