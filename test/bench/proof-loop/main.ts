import process from "node:process";
import { z } from "zod";
import { openChain } from "../../../src/solana/index.ts";
import { loopCommand, type LoopReport } from "../proof-loop.ts";

// Looks up the transactions received over IPC with a fixed concurrency, as fast as possible.
// node test/bench/proof-loop/main.ts fetch|verify <RPC URL> <the treasury's wallet>

const [kind, url = "", treasuryOwner = ""] = process.argv.slice(2);
const lookUp = kind === "verify" ? verifier() : bareFetch();

process.on("message", (message) => {
  run(message)
    .catch((error: unknown): LoopReport => ({ kind: "failed", message: String(error) }))
    .then((report) => process.send?.(report))
    .catch(() => process.exit(1));
});

async function run(message: unknown): Promise<LoopReport> {
  const { signatures, atOnce } = loopCommand.parse(message);
  const left = signatures.values();
  const cpu = process.cpuUsage();
  const began = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const signature of left) await lookUp(signature);
    }),
  );
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { kind: "done", ms, cpuMicros: user + system };
}

/** The least that a verification can be: ask, wait, read the JSON. */
function bareFetch(): (signature: string) => Promise<void> {
  const reported = z.object({ result: z.object({ slot: z.number() }) });
  let id = 0;
  return async (signature) => {
    id += 1;
    const options = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id, method: "getTransaction", params: [signature, options] }),
    });
    reported.parse(JSON.parse(await response.text()));
  };
}

/** The gateway's verification, without the gateway. */
function verifier(): (signature: string) => Promise<void> {
  const chain = openChain({
    urls: [url],
    treasuryOwner,
    memoPrefix: "svc",
    waitMs: 5_000,
    finalizedAbove: 50_000_000n,
    clock: Date,
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  const { signal } = new AbortController();
  return async (txSignature) => {
    const verdict = await chain.verify({ txSignature, signal });
    if (verdict.kind !== "paid") throw new Error(`${txSignature}: ${JSON.stringify(verdict)}`);
  };
}
