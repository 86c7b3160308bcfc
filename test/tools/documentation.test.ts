import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { inferenceSchema } from "../../src/inference/config.ts";
import { resolveUpstreams } from "../../src/inference/upstream-settings.ts";
import { KNOWN_MODELS } from "../../src/tools/vram-estimate/models.ts";
import { ALL_TOOLS, parametersOf, toolsPage } from "../reference/tools.ts";
import { estimate } from "./vram-estimate/estimate.ts";

const page = readFileSync(new URL("../../docs/reference/tools.md", import.meta.url), "utf8");
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map((match) => match[1] ?? "");

describe("docs/reference/tools.md", () => {
  it.each(ALL_TOOLS.map(({ tool }) => [tool.name, tool] as const))(
    "docs/reference/tools.md names every parameter of %s",
    (_name, tool) => {
      for (const parameter of Object.keys(parametersOf(tool).properties))
        expect(page).toContain(`\`${parameter}\``);
    },
  );

  it("docs/reference/tools.md gets a section for a tool without one", () => {
    const echo = /\n## echo\n[\s\S]*?(?=\n## )/;
    const written = toolsPage(page.replace(echo, ""));
    expect(written).toContain("## echo\n\nReturns the message unchanged");
    expect(written).toContain("| `message` | string | required; Text to return |");
    expect(toolsPage(written)).toBe(written);
  });

  it("docs/reference/tools.md lists every published model", () => {
    const lines = page.replaceAll("\n  ", " ").split("\n");
    for (const { id } of KNOWN_MODELS) {
      const [publisher, name] = id.split("/");
      const row = lines.find((line) => line.startsWith(`- ${publisher}: `));
      expect(row?.split(/[:,]/).map((cell) => cell.trim())).toContain(name);
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
