import type { JsonObject } from "@bufbuild/protobuf";

/** A call as entered in the form. */
export interface ToolCall {
  readonly tool: string;
  readonly params: JsonObject;
}
