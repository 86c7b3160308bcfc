import { z } from "zod";
import { VERSION } from "../../version.ts";
import { JsonRpcError, RPC_ERROR } from "./message.ts";

/** Revisions of the Model Context Protocol that open with `initialize`, newest first. */
const PROTOCOL_VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const paramsSchema = z.object({ protocolVersion: z.string() });

const INSTRUCTIONS =
  "Billable tools are charged in USDC. A call that the balance does not cover answers HTTP 402 with a quote: pay it on Solana and repeat the same call with the X-Payment header.";

/** MCP lifecycle, initialization: the version asked for where we speak it, else our newest. No session is made. */
export function initialize(params: unknown): object {
  const asked = paramsSchema.safeParse(params);
  if (!asked.success)
    throw new JsonRpcError(RPC_ERROR.invalidParams, "params.protocolVersion: must be a string such as 2025-11-25");
  const { protocolVersion } = asked.data;
  return {
    protocolVersion: PROTOCOL_VERSIONS.includes(protocolVersion) ? protocolVersion : PROTOCOL_VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: "toolgate", version: VERSION },
    instructions: INSTRUCTIONS,
  };
}
