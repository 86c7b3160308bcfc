import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { CALL_TOOL_PATH, asIs } from "../grpc-call.ts";
import type { LoadJob } from "./load-process.ts";
import type { Load, Tally } from "./tally.ts";

const STREAMS = 16;

/** Unary calls of one message by the grpc-js client, spread over a few connections. */
export async function open(job: LoadJob, tally: Tally): Promise<Load> {
  const clients = Array.from({ length: Math.ceil(job.connections / STREAMS) }, () => clientOf(job));
  await Promise.all(clients.map(ready));
  const stopping = new AbortController();
  const callers = Array.from({ length: job.connections }, async (_, index) => {
    const call = callOf(clients[index % clients.length]!, job, tally);
    while (!stopping.signal.aborted && tally.failure === undefined) await call();
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(callers);
      for (const client of clients) client.close();
    },
  };
}

function clientOf({ host, port }: LoadJob): Client {
  // Without a separate pool, channels to one address would share a connection.
  return new Client(`${host}:${port}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
}

function ready(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Date.now() + 10_000, (error) => (error ? reject(error) : resolve()));
  });
}

/** Returns what makes a call and resolves after its response was checked. */
function callOf(client: Client, job: LoadJob, tally: Tally): () => Promise<void> {
  const message = Buffer.from(job.message ?? "", "base64");
  const expected = Buffer.from(job.expect.body, "base64");
  const metadata = new Metadata();
  metadata.set("authorization", job.requests[0] ?? "");
  return () =>
    new Promise((resolve) => {
      const sentAt = performance.now();
      client.makeUnaryRequest(CALL_TOOL_PATH, asIs, asIs, message, metadata, (error, answer) => {
        if (error) tally.fail(`a call failed: ${error.message}`);
        else if (!answer?.equals(expected))
          tally.fail(`an answer is not the expected one: ${answer?.toString("base64")}`);
        else tally.answered(sentAt);
        resolve();
      });
    });
}
