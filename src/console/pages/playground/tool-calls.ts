import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { asObject, asText } from "./schema.ts";

/** Merges the parts of streamed tool calls, by their index. */
export class ToolCalls {
  readonly #calls = new Map<number, { id: string; type: string; name: string; input: string }>();

  /** @param parts `tool_calls` of a chunk's delta */
  add(parts: JsonValue | undefined): void {
    if (!Array.isArray(parts)) return;
    for (const [at, part] of parts.map(asObject).entries()) {
      const index = typeof part["index"] === "number" ? part["index"] : at;
      const call = this.#calls.get(index) ?? { id: "", type: "function", name: "", input: "" };
      const { name, arguments: input } = asObject(part["function"]);
      this.#calls.set(index, {
        id: call.id || asText(part["id"]),
        type: asText(part["type"]) || call.type,
        name: call.name + asText(name),
        input: call.input + asText(input),
      });
    }
  }

  /** The calls of a whole message, in their order. */
  whole(): JsonObject[] {
    const ordered = [...this.#calls].toSorted(([one], [other]) => one - other);
    return ordered.map(([, { id, type, name, input }]) => ({
      id,
      type,
      function: { name, arguments: input },
    }));
  }
}
