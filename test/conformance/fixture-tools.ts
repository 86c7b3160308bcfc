import { setTimeout as sleep } from "node:timers/promises";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import type { JsonObject } from "../../src/domain/core/json.ts";
import type { Tool } from "../../src/domain/tools/tool.ts";

// The tools that the official suites call by name.
// They are part of the catalogue, so the suites test the path of every call.

const NOTHING: JsonObject = { type: "object", properties: {} };

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A WAV header without samples. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const image = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, text: string) => ({
  type: "resource",
  resource: { uri, mimeType, text },
});

/** Keywords of JSON Schema 2020-12 that a listing must keep (SEP-1613, SEP-2106). */
const EVERY_KEYWORD: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** The fixture, in its fixed order. */
export function fixtureTools(): Tool[] {
  return [
    fixture("test_simple_text", says("This is a simple text response for testing.")),
    fixture("test_image_content", blocks(image)),
    fixture("test_audio_content", blocks({ type: "audio", data: WAV, mimeType: "audio/wav" })),
    fixture(
      "test_embedded_resource",
      blocks(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    fixture(
      "test_multiple_content_types",
      blocks(
        { type: "text", text: "Multiple content types test:" },
        image,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ),
    ),
    fixture("test_error_handling", () => {
      throw new ToolgateError("INVALID_REQUEST", "This tool intentionally returns an error for testing");
    }),
    fixture("test_tool_with_progress", stepwise),
    fixture("test_streaming_elicitation", stepwise),
    fixture("test_logging_tool", says("nothing is logged to the client")),
    fixture("json_schema_2020_12_tool", says("the schema was taken"), EVERY_KEYWORD),
    fixture("test_header_parameter", says("the header agrees"), {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    }),
  ];
}

type Run = ReturnType<Tool["prepare"]>["run"];

/** A free tool that does not check its parameters. */
export function fixture(name: string, run: Run, inputSchema: JsonObject = NOTHING): Tool {
  return {
    name,
    inputSchema,
    status: "active",
    billable: false,
    description: `Fixture ${name}`,
    scope: undefined,
    fixedPrice: undefined,
    prepare: () => ({ price: 0n, run }),
  };
}

/** A text result. */
function says(text: string): Run {
  return async () => ({ text });
}

/** A result of content blocks, as tools of other MCP servers return. */
function blocks(...content: JsonObject[]): Run {
  return async () => ({ content });
}

/** Reports progress three times. */
const stepwise: Run = async ({ progress, signal }) => {
  for (const done of [0, 50, 100]) {
    if (done > 0) await sleep(50, undefined, { signal });
    progress?.({ progress: done, total: 100 });
  }
  return { done: true };
};
