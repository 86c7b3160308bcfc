import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";

export const CALL_TOOL_PATH = `/${ToolService.typeName}/${ToolService.method.callTool.name}`;

/** Messages go as bytes. */
export function asIs(bytes: Buffer): Buffer {
  return bytes;
}
