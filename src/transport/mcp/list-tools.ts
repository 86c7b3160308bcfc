import type { Catalogue } from "../../app/calls/catalogue.ts";
import { allowsTool, type Caller } from "../../domain/accounts/caller.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd } from "../../domain/core/money.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { Result } from "./modern-result.ts";
import { invalidParams } from "./rpc-error.ts";

/** MCP tools/list: the tools this key may call, in catalogue order, on one page. */
export function listTools(
  catalogue: Catalogue,
  caller: Caller | undefined,
  params: JsonObject | undefined,
): Result {
  if (params?.["cursor"] !== undefined)
    throw invalidParams("params.cursor", "there is only one page; omit it");
  return { tools: catalogue.tools.filter((tool) => isCallable(tool, caller)).map(listed) };
}

function isCallable({ name, status, scope }: Tool, caller: Caller | undefined): boolean {
  if (status !== "active" || (caller && !allowsTool(caller, name))) return false;
  return scope === undefined || caller?.scopes.has(scope) === true;
}

function listed({ name, description, inputSchema, annotations, billable, fixedPrice }: Tool): object {
  const price = fixedPrice !== undefined && {
    "toolgate/price": { price_usdc_microusd: Number(fixedPrice), price_display: displayUsd(fixedPrice) },
  };
  return {
    name,
    description,
    inputSchema,
    ...(annotations && { annotations }),
    _meta: { "toolgate/billable": billable, ...price },
  };
}
