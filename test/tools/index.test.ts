import { describe, expect, it } from "vitest";
import type { SelfTestStatus } from "../../src/domain/tools/sandbox.ts";
import { makeTools, pricesSchema } from "../../src/tools/index.ts";
import { WithdrawnModels } from "../../src/tools/withdrawn-models.ts";
import { unaskedSandbox } from "./sandbox/scripted-engine.ts";

const MODEL = {
  id: "m",
  inputRate: 1n,
  outputRate: 1n,
  contextLength: 100,
  maxOutputTokens: 10,
  bytesPerToken: 1,
};
const refuse = () => Promise.reject(new Error("not asked"));
const EMBEDDER = { ...MODEL, id: "e", dimensions: 2 };
const inference = { models: [MODEL, EMBEDDER], complete: refuse, embed: refuse };
const deps = {
  version: "1.0.0",
  balance: async () => 0n,
  prices: pricesSchema.parse(undefined),
  inference,
  sandbox: undefined,
  customTools: [],
};

describe("tool catalogue", () => {
  it("lists the tools of the specification, in order with status and billable flag", () => {
    const tools = makeTools({ ...deps, inference: { ...inference, models: [MODEL] } }).slice(0, 7);
    expect(
      tools.map(({ name, status, billable }) => `${name} ${status} ${billable ? "paid" : "free"}`),
    ).toEqual([
      "get_status active free",
      "echo active free",
      "inference_chat active paid",
      "vram_estimate active paid",
      "sandbox_execute coming_soon paid",
      "sandbox_cancel coming_soon free",
      "gpu_provision coming_soon free",
    ]);
  });

  it("declares the scope of each tool", () => {
    expect(Object.fromEntries(makeTools(deps).map(({ name, scope }) => [name, scope]))).toMatchObject({
      get_status: undefined,
      echo: undefined,
      inference_chat: "inference:write",
      vram_estimate: "compute:read",
      sandbox_execute: "compute:run",
      sandbox_cancel: "compute:run",
      gpu_provision: "compute:run",
    });
  });

  it("lists inference_embed where a model makes embeddings, or made them before", () => {
    const embeds = (more: Partial<Parameters<typeof makeTools>[0]>) =>
      makeTools({ ...deps, ...more }).some(({ name }) => name === "inference_embed");
    expect(embeds({})).toBe(true);
    expect(embeds({ inference: undefined })).toBe(false);
    const withdrawnModels = new WithdrawnModels();
    withdrawnModels.update([EMBEDDER], []);
    expect(embeds({ inference: undefined, withdrawnModels })).toBe(true);
  });

  it("makes inference_chat unavailable without a model server", () => {
    const chat = makeTools({ ...deps, inference: undefined }).find(({ name }) => name === "inference_chat");
    expect(chat).toMatchObject({ status: "coming_soon", billable: true, scope: "inference:write" });
    expect(() => chat?.prepare({})).toThrow(
      expect.objectContaining({ code: "TOOL_UNAVAILABLE", status: 404 }),
    );
  });

  it("lists the sandbox tools as active while and after the self-test runs", () => {
    let proof: SelfTestStatus = "running";
    const tools = makeTools({ ...deps, sandbox: unaskedSandbox(() => proof) });
    const status = () => tools.filter(({ name }) => name.startsWith("sandbox_")).map((tool) => tool.status);
    expect(status()).toEqual(["active", "active"]);
    proof = "passed";
    expect(status()).toEqual(["active", "active"]);
    expect(tools.map(({ name }) => name)).toEqual(makeTools(deps).map(({ name }) => name));
  });

  it("never quotes an unavailable tool", () => {
    for (const tool of makeTools(deps).filter(({ status }) => status === "coming_soon")) {
      expect(() => tool.prepare({})).toThrow(expect.objectContaining({ code: "TOOL_UNAVAILABLE" }));
      expect(tool.fixedPrice).toBeUndefined();
    }
  });

  it("describes every tool and gives active tools a closed object schema", () => {
    for (const tool of makeTools(deps)) {
      expect(tool.description.length).toBeGreaterThan(10);
      expect(tool.inputSchema["type"]).toBe("object");
      if (tool.status === "active") {
        expect(tool.inputSchema).toMatchObject({
          $schema: "https://json-schema.org/draft/2020-12/schema",
          additionalProperties: false,
        });
      }
    }
  });

  it("declares the fixed price of vram_estimate, and none for the priced or free others", () => {
    const fixed = new Map(makeTools(deps).map(({ name, fixedPrice }) => [name, fixedPrice]));
    expect(fixed.get("vram_estimate")).toBe(1_000n);
    for (const name of ["get_status", "echo", "inference_chat", "sandbox_execute"])
      expect(fixed.get(name)).toBeUndefined();
  });
});
