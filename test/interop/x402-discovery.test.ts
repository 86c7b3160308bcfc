import SwaggerParser from "@apidevtools/swagger-parser";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { parsePaymentRequired } from "@x402/core/schemas";
import {
  extractDiscoveryInfoFromExtension,
  sanitizeResourceServiceMetadata,
  validateAndExtract,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
  type DiscoveryExtension,
  type DiscoveryResource,
} from "@x402/extensions/bazaar";
import {
  declarePaymentIdentifierExtension,
  isPaymentIdentifierExtension,
  isPaymentIdentifierRequired,
} from "@x402/extensions/payment-identifier";
import { Ajv2020 } from "ajv/dist/2020.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { configFileSchema } from "../../src/config/config-file.ts";
import type { ListedTool } from "../../src/domain/tools/tool.ts";
import { executeParams } from "../../src/tools/sandbox/params.ts";
import { vramParams } from "../../src/tools/vram-estimate/params.ts";
import { shortBazaars } from "../../src/transport/x402/bazaar.ts";
import { useModelServer, useWorld } from "../support/use-world.ts";

/** What agents find without a key, judged by the packages that they use. */

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-discovery-"));
const MODEL = { id: "small", context_length: 4_096, max_output_tokens: 256 };
const INFERENCE = {
  upstreams: [
    { name: "models", models: [{ ...MODEL, input_usd_per_million: 10, output_usd_per_million: 10 }] },
  ],
};
const configuration = (price: number) =>
  JSON.stringify({ inference: INFERENCE, prices: { vram_estimate: { flat_microusd: price } } });

const models = useModelServer();
const world = useWorld(() => {
  const file = path.join(folder, "toolgate.json");
  writeFileSync(file, configuration(1_000));
  return { TOOLGATE_CONFIG: file, INFERENCE_BASE_URL: models.url };
});
afterAll(() => rmSync(folder, { recursive: true }));

const manifestSchema = z.object({
  version: z.literal(1),
  x402Version: z.literal(2),
  lastUpdated: z.iso.datetime(),
  resources: z.array(z.url()),
  items: z.array(
    z.custom<DiscoveryResource & { extensions: { bazaar: DiscoveryExtension }; price: object }>(),
  ),
});

const content = z.object({
  requestBody: z.object({
    content: z.object({
      "application/json": z.object({ schema: z.record(z.string(), z.json()), example: z.json() }),
    }),
  }),
});

const manifest = async (baseUrl = world.gateway.baseUrl) =>
  manifestSchema.parse(await (await fetch(`${baseUrl}/.well-known/x402`)).json());

const buy = (url: string, body: unknown) =>
  fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function offerOf(url: string, body: unknown) {
  const { status, headers } = await buy(url, body);
  expect(status).toBe(402);
  return decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
}

function expectValid(extension: DiscoveryExtension): void {
  expect(validateDiscoveryExtensionSpec({ ...extension })).toEqual({ valid: true });
  expect(validateDiscoveryExtension(extension)).toEqual({ valid: true });
  expect(validateAndExtract(extension).valid).toBe(true);
}

describe("/.well-known/x402", () => {
  it("lists each tool that a wallet can buy, with valid bazaar extensions", async () => {
    const { resources, items } = await manifest();
    const routes = ["inference_chat", "vram_estimate"].map((name) => `${world.gateway.baseUrl}/x402/${name}`);
    expect(resources).toEqual(routes);
    expect(items.map(({ resource }) => resource)).toEqual(routes);
    for (const item of items) {
      expectValid(item.extensions.bazaar);
      const { tags, serviceName, resource: url } = item;
      expect(sanitizeResourceServiceMetadata({ ...item, url })).toEqual({ tags, serviceName });
    }
    expect(items.map(({ price }) => price)).toEqual([
      { mode: "dynamic", currency: "USD", min: "0.000001" },
      { mode: "fixed", currency: "USD", amount: "0.001000" },
    ]);
  });

  it("states the terms of an offer for the example it gives", async () => {
    for (const { resource, accepts, extensions } of (await manifest()).items) {
      const { input } = extractDiscoveryInfoFromExtension(extensions.bazaar);
      const offer = await offerOf(resource, "body" in input ? input.body : undefined);
      expect(offer.accepts).toHaveLength(1);
      expect(offer.accepts).toMatchObject(accepts);
      expect(accepts).toHaveLength(1);
    }
  });

  it("follows the configuration in force", async () => {
    const tag = async () =>
      (await fetch(`${world.gateway.baseUrl}/.well-known/x402`)).headers.get("etag") ?? "";
    const before = await tag();
    expect(await tag()).toBe(before);
    const document = configuration(2_000);
    const version = {
      document,
      source: "apply",
      actor: "test",
      note: undefined,
      expected: undefined,
      tiers: configFileSchema.parse({}).tiers,
    } as const;
    await world.postgres.configVersions.apply(version);
    const amounts = async () => (await manifest()).items.map(({ accepts }) => accepts[0]?.amount);
    await expect.poll(amounts).toContain("2000");
    expect(await tag()).not.toBe(before);
  });

  it("lists nothing where wallets cannot buy", async () => {
    for (const settings of [{ X402_KEYLESS: "off" }, { FEE_PAYER_KEYPAIR: "" }]) {
      const { baseUrl } = await world.startAnother(settings);
      expect(await manifest(baseUrl)).toMatchObject({ resources: [], items: [] });
    }
  });

  it("omits tools that cost less than the relay takes", async () => {
    const { baseUrl } = await world.startAnother({ GASLESS_MINIMUM_MICROUSD: "1000000" });
    const { items } = await manifest(baseUrl);
    expect(items.map(({ resource, accepts }) => [resource, accepts])).toEqual([
      [`${baseUrl}/x402/inference_chat`, []],
    ]);
  });
});

