import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ToolSchema, ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { firstCallFor } from "../../src/console/pages/keys/first-call.ts";

const ALL = ["inference:write", "compute:read", "compute:run", "billing:read"];
const tool = (name: string, status = ToolStatus.ACTIVE): Tool => create(ToolSchema, { name, status });
const CATALOGUE = ["get_status", "echo", "inference_chat", "vram_estimate", "sandbox_execute"].map((name) =>
  tool(name),
);

describe("firstCallFor", () => {
  it.each([
    ["a key without limits", ALL, [], "vram_estimate"],
    ["a key of one tool", ALL, ["sandbox_execute"], "sandbox_execute"],
    ["a key of several tools", ALL, ["inference_chat", "echo"], "echo"],
    ["a key without the scope of the usual call", ["inference:write"], [], "echo"],
    ["a key of a tool that is none of the gateway's own", ALL, ["sun_times"], "sun_times"],
  ])("returns a call that %s may make", (_name, scopes, tools, expected) => {
    expect(firstCallFor({ scopes, tools }, CATALOGUE).tool).toBe(expected);
    // Also before the catalogue has loaded.
    expect(firstCallFor({ scopes, tools }, []).tool).toBe(expected);
  });
});
