import type { JsonObject } from "@bufbuild/protobuf";

/** A call as it was asked for. */
export interface PlayCall {
  readonly tool: string;
  readonly params: JsonObject;
}
