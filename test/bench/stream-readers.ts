import { request, Agent } from "node:http";
import { median } from "./measure.ts";

/** What one reader saw of its stream. */
interface Read {
  /** From the request to the first chunk, ms. */
  readonly firstMs: number;
  /** From the model's server to the reader, ms, per chunk. */
  readonly delaysMs: readonly number[];
}

/** What all readers saw, medians in ms. */
export interface ReadAll {
  readonly firstMs: number;
  readonly delayMs: number;
  readonly chunks: number;
}

const SENT_AT = /"content":"@([\d.]+) "/g;

/** Reads as many streams at once, each of as many chunks. @throws Error when one is not whole */
export async function readStreams(
  port: number,
  key: string,
  load: { readonly streams: number; readonly chunks: number; readonly pauseMs: number },
): Promise<ReadAll> {
  const agent = new Agent({ keepAlive: true });
  try {
    const all = await Promise.all(
      Array.from({ length: load.streams }, () => readStream({ port, key, agent }, load)),
    );
    return {
      firstMs: median(all.map(({ firstMs }) => firstMs)) ?? Number.NaN,
      delayMs: median(all.flatMap(({ delaysMs }) => delaysMs)) ?? Number.NaN,
      chunks: load.streams * load.chunks,
    };
  } finally {
    agent.destroy();
  }
}

function readStream(
  { port, key, agent }: { readonly port: number; readonly key: string; readonly agent: Agent },
  { chunks, pauseMs }: { readonly chunks: number; readonly pauseMs: number },
): Promise<Read> {
  const body = JSON.stringify({
    ...{ model: "m", stream: true, max_tokens: chunks },
    messages: [{ role: "user", content: `${chunks} ${pauseMs}` }],
  });
  const headers = {
    authorization: `Bearer ${key}`,
    ...{ "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
  };
  return new Promise((resolve, reject) => {
    const since = now();
    const target = { host: "127.0.0.1", port, method: "POST", path: "/openai/v1/chat/completions" };
    const sent = request({ ...target, headers, agent }, (answer) => {
      let [firstMs, rest] = [Number.NaN, ""];
      const delaysMs: number[] = [];
      answer.setEncoding("utf8").on("data", (text: string) => {
        const at = now();
        const events = (rest + text).split("\n\n");
        rest = events.pop() ?? "";
        for (const [, sentAt] of events.join("\n").matchAll(SENT_AT)) {
          if (delaysMs.length === 0) firstMs = at - since;
          delaysMs.push(at - Number(sentAt));
        }
      });
      answer.on("end", () => {
        if (delaysMs.length === chunks) resolve({ firstMs, delaysMs });
        else reject(new Error(`${delaysMs.length} of ${chunks} chunks came, status ${answer.statusCode}`));
      });
      answer.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Comparable between processes, ms. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
