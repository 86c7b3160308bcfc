import { request, Agent } from "node:http";
import { median } from "./measure.ts";

export interface Chats {
  readonly streams: number;
  readonly chunks: number;
  readonly pauseMs: number;
}

/** Reads them. @returns the median time to the first token, ms. @throws Error when one is not whole */
export async function readChats(port: number, key: string, chats: Chats): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  try {
    const all = Array.from({ length: chats.streams }, () => readChat(port, key, agent, chats));
    return median(await Promise.all(all)) ?? Number.NaN;
  } finally {
    agent.destroy();
  }
}

function readChat(port: number, key: string, agent: Agent, { chunks, pauseMs }: Chats): Promise<number> {
  const messages = [{ role: "user", content: `${chunks} ${pauseMs}` }];
  const body = JSON.stringify({ model: "m", stream: true, max_tokens: chunks, messages });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const target = { host: "127.0.0.1", port, method: "POST", path: "/openai/v1/chat/completions" };
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const length = { "content-length": String(Buffer.byteLength(body)) };
    const sent = request({ ...target, headers: { ...headers, ...length }, agent }, (answer) => {
      let [firstMs, received] = [Number.NaN, ""];
      answer.setEncoding("utf8").on("data", (text: string) => {
        received += text;
        if (Number.isNaN(firstMs) && received.includes('"content":"token 0 "'))
          firstMs = performance.now() - began;
      });
      answer.on("end", () => {
        const read = received.match(/"content":"token \d+ "/g)?.length ?? 0;
        if (read === chunks) resolve(firstMs);
        else reject(new Error(`${read} of ${chunks} chunks came, status ${answer.statusCode}`));
      });
      answer.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
