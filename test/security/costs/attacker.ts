import http from "node:http";
import process from "node:process";
import { z } from "zod";

// The attacker of attack.test.ts, in a process of its own: reads an `Attack` from stdin, sends its bodies in
// turn over a few connections until the time is over, and prints how many answers had which status.

const text = z.string();
export const attackSchema = z.object({
  baseUrl: text,
  connections: z.number(),
  ms: z.number(),
  requests: z.array(z.object({ path: text, headers: z.record(text, text), body: text })).min(1),
});

export type Attack = z.infer<typeof attackSchema>;

if (import.meta.main) {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  const attack = attackSchema.parse(JSON.parse(Buffer.concat(chunks).toString()));
  process.stdout.write(JSON.stringify(await statusesOf(attack)));
}

async function statusesOf({ baseUrl, connections, ms, requests }: Attack): Promise<Record<string, number>> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const counts: Record<string, number> = {};
  const until = performance.now() + ms;
  const bodies = requests.map(({ body, ...request }) => ({ ...request, body: Buffer.from(body) }));
  let next = 0;
  const send = () =>
    new Promise<string>((resolve) => {
      const { path, headers, body } = bodies[next++ % bodies.length] ?? { path: "/", headers: {}, body: "" };
      const options = { agent, method: "POST", headers: { ...headers, "content-length": body.length } };
      http
        .request(new URL(path, baseUrl), options, (answer) => {
          answer.resume().on("end", () => resolve(String(answer.statusCode)));
        })
        .on("error", (error) => resolve(error.message))
        .end(body);
    });
  const connection = async () => {
    while (performance.now() < until) {
      const status = await send();
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  agent.destroy();
  return counts;
}