describe("the documents", () => {
  const textOf = async (path: string) => (await fetch(world.gateway.baseUrl + path)).text();

  it("have one path per sold tool, whose schema accepts its example", async () => {
    const document = JSON.parse(await textOf("/openapi.json"));
    const whole = await SwaggerParser.dereference(document);
    for (const { resource, price, extensions } of (await manifest()).items) {
      const { post } = z
        .object({ post: z.record(z.string(), z.json()) })
        .parse(JSON.parse(JSON.stringify(whole.paths?.[new URL(resource).pathname])));
      expect(post).toMatchObject({ "x-payment-info": { price }, responses: { "402": {} } });
      const { schema, example } = content.parse(post).requestBody.content["application/json"];
      const validate = new Ajv2020({ strict: false }).compile(schema);
      expect([validate(example), validate.errors]).toEqual([true, null]);
      const { input } = extractDiscoveryInfoFromExtension(extensions.bazaar);
      expect("body" in input && input.body).toEqual(example);
    }
  });

  it("list the OpenAI routes, and show a wallet a call that gets an offer", async () => {
    expect(JSON.parse(await textOf("/openapi.json")).paths).toHaveProperty("/openai/v1/chat/completions");
    const page = await textOf("/llms.txt");
    expect(page).toContain(`${world.gateway.baseUrl}/openai/v1`);
    const [, url = "", body = ""] = /POST (\S+\/x402\/\w+)\n.*\n\n(\{.*\})/.exec(page) ?? [];
    await offerOf(url, JSON.parse(body));
  });
});

describe("an offer without an API key", () => {
  it("declares its extensions in the form of their own package", async () => {
    const offer = await offerOf(`${world.gateway.baseUrl}/x402/vram_estimate`, { model: "llama-3.1-8b" });
    expect(parsePaymentRequired(offer).success).toBe(true);
    const { bazaar, "payment-identifier": identifier } = offer.extensions ?? {};
    expectValid(bazaar as DiscoveryExtension);
    expect(isPaymentIdentifierExtension(identifier)).toBe(true);
    expect(isPaymentIdentifierRequired(identifier)).toBe(false);
    expect(identifier).toEqual(declarePaymentIdentifierExtension(false));
    const { tags, serviceName, description } = offer.resource;
    expect(sanitizeResourceServiceMetadata(offer.resource)).toEqual({ tags, serviceName });
    expect(description).toMatch(/^Estimates the GPU memory/);
  });

  it("names the parameters of every tool, and says what it leaves out", async () => {
    const { tools } = JSON.parse(await (await fetch(`${world.gateway.baseUrl}/mcp/capabilities`)).text());
    for (const { resource, extensions } of (await manifest()).items) {
      const name = path.basename(resource);
      const tool = tools.find((one: { name: string }) => one.name === name);
      const offer = await offerOf(resource, {});
      const bazaar = offer.extensions?.["bazaar"] as DiscoveryExtension;
      expectValid(bazaar);
      expect(bazaar.info).toEqual(extensions.bazaar.info);
      const { body } = z
        .object({
          properties: z.object({
            input: z.object({ properties: z.object({ body: z.record(z.string(), z.json()) }) }),
          }),
        })
        .parse(bazaar.schema).properties.input.properties;
      const named = z.object({ properties: z.record(z.string(), z.json()) }).parse(body);
      expect(Object.keys(named.properties)).toEqual(Object.keys(tool.input_schema.properties));
      if (name === "vram_estimate") expect(body["$comment"]).toMatch(/well-known\/x402/);
    }
  });

  it("names the parameters of other built-in tools too", () => {
    for (const params of [executeParams, vramParams]) {
      const inputSchema = z.record(z.string(), z.json()).parse(z.toJSONSchema(params, { io: "input" }));
      const listed = { inputSchema } as ListedTool;
      for (const form of shortBazaars(listed, {}).slice(0, -1))
        for (const name of Object.keys(params.shape)) expect(JSON.stringify(form)).toContain(`"${name}":{`);
    }
  });

  it("is small enough to come back in PAYMENT-SIGNATURE", async () => {
    for (const { resource, extensions } of (await manifest()).items) {
      const { input } = extractDiscoveryInfoFromExtension(extensions.bazaar);
      const offer = await offerOf(resource, "body" in input ? input.body : undefined);
      // A transaction in base64 has at most 1,644 characters.
      const payload = { ...offer, payload: { transaction: "A".repeat(1_644) }, accepted: offer.accepts[0] };
      const { accepts: _accepts, error: _error, ...sent } = payload;
      expect(Buffer.from(JSON.stringify(sent)).toString("base64").length).toBeLessThan(8_192);
    }
  });
});
