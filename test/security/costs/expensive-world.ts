import { afterAll } from "vitest";
import process from "node:process";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { documentFolder, openapi, operation } from "../../tools/custom/http/third-party.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import { useWorld } from "../../support/use-world.ts";
import type { World } from "../../support/world.ts";

const MODELS = Array.from({ length: 8 }, (_, index) => `model-${index}`);
const TERMS = { context_length: 10_000_000, max_output_tokens: 100 };
const PRICES = { input_usd_per_million: 2, output_usd_per_million: 6 };
/** Tools whose parameters are expensive to check. */
const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  unique: { type: "array", uniqueItems: true },
  pattern: { type: "string", pattern: "^(\\w+\\s?)*$" },
  priced: { type: "array", items: { type: "integer" } },
};
const EXPRESSION = "params.body.value.all(x, params.body.value.exists(y, y == x + 1)) ? 20000 : 30000";

/** A gateway with tools and models whose unpaid calls are expensive, and its figures. */
export function useExpensiveWorld() {
  const folder = documentFolder();
  const model = {} as ModelServer;
  const world = useWorld(async () => {
    await startModelServer(model);
    const paths = Object.fromEntries(
      Object.entries(SCHEMAS).map(([name, value]) => {
        const schema = { type: "object", properties: { value }, required: ["value"] };
        const requestBody = { required: true, content: { "application/json": { schema } } };
        return [`/${name}`, { post: operation(name, { requestBody }) }];
      }),
    );
    folder.write("expensive.yaml", openapi(paths, { servers: [{ url: "http://127.0.0.1:9" }] }));
    const tools = Object.keys(SCHEMAS).map((name) => ({
      name,
      allow_hosts: ["127.0.0.1"],
      price: name === "priced" ? { expression: EXPRESSION } : { flat_microusd: 20_000 },
      http: { openapi: "expensive.yaml", operation_id: name },
    }));
    const upstreams = [
      { name: "main", base_url: model.url, models: MODELS.map((id) => ({ id, ...TERMS, ...PRICES })) },
    ];
    const aliases = [{ id: "cheapest", models: MODELS, by: "price" }];
    const config = folder.write("toolgate.json", { inference: { upstreams, aliases }, tools });
    return {
      TOOLGATE_CONFIG: config,
      METRICS_PORT: "0",
      GASLESS_MINIMUM_MICROUSD: "10000",
      TRUSTED_PROXY_HOPS: "1",
    };
  });
  afterAll(() => model.close());
  return { world, metric: (name: string) => sumOf(world, name) };
}

/** The sum of a metric over its labels. */
async function sumOf({ gateway }: World, name: string): Promise<number> {
  const text = await (await fetch(`http://${gateway.metricsAddress}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** CPU time of reading JSON, ms: what the bytes of a request cost by themselves. Default: a megabyte. */
export function parsingMs(text = `[${"{},".repeat(333_000)}{}]`): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(text);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}
