import type { JsonObject } from "@bufbuild/protobuf";

/** A call as it was asked for. */
export interface ToolCall {
  readonly tool: string;
  readonly params: JsonObject;
}
