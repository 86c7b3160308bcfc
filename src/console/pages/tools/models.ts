import type { JsonObject } from "@bufbuild/protobuf";
import { asObject, asText } from "../playground/schema.ts";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { formatUsd } from "../../format.ts";

export interface Model {
  readonly id: string;
  /** Limits and rates as the catalogue states them; empty for models beyond those it describes. */
  readonly terms: string;
}

/** Returns the models of a tool, from the schema of its parameter `model`; none if it sells no models. */
export function modelsOf(schema: JsonObject | undefined): readonly Model[] {
  const { enum: ids, description } = asObject(asObject(schema?.["properties"])["model"]);
  if (!Array.isArray(ids)) return [];
  const lines = asText(description).split("\n");
  return ids
    .filter((id) => typeof id === "string")
    .map((id) => ({
      id,
      terms: lines.find((line) => line.startsWith(`${id}: `))?.slice(id.length + 2) ?? "",
    }));
}

export function priceLabel({
  billable,
  price,
  maxPrice,
}: Pick<Tool, "billable" | "price" | "maxPrice">): string {
  if (!billable) return "Free";
  if (price) return `${formatUsd(price.priceUsdcMicrousd)} per call`;
  return `By the parameters${maxPrice ? `, at most ${formatUsd(maxPrice.priceUsdcMicrousd)}` : ""}`;
}

export function toolHref(tool: string, model?: string): string {
  const path = `/tools/${encodeURIComponent(tool)}`;
  // Names of models have slashes and dots, which the path of a page cannot have.
  return model === undefined ? path : `${path}?model=${encodeURIComponent(model)}`;
}
