import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { inferenceSchema } from "../../src/inference/config.ts";
import { resolveUpstreams } from "../../src/inference/upstream-settings.ts";
import { makeTools } from "../../src/tools/index.ts";
import { pricesSchema } from "../../src/tools/prices.ts";
import { KNOWN_MODELS } from "../../src/tools/vram-estimate/models.ts";
import { unaskedSandbox } from "./sandbox/scripted-engine.ts";
import { estimate } from "./vram-estimate/estimate.ts";

const page = readFileSync(new URL("../../docs/reference/tools.md", import.meta.url), "utf8");
const MODEL = {
  id: "m",
  inputRate: 1n,
  outputRate: 1n,
  contextLength: 100,
  maxOutputTokens: 10,
  bytesPerToken: 1,
};
const inference = { models: [MODEL], complete: () => Promise.reject(new Error("not asked")) };
const tools = makeTools({
  version: "1",
  balance: async () => 0n,
  prices: pricesSchema.parse(undefined),
  inference,
  sandbox: unaskedSandbox(),
  customTools: [],
});

/** Fenced code blocks of a language. */
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map((match) => match[1] ?? "");

describe("docs/reference/tools.md", () => {
  it.each(tools.map((tool) => [tool.name, tool] as const))(
    "docs/reference/tools.md describes %s as the catalogue does, with every parameter",
    (name, tool) => {
      const row = page
        .split("\n")
        .find((line) => line.includes(`\`${name}\``) && line.split("|").length === 7);
      expect(row).toContain(`| ${tool.status === "active" ? "active" : "coming soon"} |`);
      expect(row).toContain(tool.scope ? `\`${tool.scope}\`` : "any valid key");
      const { properties } = z
        .looseObject({ properties: z.record(z.string(), z.unknown()).default({}) })
        .parse(tool.inputSchema);
      for (const parameter of Object.keys(properties)) expect(page).toContain(`\`${parameter}\``);
    },
  );

  it("docs/reference/tools.md lists every published model", () => {
    for (const { id } of KNOWN_MODELS) {
      const [publisher, name] = id.split("/");
      const row = page.split("\n").find((line) => line.startsWith(`| ${publisher} |`));
      expect(row?.split(/[|,]/).map((cell) => cell.trim())).toContain(name);
    }
  });

  it("docs/reference/tools.md shows a valid configuration with the real defaults", () => {
    const section = inferenceSchema.parse(
      z.object({ inference: z.unknown() }).parse(parse(blocks("yaml")[0] ?? "")).inference,
    );
    expect(resolveUpstreams(section, { INFERENCE_BASE_URL: "http://host/v1" })).toMatchObject({
      problems: [],
      upstreams: [{ timeoutMs: 600_000 }],
    });
    expect(section.default_model).toEqual(inferenceSchema.parse(undefined).default_model);
  });

  it("docs/reference/tools.md shows the estimate of its example call", async () => {
    const shown = z.looseObject({ weights: z.unknown() });
    const example = blocks("json").flatMap((block) =>
      block.includes('"weights"') ? [shown.parse(JSON.parse(block))] : [],
    )[0];
    const {
      inputs: _inputs,
      assumptions: _assumptions,
      gpus,
      ...sizes
    } = await estimate({ model: "meta-llama/Llama-3.1-8B", context_length: 32_768 });
    expect(example).toMatchObject(sizes);
    expect(gpus).toEqual(expect.arrayContaining(z.array(z.unknown()).parse(example?.["gpus"])));
  });
});
