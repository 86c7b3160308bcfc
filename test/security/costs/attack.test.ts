import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import type { Agent } from "../../support/world.ts";
import type { Attack } from "./attacker.ts";
import { useExpensiveWorld } from "./expensive-world.ts";

// What the most expensive unpaid requests of one account and one address do to the paid calls of another:
//   ATTACK_SECONDS=40 npm run test:labs -- test/security/costs/attack

const MS = Number(process.env["ATTACK_SECONDS"] ?? 10) * 1000;
const CONNECTIONS = 8;
const { world } = useExpensiveWorld();

const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join()}]`;
const chat = (content: string) => `{"model":"cheapest",${content}}`;
const SAID = `"messages":[{"role":"user","content":"hi"}]`;
const FUNCTION = `"tools":[{"type":"function","function":{"name":"f","parameters":{"x":${list(45_000, "{}")}}}}]`;
const LONG = `{"role":"user","content":"${"word ".repeat(1_000)}"}`;

/** With the key of a free account, or without. */
function requestsOf({ apiKey }: Agent): Attack["requests"] {
  const key = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const { authorization: _, ...keyless } = key;
  const values = list(5_500, "{}").replaceAll("{}", () => `{"a":${Math.random()}}`);
  return [
    { path: "/x402/unique", headers: keyless, body: `{"body":{"value":${values}}}` },
    { path: "/x402/pattern", headers: keyless, body: `{"body":{"value":"${"a ".repeat(29_000)}!"}}` },
    { path: "/x402/priced", headers: keyless, body: `{"body":{"value":${list(9_000, "1")}}}` },
    {
      path: "/toolgate.v1.ToolService/CallTool",
      headers: key,
      body: `{"tool":"echo","params":{"message":${list(20_000, "{}")}}}`,
    },
    { path: "/mcp", headers: key, body: list(300_000, "{}") },
    { path: "/openai/v1/chat/completions", headers: key, body: chat(`${SAID},${FUNCTION}`) },
    { path: "/openai/v1/chat/completions", headers: key, body: chat(`"messages":${list(190, LONG)}`) },
  ];
}

/** Times of requests one after the other, ms, sorted. */
async function timesOf(work: () => Promise<{ readonly status: number }>, until: () => boolean) {
  const times: number[] = [];
  do {
    const from = performance.now();
    expect((await work()).status).toBe(200);
    times.push(performance.now() - from);
  } while (!until());
  return times.toSorted((one, other) => one - other);
}

const quantile = (times: readonly number[], part: number) =>
  times[Math.floor((times.length - 1) * part)] ?? 0;

it("lets paid calls of another account pass, and /livez", async () => {
  const [free, customer] = [
    await world.agent({ ratePerMinute: 60, burst: 10 }),
    await world.agent({ balance: 1_000_000_000n }),
  ];
  const paid = () => world.call(customer, "vram_estimate", { model: "llama-3.1-8b" });
  const live = () => world.get(undefined, "/livez", { "X-Forwarded-For": "203.0.113.1" });
  for (let warm = 0; warm < 50; warm++) await paid();
  const quietUntil = performance.now() + MS / 2;
  const isQuiet = () => performance.now() > quietUntil;
  const [quiet, quietLives] = await Promise.all([timesOf(paid, isQuiet), timesOf(live, isQuiet)]);

  const child = spawn(process.execPath, [path.join(import.meta.dirname, "attacker.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const attack: Attack = {
    baseUrl: world.gateway.baseUrl,
    connections: CONNECTIONS,
    ms: MS,
    requests: requestsOf(free),
  };
  child.stdin.end(JSON.stringify(attack));
  const ended = once(child, "close");
  const answers = text(child.stdout);
  const over = () => child.exitCode !== null;
  const [attacked, lives] = await Promise.all([timesOf(paid, over), timesOf(live, over)]);
  await ended;
  const [before, during] = [quiet, attacked].map((times) => [
    quantile(times, 0.5),
    quantile(times, 0.99),
  ]) as [[number, number], [number, number]];
  const worstLive = lives.at(-1) ?? 0;
  const rounded = (ms: number) => ms.toFixed(1);
  process.stdout.write(
    `quiet p50/p99 ${before.map(rounded).join("/")} ms (${quiet.length}), ` +
      `worst /livez ${rounded(quietLives.at(-1) ?? 0)} ms; attacked ` +
      `${during.map(rounded).join("/")} ms (${attacked.length}), worst /livez ${rounded(worstLive)} ms; ` +
      `the attacker got ${await answers}\n`,
  );
  expect(JSON.parse(await answers)).toHaveProperty("429");
  // Twice what is aimed at, as the attacker and both others share the processors.
  expect(during[0] / before[0]).toBeLessThan(4);
  expect(during[1] / before[1]).toBeLessThan(10);
});
