import process from "node:process";
import { expect, it } from "vitest";
import { request, type Agent } from "../../support/world.ts";
import { parsingMs, useExpensiveWorld } from "./expensive-world.ts";

// Looks for unpaid requests that take the event loop longer than their bytes. For ten minutes of it:
//   SEARCH_SECONDS=600 npm run test:labs -- test/security/costs

const SECONDS = Number(process.env["SEARCH_SECONDS"] ?? 10);
const MAX_BYTES = 1_000_000;

/** JSON of a size and a kind. */
type Shape =
  | { readonly kind: "list" | "object"; readonly count: number; readonly of: Shape }
  | { readonly kind: "nested lists" | "nested objects"; readonly count: number; readonly of: Shape }
  | { readonly kind: "text"; readonly count: number; readonly of: string };

const LEAVES = ["", "a", "é", "\\u0000", "\\ud83d\\ude00", " ", "9", "https://a.b/", "user", "0x", "a@b."];
const KINDS = ["list", "object", "nested lists", "nested objects"] as const;

function jsonOf(shape: Shape): string {
  const { kind, count } = shape;
  switch (shape.kind) {
    case "text":
      return `"${shape.of.repeat(count)}"`;
    case "list":
      return `[${Array.from({ length: count }, () => jsonOf(shape.of)).join()}]`;
    case "object":
      return `{${Array.from({ length: count }, (_, index) => `"m${index}":${jsonOf(shape.of)}`).join()}}`;
    default: {
      const [open, close] = kind === "nested lists" ? ["[", "]"] : ['{"a":', "}"];
      return `${open.repeat(count)}${jsonOf(shape.of)}${close.repeat(count)}`;
    }
  }
}

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const size = () => Math.ceil(Math.exp(Math.random() * Math.log(200_000)));

function anyShape(depth = 0): Shape {
  if (depth > 2 || Math.random() < 0.3) return { kind: "text", count: size(), of: pick(LEAVES) };
  return { kind: pick(KINDS), count: size(), of: anyShape(depth + 1) };
}

function mutated(shape: Shape): Shape {
  const count = Math.max(1, Math.round(shape.count * pick([0.5, 0.9, 1.1, 2])));
  if (shape.kind === "text") return { ...shape, count, of: Math.random() < 0.7 ? shape.of : pick(LEAVES) };
  if (Math.random() < 0.2) return { ...shape, kind: pick(KINDS) };
  return Math.random() < 0.5 ? { ...shape, count } : { ...shape, of: mutated(shape.of) };
}

/** Where a body has the shape; `without` a key. */
interface Place {
  readonly path: string;
  readonly around: readonly [string, string];
  readonly without?: boolean;
}

const at = (path: string, before: string, after: string, without = false): Place => ({
  path,
  around: [before, after],
  without,
});
const CHAT = "/openai/v1/chat/completions";
const SAID = `"messages":[{"role":"user","content":"hi"}]`;
const TOOLS = ["echo", "vram_estimate", "inference_chat", "inference_embed", "unique", "pattern", "priced"];
const MEMBERS = ["tools", "response_format", "stop", "logit_bias", "metadata", "tool_choice", "user", "more"];
const PLACES: readonly Place[] = [
  at("/v1/mcp/tools/call", "", ""),
  at("/toolgate.v1.ToolService/CallTool", "", ""),
  at("/toolgate.v1.ToolService/CallTool", `{"tool":"echo","params":{"message":`, "}}"),
  at("/v1/mcp/tools/call", `{"tool":"inference_chat","params":{"model":"cheapest","messages":`, "}}"),
  at("/v1/mcp/tools/call", `{"tool":"inference_embed","params":{"model":"cheapest","input":`, "}}"),
  at("/v1/webhooks", `{"url":"https://a.b/","types":`, "}"),
  at("/mcp", "", ""),
  at("/mcp", `{"jsonrpc":"2.0","id":`, `,"method":"ping"}`),
  at("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`, "}"),
  at("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":`, "}}"),
  at("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":`, "}}"),
  at(CHAT, `{"model":"cheapest","messages":`, "}"),
  at(CHAT, `{"model":"cheapest","messages":[{"role":"user","content":`, "}]}"),
  at("/openai/v1/embeddings", `{"model":"cheapest","input":`, "}"),
  ...MEMBERS.map((member) => at(CHAT, `{"model":"cheapest",${SAID},"${member}":`, "}")),
  ...TOOLS.map((tool) => at("/v1/mcp/tools/call", `{"tool":"${tool}","params":`, "}")),
  ...TOOLS.slice(-3).map((tool) => at(`/x402/${tool}`, `{"body":{"value":`, "}}", true)),
];

interface Found {
  readonly shape: Shape;
  readonly ms: number;
  /** What parsing its JSON takes, ms. */
  readonly parsing: number;
  readonly bytes: number;
}

const { world, metric } = useExpensiveWorld();
let addresses = 0;

async function costOf({ path, around, without = false }: Place, json: string, agent: Agent): Promise<number> {
  const before = await metric("toolgate_unpaid_time_seconds_total");
  const init = { method: "POST", body: around.join(json) };
  const from = { "X-Forwarded-For": `10.${[16, 8, 0].map((bits) => (addresses >> bits) & 255).join(".")}` };
  addresses++;
  await request(world.gateway, without ? undefined : agent, path, init, from);
  return ((await metric("toolgate_unpaid_time_seconds_total")) - before) * 1000;
}

const TIMEOUT = (SECONDS + 300) * 1_000;
it(
  "finds no unpaid request that takes a megabyte's parsing beyond its own",
  { timeout: TIMEOUT },
  async () => {
    const agent = await world.agent();
    const parsing = parsingMs();
    const best = new Map<Place, Found>();
    const until = Date.now() + SECONDS * 1000;
    let tried = 0;
    while (Date.now() < until) {
      const place = pick(PLACES);
      const known = best.get(place);
      const shape = known && Math.random() < 0.7 ? mutated(known.shape) : anyShape();
      if (weightOf(shape) > MAX_BYTES) continue;
      const json = jsonOf(shape);
      tried++;
      const first = await costOf(place, json, agent);
      if (first <= (known?.ms ?? 0)) continue;
      // Once more: the first may have met a collection.
      const ms = Math.min(first, await costOf(place, json, agent));
      if (ms > (known?.ms ?? 0)) best.set(place, { shape, ms, parsing: parsingMs(json), bytes: json.length });
    }
    const beyond = ({ ms, parsing: own }: Found) => ms - own;
    const found = [...best].toSorted(([, a], [, b]) => beyond(b) - beyond(a));
    for (const [{ path, around }, { ms, parsing: own, bytes, shape }] of found)
      process.stdout.write(
        `${ms.toFixed(1)} ms, ${own.toFixed(1)} of them parsing, ${bytes} bytes, ${path} ${around[0]} ` +
          `${JSON.stringify(shape)}\n`,
      );
    process.stdout.write(`${tried} bodies tried; parsing a megabyte takes ${parsing.toFixed(1)} ms\n`);
    const [[, costliest] = []] = found;
    expect(costliest && beyond(costliest) / parsing).toBeLessThan(1);
  },
);

/** Bytes of its JSON, about. */
function weightOf(shape: Shape): number {
  if (shape.kind === "text") return shape.of.length * shape.count + 2;
  const inner = weightOf(shape.of);
  return shape.kind === "list" || shape.kind === "object"
    ? shape.count * (inner + 6)
    : shape.count * 6 + inner;
}
